"""Stores times without counters as a run, which is committed like any other.

For a rung or a function, only the table `timings` has rows. For a program, each launch has its shape in `launches`
and its duration in `metrics`. The id ends in a hash of everything measured, since there is no report to hash.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from profiler.catalog.metrics import TIMED_ALONE
from profiler.store.disk import writing_to
from profiler.store.process_timings import Timing
from profiler.store.runs.commit import Staging, write_table
from profiler.store.runs.manifest import KernelCount, Manifest, Provenance, prof_version, write_manifest
from profiler.store.runs.run_id import RunId, facts_sha256, timed_name
from profiler.store.runs.run_store import RunStore
from profiler.store.tables.columns import TableBuilder
from profiler.store.tables.schema import SCHEMA_VERSION, TABLES


class TimedLaunch(msgspec.Struct, frozen=True):
    """A launch of a program: its time on the GPU, and the shape that it was launched in."""

    process: int
    kernel: str
    function: str
    mangled: str
    start_ns: int
    ns: int
    grid_x: int
    grid_y: int
    grid_z: int
    block_x: int
    block_y: int
    block_z: int
    shared_static_bytes: int
    shared_dynamic_bytes: int
    registers: int


@dataclass(frozen=True)
class Unprofiled:
    """The facts of a measurement without a profile."""

    ladder: str  # empty for a function, which is no rung
    kernel: int
    workload: dict[str, int] | None
    recorded: datetime
    gpu: str
    command_line: str
    provenance: Provenance

    def facts(self, run_id: RunId, sha256: str) -> dict[str, Any]:
        """Returns the fields of its manifest; `sha256` is the hash of everything measured."""
        return {
            "schema_version": SCHEMA_VERSION,
            "run_id": str(run_id),
            "name": run_id.name,
            "origin": "timed",
            "recorded": self.recorded.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
            "reports": [],
            "kernels": [],
            "ladder": self.ladder or None,
            "kernel": self.kernel if self.ladder else None,
            "workload": self.workload,
            "gpus": [self.gpu],
            "prof_version": prof_version(),
            "command_line": self.command_line,
            "clock_control": "none",
            "provenance": self.provenance,
            "content_sha256": sha256,
        }


@dataclass(frozen=True)
class TimedRun(Unprofiled):
    timings: Sequence[Timing]
    collection: str | None = None
    function: str = ""  # the name of the run of a function or of a program
    launches: Sequence[TimedLaunch] = ()


def commit_timings(store: RunStore, timed: Iterable[TimedRun]) -> list[str]:
    """Commits the runs and returns their ids."""
    with store.staging() as staging:
        return [stage_timings(staging, one) for one in timed]


def stage_timings(staging: Staging, timed: TimedRun) -> str:
    folder = staging.folder()
    with writing_to(staging.root):
        folder.mkdir(parents=True)
        manifest = _fill(folder, timed)
    staging.commit(folder, manifest.run_id)  # does nothing when the very same measurement is stored already
    return manifest.run_id


def _fill(folder: Path, timed: TimedRun) -> Manifest:
    sha256 = facts_sha256(timed)
    run_id = RunId.make(timed.recorded, timed.function or timed_name(timed.ladder, timed.kernel), sha256)
    builders = {name: TableBuilder(name, str(run_id)) for name in TABLES}
    for timing in timed.timings:
        builders["timings"].append(**msgspec.structs.asdict(timing))
    for number, launch in enumerate(timed.launches):
        shape = msgspec.structs.asdict(launch)
        builders["launches"].append(
            **shape, launch=number, range=0, workload="kernel", gpu=timed.gpu, nvtx=[]
        )
        builders["metrics"].append(
            launch=number, metric=TIMED_ALONE, value=float(launch.ns), unit="ns", kind="uint64"
        )
    tables = {name: write_table(folder, name, builder.finish()) for name, builder in builders.items()}
    counted = Counter(launch.kernel for launch in timed.launches)
    facts = timed.facts(run_id, sha256) | {"kernels": [KernelCount(*one) for one in counted.items()]}
    manifest = Manifest(tables=tables, collection=timed.collection, **facts)
    write_manifest(manifest, folder)
    return manifest
