"""Summarises what was measured: the times of a rung, the kernels of each collected run, and the points of a sweep."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from profiler.analyse.recording.overview import summarise_rung
from profiler.analyse.recording.profile import Profile
from profiler.analyse.statistics.timings import TimingSummary
from profiler.analyse.tuning import TuningFinding, derive_tuning, slowest_correct
from profiler.ask.named.ladders import rung_of
from profiler.ask.named.settings import Settings
from profiler.ask.profiles import profile_all
from profiler.catalog.ladders.ladder import Kernel, Ladder
from profiler.store.process_timings import Timing
from profiler.store.runs.run import Run
from profiler.store.runs.run_id import RunId, sweep_name
from profiler.store.runs.run_store import RunStore
from profiler.store.sweeps import StoredSweep, SweepStore


@dataclass(frozen=True)
class Collected:
    """A collected run, its kernels and its rung."""

    run: Run
    profiles: list[Profile]
    rung: Kernel | None


def summarise_just_timed(
    kernel: Kernel, workload: Mapping[str, int], timings: Sequence[Timing]
) -> TimingSummary:
    """Returns the times of a rung that was just timed, with its work per second."""
    kernel_ns = [timing.kernel_ns for timing in timings]
    reference_ns, best_ns = [one.reference_ns for one in timings], [one.best_ns for one in timings]
    return summarise_rung(kernel, workload, kernel_ns, reference_ns, best_ns)


def find_collected(store: RunStore, run_ids: Iterable[str], settings: Settings) -> Iterator[Collected | None]:
    """Yields each run with its kernels, or None for a target that has no run."""
    for text in run_ids:
        run_id = RunId.parse(text)
        run = store.open(run_id) if run_id else None
        yield Collected(run, profile_all(run, settings), rung_of(run, settings)) if run else None


def find_newest_sweep(
    settings: Settings, ladder: Ladder, kernel: Kernel, workload: Mapping[str, int]
) -> StoredSweep:
    return SweepStore(settings.runs_folder).newest(sweep_name(ladder.name, kernel.number), workload)


def find_best_points(
    sweep: StoredSweep, current: Mapping[str, int] | None, most: int | None = None
) -> TuningFinding:
    """Returns the best points, at most `most` of them, and the gain of each parameter; `current` are the source's values."""
    return derive_tuning(sweep, current, most)


def find_extremes(sweep: StoredSweep, finding: TuningFinding) -> tuple[dict[str, int], dict[str, int]] | None:
    """Returns the slowest and the best correct point, or None if only one point is correct."""
    slowest, best = slowest_correct(sweep), finding.best.settings
    return None if slowest == best else (slowest, best)
