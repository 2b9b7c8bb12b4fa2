"""Compares two recordings by their times alone, where one of them or both hold no profile.

Two runs in; a comparison without counters out: the speedup, and what was timed of each side. A pair that was not
timed on both sides is refused.
"""

from __future__ import annotations

from msgspec import structs

from profiler.analyse import findings
from profiler.analyse.causes.cause import Headline
from profiler.analyse.compare.comparable import find_cautions, refuse_obstacles
from profiler.analyse.compare.compare import are_measured_alike, derive_side, derive_speedup, measured_ns
from profiler.analyse.compare.speedup_sentence import ratio_sentence
from profiler.analyse.compare.two_gpus import is_on_two_gpus, name_gpus, shares_text
from profiler.analyse.recording.overview import summarise_timings
from profiler.analyse.recording.profile import Profile, profile_timings
from profiler.catalog.ladders.ladder import Kernel
from profiler.errors import NotComparable
from profiler.store.runs.run import Run

_COUNTERS_SAY_WHY = "Record the counters of both sides with `prof collect`; they say why."


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


def headline_of_times(before: Profile, after: Profile, speedup: findings.Speedup | None) -> Headline | None:
    """Returns the headline of two recordings without counters on both sides; None without a duration."""
    if speedup is None:
        return None
    times_ns = measured_ns(before, after, speedup.basis)
    what = ratio_sentence(
        (before.label, after.label), times_ns, speedup, measured_alike=are_measured_alike(before, after)
    )
    return Headline(what, why="", next=_COUNTERS_SAY_WHY)
