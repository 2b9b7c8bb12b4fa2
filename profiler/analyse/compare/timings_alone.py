"""Compares two recordings by their times alone, where one of them or both hold no profile.

Two runs in; a `Comparison` without counters out: the speedup, and what was timed of each side. A pair that was
not timed on both sides is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from profiler.analyse.compare.changes import headline_of_times
from profiler.analyse.compare.comparable import find_cautions, refuse_obstacles
from profiler.analyse.compare.compare import derive_side, derive_speedup
from profiler.analyse.compare.two_gpus import find_two_gpus, shares_text
from profiler.analyse.findings import SCHEMA_VERSION, Comparability, ComparisonFinding, Instructions, Side
from profiler.analyse.recording.overview import summarise_timings
from profiler.analyse.recording.profile import Profile, profile_timings
from profiler.errors import NotComparable

if TYPE_CHECKING:
    from profiler.catalog.ladders.ladder import Kernel
    from profiler.store.runs.run import Run


def compare_timings(
    before: Run, after: Run, rungs: tuple[Kernel | None, Kernel | None] = (None, None), *, force: bool = False
) -> ComparisonFinding:
    """Compares two runs by time. The `rungs`, where their ladder is known, say how much work was done."""
    runs = (before, after)
    for run in runs:
        if not run.table("timings").num_rows:
            raise NotComparable(
                f"{run.label} was profiled and not timed, and the other timed and not profiled",
                remedy="`prof collect` times what it profiles; record one side again, or compare two runs of timings.",
            )
    one, other = (profile_timings(run) for run in runs)
    two_gpus = find_two_gpus(one, other)
    one, other = two_gpus or (one, other)
    obstacles = refuse_obstacles(one, other, force=force, two_gpus=two_gpus is not None)
    sides = [_side(*side) for side in zip(runs, (one, other), rungs, strict=True)]
    speedup = derive_speedup(one, other)
    headline = headline_of_times(one, other, speedup)
    if headline and two_gpus:
        headline = structs.replace(headline, why=shares_text(*sides))
    return ComparisonFinding(
        schema_version=SCHEMA_VERSION,
        before=sides[0],
        after=sides[1],
        comparable=Comparability(
            not obstacles, [*obstacles, _no_counters(runs, two_gpus is not None), *find_cautions(one, other)]
        ),
        speedup=speedup,
        metrics=[],
        missing=[],
        confirmations=[],
        attribution=None,
        instructions=Instructions([]),
        headline=headline,
    )


def _side(run: Run, profile: Profile, rung: Kernel | None) -> Side:
    provenance = run.manifest.provenance
    return structs.replace(
        derive_side(profile),
        timing=summarise_timings(run, rung),
        reference=provenance.reference if provenance else None,
    )


def _no_counters(runs: tuple[Run, Run], is_one_kernel: bool) -> str:
    without = [run.label for run in runs if not run.manifest.is_profiled]
    which = "either side" if len(without) == 2 else without[0]
    precision = "" if is_one_kernel else ", and whether both compute in the same precision is not known"
    return f"no counters were recorded of {which}: only the times are compared{precision}"
