"""Commits runs to a folder: each exists whole and once, or not at all.

A process fills a folder under `.staging/`, where no reader looks, and `commit` renames it into place while it
holds the store's lock. A process that dies leaves its staging folder behind, unlocked; the next process that
stages removes it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from profiler.errors import StoreLocked
from profiler.store.disk import flush, make_root, make_shared_folder, write_flushed, writing_to
from profiler.store.locks import held_if_free, locked, try_lock
from profiler.store.remote.places import FolderPlace, Location
from profiler.store.runs.file_names import HASH_CHARACTERS, table_file
from profiler.store.runs.index import RunIndex
from profiler.store.runs.manifest import StoredTable, read_manifest
from profiler.store.runs.run_id import RunId

if TYPE_CHECKING:
    import pyarrow as pa

STAGING_FOLDER = ".staging"
DAMAGED_FOLDER = "damaged"
_OWNER_FILE = "owner"
_LOCK_FILE = ".lock"


class Staging:
    """The folder in which one process prepares runs; use it in a `with` statement."""

    def __init__(self, root: Path) -> None:
        self.root = root
        with writing_to(root):
            make_root(root)
            with locked(root / _LOCK_FILE):
                make_shared_folder(root / STAGING_FOLDER, root)
                for left in find_left_staging(root):
                    _remove(left)
                self._own = Path(tempfile.mkdtemp(dir=root / STAGING_FOLDER))
                self._owner = try_lock(self._own / _OWNER_FILE)
        self._folders = count(1)
        self._index = RunIndex(FolderPlace(root))
        self._names: dict[str, list[str]] = {}  # of the runs, by the hash in their ids
        self._changed_ns: int | None = None  # the time of `root` after our last change to it

    def folder(self) -> Path:
        """Returns the path of a new folder for one run; whoever fills it creates it. Several threads may ask."""
        return self._own / str(next(self._folders))

    def discard(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)

    def commit(self, folder: Path, run_id: str) -> Location | None:
        """Renames `folder` to its run and returns where it is; None when there is a run of the same report already."""
        run = RunId.parse(run_id)
        assert run is not None, run_id
        target = self.root / run_id
        with writing_to(self.root), locked(self.root / _LOCK_FILE):
            if self._is_known(run, folder):
                self.discard(folder)
                return None
            flush(folder)
            os.rename(folder, target)
            self._remember(run)
            flush(self.root)
        return target

    def _is_known(self, run: RunId, folder: Path) -> bool:
        """Returns whether there is a run of the same report as the one in `folder`."""
        known = self._names_by_hash().get(run.hash)
        return known is not None and self._index.holds(read_manifest(folder).sha256, known)

    def _names_by_hash(self) -> dict[str, list[str]]:
        """Returns the names of the runs. Lists them again only when another process has added one."""
        if self._changed_ns is None or self.root.stat().st_mtime_ns != self._changed_ns:
            self._names = names_by_hash(self._index.names())
        return self._names

    def _remember(self, run: RunId) -> None:
        """Notes our own commit, and gives the folder a time of our choice.

        The file system's clock may stand still for milliseconds, and would then hide another process's commit
        right after ours.
        """
        self._names.setdefault(run.hash, []).append(str(run))
        self._changed_ns = None
        now_ns = time.time_ns()
        with suppress(OSError):  # another user's folder, or a file system without settable times
            os.utime(self.root, ns=(now_ns, now_ns))
            if self.root.stat().st_mtime_ns == now_ns:  # else the file system's times are too coarse
                self._changed_ns = now_ns

    def add(self, folder: Path, name: str) -> None:
        """Renames a prepared folder, which need not be a run, into place."""
        with writing_to(self.root), locked(self.root / _LOCK_FILE):
            flush(folder)
            os.rename(folder, self.root / name)
            flush(self.root)

    def take_away(self, names: Iterable[str]) -> None:
        """Removes runs or packs. Each disappears by one rename, and from the disk after that."""
        away = self.folder()
        with writing_to(self.root):
            away.mkdir()
            with locked(self.root / _LOCK_FILE):
                for name in names:
                    with suppress(FileNotFoundError):
                        os.rename(self.root / name, away / name)
                flush(self.root)
        self.discard(away)

    def set_aside(self, name: str, why: str) -> Path:
        """Moves a run or a pack to the folder of damaged ones, beside a file that says why, and returns its new path.

        The reason is written first: a call that is killed leaves at worst a reason without a run.
        """
        aside = next(one for one in map(self.root.joinpath, damaged_folders()) if not (one / name).exists())
        with writing_to(self.root):
            for folder in (self.root / DAMAGED_FOLDER, aside):
                make_shared_folder(folder, self.root)
                flush(folder.parent)  # or a power failure could take the folder away with the run in it
            reason = aside / f"{name}.txt"
            reason.unlink(missing_ok=True)  # it may be a link
            write_flushed(reason, f"{why}\n".encode())
            with locked(self.root / _LOCK_FILE):
                os.rename(self.root / name, aside / name)
                for folder in (aside, aside.parent, self.root):
                    flush(folder)
        return aside / name

    def __enter__(self) -> Staging:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._own, ignore_errors=True)
        if self._owner is not None:
            os.close(self._owner)
        with suppress(OSError, StoreLocked), locked(self.root / _LOCK_FILE):
            (self.root / STAGING_FOLDER).rmdir()


def damaged_folders() -> Iterator[str]:
    """Yields the folders for damaged runs, without end: `damaged/2` is for a name that `damaged` holds already, and so on."""
    yield DAMAGED_FOLDER
    yield from (f"{DAMAGED_FOLDER}/{number}" for number in count(2))


def names_by_hash(names: Iterable[str]) -> dict[str, list[str]]:
    """Returns the names of runs by the hash in them."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(name[-HASH_CHARACTERS:], []).append(name)
    return found


def write_table(folder: Path, name: str, table: pa.Table) -> StoredTable:
    """Writes a table of a run. The hash is taken before the bytes reach the disk, so it shows what was meant."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    data = sink.getvalue()
    path = folder / table_file(name)
    write_flushed(path, data)
    return StoredTable(path.name, table.num_rows, hashlib.sha256(data).hexdigest())


def find_left_staging(root: Path) -> list[Path]:
    """Returns the folders that dead processes left behind. A living process holds the lock on its owner file."""
    left = []
    with suppress(FileNotFoundError):
        for folder in sorted((root / STAGING_FOLDER).iterdir()):
            if _is_left(folder / _OWNER_FILE):
                left.append(folder)
    return left


def _remove(left: Path) -> None:
    """Removes a folder, or what somebody put in its place: `rmtree` would wait for a pipe, and leave a link."""
    with suppress(OSError):
        if stat.S_ISDIR(left.lstat().st_mode):
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink()


def _is_left(owner: Path) -> bool:
    try:
        if not owner.exists():
            return True
        with held_if_free(owner) as is_free:
            return is_free or not owner.exists()
    except OSError:  # another user's, who may be at work; or a link
        return False
