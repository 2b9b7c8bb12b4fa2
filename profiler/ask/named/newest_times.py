"""Joins to a profiled run the times of its program that were measured last."""

from __future__ import annotations

from collections.abc import Iterable

from profiler.store.runs.manifest import Manifest
from profiler.store.runs.run import Run
from profiler.store.runs.run_id import timed_name
from profiler.store.runs.run_store import RunStore


def timed_runs(store: RunStore, profiled: Manifest) -> list[Run]:
    """Returns the runs of times alone of the rung that was profiled."""
    if profiled.ladder is None or profiled.kernel is None:
        return []
    name = timed_name(profiled.ladder, profiled.kernel)
    return store.open_all(run_id for run_id in store.ids() if run_id.name == name)


def with_newest_times(profiled: Run, timed: Iterable[Run]) -> Run:
    """Returns a profiled run with the times of its program that were measured last: its own, or those of a run of times alone."""
    manifest = profiled.manifest
    own = bool(manifest.tables["timings"].rows)
    later = newest(
        run
        for run in timed
        if _same_program(run.manifest, manifest)
        and run.manifest.workload == manifest.workload
        and run.manifest.gpus == manifest.gpus
        and not (own and run.manifest.run_id < manifest.run_id)
    )
    return profiled if later is None else profiled.with_times_of(later)


def newest(runs: Iterable[Run]) -> Run | None:
    """Returns the run that was recorded last."""
    return max(runs, key=lambda run: run.manifest.run_id, default=None)


def _same_program(timed: Manifest, profiled: Manifest) -> bool:
    """Returns False if both runs recorded their binary, and neither it nor all sources and flags are the same.

    No two outputs of nvcc are alike, so a program that was built again has another binary.
    """
    facts = timed.facts, profiled.facts
    binaries = {one.binary_sha256 for one in facts}
    if None in binaries or len(binaries) == 1:
        return True
    made_of = [(one.sources, one.build_flags, one.nvcc_version) for one in facts if one.sources]
    return len(made_of) == 2 and made_of[0] == made_of[1]
