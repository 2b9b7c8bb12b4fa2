"""One run: its tables and reports, read on demand and refused when they changed."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from profiler.errors import ReportError, ReportNotFound, ReportUnreadable, RunDamaged, RunUnreadable
from profiler.store.remote.places import FolderPlace, Location, reading_from
from profiler.store.reports.identity import sha256_of_report
from profiler.store.runs.files import RunFiles
from profiler.store.runs.manifest import Manifest, StoredReport
from profiler.store.tables.columns import find_stretches
from profiler.store.tables.reading import read_table
from profiler.store.tables.schema import TABLES, arrow_schema, check_table, upgraded

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_Read = TypeVar("_Read")
_FETCHERS = 8


@dataclass
class Run:
    """One run: its manifest, and its tables, which are read on demand.

    Each table is hashed as it is read and compared with the manifest, so that a changed file gives an error
    and never a wrong figure. `_find_again` finds the files once more when `prof compact` has moved them.
    """

    path: Location
    manifest: Manifest
    stored: bool = True
    times_from: Run | None = None  # the run whose times without the profiler stand for its own
    # Stored reports that were looked for and are missing.
    reports_gone: list[str] = field(default_factory=list)
    written: bytes = field(default=b"", repr=False)  # its manifest as it was written, which a pack keeps
    _tables: dict[str, pa.Table] = field(default_factory=dict, repr=False)
    _parts: dict[str, pa.Table] = field(default_factory=dict, repr=False)  # the columns read last of each
    _spans_of: dict[str, dict[int, list[tuple[int, int]]]] = field(default_factory=dict, repr=False)
    _files: RunFiles | None = field(default=None, repr=False)
    _find_again: Callable[[], RunFiles] | None = field(default=None, repr=False)

    @property
    def files(self) -> RunFiles:
        if self._files is None:
            folder = Path(self.path)
            self._files = RunFiles(FolderPlace(folder.parent), folder.name, self.manifest.tables)
        return self._files

    @property
    def label(self) -> str:
        """Returns the run as a person calls it: its rung, its name, or the report's path."""
        manifest = self.manifest
        if not self.stored:
            return str(self.path)
        if manifest.kernel is not None:
            return f"{manifest.ladder} {manifest.kernel}"
        return manifest.name

    def table(self, name: str) -> pa.Table:
        if name not in self._tables:
            self._tables[name] = self._decoded(name, self.table_bytes(name))
        return self._tables[name]

    def columns(self, name: str, *columns: str) -> pa.Table:
        """Returns some columns of a table, in the table's order, and reads no others if these were not read before."""
        wanted = frozenset(columns)
        for held in (self._tables.get(name), self._parts.get(name)):
            if held is not None and wanted.issubset(held.column_names):
                return held.select([one for one in held.column_names if one in wanted])
        self._parts[name] = self._decoded(name, self.table_bytes(name), wanted)
        return self._parts[name]

    def of_launches(self, launches: Collection[int], *, timed: bool = True) -> Run:
        """Returns this run with the rows of these launches alone; unless `timed`, without times, which are those of the whole program."""
        import pyarrow as pa

        tables = {name: self.table(name) for name in TABLES if name != "timings"}
        for name, table in tables.items():
            spans = [span for launch in sorted(launches) for span in self._spans(name).get(launch, ())]
            parts = [table.slice(start, length) for start, length in spans] or [table.slice(0, 0)]
            tables[name] = pa.concat_tables(parts).combine_chunks()
        if not timed:
            tables["timings"] = self.table("timings").slice(0, 0)
        return replace(self, _tables={**self._tables, **tables}, _spans_of={})

    def _spans(self, name: str) -> dict[int, list[tuple[int, int]]]:
        """Returns where the rows of each launch are in a table: starts and lengths."""
        if name not in self._spans_of:
            spans = self._spans_of[name] = {}
            for launch, start, length in find_stretches(self.table(name).column("launch").to_pylist()):
                spans.setdefault(launch, []).append((start, length))
        return self._spans_of[name]

    def with_times_of(self, timed: Run) -> Run:
        """Returns this run with the times of another run of the same program."""
        return replace(self, times_from=timed, _tables={**self._tables, "timings": timed.table("timings")})

    def to_pandas(self, name: str) -> pd.DataFrame:
        return self.table(name).to_pandas()

    def verify(self) -> None:
        """Raises RunDamaged unless the stored reports and every table are as recorded."""
        self.verify_reports()
        self.forget_reports()
        for name in self.manifest.tables:
            self.table_bytes(name)

    def verify_reports(self, *, left_elsewhere: bool = True, may_be_gone: bool = False) -> None:
        """Raises RunDamaged unless the stored reports are as recorded, and the `left_elsewhere` ones that
        still exist too. A stored report that `may_be_gone` is noted in `reports_gone` instead.
        """
        if self.is_far:
            self._fetch_reports()
        for report in self.manifest.reports:
            if left_elsewhere or report.file is not None:
                try:
                    self.verify_report(report)
                except RunDamaged as error:
                    missing = isinstance(error.__cause__, (FileNotFoundError, ReportNotFound))
                    if not (may_be_gone and missing and report.file is not None):
                        raise
                    self.reports_gone.append(self.files.shown_report(report))

    def forget_reports(self) -> None:
        """Removes the copies on this machine of reports at a URL."""
        for report in self.manifest.reports:
            if report.file is not None:
                self.files.place.forget(self.files.report_name(report))

    def report_path(self, report: StoredReport) -> Path:
        """Returns a file of this machine: the stored report, or the original when that was not copied."""
        if report.file is None:
            return Path(report.reference or "")
        return self._reading(lambda: self.files.report(report))

    def table_bytes(self, name: str) -> bytes:
        """Returns the Parquet file of a table; RunDamaged unless it is as recorded."""
        return self._reading_table(name, lambda: self.files.table(name))

    def readable_bytes(self, name: str) -> bytes:
        """Returns the Parquet file of a table; RunDamaged unless it is as recorded, and can be read."""
        data = self.table_bytes(name)
        self._decoded(name, data)
        return data

    @property
    def is_far(self) -> bool:
        """Returns whether the run is at a URL, where every read is a request."""
        return not isinstance(self.path, Path)

    def parquet(self, name: str) -> tuple[Path, range | None]:
        """Returns a verified Parquet file of this machine, and which of its row groups are the table: None for all of them."""
        return self._reading_table(name, lambda: self.files.parquet(name))

    def _fetch_reports(self) -> None:
        """Fetches all reports at once. Ignores failures: whoever needs the report next gets the error."""
        from concurrent.futures import ThreadPoolExecutor

        def fetch(report: StoredReport) -> None:
            with suppress(OSError):
                self.report_path(report)

        with ThreadPoolExecutor(_FETCHERS) as threads:
            list(threads.map(fetch, self.manifest.reports))

    def verify_report(self, report: StoredReport) -> None:
        if report.file is None and not os.path.exists(report.reference or ""):
            return  # an original that was not copied may be gone
        shown = self.files.shown_report(report) if report.file is not None else report.reference
        try:
            with reading_from(str(shown)):
                path = self.report_path(report)
                actual = sha256_of_report(path)
        except ReportError as error:
            kind = RunUnreadable if isinstance(error, ReportUnreadable) else RunDamaged
            message = error.message.replace(str(path), str(shown))
            raise kind(f"{message} (it is the run's report)") from error
        if actual != report.sha256:
            raise RunDamaged(f"{shown}: the run's report is not the one recorded (its SHA-256 differs)")

    def _decoded(self, name: str, data: bytes, some: frozenset[str] | None = None) -> pa.Table:
        where, rows = self.files.shown_table(name), self.manifest.tables[name].rows
        table = read_table(data, arrow_schema(name, some), rows, where, whole=some is None)
        return check_table(upgraded(table, name, some), name, where, some)

    def _reading_table(self, name: str, read: Callable[[], _Read]) -> _Read:
        with reading_from(self.files.shown_table(name)):
            return self._reading(read)

    def _reading(self, read: Callable[[], _Read]) -> _Read:
        """Reads; when `prof compact` has moved the run since it was found, finds it again and reads once more."""
        try:
            return read()
        except FileNotFoundError:
            if self._find_again is None:
                raise
            self._files = self._find_again()
            return read()
