"""Compares two recordings briefly, for neighbouring rungs of a ladder and for `prof check`.

Two profiles in, with counters or with times alone; out comes how much faster the second is, which metrics changed,
and a verdict on the time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from msgspec import structs

from profiler.analyse import findings
from profiler.analyse.causes.cause import Headline
from profiler.analyse.compare.comparable import find_cautions, refuse_obstacles
from profiler.analyse.compare.compare import derive_deltas, derive_side, derive_speedup, measured_ns
from profiler.analyse.compare.speedup_sentence import ratio_sentence
from profiler.analyse.compare.two_gpus import is_on_two_gpus, name_gpus, shares_text
from profiler.analyse.recording.overview import summarise_timings
from profiler.analyse.recording.profile import Profile, profile_timings, require_metrics
from profiler.catalog.ladders.ladder import Kernel
from profiler.catalog.metrics import SMALLEST_RELATIVE_EFFECT
from profiler.errors import NotComparable
from profiler.store.runs.run import Run

_COUNTERS_SAY_WHY = "Record the counters of both sides with `prof collect`; they say why."


@dataclass(frozen=True)
class PairChange:
    """The change between two recordings. `metrics` is empty if only times were recorded."""

    speedup: findings.Speedup | None
    metrics: list[findings.MetricDelta]
    warnings: list[str]


def compare_pair(before: Profile, after: Profile, metrics: Iterable[str] = ()) -> PairChange:
    """Returns what a comparison leads with; raises an error if the two were measured in different ways, or lack one of `metrics`.

    The reasons and the machine code, which take longer to find, are left to `compare_profiles`.
    """
    refuse_obstacles(before, after)
    wanted = require_metrics(metrics, (before, after))
    deltas = derive_deltas(before, after, wanted)
    return PairChange(derive_speedup(before, after), deltas, find_cautions(before, after))


def headline_of_times(before: Profile, after: Profile, speedup: findings.Speedup | None) -> Headline | None:
    """Returns the headline of two recordings without counters on both sides; None without a duration."""
    if speedup is None:
        return None
    times_ns = measured_ns(before, after, speedup.basis)
    what = ratio_sentence((before.label, after.label), times_ns, speedup)
    return Headline(what, why="", next=_COUNTERS_SAY_WHY)


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


# Compares two recordings by their times alone, where one of them or both hold no profile.
#
# Two runs in; a `Comparison` without counters out: the speedup, and what was timed of each side. A pair that was
# not timed on both sides is refused.


def compare_timings(
    before: Run, after: Run, rungs: tuple[Kernel | None, Kernel | None] = (None, None), *, force: bool = False
) -> findings.ComparisonFinding:
    """Compares two runs by time. The `rungs`, where their ladder is known, say how much work was done."""
    runs = (before, after)
    for run in runs:
        if not run.table("timings").num_rows:
            raise NotComparable(
                f"{run.label} was profiled and not timed, and the other timed and not profiled",
                remedy="`prof collect` times what it profiles; record one side again, or compare two runs of timings.",
            )
    one, other = name_gpus(*map(profile_timings, runs))
    two_gpus = is_on_two_gpus(one, other)
    obstacles = refuse_obstacles(one, other, force=force, two_gpus=two_gpus)
    sides = [_side(*side) for side in zip(runs, (one, other), rungs, strict=True)]
    speedup = derive_speedup(one, other)
    headline = headline_of_times(one, other, speedup)
    if headline and two_gpus:
        headline = structs.replace(headline, why=shares_text(*sides))
    return findings.ComparisonFinding(
        schema_version=findings.SCHEMA_VERSION,
        before=sides[0],
        after=sides[1],
        comparable=findings.Comparability(
            not obstacles, [*obstacles, _no_counters(runs, two_gpus), *find_cautions(one, other)]
        ),
        speedup=speedup,
        metrics=[],
        missing=[],
        confirmations=[],
        attribution=None,
        instructions=findings.Instructions([]),
        headline=headline,
    )


def _side(run: Run, profile: Profile, rung: Kernel | None) -> findings.Side:
    timing, reference = summarise_timings(run, rung), run.manifest.facts.reference
    return structs.replace(derive_side(profile), timing=timing, reference=reference)


def _no_counters(runs: tuple[Run, Run], is_one_kernel: bool) -> str:
    without = [run.label for run in runs if not run.manifest.is_profiled]
    which = "either side" if len(without) == 2 else without[0]
    precision = "" if is_one_kernel else ", and it is not known whether both compute in the same precision"
    return f"no counters were recorded for {which}: only the times are compared{precision}"
