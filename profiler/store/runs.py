"""The runs: find one, read its tables, refuse it when it changed.

`RunStore` is a folder or a URL of runs; `Run` is one recording in it. A report that was never stored
becomes a `Run` too (see `open_report`), so nothing downstream needs to know.
"""

from __future__ import annotations

import difflib
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from profiler.errors import ReportError, RunDamaged, RunNotFound
from profiler.store.manifest import (
    MANIFEST_FILE,
    Manifest,
    RunId,
    StoredReport,
    decode_manifest,
    rung_name,
    timed_name,
)
from profiler.store.places import Folder, Location, place_of
from profiler.store.run_files import LooseFiles, RunFiles
from profiler.store.schema import SCHEMA_VERSION, TABLES, check_table, upgraded

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from profiler.store.staging import Staging

_Read = TypeVar("_Read")


@dataclass
class Run:
    """One recording: its manifest, and its tables read on demand.

    Each table is hashed as it is read and compared with the manifest, so that a changed
    file is an error and never a figure.
    """

    path: Location
    manifest: Manifest
    stored: bool = True
    _tables: dict[str, pa.Table] = field(default_factory=dict, repr=False)
    _files: RunFiles | None = field(default=None, repr=False)
    _find_again: Callable[[], RunFiles | None] = field(default=lambda: None, repr=False)

    @property
    def files(self) -> RunFiles:
        if self._files is None:
            folder = Path(self.path)
            self._files = LooseFiles(Folder(folder.parent), folder.name)
        return self._files

    @property
    def label(self) -> str:
        """What a person calls it: a rung, a name, or the report's path."""
        manifest = self.manifest
        if not self.stored:
            return str(self.path)
        if manifest.kernel is not None:
            return f"{manifest.ladder} {manifest.kernel}"
        return manifest.name

    def table(self, name: str) -> pa.Table:
        if name not in self._tables:
            self._tables[name] = self._read_table(name)
        return self._tables[name]

    def to_pandas(self, name: str) -> pd.DataFrame:
        return self.table(name).to_pandas()

    def verify(self) -> None:
        """Raise RunDamaged unless the stored reports and every table are as recorded."""
        self.verify_reports()
        for name in self.manifest.tables:
            self.table_bytes(name)

    def verify_reports(self) -> None:
        for report in self.manifest.reports:
            self._verify_report(report)

    def report_path(self, report: StoredReport) -> Path:
        """A file of this machine: as stored, or the original where that was left."""
        if report.file is None:
            return Path(report.reference or "")
        return self._reading(lambda: self.files.report(report))

    def table_bytes(self, name: str) -> bytes:
        """The Parquet file of a table; RunDamaged unless it is as recorded."""
        stored = self.manifest.tables[name]
        try:
            data = self._reading(lambda: self.files.table(stored))
        except OSError as error:
            raise RunDamaged(f"{self._shown(name)}: cannot be read: {error.strerror or error}") from error
        if hashlib.sha256(data).hexdigest() != stored.sha256:
            raise RunDamaged(f"{self._shown(name)}: the table is not the one recorded (its SHA-256 differs)")
        return data

    def verified_file(self, name: str) -> Path:
        """The same as a file of this machine, for who reads it without `table`."""
        data = self.table_bytes(name)
        return self.files.table_file(self.manifest.tables[name], data)

    def _verify_report(self, report: StoredReport) -> None:
        from profiler.store.identity import sha256_of_report

        if report.file is None and not os.path.exists(
            report.reference or ""
        ):  # the original was left elsewhere: it may be gone
            return
        shown = self.files.shown(report.file) if report.file is not None else report.reference
        try:
            path = self.report_path(report)
            actual = sha256_of_report(path)
        except ReportError as error:
            told = error.message.replace(str(path), str(shown))
            raise RunDamaged(f"{told} (it is the run's report)") from error
        except OSError as error:
            raise RunDamaged(f"{shown}: the run's report cannot be read: {error}") from error
        if actual != report.sha256:
            raise RunDamaged(f"{shown}: the run's report is not the one recorded (its SHA-256 differs)")

    def _read_table(self, name: str) -> pa.Table:
        import pyarrow as pa
        import pyarrow.parquet as pq

        data = self.table_bytes(name)
        where = self._shown(name)
        try:
            table = pq.ParquetFile(pa.BufferReader(data)).read()
        except (pa.ArrowException, OSError) as error:
            raise RunDamaged(f"{where}: cannot be read as Parquet: {error}") from error
        return check_table(upgraded(table, name), name, where)

    def _reading(self, read: Callable[[], _Read]) -> _Read:
        """`prof compact` may have moved the run since it was found: then it is looked for once more."""
        try:
            return read()
        except FileNotFoundError:
            found = self._find_again()
            if found is None:
                raise
            self._files = found
            return read()

    def _shown(self, name: str) -> str:
        return self.files.shown(self.manifest.tables[name].file)


class RunStore:
    """The runs of a folder or a URL. Finding one costs a listing and one manifest."""

    def __init__(self, location: Location) -> None:
        self.place = place_of(location)

    @property
    def root(self) -> Location:
        """As messages name it."""
        return self.place.root

    @property
    def local(self) -> Path:
        """The folder of this machine where what is under way is kept."""
        return self.place.local

    def staging(self) -> Staging:
        """Where runs are prepared, and committed from."""
        from profiler.store.staging import Staging

        if isinstance(self.root, Path):
            return Staging(self.root)
        from profiler.store.upload import UploadStaging

        return UploadStaging(self)

    def ids(self) -> list[RunId]:
        """Every run, oldest first, from names alone."""
        return [run_id for name in self.place.names() if (run_id := RunId.parse(name))]

    def open(self, run_id: RunId) -> Run:
        name = f"{run_id}/{MANIFEST_FILE}"
        where = self.place.shown(name)
        try:
            data = self.place.read(name)
        except OSError as error:
            raise RunDamaged(f"{where}: cannot be read: {error.strerror or error}") from error
        manifest = decode_manifest(data, where)
        files = LooseFiles(self.place, str(run_id))
        if manifest.schema_version > SCHEMA_VERSION:
            raise RunDamaged(
                f"{files.where}: written by a newer prof (schema {manifest.schema_version}, this one reads {SCHEMA_VERSION})",
                remedy="Upgrade prof: `pip install -U ncu-prof`.",
            )
        belongs = manifest.run_id == str(run_id) and manifest.sha256.startswith(run_id.hash)
        if not belongs or set(manifest.tables) != set(TABLES):
            raise RunDamaged(f"{files.where}: the folder and its manifest do not belong together")
        return Run(files.where, manifest, _files=files)

    def manifests(self) -> Iterator[Manifest]:
        for run_id in self.ids():
            yield self.open(run_id).manifest

    def to_pandas(self) -> pd.DataFrame:
        """One row a run, from its manifest, oldest first."""
        import pandas as pd
        from msgspec import to_builtins

        return pd.DataFrame([to_builtins(manifest) for manifest in self.manifests()])

    def find(self, reference: str, ladder: str) -> Run:
        """A kernel number, a run id or the start of one, or a name; the newest that fits.

        A number means the kernel's profile, or its timings where it was never profiled.
        """
        ids = self.ids()
        name = rung_name(ladder, int(reference)) if reference.isdecimal() else reference
        named = [run_id for run_id in ids if run_id.name == name]
        if not named and reference.isdecimal():
            named = [run_id for run_id in ids if run_id.name == timed_name(ladder, int(reference))]
        if named:
            return self.open(named[-1])
        starting = [run_id for run_id in ids if str(run_id).startswith(reference)]
        if len(starting) == 1 or (starting and str(starting[0]) == reference):
            return self.open(starting[0])
        if starting:
            raise RunNotFound(
                f"'{reference}' is the start of {len(starting)} run ids:",
                details=[f"  {run_id}" for run_id in starting[:8]],
                remedy="Give more of the id.",
            )
        raise RunNotFound(self._nothing_found(reference, name, ids))

    def with_hash(self, sha256: str) -> Run | None:
        """The run that a report with this hash became."""
        for run_id in self.ids():
            if sha256.startswith(run_id.hash):
                return self.open(run_id)
        return None

    def _nothing_found(self, reference: str, name: str, ids: Iterable[RunId]) -> str:
        names = sorted({run_id.name for run_id in ids})
        what = f"kernel {reference} ('{name}')" if reference.isdecimal() else f"'{reference}'"
        near = difflib.get_close_matches(name, names, n=3) or names[:5]
        hint = f"; there is {', '.join(near)}" if near else "; it holds no runs"
        return f"{self.root}: no run of {what}{hint}"


def open_report(path: Path) -> Run:
    """A report that is not stored, as a run held in memory."""
    (run,) = open_reports([path])
    return run


def open_reports(paths: list[Path]) -> list[Run]:
    """Several at once, each in a process of its own."""
    import tempfile
    from concurrent.futures import wait

    from profiler.store.request import AlreadyStored, Request
    from profiler.store.sandbox import Sandbox, available_cores, outcome

    with tempfile.TemporaryDirectory(prefix="prof-") as scratch:
        folders = [Path(scratch) / str(index) for index in range(len(paths))]
        with Sandbox(workers=min(len(paths), available_cores())) as sandbox:
            futures = [
                sandbox.submit(Request((path,), folder, copy=False))
                for path, folder in zip(paths, folders, strict=True)
            ]
            wait(futures)  # a pool stopped while a reader still starts would let it complain aloud
        manifests = [outcome(future, path) for future, path in zip(futures, paths, strict=True)]
        runs = []
        for path, folder, manifest in zip(paths, folders, manifests, strict=True):
            assert not isinstance(manifest, AlreadyStored)
            held = Run(folder, manifest)
            tables = {name: held.table(name) for name in TABLES}
            runs.append(Run(path, manifest, stored=False, _tables=tables))
        return runs
