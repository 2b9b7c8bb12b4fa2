"""Collections under way: what each process recorded, kept until all of them have.

`runs/.pending/<key>/` belongs to one collection, which is what its key is the hash of: kernel, binary,
workload and all that ncu is asked for. Every file is written aside, flushed and renamed, and a
report's name holds its hash, so that whoever goes on after a kill can tell what is whole.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import msgspec

from profiler.errors import CollectBusy, ProfError
from profiler.store.reports.identity import REPORT_SUFFIX, copy_report, sha256_of_report
from profiler.store.reports.request import Timing
from profiler.store.runs.commit import flush, make_shared_folder, storage_error, try_lock
from profiler.store.tables.decoding import decodable

PENDING_FOLDER = ".pending"
_OWNER_FILE = "owner"
_KEY_CHARACTERS = 24
_Stored = TypeVar("_Stored")


@decodable
class Plan(msgspec.Struct, frozen=True):
    """What holds for all processes of the collection."""

    name: str
    seed: int
    gpu_uuid: str = ""  # which GPU recorded it; not known of what an older prof began


@decodable
class ProcessTimings(msgspec.Struct, frozen=True):
    reference: str | None
    timings: list[Timing]
    runtime: str | None = None


class Pending:
    """One collection's folder, which one prof at a time may have; use it in a `with` statement."""

    def __init__(self, root: Path, key: str) -> None:
        self.folder = _folder_of(root, key)
        try:
            self._owner = _lock_folder(self.folder, root)
        except OSError as error:
            raise storage_error(error, root) from error
        if self._owner is None:
            raise CollectBusy(f"{self.folder}: another prof collects the very same")

    def plan(self, fresh: Plan) -> Plan:
        """The one that an earlier call began with, or this.

        What another GPU recorded is discarded: no two are equally fast.
        """
        known = self._read("plan.json", Plan)
        if known is not None and known.gpu_uuid not in ("", fresh.gpu_uuid):
            self.discard()
            known = None
        if known is None:
            self._write("plan.json", fresh)
        return known or fresh

    def report(self, process: int) -> Path | None:
        """What this process recorded, if it is there and whole."""
        for path in self.folder.glob(f"process-{process}-*{REPORT_SUFFIX}"):
            with suppress(ProfError):
                if sha256_of_report(path) in path.name:
                    return path
            path.unlink(missing_ok=True)
        return None

    def keep_report(self, process: int, recorded: Path) -> Path:
        target = self.folder / f"process-{process}-{sha256_of_report(recorded)}{REPORT_SUFFIX}"
        try:
            aside = self._aside(target.name)
            copy_report(recorded, aside)
            flush(aside)
            os.replace(aside, target)
            flush(self.folder)
        except OSError as error:
            raise storage_error(error, self.folder) from error
        return target

    def timings(self, process: int) -> ProcessTimings | None:
        return self._read(f"timings-{process}.json", ProcessTimings)

    def keep_timings(self, process: int, timings: ProcessTimings) -> None:
        self._write(f"timings-{process}.json", timings)

    def discard(self) -> None:
        """The run is committed, or is to be measured afresh."""
        for entry in self.folder.iterdir():
            if entry.name != _OWNER_FILE:
                entry.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if [entry.name for entry in self.folder.iterdir()] == [_OWNER_FILE]:
            shutil.rmtree(self.folder, ignore_errors=True)
        if self._owner is not None:
            os.close(self._owner)
        with suppress(OSError):
            self.folder.parent.rmdir()

    def _read(self, name: str, kind: type[_Stored]) -> _Stored | None:
        with suppress(OSError, msgspec.DecodeError, UnicodeDecodeError):
            return msgspec.json.decode((self.folder / name).read_bytes(), type=kind)
        return None

    def _write(self, name: str, value: msgspec.Struct) -> None:
        try:
            aside = self._aside(name)
            aside.write_bytes(msgspec.json.encode(value))
            flush(aside)
            os.replace(aside, self.folder / name)
        except OSError as error:
            raise storage_error(error, self.folder) from error

    def _aside(self, name: str) -> Path:
        return self.folder / f".{name}.part"


def discard_pending(root: Path, key: str) -> None:
    """What is left of a collection whose run is there: a kill came between the two."""
    if _folder_of(root, key).exists():
        with suppress(CollectBusy), Pending(root, key) as pending:
            pending.discard()


def has_pending(root: Path) -> bool:
    return (root / PENDING_FOLDER).is_dir()


def planned_gpu(root: Path, key: str) -> str:
    """The UUID of the GPU that an unfinished collection was begun on; empty where none is known."""
    with suppress(OSError, msgspec.DecodeError, UnicodeDecodeError):
        return msgspec.json.decode((_folder_of(root, key) / "plan.json").read_bytes(), type=Plan).gpu_uuid
    return ""


def _folder_of(root: Path, key: str) -> Path:
    return root / PENDING_FOLDER / key[:_KEY_CHARACTERS]


def _lock_folder(folder: Path, root: Path) -> int | None:
    """None where another prof holds it. Whoever held it last may remove it at any moment before that."""
    while True:
        with suppress(FileNotFoundError):
            root.mkdir(parents=True, exist_ok=True)
            make_shared_folder(folder.parent, root)
            make_shared_folder(folder, root)
            lock = try_lock(folder / _OWNER_FILE)
            if lock is not None and os.fstat(lock).st_nlink:
                return lock
            if lock is not None:
                os.close(lock)
            elif folder.exists():
                return None
