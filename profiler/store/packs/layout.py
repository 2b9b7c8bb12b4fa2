"""The layout of a pack, and how to read one: many runs in a few files, which `prof compact` wrote.

    pack-TIME-HASH/
        pack.json              the runs, where their lines are, and the hash of every file; written last
        manifests.jsonl        one line for each run: its manifest, and where its tables are in the files below
        metrics.parquet        and so on: the tables' own files end to end, under one footer (`joined_parquet.py`)
        reports/SHA256.ncu-rep.zst

A run's table is one range of bytes: the very file that the run had, so it still has the hash that its
manifest states. HASH is the start of the SHA-256 of `pack.json`, which holds a hash of every file and line,
so nothing in a pack can change unnoticed. TIME is when the pack was made. So a sorted listing shows a pack after all
runs and after the packs that it replaced, and one made while a run moves into a pack shows the run at least once.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import msgspec

from profiler.errors import RunDamaged
from profiler.store.disk import sha256_of
from profiler.store.remote.bounds import MOST_AHEAD_BYTES
from profiler.store.remote.places import Piece, Place
from profiler.store.runs.file_names import COMPRESSED_SUFFIX, HASH_CHARACTERS, table_file
from profiler.store.runs.files import RunFiles
from profiler.store.runs.manifest import Count, StoredReport
from profiler.store.runs.run_id import RunId
from profiler.store.tables.decoding import NOT_DECODED, decodable
from profiler.store.tables.schema import TABLES

PACK_FILE = "pack.json"
MANIFESTS_FILE = "manifests.jsonl"
REPORTS_FOLDER = "reports"
_NAME = re.compile(r"pack-[0-9]{8}t[0-9]{6}z-[0-9a-f]{12}")
_PART = 4  # a reader that needs more than every fourth line reads the whole file at once


class ManifestLine(msgspec.Struct, frozen=True, array_like=True):
    """The place of a run's line in `manifests.jsonl`, and its hash."""

    offset: Count
    length: Count
    sha256: str


class PackedFile(msgspec.Struct, frozen=True):
    bytes: int
    sha256: str


@decodable
class PackIndex(msgspec.Struct, frozen=True):
    version: int
    runs: dict[str, ManifestLine]
    files: dict[str, PackedFile]


class TableExtent(msgspec.Struct, frozen=True, array_like=True):
    """The place of a run's table in the pack's file: its range of bytes and of row groups."""

    offset: Count
    length: Count
    first_group: Count
    groups: Count


@decodable
class PackedRun(msgspec.Struct, frozen=True):
    """A line of `manifests.jsonl`; the manifest is as it was in `run.json`."""

    manifest: msgspec.Raw
    tables: dict[str, TableExtent]


VERSION = 1


def pack_name(time: str, index: bytes) -> str:
    return f"pack-{time}-{hashlib.sha256(index).hexdigest()[:HASH_CHARACTERS]}"


def is_pack(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


@dataclass
class Pack:
    """One pack. It never changes, so whatever was read of it stays valid."""

    place: Place
    name: str
    index: PackIndex
    _verified: dict[str, Path | RunDamaged] = field(default_factory=dict, repr=False)

    @classmethod
    def read(cls, place: Place, name: str) -> Pack:
        """Reads and checks `pack.json`; FileNotFoundError when a larger pack has replaced this one."""
        file = f"{name}/{PACK_FILE}"
        data = place.read(file)
        if pack_name(name.split("-")[1], data) != name:
            raise RunDamaged(f"{place.shown(file)}: not the one written (its SHA-256 differs)")
        try:
            index = msgspec.json.decode(data, type=PackIndex)
        except NOT_DECODED as error:
            raise RunDamaged(f"{place.shown(file)}: not the index of a pack: {error}") from error
        if index.version > VERSION:
            raise RunDamaged(
                f"{place.shown(file)}: written by a newer prof",
                remedy="Upgrade prof: `pip install -U ncu-prof`.",
            )
        names = {MANIFESTS_FILE, *map(table_file, TABLES)}
        odd = [run_id for run_id in index.runs if RunId.parse(run_id) is None] or index.files.keys() ^ names
        for one in odd:
            raise RunDamaged(f"{place.shown(file)}: not the index of a pack: {one!r} is out of place")
        lines = sorted((line.offset, line.length) for line in index.runs.values())
        if any(start + length > following for (start, length), (following, _) in pairwise(lines)):
            # A million runs that share one long line would take a million times its memory.
            raise RunDamaged(f"{place.shown(file)}: not the index of a pack: its lines overlap")
        return cls(place, name, index)

    @property
    def size_bytes(self) -> int:
        return sum(file.bytes for file in self.index.files.values())

    def lines(self, run_ids: Iterable[str]) -> dict[str, bytes]:
        """Returns the runs' lines of `manifests.jsonl` as they are now. `verified_line` refuses one that has changed."""
        wanted = {run_id: self.index.runs[run_id] for run_id in run_ids}
        file = f"{self.name}/{MANIFESTS_FILE}"
        found: dict[str, bytes] = {}
        if len(wanted) > len(self.index.runs) // _PART:
            whole = self.place.read(file)
            found = {one: whole[line.offset : line.offset + line.length] for one, line in wanted.items()}
        else:
            pieces = [(file, line.offset, line.offset + line.length) for line in wanted.values()]
            for one, data in zip(wanted, self.place.read_all(pieces, MOST_AHEAD_BYTES), strict=True):
                if isinstance(data, OSError):
                    raise data
                found[one] = data
        return found

    def verified_line(self, run_id: str, line: bytes) -> bytes:
        """Returns the line unchanged; RunDamaged when it is not the one written."""
        if hashlib.sha256(line).hexdigest() != self.index.runs[run_id].sha256:
            where = self.shown(MANIFESTS_FILE)
            raise RunDamaged(f"{where}: the line of {run_id} is not the one written (its SHA-256 differs)")
        return line

    def verified_file(self, name: str) -> Path:
        """Returns a file of all runs, such as a table, as a file of this machine, whose hash is checked once.

        Of runs at a URL, it is copied to this machine, where it stays for those who read it next.
        """
        if name not in self._verified:
            path = self.place.file(f"{self.name}/{name}")
            if sha256_of(path) == self.index.files[name].sha256:
                self._verified[name] = path
            else:
                changed = f"{self.shown(name)}: not the one written (its SHA-256 differs)"
                self._verified[name] = RunDamaged(changed)
        found = self._verified[name]
        if isinstance(found, RunDamaged):
            raise found
        return found

    def shown(self, file: str) -> str:
        return self.place.shown(f"{self.name}/{file}")


@dataclass
class PackedFiles(RunFiles):
    """The files of a run in a pack: each table is a range of bytes in the pack's file, and a range of its row
    groups.
    """

    pack: Pack
    line: PackedRun

    def piece(self, table: str) -> Piece:
        extent = self.line.tables[table]
        return f"{self.pack.name}/{table_file(table)}", extent.offset, extent.offset + extent.length

    def parquet(self, table: str) -> tuple[Path, range | None]:
        extent = self.line.tables[table]
        groups = range(extent.first_group, extent.first_group + extent.groups)
        return self.pack.verified_file(table_file(table)), groups

    def shown(self, file: str) -> str:
        return f"{self.pack.shown(file)} (of {self.name})"

    def report_name(self, report: StoredReport) -> str:
        return f"{self.pack.name}/{packed_report(report)}"


def packed_report(report: StoredReport) -> str:
    """Returns the name of a report within a pack."""
    return f"{REPORTS_FOLDER}/{report.sha256}{COMPRESSED_SUFFIX}"


def read_line(line: bytes, where: str) -> PackedRun:
    try:
        packed = msgspec.json.decode(line, type=PackedRun)
    except NOT_DECODED as error:
        raise RunDamaged(f"{where}: not a line of a pack: {error}") from error
    for table in packed.tables.keys() ^ TABLES.keys():
        raise RunDamaged(f"{where}: not a line of a pack: table {table!r} is out of place")
    return packed
