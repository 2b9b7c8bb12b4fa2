"""Knows which loads from global memory a warp issues together before it waits for any."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from typing import NamedTuple

from profiler.analyse.causes.evidence.estimates import FILLED_A_CYCLE
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.latency import DRAM_CYCLES, L1_CYCLES, SCHEDULERS
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.code.loops import Loop

# With four independent loads under way, a warp waits for one of them only: the rest of the wait is memory's own.
ENOUGH_LOADS = 4
# If the longest wait is for device memory, a wait of less than this part of it is shorter than one for a hit in L1. Most warps pass
# such an instruction without waiting.
_PASSING = L1_CYCLES / DRAM_CYCLES


def find_lonely_loads(evidence: Evidence) -> list[Site]:
    """Returns the loads from global memory that a warp issues alone or with few others before it waits."""
    return [site for site in evidence.of("global load") if count_under_way(evidence, site) < ENOUGH_LOADS]


def count_under_way(evidence: Evidence, site: Site) -> int:
    """Returns how many loads from global memory a warp issues together, this one among them."""
    return 1 + len(find_loads_beside(evidence, site))


def find_loads_beside(evidence: Evidence, site: Site) -> list[Site]:
    """Returns the other loads from global memory that a warp issues around this one before it waits for any."""
    before, after = _loads_around(evidence, site.function, evidence.innermost_loop(site))[site]
    return [*after.loads[after.place :], *reversed(before.loads[: before.place])]


def are_enough_under_way(evidence: Evidence, waits: Mapping[Site, float]) -> bool:
    """Returns whether more of these loads would only queue; `waits` is how long warps wait for each.

    By Little's law: with so many bytes under way, L1 is filled as fast as it can be, even where device memory sends them.
    """
    warps = SCHEDULERS * (evidence.find("active_warps") or 0.0)
    of_each = sum(part * site.acting_lanes * site.width / 8 for site, part in waits.items()) / sum(
        waits.values()
    )
    return warps * usual_count(evidence, waits) * of_each >= FILLED_A_CYCLE * DRAM_CYCLES


def usual_count(evidence: Evidence, waits: Mapping[Site, float]) -> int:
    """Returns how many loads are under way while warps wait: for half of the waiting it is no more, and for half no fewer.

    A mean over loops with few loads and code with many would be true of neither.
    """
    counts = sorted((count_when_used(evidence, site), part) for site, part in waits.items())
    passed = accumulate(part for _, part in counts)
    return next(
        count for (count, _), part in zip(counts, passed, strict=True) if 2 * part >= sum(waits.values())
    )


def count_when_used(evidence: Evidence, site: Site) -> int:
    """Returns how many loads from global memory, with this one, are under way when a warp first uses what this one loads.

    Loads whose value was used before are done. Copies to shared memory have no such use: for them, the loads issued together count.
    """
    counts = _counts_when_used(evidence, site.function, evidence.innermost_loop(site))
    return counts.get(site) or count_under_way(evidence, site)


@kept
def _counts_when_used(evidence: Evidence, function: int, loop: Loop | None) -> dict[Site, int]:
    """Returns for the loads of a loop, or of a function, how many are under way when their value is used first."""
    sites = evidence.by_function[function] if loop is None else evidence.inside(loop)
    found: dict[Site, int] = {}
    under_way: dict[Site, set[str]] = {}
    # What one turn of a loop loads may be used in the next one.
    for site in sites if loop is None else [*sites, *sites]:
        used = [load for load, registers in under_way.items() if not registers.isdisjoint(site.use.inputs)]
        found |= dict.fromkeys(used, len(under_way))
        for load in used:
            del under_way[load]
        if site.kind == "global load" and site.use.written:
            under_way[site] = set(site.use.written)
    return found


class _Place(NamedTuple):
    """A place in a list of loads that a warp issues before it waits for any of them."""

    loads: list[Site]
    place: int


@kept
def _loads_around(evidence: Evidence, function: int, loop: Loop | None) -> dict[Site, tuple[_Place, _Place]]:
    """Returns for each instruction of a loop, or of a function, the loads that are issued with it: those before its place, and those after."""
    sites = evidence.by_function[function] if loop is None else evidence.inside(loop)
    longest = max(map(_waits_for_loads, sites))
    found: dict[Site, tuple[_Place, _Place]] = {}
    together: list[Site] = []
    for site in sites:
        before = _Place(together, len(together))
        if site.kind == "global load":
            together.append(site)
        elif _waits_for_loads(site) > _PASSING * longest or site.instruction.name in ("BRA", "BAR", "EXIT"):
            together = []
        found[site] = (before, _Place(together, len(together)))
    return found


def _waits_for_loads(site: Site) -> float:
    """Returns the samples of waiting for loads at each execution."""
    return site.waits.get("long_scoreboard", 0) / site.executed
