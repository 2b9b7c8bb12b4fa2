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
from typing import BinaryIO, TypeVar

from profiler.errors import DiskFull, OutputNotWritable, ProfError, ResourcesShort, StoreNotWritable
from profiler.machine import disk_full_text, find_shortage
from profiler.store.locks import held_if_free, try_lock

_TOKEN_BYTES = 8
E = TypeVar("E", bound=ProfError)


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
        return link_error(StoreNotWritable, error.filename)
    if shortage := find_shortage(error):
        return shortage
    return StoreNotWritable(f"{place}: cannot be written: {error.strerror or error}")


def link_error(kind: type[E], place: Path | str) -> E:
    """Returns the error for a link where runs should be."""
    return kind(
        f"{place}: a link is there, and could lead out of the runs",
        remedy="Remove the link, or choose another folder with `--runs`.",
    )


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
def renamed_into_place(path: Path, mode: int = 0o666) -> Iterator[Path]:
    """Yields an empty file beside this path to write to, and renames it at the end, so that no name ever holds half a file.

    Each writer has one of its own, under a name that nobody can know and put a link there. As for any new file, the umask takes its part of
    `mode`. A kill leaves the file, without its lock.
    """
    aside = _aside(path, os.urandom(_TOKEN_BYTES).hex())
    lock = None
    try:
        os.close(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode))
        with suppress(OSError):  # a file system without locks
            lock = try_lock(aside)
        yield aside
        os.replace(aside, path)
    finally:
        with suppress(OSError):
            aside.unlink()
        if lock is not None:
            os.close(lock)


def _aside(path: Path, token: str) -> Path:
    """Returns where to write a file aside. A name as long as the system allows has no room for more, but its hash has."""
    of_name = hashlib.sha256(os.fsencode(path.name)).hexdigest()[: 2 * _TOKEN_BYTES]
    return path.with_name(f".prof-{of_name}-{token}.part")


def remove_left_parts(path: Path) -> None:
    """Removes what killed writers of a file left beside it: nobody holds its lock."""
    for left in path.parent.glob(_aside(path, "?" * 2 * _TOKEN_BYTES).name):
        with suppress(OSError), held_if_free(left) as is_free:
            if is_free:
                left.unlink()


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
        remove_left_parts(path)
        with renamed_into_place(path) as aside, aside.open("wb") as file:
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
