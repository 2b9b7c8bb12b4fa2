"""The runs folder: find a run, read its tables, refuse it when it changed.

`RunStore` is a folder; `Run` is one recording in it. A report that was never stored
becomes a `Run` too (see `open_report`), so nothing downstream needs to know.
"""

from __future__ import annotations

import difflib
import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from profiler.errors import ReportError, RunDamaged, RunNotFound, StoreError
from profiler.store.manifest import Manifest, RunId, StoredReport, read_manifest, rung_name, timed_name
from profiler.store.schema import SCHEMA_VERSION, TABLES, check_table, upgraded

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


@dataclass
class Run:
    """One recording: its manifest, and its tables read on demand.

    Each table is hashed as it is read and compared with the manifest, so that a changed
    file is an error and never a figure.
    """

    path: Path
    manifest: Manifest
    stored: bool = True
    _tables: dict[str, pa.Table] = field(default_factory=dict, repr=False)

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
            self.verified_file(name)

    def verified_file(self, name: str) -> Path:
        """Where a table lies, for who reads it without `table`; RunDamaged unless it is as recorded."""
        self._bytes_of(name)
        return self.path / self.manifest.tables[name].file

    def verify_reports(self) -> None:
        for report in self.manifest.reports:
            self._verify_report(report)

    def report_path(self, report: StoredReport) -> Path:
        """In the run's folder, or where the original was left."""
        return self.path / report.file if report.file is not None else Path(report.reference or "")

    def _verify_report(self, report: StoredReport) -> None:
        from profiler.store.identity import sha256_of_report

        path = self.report_path(report)
        if report.file is None and not os.path.exists(
            path
        ):  # the original was left elsewhere: it may be gone
            return
        try:
            actual = sha256_of_report(path)
        except ReportError as error:
            raise RunDamaged(f"{error} (it is the run's report)") from error
        except OSError as error:
            raise RunDamaged(f"{path}: the run's report cannot be read: {error}") from error
        if actual != report.sha256:
            raise RunDamaged(f"{path}: the run's report is not the one recorded (its SHA-256 differs)")

    def _read_table(self, name: str) -> pa.Table:
        import pyarrow as pa
        import pyarrow.parquet as pq

        data = self._bytes_of(name)
        path = self.path / self.manifest.tables[name].file
        try:
            table = pq.ParquetFile(pa.BufferReader(data)).read()
        except (pa.ArrowException, OSError) as error:
            raise RunDamaged(f"{path}: cannot be read as Parquet: {error}") from error
        return check_table(upgraded(table, name), name, str(path))

    def _bytes_of(self, name: str) -> bytes:
        stored = self.manifest.tables[name]
        path = self.path / stored.file
        try:
            data = path.read_bytes()
        except OSError as error:
            raise RunDamaged(f"{path}: cannot be read: {error.strerror}") from error
        if hashlib.sha256(data).hexdigest() != stored.sha256:
            raise RunDamaged(f"{path}: the table is not the one recorded (its SHA-256 differs)")
        return data


class RunStore:
    """A folder of runs. Finding one costs a folder listing and one manifest."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def ids(self) -> list[RunId]:
        """Every run, oldest first, from names alone."""
        try:
            names = sorted(entry for entry in os.listdir(self.root) if not entry.startswith("."))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StoreError(
                f"{self.root}: not a folder of runs: {error.strerror}",
                remedy="Choose another folder with --runs.",
            ) from error
        return [run_id for name in names if (run_id := RunId.parse(name))]

    def open(self, run_id: RunId) -> Run:
        path = self.root / str(run_id)
        manifest = read_manifest(path)
        if manifest.schema_version > SCHEMA_VERSION:
            raise RunDamaged(
                f"{path}: written by a newer prof (schema {manifest.schema_version}, this one reads {SCHEMA_VERSION})",
                remedy="Upgrade prof: `pip install -U ncu-prof`.",
            )
        belongs = manifest.run_id == str(run_id) and manifest.sha256.startswith(run_id.hash)
        if not belongs or set(manifest.tables) != set(TABLES):
            raise RunDamaged(f"{path}: the folder and its manifest do not belong together")
        return Run(path, manifest)

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
