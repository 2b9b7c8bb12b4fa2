"""Makes the n-th call to the system fail, or lets the power go out there.

Calls are counted by Python's audit events (open, rename, mkdir, remove, link, listing, ...), at `os.fsync`, at each
write to a file, and at each request to fsspec's file system in memory. A hook cannot be removed, so one hook of the
process asks for the faults of the moment.
"""

import builtins
import errno
import io
import os
import shutil
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem

FILE_CALLS = {
    "open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.link", "os.listdir", "os.scandir", "os.utime",
    "os.truncate", "fcntl.flock",
}  # fmt: skip
REQUESTS = ("pipe_file", "put_file", "cat_ranges", "find", "rm", "rm_file", "cp_file", "exists", "get_file")
LOCKS = (".lock", ".compact", "owner")
KINDS = ("EIO", "ENOSPC", "short write", "out of memory", "power loss")


class PowerLoss(BaseException):
    """Nothing of the process runs any more: every later call raises this too."""


@dataclass
class Faults:
    """The calls below `root`, of which the one called `at` fails; with `at` 0 they are only counted."""

    root: Path
    kind: str = ""
    at: int = 0
    count: int = 0
    dead: bool = False
    unsynced: set[Path] = field(default_factory=set)  # written, and not flushed since
    made: set[Path] = field(default_factory=set)  # and their folder not flushed since
    renamed: list[tuple[Path, Path]] = field(default_factory=list)  # and the new folder not flushed since
    gone: set[Path] = field(default_factory=set)  # of these, where the old folder was flushed

    def call(self, half=None):
        """Count a call. `half` does half of a write."""
        if self.dead:
            raise PowerLoss
        self.count += 1
        if self.count != self.at:
            return
        if self.kind == "power loss":
            self.dead = True
            raise PowerLoss
        if self.kind == "out of memory":
            raise MemoryError
        if self.kind == "short write" and half is not None:
            half()
        code = errno.EIO if self.kind == "EIO" else errno.ENOSPC
        raise OSError(code, os.strerror(code))

    def note(self, event, arguments):
        """Remember what a power loss takes with it."""
        if event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR):
            path = Path(os.fspath(arguments[0]))
            self.unsynced.add(path)
            self.made |= set() if path.exists() else {path}
        elif event in ("os.mkdir", "os.link"):
            path = Path(arguments[event == "os.link"])
            self.made |= set() if path.exists() else {path}
        elif event == "os.rename":
            source, target = Path(arguments[0]), Path(arguments[1])
            self.renamed.append((source, target))
            self.unsynced, self.made = (_moved(paths, source, target) for paths in (self.unsynced, self.made))

    def synced(self, path):
        self.unsynced.discard(path)
        self.made = {one for one in self.made if one.parent != path}
        self.renamed = [pair for pair in self.renamed if pair[1].parent != path]
        self.gone |= {target for source, target in self.renamed if source.parent == path}

    def lose_power(self):
        """Leave on the disk what the system must have kept, and no more: neither bytes nor names that were not flushed."""
        for path in self.unsynced:
            if path.is_file() and path.name not in LOCKS:
                os.truncate(path, path.stat().st_size // 2)
        for path in self.made | (self.gone & {target for _, target in self.renamed}):
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name not in LOCKS:
                path.unlink(missing_ok=True)
        for source, target in reversed(self.renamed):
            if target.exists() and not source.exists() and source.parent.is_dir():
                target.rename(source)


def _moved(paths, source, target):
    moved = {path for path in paths if path.is_relative_to(source)}
    return paths - moved | {target / path.relative_to(source) for path in moved}


_ACTIVE = []


def _below(arguments, root):
    return bool(arguments) and (
        isinstance(arguments[0], int) or str(os.fspath(arguments[0] or "")).startswith(str(root))
    )


def _hook(event, arguments):
    if event == "open" and arguments and isinstance(arguments[0], int):  # it is open already
        return
    if _ACTIVE and event in FILE_CALLS and _below(arguments, _ACTIVE[0].root):
        _ACTIVE[0].call()
        _ACTIVE[0].note(event, arguments)


class _File(io.FileIO):
    """A file whose writes are calls."""

    def write(self, data):
        if _ACTIVE:
            _ACTIVE[0].call(lambda: io.FileIO.write(self, memoryview(data)[: len(data) // 2]))
        return super().write(data)


def _open(file, mode="r", buffering=-1, *rest, **options):
    if _ACTIVE and mode in ("wb", "ab") and _below((file,), _ACTIVE[0].root):
        return io.BufferedWriter(_File(file, mode))
    return _real_open(file, mode, buffering, *rest, **options)


_real_open = io.open


def _fsync(descriptor):
    faults = _ACTIVE[0]
    faults.call()
    _real_fsync(descriptor)
    faults.synced(Path(os.readlink(f"/proc/self/fd/{descriptor}")))


_real_fsync = os.fsync


@cache
def _add_hook():
    sys.addaudithook(_hook)


@contextmanager
def injected(faults):
    """Counts the calls in here, and fails the one asked for. The failure itself is what the caller sees."""
    _add_hook()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", _fsync)
        patch.setattr(io, "open", _open)
        patch.setattr(builtins, "open", _open)
        for name in REQUESTS:
            patch.setattr(MemoryFileSystem, name, _counted(getattr(MemoryFileSystem, name)))
        _ACTIVE.append(faults)
        try:
            yield faults
        except PowerLoss:
            _ACTIVE.clear()
            faults.lose_power()
        finally:
            _ACTIVE.clear()


def _counted(method):
    def request(*arguments, **options):
        if _ACTIVE:
            _ACTIVE[0].call()
        return method(*arguments, **options)

    return request
