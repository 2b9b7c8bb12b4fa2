"""Writes a pack into a folder of this machine, one run after the other.

A run's tables are copied byte by byte, and each is verified as it is read. One run's tables are in memory at
a time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from profiler.errors import RunDamaged
from profiler.store.disk import flush, write_flushed
from profiler.store.packs import layout
from profiler.store.packs.joined_parquet import JoinedFooter, read_footer
from profiler.store.runs.file_names import table_file
from profiler.store.runs.run import Run
from profiler.store.runs.run_id import id_time
from profiler.store.tables.schema import TABLES
from profiler.store.tables.thrift import Struct


def add_to_one(writers: list[PackWriter], run: Run, new_folder: Callable[[], Path]) -> PackWriter:
    """Adds a run to the first pack whose tables have the same columns, or to a new one, and returns that pack's writer."""
    for writer in writers:
        if writer.add(run):
            return writer
    writers.append(PackWriter(new_folder()))
    writers[-1].add(run)
    return writers[-1]


class PackWriter:
    """A pack under way: the runs in it so far, and the reports that will move into it."""

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

    def add(self, run: Run) -> bool:
        """Adds a run; returns False, and adds nothing, when its tables have other columns than those of this pack."""
        found: dict[str, tuple[bytes, Struct]] = {}
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
        # On one line. Only white space changes, so a manifest of any version stays what it is.
        manifest = msgspec.Raw(msgspec.json.format(run.written, indent=-1))
        line = msgspec.json.encode(layout.PackedRun(manifest, extents)) + b"\n"
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
