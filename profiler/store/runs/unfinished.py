"""Unfinished collections: keeps what each process recorded until the last one is done.

A collection has the folder `runs/.pending/<key>/`. Its key is a hash of kernel, binary, workload and
everything that ncu is asked for. Files are written aside, flushed and renamed. A report's name holds its hash, and
every other file is sealed, so that the next call knows which files are whole and unchanged.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Self, TypeVar

import msgspec

from profiler.errors import CollectBusy, ProfError
from profiler.store.disk import flush, make_root, make_shared_folder, renamed_into_place, writing_to
from profiler.store.locks import try_lock
from profiler.store.process_timings import ProcessTimings
from profiler.store.remote.places import FolderPlace
from profiler.store.reports.identity import copy_report, sha256_of_report
from profiler.store.runs.file_names import REPORT_SUFFIX
from profiler.store.runs.seal import has_seal, sealed
from profiler.store.tables.decoding import NOT_DECODED, decodable

UNFINISHED_FOLDER = ".pending"
_OWNER_FILE = "owner"
_PLAN_FILE = "plan.json"
_KEY_CHARACTERS = 24
_Stored = TypeVar("_Stored")


@decodable
class UnfinishedPlan(msgspec.Struct, frozen=True):
    """The settings with which a collection began. A call goes on with it only if it has the same ones."""

    name: str
    seed: int
    gpu_uuid: str = ""  # the GPU that recorded it; empty for a sweep


class UnfinishedCollection:
    """The folder of one collection, for one prof at a time; use it in a `with` statement."""

    def __init__(self, root: Path, key: str) -> None:
        self.folder = _folder_of(root, key)
        with writing_to(root):
            self._owner = _lock_folder(self.folder, root)
        if self._owner is None:
            raise CollectBusy(f"{self.folder}: another prof is collecting the same")

    def plan(self, fresh: UnfinishedPlan) -> UnfinishedPlan:
        """Returns the plan of an earlier call, or stores and returns this one.

        Discards what another GPU recorded, since no two GPUs are equally fast.
        """
        known = self._read(_PLAN_FILE, UnfinishedPlan)
        if known is not None and known.gpu_uuid not in ("", fresh.gpu_uuid):
            self.discard()
            known = None
        if known is None:
            self._write(_PLAN_FILE, fresh)
        return known or fresh

    def report(self, process: int) -> Path | None:
        """Returns the report that this process recorded, or None when it is missing or not whole."""
        for path in self.folder.glob(f"process-{process}-*{REPORT_SUFFIX}"):
            with suppress(ProfError):
                if sha256_of_report(path) in path.name:
                    return path
            path.unlink(missing_ok=True)
        return None

    def keep_report(self, process: int, recorded: Path) -> Path:
        name = f"process-{process}-{sha256_of_report(recorded)}{REPORT_SUFFIX}"
        return self._put(name, lambda aside: copy_report(recorded, aside))

    def timings(self, process: int) -> ProcessTimings | None:
        return self._read(f"timings-{process}.json", ProcessTimings)

    def keep_timings(self, process: int, timings: ProcessTimings) -> None:
        self._write(f"timings-{process}.json", timings)

    def discard(self) -> None:
        """Removes everything: the run is committed, or has to be measured again."""
        with writing_to(self.folder):
            for entry in self.folder.iterdir():
                if entry.name != _OWNER_FILE:
                    entry.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            with suppress(OSError):
                if os.listdir(self.folder) == [_OWNER_FILE]:
                    shutil.rmtree(self.folder, ignore_errors=True)
                self.folder.parent.rmdir()
        finally:
            if self._owner is not None:
                os.close(self._owner)

    def _read(self, name: str, kind: type[_Stored]) -> _Stored | None:
        return _read_sealed(self.folder / name, kind)

    def _write(self, name: str, value: msgspec.Struct) -> None:
        self._put(name, lambda aside: aside.write_bytes(sealed(msgspec.json.encode(value))))

    def _put(self, name: str, write: Callable[[Path], object]) -> Path:
        """Writes a file aside, flushes it and renames it into place; returns its path."""
        target = self.folder / name
        with writing_to(self.folder):
            with renamed_into_place(target) as aside:
                write(aside)
                flush(aside)
            flush(self.folder)
        return target


def discard_unfinished(root: Path, key: str) -> None:
    """Discards a collection that is committed already: a kill came between its commit and its removal."""
    if _folder_of(root, key).exists():
        with suppress(CollectBusy), UnfinishedCollection(root, key) as unfinished:
            unfinished.discard()


def has_unfinished(root: Path) -> bool:
    return (root / UNFINISHED_FOLDER).is_dir()


def planned_gpu(root: Path, key: str) -> str:
    """Returns the UUID of the GPU on which an unfinished collection was begun; empty when it is not known."""
    plan = read_plan(_folder_of(root, key))
    return plan.gpu_uuid if plan else ""


def read_plan(folder: Path) -> UnfinishedPlan | None:
    """Returns the plan of the unfinished collection in a folder; None when it is not whole."""
    return _read_sealed(folder / _PLAN_FILE, UnfinishedPlan)


def _read_sealed(path: Path, kind: type[_Stored]) -> _Stored | None:
    """Decodes a file; None when it is missing, or its seal does not fit."""
    with suppress(OSError, *NOT_DECODED):
        data = FolderPlace(path.parent).read(path.name)
        if has_seal(data):
            return msgspec.json.decode(data, type=kind)
    return None


def _folder_of(root: Path, key: str) -> Path:
    return root / UNFINISHED_FOLDER / key[:_KEY_CHARACTERS]


def _lock_folder(folder: Path, root: Path) -> int | None:
    """Makes and locks the folder; None when another prof holds it. Until then, its last owner may still remove it."""
    while True:
        with suppress(FileNotFoundError):
            make_root(root)
            make_shared_folder(folder.parent, root)
            make_shared_folder(folder, root)
            lock = try_lock(folder / _OWNER_FILE)
            if lock is not None and os.fstat(lock).st_nlink:
                return lock
            if lock is not None:
                os.close(lock)
            elif folder.exists():
                return None
