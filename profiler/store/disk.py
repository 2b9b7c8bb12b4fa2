"""Writes files and folders so that no kill and no power failure leaves half of one, and says what went wrong.

It also opens files that may be anything: a pipe would be waited for, and a device has no end.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shlex
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from profiler.errors import DiskFull, OutputNotWritable, ResourcesShort, StoreNotWritable
from profiler.machine import disk_full_text, find_shortage


@contextmanager
def writing_to(place: Path | str) -> Iterator[None]:
    """Turns an error of the system inside into one for people: the disk is full, or this place cannot be written."""
    try:
        yield
    except OSError as error:
        raise storage_error(error, place) from error


def storage_error(error: OSError, place: Path | str) -> DiskFull | ResourcesShort | StoreNotWritable:
    if full := disk_full_text(error):
        return DiskFull(f"{place}: {full}")
    if error.errno == errno.ELOOP:
        return StoreNotWritable(
            f"{error.filename}: a link is there, and could lead out of the runs",
            remedy="Remove the link, or choose another folder with `--runs`.",
        )
    if shortage := find_shortage(error):
        return shortage
    return StoreNotWritable(f"{place}: cannot be written: {error.strerror or error}")


def flush(path: Path) -> None:
    """Flushes a file or a folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_flushed(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    flush(path)


def make_root(root: Path) -> None:
    """Makes the folder of runs, so that a power failure does not take it away with the first run."""
    missing = [folder for folder in (root, *root.parents) if not folder.exists()]
    root.mkdir(parents=True, exist_ok=True)
    for folder in missing:
        flush(folder.parent)


def make_shared_folder(folder: Path, root: Path) -> None:
    """Makes a folder with the permissions of `root`, so that everybody who may add a run can prepare one.

    A link is an error: what is written and removed there could be anywhere.
    """
    with suppress(FileExistsError):
        folder.mkdir()
        folder.chmod(stat.S_IMODE(root.stat().st_mode))
    if folder.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(folder))


@contextmanager
def renamed_into_place(path: Path) -> Iterator[Path]:
    """Yields a path beside this one to write to, and renames that file at the end, so that no name ever holds half a file."""
    aside = path.with_name(f".{path.name}.part")
    try:
        aside.unlink(missing_ok=True)  # it may be a link
        yield aside
        os.replace(aside, path)
    finally:
        with suppress(OSError):
            aside.unlink()


def write_whole(content: bytes, path: Path) -> None:
    """Writes a file as `whole_file` does."""
    with whole_file(path) as file:
        file.write(content)


def require_folder_of(path: Path) -> None:
    if not path.parent.exists():
        raise OutputNotWritable(
            f"{path}: cannot be written: there is no folder {path.parent}",
            remedy=f"Make the folder first: `{shlex.join(('mkdir', '-p', str(path.parent)))}`.",
        )


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Opens a temporary file that is renamed at the end: the file is never half written, and a failure keeps the old one."""
    require_folder_of(path)
    try:
        with renamed_into_place(path) as aside, aside.open("xb") as file:
            yield file
    except OSError as error:
        raise OutputNotWritable(f"{path}: cannot be written: {error.strerror}") from None


def sha256_of(path: Path) -> str:
    """Returns the hash of a regular file."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def open_regular(path: Path) -> BufferedReader:
    """Opens a regular file to read it; OSError for anything else. A pipe would be waited for, and a device has no end."""
    try:
        file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115 - the caller closes it
    except OSError as error:
        if shortage := find_shortage(error):
            raise shortage from error
        raise
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is not a regular file")
    return file


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)
