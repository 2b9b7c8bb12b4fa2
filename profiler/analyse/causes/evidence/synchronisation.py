"""Knows which fences belong to atomics, and for what warps wait at barriers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import pairwise, takewhile
from math import prod

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import FENCES, Site
from profiler.analyse.code.loops import Loop

# These stand around an atomic, to order it with other accesses: they wait for the stores before it, and empty L1 after it.
_ORDERING = (*FENCES, "CGAERRBAR", "CCTL")


def find_ordering(evidence: Evidence) -> list[Site]:
    """Returns the fences that belong to atomics: a fence that orders an atomic stands beside it under the same predicate, and would go with it."""
    found: list[Site] = []
    for sites in evidence.by_function.values():
        for index, site in enumerate(sites):
            if site.kind == "atomic":
                for beside in (reversed(sites[:index]), iter(sites[index + 1 :])):
                    found += takewhile(partial(_orders, site), beside)
    return found


def _orders(atomic: Site, site: Site) -> bool:
    return (
        site.instruction.name in _ORDERING
        and site.instruction.predicate == atomic.instruction.predicate
        and site.executed == atomic.executed
    )


def find_own_part(evidence: Evidence) -> dict[Site, float]:
    """Returns the part of the waiting at each barrier that is not for loads since the barrier before it."""
    parts: dict[Site, float] = {}
    for barrier, since in find_since_barrier(evidence):
        waits = evidence.charged[barrier]
        waiting = waits["barrier"] + waits["membar"]
        loading = sum(
            part * evidence.charged[site]["long_scoreboard"]
            for site, part in since.items()
            if site.kind == "global load"
        )
        parts[barrier] = waiting / (waiting + loading) if waiting else 0.0
    return parts


def find_since_barrier(evidence: Evidence) -> Iterator[tuple[Site, dict[Site, float]]]:
    """Yields each barrier with the instructions between the barrier before and it, and which part of their executions this is.

    What stands behind the last barrier of a loop comes before the first one in the next turn. Only in the last turn, it comes
    before the barrier behind the loop.
    """
    for function, sites in evidence.by_function.items():
        places = [place for place, site in enumerate(sites) if site.kind == "barrier"]
        first = {
            loop: barrier
            for loop in evidence.loops.get(function, ())
            if (barrier := next((one for one in evidence.inside(loop) if one.kind == "barrier"), None))
        }
        for before, here in pairwise((-1, *places)):
            barrier = sites[here]
            since = {site: _part_leaving(evidence, first, site, barrier) for site in sites[before + 1 : here]}
            for loop in (one for one, barrier_of_loop in first.items() if barrier_of_loop is barrier):
                around = 1.0 - _part_of_last_turns(evidence, loop)
                within = [
                    one
                    for one in first
                    if loop.start <= one.start and one.end <= loop.end and one is not loop
                ]
                for site in takewhile(lambda one: one.kind != "barrier", reversed(evidence.inside(loop))):
                    part = around * _part_leaving(evidence, within, site, barrier)
                    since[site] = since.get(site, 0.0) + part
            yield barrier, since


def _part_leaving(evidence: Evidence, loops: Iterable[Loop], site: Site, barrier: Site) -> float:
    """Returns in which part of its executions warps go on from an instruction to a barrier behind the loops around it."""
    left = (loop for loop in loops if site.instruction in loop and barrier.instruction not in loop)
    return prod(_part_of_last_turns(evidence, loop) for loop in left)


def _part_of_last_turns(evidence: Evidence, loop: Loop) -> float:
    """Returns in which part of a loop's turns warps leave it: as often as they come, by the instruction before it."""
    first = evidence.inside(loop)[0]
    before = evidence.last_before(first.function, loop)
    return min(1.0, before.executed / first.executed) if before else 0.0
