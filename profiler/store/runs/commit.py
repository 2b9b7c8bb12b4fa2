"""How a run comes to exist: whole, once, or not at all.

A process fills a folder under `.staging/`, which no reader looks at, and `commit` renames
it into place while it holds the store's lock. A process that dies leaves its staging
folder behind, unlocked; the next one to stage anything sweeps it away.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from profiler.errors import DiskFull, StoreNotWritable
from profiler.store.file_names import HASH_CHARACTERS, table_file
from profiler.store.remote.places import Folder, Location
from profiler.store.runs.index import RunIndex
from profiler.store.runs.manifest import RunId, StoredTable

if TYPE_CHECKING:
    import pyarrow as pa

STAGING_FOLDER = ".staging"
_OWNER_FILE = "owner"
_LOCK_FILE = ".lock"


class Staging:
    """One process's place to prepare runs in; use it in a `with` statement."""

    def __init__(self, root: Path) -> None:
        self.root = root
        try:
            root.mkdir(parents=True, exist_ok=True)
            with locked(root / _LOCK_FILE):
                make_shared_folder(root / STAGING_FOLDER, root)
                _sweep(root / STAGING_FOLDER)
                self._own = Path(tempfile.mkdtemp(dir=root / STAGING_FOLDER))
                self._owner = try_lock(self._own / _OWNER_FILE)
        except OSError as error:
            raise storage_error(error, root) from error
        self._count = 0
        self._index = RunIndex(Folder(root))
        self._hashes: set[str] = set()
        self._changed_ns: int | None = None  # when we were the last to change `root`

    def folder(self) -> Path:
        """A fresh folder name for one run; whoever fills it creates it."""
        self._count += 1
        return self._own / str(self._count)

    def discard(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)

    def commit(self, folder: Path, run_id: str) -> Location | None:
        """Rename `folder` to its run; None when a run of the same report exists already."""
        run = RunId.parse(run_id)
        assert run is not None, run_id
        target = self.root / run_id
        try:
            with locked(self.root / _LOCK_FILE):
                if self._is_known(run):
                    self.discard(folder)
                    return None
                flush(folder)
                os.rename(folder, target)
                self._remember(run)
                flush(self.root)
        except OSError as error:
            raise storage_error(error, self.root) from error
        return target

    def _is_known(self, run: RunId) -> bool:
        """The runs are listed again only where another has changed the folder since we did."""
        if self._changed_ns is None or self.root.stat().st_mtime_ns != self._changed_ns:
            self._hashes = {name[-HASH_CHARACTERS:] for name in self._index.names()}
        return run.hash in self._hashes

    def _remember(self, run: RunId) -> None:
        """The folder gets a time of our own: by the clock that it goes by, which may stand still for milliseconds,
        the commit of another right after ours would not show.
        """
        self._hashes.add(run.hash)
        self._changed_ns = None
        now_ns = time.time_ns()
        with suppress(OSError):  # in the folder of another user, or where times cannot be set
            os.utime(self.root, ns=(now_ns, now_ns))
            if self.root.stat().st_mtime_ns == now_ns:  # else the file system keeps no times as fine
                self._changed_ns = now_ns

    def add(self, folder: Path, name: str) -> None:
        """Rename what was prepared to its name, whatever it is."""
        try:
            with locked(self.root / _LOCK_FILE):
                flush(folder)
                os.rename(folder, self.root / name)
                flush(self.root)
        except OSError as error:
            raise storage_error(error, self.root) from error

    def take_away(self, names: Iterable[str]) -> None:
        """Each is gone at once: out of sight by a rename, and from the disk after that."""
        away = self.folder()
        try:
            away.mkdir()
            with locked(self.root / _LOCK_FILE):
                for name in names:
                    with suppress(FileNotFoundError):
                        os.rename(self.root / name, away / name)
                flush(self.root)
        except OSError as error:
            raise storage_error(error, self.root) from error
        self.discard(away)

    def __enter__(self) -> Staging:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self._own, ignore_errors=True)
        if self._owner is not None:
            os.close(self._owner)
        with suppress(OSError), locked(self.root / _LOCK_FILE):
            (self.root / STAGING_FOLDER).rmdir()


def storage_error(error: OSError, place: Location) -> DiskFull | StoreNotWritable:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(f"{place}: the disk is full")
    return StoreNotWritable(f"{place}: cannot be written: {error.strerror or error}")


def write_table(folder: Path, name: str, table: pa.Table) -> StoredTable:
    """A table of a run that is being prepared; hashed before the disk has it, so that the hash is ours."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    data = sink.getvalue()
    path = folder / table_file(name)
    path.write_bytes(data)
    flush(path)
    return StoredTable(path.name, table.num_rows, hashlib.sha256(data).hexdigest())


def flush(path: Path) -> None:
    """A file or a folder, down to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_shared_folder(folder: Path, root: Path) -> None:
    """Whoever may add a run to `root` may prepare one, whatever the umask of the first."""
    with suppress(FileExistsError):
        folder.mkdir()
        folder.chmod(stat.S_IMODE(root.stat().st_mode))


def _sweep(staging: Path) -> None:
    """Remove what dead processes left: a living one holds the lock on its owner file."""
    for folder in staging.iterdir():
        lock = try_lock(folder / _OWNER_FILE)
        if lock is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)


def try_lock(path: Path) -> int | None:
    """None where a process holds it, or where it is another user's, who may be at work."""
    try:
        descriptor = _open_lock(path)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Waits until no other has it, process or thread; the file stays."""
    descriptor = _open_lock(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _open_lock(path: Path) -> int:
    """To lock a file takes no right to write it, and that of another user may give none."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except PermissionError:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
