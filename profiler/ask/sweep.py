"""Finds a stored sweep of a kernel's parameters, and its best and slowest points."""

from __future__ import annotations

from collections.abc import Mapping

from profiler.analyse.tuning import TuningFinding, derive_tuning, slowest_correct
from profiler.ask.named.settings import Settings
from profiler.catalog.ladders.ladder import Kernel, Ladder
from profiler.store.runs.run_id import sweep_name
from profiler.store.sweeps import StoredSweep, SweepStore


def find_newest_sweep(
    settings: Settings, ladder: Ladder, kernel: Kernel, workload: Mapping[str, int]
) -> StoredSweep:
    """Returns the newest stored sweep of this kernel with this workload."""
    return SweepStore(settings.runs_folder).newest(sweep_name(ladder.name, kernel.number), workload)


def find_best_points(
    sweep: StoredSweep, current: Mapping[str, int] | None, most: int | None = None
) -> TuningFinding:
    """Returns the best points, at most `most` of them, and the gain of each parameter; `current` are the source's values."""
    return derive_tuning(sweep, current, len(sweep.points) if most is None else most)


def find_extremes(sweep: StoredSweep, finding: TuningFinding) -> tuple[dict[str, int], dict[str, int]] | None:
    """Returns the slowest and the best correct point, or None if only one point is correct."""
    slowest, best = slowest_correct(sweep), finding.best.settings
    return None if slowest == best else (slowest, best)
