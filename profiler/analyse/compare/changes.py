"""Compares two recordings briefly, for neighbouring rungs of a ladder and for `prof check`.

Two profiles in, with counters or with times alone; out comes how much faster the second is, which metrics changed,
and a verdict on the time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from profiler.analyse import findings
from profiler.analyse.compare.comparable import find_cautions, refuse_obstacles
from profiler.analyse.compare.compare import derive_deltas, derive_speedup
from profiler.analyse.recording.profile import Profile, require_metrics
from profiler.catalog.metrics import DURATION, SMALLEST_RELATIVE_EFFECT


@dataclass(frozen=True)
class PairChange:
    """The change between two recordings. `metrics` is empty if only times were recorded."""

    speedup: findings.Speedup | None
    metrics: list[findings.MetricDelta]
    warnings: list[str]

    @property
    def reason_of_time(self) -> findings.Reason:
        """Returns why a time without an interval is uncertain; times without the profiler are always too few."""
        profiled = [one.reason for one in self.metrics if one.name == DURATION]
        is_profiled = self.speedup is not None and self.speedup.basis == "profiled"
        return profiled[0] if profiled and is_profiled else "too_few_launches"


def compare_pair(
    before: Profile, after: Profile, metrics: Iterable[str] = (), *, names_are_said: bool = False
) -> PairChange:
    """Returns what a comparison leads with; raises an error if the two were measured in different ways, or lack one of `metrics`.

    The reasons and the machine code, which take longer to find, are left to `compare_profiles`. If `names_are_said`, another
    sentence says that the kernels have different names, and no caution repeats it.
    """
    refuse_obstacles(before, after)
    wanted = require_metrics(metrics, (before, after))
    deltas = derive_deltas(before, after, wanted)
    cautions = find_cautions(before, after, names_are_said=names_are_said)
    return PairChange(derive_speedup(before, after), deltas, cautions)


def judge_speedup(speedup: findings.Speedup) -> findings.VerdictName:
    """Judges the time as metrics are judged: a change is certain, and large enough to matter."""
    if speedup.ci is None:
        return "unclear"
    low, high = speedup.ci
    if low <= 1.0 <= high:
        return "same" if max(1.0 - low, high - 1.0) <= SMALLEST_RELATIVE_EFFECT else "unclear"
    if abs(speedup.ratio - 1.0) < SMALLEST_RELATIVE_EFFECT:
        return "same"
    return "better" if speedup.ratio > 1.0 else "worse"
