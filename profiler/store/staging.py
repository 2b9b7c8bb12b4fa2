"""How a run comes to exist: whole, once, or not at all.

A process fills a folder under `.staging/`, which no reader looks at, and `commit` renames
it into place while it holds the store's lock. A process that dies leaves its staging
folder behind, unlocked; the next one to stage anything sweeps it away.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

from profiler.errors import DiskFull, StoreNotWritable
from profiler.store.manifest import RunId

STAGING_FOLDER = ".staging"
_OWNER_FILE = "owner"
_LOCK_FILE = ".lock"


class Staging:
    """One process's place to prepare runs in; use it in a `with` statement."""

    def __init__(self, root: Path) -> None:
        self.root = root
        try:
            root.mkdir(parents=True, exist_ok=True)
            with _locked(root / _LOCK_FILE):
                (root / STAGING_FOLDER).mkdir(exist_ok=True)
                _sweep(root / STAGING_FOLDER)
                self._own = Path(tempfile.mkdtemp(dir=root / STAGING_FOLDER))
                self._owner = _try_lock(self._own / _OWNER_FILE)
        except OSError as error:
            raise storage_error(error, root) from error
        self._count = 0

    def folder(self) -> Path:
        """A fresh folder name for one run; whoever fills it creates it."""
        self._count += 1
        return self._own / str(self._count)

    def discard(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)

    def commit(self, folder: Path, run_id: str) -> Path | None:
        """Rename `folder` to its run; None when a run of the same report exists already."""
        run = RunId.parse(run_id)
        assert run is not None, run_id
        target = self.root / run_id
        try:
            with _locked(self.root / _LOCK_FILE):
                if any(name.endswith(run.hash) for name in _listing(self.root)):
                    self.discard(folder)
                    return None
                _flush_folder(folder)
                os.rename(folder, target)
                _flush_folder(self.root)
        except OSError as error:
            raise storage_error(error, self.root) from error
        return target

    def __enter__(self) -> Staging:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self._own, ignore_errors=True)
        if self._owner is not None:
            os.close(self._owner)
        with suppress(OSError), _locked(self.root / _LOCK_FILE):
            (self.root / STAGING_FOLDER).rmdir()


def storage_error(error: OSError, place: Path) -> DiskFull | StoreNotWritable:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(f"{place}: the disk is full")
    return StoreNotWritable(f"{place}: cannot be written: {error.strerror or error}")


def _listing(root: Path) -> list[str]:
    return [name for name in os.listdir(root) if not name.startswith(".")]


def _sweep(staging: Path) -> None:
    """Remove what dead processes left: a living one holds the lock on its owner file."""
    for folder in staging.iterdir():
        lock = _try_lock(folder / _OWNER_FILE)
        if lock is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)


def _try_lock(path: Path) -> int | None:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
