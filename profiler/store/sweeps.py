"""Stores sweeps: everything that `prof tune` measured, point by point, as one Parquet table.

A sweep has a folder in `runs/sweeps/`, since a run is one program and a sweep is many. It is prepared,
locked, committed and verified like a run. Until it is committed, each visit of a point is a file, written
when the visit ends.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from profiler.catalog.ladders.ladder import size_text
from profiler.errors import RunDamaged, RunNotFound, RunUnusable, StoreNotWritable
from profiler.store.disk import writing_to
from profiler.store.remote.places import Location, location_of
from profiler.store.remote.urls import public_url
from profiler.store.runs.commit import Staging, write_table
from profiler.store.runs.manifest import Manifest, read_manifest, write_manifest
from profiler.store.runs.run import Run
from profiler.store.runs.run_id import RunId, facts_sha256, sweep_name
from profiler.store.runs.run_store import RunStore, sweeps_folder
from profiler.store.runs.timed_run import Unprofiled
from profiler.store.runs.unfinished import UnfinishedCollection
from profiler.store.tables.decoding import decodable
from profiler.store.tables.reading import read_table
from profiler.store.tables.schema import ColumnSchema, TableSchema, schema_of

_MEASURE_ONE = "`prof tune` without --stored measures one, on a machine with a GPU."
POINTS = TableSchema(
    "points",
    "one point of a sweep: a value for every parameter, and what became of it",
    (
        ColumnSchema("run_id", "label", "the sweep this row belongs to"),
        ColumnSchema("point", "int32", "its place in the order of measurement, from 0"),
        ColumnSchema("settings", "settings", "every parameter's value"),
        ColumnSchema("status", "label", "correct, excluded, uncompiled, refused, wrong, failed or hung"),
        ColumnSchema("reason", "label", "why it is not correct; empty where it is"),
        ColumnSchema("registers", "int64", "per thread, null where it was not compiled", "register", True),
        ColumnSchema("shared_bytes", "int64", "static shared memory per block", "byte", True),
        ColumnSchema("spill_bytes", "int64", "of registers in local memory, stores and loads", "byte", True),
        ColumnSchema("relative_error", "float64", "relative error of its result", "", True),
        ColumnSchema("repeats", "repeats", "every repeat without the profiler: its stage and process", "ns"),
    ),
)
Stage = Literal["screen", "full", "final"]
Status = Literal["correct", "excluded", "uncompiled", "refused", "wrong", "failed", "hung"]


class SweepRepeat(msgspec.Struct, frozen=True):
    stage: Stage
    process: int
    kernel_ns: float
    reference_ns: float | None

    @property
    def durations_ns(self) -> list[float]:
        return [self.kernel_ns] if self.reference_ns is None else [self.kernel_ns, self.reference_ns]


@decodable
class SweptPoint(msgspec.Struct, frozen=True):
    point: int
    settings: dict[str, int]
    status: Status
    reason: str = ""
    registers: int | None = None
    shared_bytes: int | None = None
    spill_bytes: int | None = None
    relative_error: float | None = None
    repeats: list[SweepRepeat] = []


@decodable
class Visit(msgspec.Struct, frozen=True):
    """One process that measured one point. `code` is the hash of what the program was compiled from."""

    code: str
    status: Status
    reason: str = ""
    relative_error: float | None = None
    reference: str | None = None
    repeats: list[SweepRepeat] = []


class SweepFacts(msgspec.Struct, frozen=True):
    """The way in which the points were chosen and timed."""

    parameters: dict[str, list[int]]
    constraints: list[str]
    combinations: int  # before anything is excluded
    excluded: dict[str, int]  # how many points break each constraint, and so were not compiled
    limit: int | None
    screen_repeats: int
    repeats: int
    processes: int
    within_pct: float
    finalists: int
    sources: dict[str, str]  # SHA-256 of each file compiled, the parameters' defaults left out


@decodable
class SweepManifest(Manifest, frozen=True, kw_only=True):
    sweep: SweepFacts


@dataclass(frozen=True)
class MeasuredSweep(Unprofiled):
    """A sweep to commit. `key` is the hash of everything that was asked for; a later call finds the sweep by it."""

    sweep: SweepFacts
    points: Sequence[SweptPoint]
    key: str


@dataclass(frozen=True)
class StoredSweep:
    path: Path
    manifest: SweepManifest
    points: list[SweptPoint]


class UnfinishedSweep(UnfinishedCollection):
    """The visits of an unfinished sweep, for one prof at a time."""

    def visit(self, stage: Stage, process: int, settings: Mapping[str, int], code: str) -> Visit | None:
        """Returns the visit of an earlier call; None when there is none, or the program has changed since."""
        known = self._read(_visit_file(stage, process, settings), Visit)
        return known if known is not None and known.code == code else None

    def keep_visit(self, stage: Stage, process: int, settings: Mapping[str, int], visit: Visit) -> None:
        self._write(_visit_file(stage, process, settings), visit)


class SweepStore:
    """The sweeps beside the runs of one folder."""

    def __init__(self, runs: Location) -> None:
        location = location_of(runs)
        if not isinstance(location, Path):
            raise StoreNotWritable(
                f"{public_url(str(runs))}: sweeps are kept in a folder, not at a URL",
                remedy="Give `prof tune` a folder of this machine with --runs.",
            )
        self.root = sweeps_folder(location)

    def unfinished(self, key: str) -> UnfinishedSweep:
        return UnfinishedSweep(self.root, key)

    def find(self, name: str, key: str) -> list[SweepManifest]:
        """Returns the whole sweeps with this name and key, newest first."""
        whole = (one for one in self._manifests(name) if not isinstance(one, RunUnusable))
        return [manifest for manifest in whole if manifest.collection == key]

    def newest(self, name: str, workload: Mapping[str, int]) -> StoredSweep:
        """Returns the newest sweep of this workload, whatever it tried; RunNotFound lists the workloads that were swept."""
        manifests: list[SweepManifest] = []
        for manifest in self._manifests(name):
            if isinstance(manifest, RunUnusable):
                raise manifest  # it may be the newest of this workload
            if manifest.workload == workload:
                return self.open(manifest.run_id)
            manifests.append(manifest)
        others = dict.fromkeys(size_text(manifest.workload or {}) for manifest in manifests)
        raise RunNotFound(
            f"{self.root}: no sweep called {name!r} at {size_text(workload)}"
            + (f"; there is one at {', one at '.join(others)}" if others else ""),
            remedy="Ask for one of these with --size, or --set-param." if others else _MEASURE_ONE,
        )

    def _manifests(self, name: str) -> Iterator[SweepManifest | RunUnusable]:
        """Yields the manifests of the sweeps with this name, newest first, and the errors of damaged ones."""
        for run_id in reversed(RunStore(self.root).ids()):
            if run_id.name == name:
                try:
                    yield _read_manifest(self.root / str(run_id))
                except RunUnusable as error:
                    yield error

    def open(self, run_id: str) -> StoredSweep:
        """Opens and verifies a sweep; RunDamaged when its table is not the one recorded."""
        path = self.root / run_id
        manifest = _read_manifest(path)
        data, stored = Run(path, manifest).table_bytes(POINTS.name), manifest.tables[POINTS.name]
        table = read_table(data, schema_of(POINTS), stored.rows, str(path / stored.file))
        try:
            rows = table.drop(["run_id"]).to_pylist(maps_as_pydicts="strict")
            points = msgspec.convert(rows, list[SweptPoint])
        except (KeyError, ValueError) as error:
            raise RunDamaged(f"{path}: its points cannot be read: {error}") from error
        for fault in _faults(points, manifest.sweep):
            raise RunDamaged(f"{path}: {fault}")
        return StoredSweep(path, manifest, points)

    def commit(self, measured: MeasuredSweep) -> str:
        """Commits a sweep and returns its id."""
        sha256 = facts_sha256(measured)
        run_id = RunId.make(measured.recorded, sweep_name(measured.ladder, measured.kernel), sha256)
        with Staging(self.root) as staging:
            folder = staging.folder()
            with writing_to(self.root):
                folder.mkdir(parents=True)
                stored = write_table(folder, POINTS.name, _table(measured.points, str(run_id)))
                manifest = SweepManifest(
                    tables={POINTS.name: stored},
                    collection=measured.key,
                    sweep=measured.sweep,
                    **measured.facts(run_id, sha256),
                )
                write_manifest(manifest, folder)
            staging.commit(folder, str(run_id))
        return str(run_id)


def _faults(points: Sequence[SweptPoint], facts: SweepFacts) -> Iterator[str]:
    """Yields the faults of points that no sweep could have measured so."""
    if not any(point.status == "correct" for point in points):
        yield "none of its points is correct"
    for point in points:
        if point.settings.keys() != facts.parameters.keys():
            yield f"point {point.point} has other parameters than those that run.json lists"
        if point.status == "correct" and not point.repeats:
            yield f"point {point.point} is correct, and was not timed"
        if any(not 0 < ns < math.inf for repeat in point.repeats for ns in repeat.durations_ns):
            yield f"point {point.point} has a value that is no duration"


def _table(points: Sequence[SweptPoint], run_id: str) -> Any:
    import pyarrow as pa

    rows = [{"run_id": run_id, **msgspec.to_builtins(point)} for point in points]
    for row in rows:
        row["settings"] = list(row["settings"].items())
    return pa.Table.from_pylist(rows, schema=schema_of(POINTS))


def _read_manifest(folder: Path) -> SweepManifest:
    manifest = read_manifest(folder, SweepManifest)
    if manifest.run_id != folder.name or set(manifest.tables) != {POINTS.name}:
        raise RunDamaged(f"{folder}: the folder and its manifest do not belong together")
    return manifest


def _visit_file(stage: Stage, process: int, settings: Mapping[str, int]) -> str:
    name = facts_sha256(list(settings.items()))[:24]
    return f"{stage}-{process}-{name}.json"
