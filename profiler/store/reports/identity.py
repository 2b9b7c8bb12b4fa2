"""Opens a report safely, hashes it and checks its envelope; copies, packs and unpacks reports.

In: any path that a user may type: also a folder, a pipe, or a file that nobody may read.
Out: a `ReportFile`, or a `ReportError` that names the path and says what is wrong.
"""

from __future__ import annotations

import errno
import hashlib
import mmap
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from profiler.errors import NotAReport, ReportDamaged, ReportNotFound, ReportTooLarge, ReportUnreadable
from profiler.machine import disk_full_text
from profiler.store.remote.bounds import MOST_FILE_BYTES
from profiler.store.reports.envelope import BEGINNING_BYTES, Envelope, check_magic, read_envelope
from profiler.store.reports.near import error_of_folder, what_is_near

_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
# The system takes back a larger piece of memory after each use, and to clear it anew takes as long as to unpack a report.
_CHUNK_BYTES = 1 << 18
_FRAME_BYTES = 1 << 26
_ALWAYS_READ_BYTES = 64 << 20
_MOST_RATIO = 200  # ncu's reports shrink to a twentieth
_KINDS = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}
_ZSTD_LEVEL = 9  # the highest level that takes no longer than reading the report


@dataclass(frozen=True)
class ReportFile:
    """A report whose own structure is whole.

    `plain` is the uncompressed file for NVIDIA's reader; it equals `path` unless the report was stored
    compressed.
    """

    path: Path
    plain: Path
    sha256: str
    bytes: int
    envelope: Envelope
    stamp: tuple[int, ...]

    def check_unchanged(self) -> None:
        """Raises unless `path` is still the file that was hashed."""
        try:
            stamp = stamp_of(os.stat(self.path))
        except OSError:
            stamp = ()
        if stamp != self.stamp:
            raise ReportUnreadable(
                f"{self.path}: the file changed while it was read",
                remedy="Wait until ncu has finished writing it, then run the same command again.",
            )


def identify_report(path: Path, scratch: Path) -> ReportFile:
    """Opens, hashes and checks `path`; a compressed report is unpacked into the folder `scratch`."""
    plain = path
    with _opened(path) as descriptor:
        stamp = stamp_of(os.fstat(descriptor))
        packed = _is_packed(descriptor)
    if packed:
        plain = scratch / "unpacked.ncu-rep"
        unpack_report(path, plain)
    with _opened(plain) as descriptor:
        size = os.fstat(descriptor).st_size
        if size == 0:
            raise NotAReport(f"{path}: the file is empty")
        _require_bounded(path, size)
        # Not closed explicitly: an error's traceback may still hold a view of it.
        view = memoryview(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ))
        envelope = read_envelope(view, str(path))
        digest = hashlib.sha256(view).hexdigest()
    return ReportFile(path, plain, sha256=digest, bytes=size, envelope=envelope, stamp=stamp)


def check_beginning(path: Path) -> None:
    """Raises for what is no report by its first bytes, which takes a thousandth of the time that starting a reader takes."""
    with _opened(path) as descriptor:
        if not _is_packed(descriptor):
            check_magic(os.pread(descriptor, BEGINNING_BYTES, 0), str(path))


def sha256_of_report(path: Path) -> str:
    """Returns the hash of a stored report's uncompressed bytes."""
    digest = hashlib.sha256()
    for chunk in read_plain(path):
        digest.update(chunk)
    return digest.hexdigest()


def read_plain(path: Path) -> Iterator[bytes]:
    """Yields the bytes that ncu wrote, piece by piece. Unpacks compressed content, whatever the file is called.

    ReportTooLarge when they are more than a report can have: a few megabytes may unpack to a full disk.
    """
    with _opened(path) as descriptor:
        packed = _is_packed(descriptor)
        stored_bytes = os.fstat(descriptor).st_size
    _require_bounded(path, stored_bytes)
    most, count = MOST_FILE_BYTES, 0
    if packed:
        most = min(most, max(_ALWAYS_READ_BYTES, stored_bytes * _MOST_RATIO))
    for chunk in _chunks(path, unpack=packed):
        count += len(chunk)
        if count > most:
            raise ReportTooLarge(f"{path}: unpacks to more than {most >> 20} MiB")
        yield chunk


def _require_bounded(path: Path, size: int) -> None:
    if size > MOST_FILE_BYTES:
        raise ReportTooLarge(f"{path}: larger than {MOST_FILE_BYTES >> 30} GiB")


def pack_report(plain: Path, packed: Path) -> None:
    """Compresses a report, which shrinks it many times: reports repeat whole cubins and metric names.

    Writes frames of bounded size, which zstd reads as one file. Arrow's own stream knows only the fastest
    level, which gives twice the size.
    """
    import pyarrow as pa

    codec = pa.Codec("zstd", compression_level=_ZSTD_LEVEL)
    with packed.open("wb") as file:
        for frame in _chunks(plain, size=_FRAME_BYTES):
            file.write(codec.compress(frame))


def copy_report(source: Path, target: Path) -> None:
    """Copies a report as it is, compressed or not."""
    with target.open("wb") as file:
        for chunk in _chunks(source):
            file.write(chunk)


def unpack_report(source: Path, target: Path) -> None:
    """Unpacks a report. One that the disk has no room for is too large, which stops no other report."""
    with target.open("wb") as file:
        for chunk in read_plain(source):
            try:
                file.write(chunk)
                file.flush()
            except OSError as error:
                if not disk_full_text(error) and error.errno != errno.EFBIG:
                    raise
                file.truncate(0)
                raise ReportTooLarge(f"{source}: the disk has no room to unpack it") from error


def _chunks(path: Path, *, unpack: bool = False, size: int = _CHUNK_BYTES) -> Iterator[bytes]:
    """Yields a file in chunks. Errors while reading become ReportErrors; the caller's own stay OSErrors."""
    import pyarrow as pa

    try:
        with pa.OSFile(str(path)) as file:
            stream = pa.CompressedInputStream(file, "zstd") if unpack else file
            while chunk := stream.read(size):
                yield chunk
    except OSError as error:
        if error.errno is None:
            raise ReportDamaged(f"{path}: damaged: it does not decompress") from error
        raise ReportUnreadable(f"{path}: cannot be read: {os.strerror(error.errno)}") from error


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    """Opens a regular file and yields its descriptor; never blocks on a pipe or a device."""
    if any("\ud800" <= character <= "\udfff" for character in str(path)):
        raise ReportUnreadable(
            f"{path}: the path is not valid Unicode, which NVIDIA's reader and a manifest need",
            remedy="Rename the file or folder, or link to it under another name.",
        )
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        if path.is_symlink():
            raise ReportNotFound(
                f"{path}: a link to {os.readlink(path)}, and no such file is there",
                remedy="Make the link anew, or give the file by its own path.",
            ) from None
        near = f"; {what_is_near(path)}"
        raise ReportNotFound(f"{path}: no such file{near}", near=near) from None
    except OSError as error:
        raise ReportUnreadable(f"{path}: cannot be opened: {error.strerror}") from error
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise error_of_folder(path)
        if not stat.S_ISREG(mode):
            raise NotAReport(f"{path}: {_KINDS.get(stat.S_IFMT(mode), 'a device')}, not a report file")
        yield descriptor
    except OSError as error:
        raise ReportUnreadable(f"{path}: cannot be read: {error.strerror}") from error
    finally:
        os.close(descriptor)


def stamp_of(status: os.stat_result) -> tuple[int, ...]:
    """Returns numbers that change with a file."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _is_packed(descriptor: int) -> bool:
    return os.pread(descriptor, len(_ZSTD_MAGIC), 0) == _ZSTD_MAGIC
