"""Locks files and folders against other processes, by `flock`: the system drops a lock when its process ends."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from profiler.errors import StoreLocked
from profiler.text import shortened

_LOCK_S = 60.0  # a commit holds the lock for milliseconds, and on a slow network for seconds
_POLL_S = 0.01
_COMMAND_WIDTH = 60


def try_lock(path: Path) -> int | None:
    """Takes the lock on a file or a folder, and returns it open.

    None when another process holds it, or the file is another user's, who may be at work.
    """
    try:
        descriptor = _open_lock(path)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None
    is_ours = False
    try:
        is_ours = _taken(descriptor)
    finally:
        if not is_ours:
            os.close(descriptor)
    return descriptor if is_ours else None


@contextmanager
def held_if_free(path: Path) -> Iterator[bool]:
    """Holds the lock, and yields True; yields False where `try_lock` returns None."""
    lock = try_lock(path)
    try:
        yield lock is not None
    finally:
        if lock is not None:
            _release(lock)


@contextmanager
def locked(
    path: Path, limit_s: float | None = _LOCK_S, wait: Callable[[str], None] = lambda _: None
) -> Iterator[None]:
    """Holds the lock; waits for another process or thread that has it, for ever where there is no limit. The file stays.

    If it is not free at once, `wait` is called first, with the name of the process that has it.
    """
    descriptor = _open_lock(path)
    try:
        if not _taken(descriptor):
            wait(_holder(descriptor))
            _take_within(limit_s, descriptor, path)
        yield
    finally:
        _release(descriptor)


def _release(descriptor: int) -> None:
    """Gives the lock up. To close the file would not do: a process that was forked meanwhile has it open too."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    finally:
        os.close(descriptor)


def _take_within(limit_s: float | None, descriptor: int, path: Path) -> None:
    if limit_s is None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return
    deadline = time.monotonic() + limit_s
    while not _taken(descriptor):
        if time.monotonic() >= deadline:
            raise StoreLocked(f"{path}: {_holder(descriptor)} has held the lock for {limit_s:g} s")
        time.sleep(_POLL_S)


def _taken(descriptor: int) -> bool:
    """Takes the lock if nobody has it. Hides the system's error (EAGAIN), which would read as a lack of processes."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(descriptor: int) -> str:
    """Returns the process that holds the lock, as far as the system knows it."""
    inode = str(os.fstat(descriptor).st_ino)
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/locks").read_text().splitlines():
            _, kind, _, _, process, file, *_ = line.split()
            if kind == "FLOCK" and file.rpartition(":")[2] == inode and int(process) > 0:
                words = Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ")
                command = words.decode(errors="replace").strip()
                return f"process {process} ({shortened(command, _COMMAND_WIDTH)})"
    return "another process"


def _open_lock(path: Path) -> int:
    """Opens what is to be locked: read access is enough for another user's file, and for a folder.

    A link is an error: it could make a file anywhere.
    """
    flags = os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | flags, 0o666)
    except (PermissionError, IsADirectoryError):
        return os.open(path, os.O_RDONLY | os.O_NONBLOCK | flags)
