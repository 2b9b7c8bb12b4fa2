"""Compares two recordings briefly, for neighbouring rungs of a ladder and for `prof check`.

Two profiles in, with counters or with times alone; out comes how much faster the second is, which metrics changed,
and a verdict on the time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from profiler.analyse.causes.cause import Headline
from profiler.analyse.compare.comparable import find_cautions, refuse_obstacles
from profiler.analyse.compare.compare import (
    derive_deltas,
    derive_speedup,
    measured_ns,
)
from profiler.analyse.compare.headline import ratio_sentence
from profiler.analyse.findings import MetricDelta, Speedup, VerdictName
from profiler.analyse.recording.kernel_choice import choose_kernels
from profiler.analyse.recording.profile import Profile, require_metrics
from profiler.catalog.metrics import SMALLEST_RELATIVE_EFFECT

if TYPE_CHECKING:
    from profiler.store.runs.run import Run


_COUNTERS_SAY_WHY = "Record the counters of both sides with `prof collect`; they say why."


@dataclass(frozen=True)
class PairChange:
    """The change between two recordings. `metrics` is empty if only times were recorded."""

    speedup: Speedup | None
    metrics: list[MetricDelta]
    warnings: list[str]


def unmatched_kernels(before: Run, after: Run, pattern: str | None) -> list[str]:
    """Lists what `every` leaves out: the kernels that only one of the runs has."""
    counts = [len(run.manifest.kernels) for run in (before, after)]
    if not all(counts) or counts == [
        1,
        1,
    ]:  # times alone, or one kernel a side, which is a pair whatever the names
        return []
    left, right = choose_kernels((before, after), pattern)
    return [name for name in dict.fromkeys([*left, *right]) if name not in left or name not in right]


def compare_pair(before: Profile, after: Profile, metrics: Iterable[str] = ()) -> PairChange:
    """Returns what a comparison leads with; raises an error if the two were not measured alike, or lack one of `metrics`.

    The reasons and the machine code, which take longer to find, are left to `compare_profiles`.
    """
    refuse_obstacles(before, after)
    wanted = require_metrics(metrics, (before, after))
    return PairChange(
        derive_speedup(before, after), derive_deltas(before, after, wanted), find_cautions(before, after)
    )


def headline_of_times(before: Profile, after: Profile, speedup: Speedup | None) -> Headline | None:
    """Returns the headline of two recordings without counters on both sides; None without a duration."""
    if speedup is None:
        return None
    times_ns = measured_ns(before, after, speedup.basis)
    what = ratio_sentence((before.label, after.label), times_ns, speedup)
    return Headline(what, why="", next=_COUNTERS_SAY_WHY)


def judge_speedup(speedup: Speedup) -> VerdictName:
    """Judges the time as metrics are judged: a change is certain, and large enough to matter."""
    if speedup.ci is None:
        return "unclear"
    low, high = speedup.ci
    if low <= 1.0 <= high:
        return "same" if max(1.0 - low, high - 1.0) <= SMALLEST_RELATIVE_EFFECT else "unclear"
    if abs(speedup.ratio - 1.0) < SMALLEST_RELATIVE_EFFECT:
        return "same"
    return "better" if speedup.ratio > 1.0 else "worse"
