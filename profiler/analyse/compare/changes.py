"""Two recordings of a kernel as one finding, whether they were profiled or timed alone.

What `prof ladder` says of neighbouring rungs and `prof check` of a baseline: how much faster,
which metrics changed, and a verdict on the time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from profiler.analyse.causes.cause import Headline
from profiler.analyse.compare.compare import (
    derive_deltas,
    derive_speedup,
    find_cautions,
    refuse_obstacles,
    typical_ns,
)
from profiler.analyse.compare.headline import ratio_sentence
from profiler.analyse.findings import MetricDelta, Speedup, VerdictName
from profiler.analyse.recording.profile import (
    Profile,
    choose_kernel,
    choose_kernels,
    match_kernels,
    profile_kernel,
    require_metrics,
)
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


def profile_timings(run: Run) -> Profile:
    """Returns a run of timings alone as a profile without launches."""
    return profile_kernel(run, run.manifest.name)


def profile_pairs(
    before: Run, after: Run, pattern: str | None, every: bool
) -> Iterator[tuple[Profile, Profile]]:
    """Yields the kernels to compare with each other; `every` one that both runs have, where they have several."""
    runs = (before, after)
    if all(run.manifest.is_profiled for run in runs):
        several = any(len(run.manifest.kernels) > 1 for run in runs)
        for left, right in match_kernels(before, after, pattern, every and several):
            yield profile_kernel(before, left), profile_kernel(after, right)
    else:
        yield _single_profile(before, pattern), _single_profile(after, pattern)


def _single_profile(run: Run, pattern: str | None) -> Profile:
    return (
        profile_kernel(run, choose_kernel(run, pattern)) if run.manifest.is_profiled else profile_timings(run)
    )


def unmatched_kernels(before: Run, after: Run, pattern: str | None) -> list[str]:
    """Lists what `every` leaves out: the kernels that only one of the runs has."""
    if not all(len(run.manifest.kernels) > 1 for run in (before, after)):
        return []
    left, right = choose_kernels((before, after), pattern)
    return [name for name in dict.fromkeys([*left, *right]) if name not in left or name not in right]


def compare_pair(before: Profile, after: Profile, metrics: Iterable[str] = ()) -> PairChange:
    """What a comparison leads with, of what was measured alike; `metrics` must be there.

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
    times_ns = typical_ns(before, after, speedup.basis)
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
