"""Writes a pack into a folder of this machine, one run after the other.

A run's tables are copied byte by byte, and each is verified as it is read. One run's tables are in memory at
a time.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from profiler.errors import RunDamaged
from profiler.store.disk import flush, write_flushed
from profiler.store.packs import layout
from profiler.store.runs.file_names import MANIFEST_FILE, table_file
from profiler.store.runs.run import Run
from profiler.store.runs.run_id import id_time
from profiler.store.tables.schema import TABLES
from profiler.store.tables.thrift import I64, LIST, STRUCT, Struct, decode_struct, encode_struct

# Joins Parquet files end to end in one file under one footer; the bytes of each file stay as they are.
#
# A Parquet footer says where each column of each row group lies. So several whole files, followed by a footer
# that lists all their row groups at their new offsets, are one Parquet file for every reader; nobody looks at
# the old footers.
#
# pyarrow cannot do this: it joins the footers of files that stay apart, and does not move offsets. It could
# encode the tables anew, one row group for each run, but a pack would then break two promises. The SHA-256 of a
# table in its run's manifest could not be checked any more. And one table could not be read in one request: its
# row group is useless without the pack's footer, which has 1.5 MB for the metrics of 2000 runs, while a whole
# file within the pack needs no other byte.
#
# So this module moves the offsets itself, and keeps the fields of a footer that it does not know.

MAGIC = b"PAR1"
_TAIL_BYTES = 8  # the footer's length and the magic
# Field numbers of parquet.thrift.
_SCHEMA, _ROWS, _GROUPS = 2, 3, 4  # of FileMetaData
_COLUMNS, _GROUP_ROWS, _GROUP_OFFSET, _ORDINAL = 1, 3, 5, 7  # of RowGroup
_CHUNK_OFFSETS, _CHUNK_META = (2, 4, 6), 3  # of ColumnChunk: itself, its indexes, its metadata
_META_OFFSETS = (9, 10, 11, 14)  # of ColumnMetaData: pages, dictionary, Bloom filter
_LAST_ORDINAL = (1 << 15) - 1


@dataclass
class JoinedFooter:
    """The footer of the joined file, to which one file after the other is appended; all have the schema of
    the first.
    """

    _first: Struct | None = None
    _groups: list[bytes] = field(default_factory=list)  # encoded, which takes a tenth of the memory
    _rows: int = 0

    @property
    def row_groups(self) -> int:
        return len(self._groups)

    def fits(self, footer: Struct) -> bool:
        """Returns whether a file with this footer may be appended."""
        return self._first is None or footer[_SCHEMA] == self._first[_SCHEMA]

    def append(self, footer: Struct, offset: int) -> None:
        """Adds the row groups of a file that lies at `offset` of the joined one, except those without rows."""
        if self._first is None:
            self._first = footer
        for group in footer[_GROUPS][1][1]:
            if group[_GROUP_ROWS][1]:
                _move(group, offset, len(self._groups))
                self._groups.append(encode_struct(group))
                self._rows += group[_GROUP_ROWS][1]

    def encode(self) -> bytes:
        """Returns the bytes that end the joined file."""
        assert self._first is not None
        footer = self._first | {_ROWS: (I64, self._rows), _GROUPS: (LIST, (STRUCT, self._groups))}
        out = encode_struct(footer)
        return out + struct.pack("<I", len(out)) + MAGIC


def read_footer(data: bytes) -> Struct:
    """Decodes the footer of a whole Parquet file; ValueError for one that cannot be joined with others."""
    if len(data) < _TAIL_BYTES or data[-4:] != MAGIC:
        raise ValueError("not a Parquet file")
    (length,) = struct.unpack_from("<I", data, len(data) - _TAIL_BYTES)
    start = len(data) - _TAIL_BYTES - length
    if start < 0:
        raise ValueError("its footer is cut off")
    try:
        JoinedFooter().append(decode_struct(data[start:])[0], 0)
        return decode_struct(data[start:])[0]  # again, since joining changes it
    except (ValueError, LookupError, TypeError) as error:
        raise ValueError(f"its footer cannot be read: {error}") from error


def _move(group: Struct, offset: int, ordinal: int) -> None:
    """Shifts all offsets of a row group, which count from the start of the file; an offset of 0 means that
    there is none.
    """
    group.pop(_ORDINAL, None)
    if ordinal <= _LAST_ORDINAL:
        group[_ORDINAL] = (4, ordinal)

    def shift(fields: Struct, number: int) -> None:
        if number in fields and fields[number][1]:
            kind, value = fields[number]
            fields[number] = (kind, value + offset)

    shift(group, _GROUP_OFFSET)
    for chunk in group[_COLUMNS][1][1]:
        for number in _CHUNK_OFFSETS:
            shift(chunk, number)
        for number in _META_OFFSETS:
            shift(chunk[_CHUNK_META][1], number)


class PackWriter:
    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.runs: dict[str, layout.ManifestLine] = {}
        self.reports: dict[str, str] = {}  # the name in the pack, and where the report is now
        self._tables = {table: _TableWriter(folder / table_file(table)) for table in TABLES}
        self._manifests = _Hashed(folder / layout.MANIFESTS_FILE)

    @property
    def size_bytes(self) -> int:
        return sum(table.file.size_bytes for table in self._tables.values())

    def add(self, run: Run, manifest: bytes) -> bool:
        """Adds a run; returns False, and adds nothing, when its tables have other columns than those of this pack."""
        text, found = _one_line(manifest), dict[str, tuple[bytes, Struct]]()
        for table, stored in run.manifest.tables.items():
            if self._tables[table].place_of(stored.sha256) is None:
                data = run.readable_bytes(table)
                try:
                    found[table] = data, read_footer(data)
                except ValueError as error:
                    raise RunDamaged(f"{run.files.shown(stored.file)}: {error}") from error
        if not all(self._tables[table].footer.fits(footer) for table, (_, footer) in found.items()):
            return False
        extents = {
            table: self._tables[table].place_of(stored.sha256)
            or self._tables[table].append(*found[table], None if stored.rows else stored.sha256)
            for table, stored in run.manifest.tables.items()
        }
        line = msgspec.json.encode(layout.PackedRun(msgspec.Raw(text), extents)) + b"\n"
        self.runs[run.manifest.run_id] = layout.ManifestLine(
            self._manifests.size_bytes, len(line), hashlib.sha256(line).hexdigest()
        )
        self._manifests.write(line)
        for report in run.manifest.reports:
            if report.file is not None:
                self.reports[layout.packed_report(report)] = run.files.report_name(report)
        return True

    def close(self) -> str:
        """Finishes the files, `pack.json` among them, and returns the name of the pack."""
        for table in self._tables.values():
            table.file.write(table.footer.encode())
        written = {table_file(table): writer.file for table, writer in self._tables.items()}
        files = {
            name: file.close() for name, file in {**written, layout.MANIFESTS_FILE: self._manifests}.items()
        }
        index = msgspec.json.encode(layout.PackIndex(layout.VERSION, self.runs, files)) + b"\n"
        write_flushed(self.folder / layout.PACK_FILE, index)
        return layout.pack_name(id_time(datetime.now(UTC)), index)


class _TableWriter:
    def __init__(self, path: Path) -> None:
        self.file = _Hashed(path)
        self.footer = JoinedFooter()
        self._empty: dict[str, layout.TableExtent] = {}

    def place_of(self, sha256: str) -> layout.TableExtent | None:
        """Returns the place of a table that was written before: an empty table is the same file in every run and is
        written once.
        """
        return self._empty.get(sha256)

    def append(self, data: bytes, footer: Struct, empty_sha256: str | None) -> layout.TableExtent:
        offset, first = self.file.size_bytes, self.footer.row_groups
        self.file.write(data)
        self.footer.append(footer, offset)
        extent = layout.TableExtent(offset, len(data), first, self.footer.row_groups - first)
        if empty_sha256 is not None:
            self._empty[empty_sha256] = extent
        return extent


class _Hashed:
    """A file that is hashed while it is written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._digest = hashlib.sha256()
        self.size_bytes = 0

    def write(self, data: bytes) -> None:
        with self._path.open("ab") as file:  # nothing stays open when the work is interrupted
            file.write(data)
        self._digest.update(data)
        self.size_bytes += len(data)

    def close(self) -> layout.PackedFile:
        flush(self._path)
        return layout.PackedFile(self.size_bytes, self._digest.hexdigest())


def _one_line(manifest: bytes) -> bytes:
    """Puts the manifest on one line. Only white space changes, so a manifest of any version stays what it is."""
    try:
        return msgspec.json.format(manifest, indent=-1)
    except msgspec.DecodeError as error:
        raise RunDamaged(f"{MANIFEST_FILE}: not JSON: {error}") from error
