"""Follows results to all that depends on them, in the order of the code, through loops and past branches."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept_of_code
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.code.loops import Loop
from profiler.analyse.code.registers import opposite_of, predicates_in

NOTHING: frozenset[Site] = frozenset()
_NO_NAMES: frozenset[str] = frozenset()


@kept_of_code
def depending_on(
    evidence: Evidence, function: int, first: frozenset[Site], never: frozenset[Site]
) -> Set[Site]:
    """Returns what `find_depending` finds in a function, and keeps it, since several callers ask for the same."""
    sites, loops = evidence.by_function[function], evidence.loops.get(function, [])
    return find_depending(evidence, sites, loops, first, never)


def find_depending(
    evidence: Evidence,
    sites: Sequence[Site],
    loops: Iterable[Loop],
    first: Set[Site],
    never: Set[Site] = NOTHING,
    before: Iterable[str] = (),
) -> set[Site]:
    """Returns `first`, and what reads their results or those of others found before, but nothing else of `never`.

    The search follows the code in its order, and each loop twice. Code that a branch may skip, such as the slow path of a
    division, may not have run: behind it, registers that it overwrites may still hold such results. A write under a predicate
    changes nothing in the other lanes, until they write under the opposite predicate. `before` names the registers that hold such
    results when the code begins.
    """
    found: set[Site] = set()
    tainted = set(before)
    # By predicate, the registers that hold such a result only in lanes where it does not hold.
    replaced: dict[str, Set[str]] = {}
    # By the offset where code that a branch may skip ends, the registers that hold such results where it begins.
    passed: dict[int, Set[str]] = {}
    nearest_end: float = math.inf
    steps = _steps(evidence)
    for site, offset, read, results, guard, leads_to in map(steps.__getitem__, _looping_twice(sites, loops)):
        while nearest_end <= offset:
            left = passed.pop(int(nearest_end))
            tainted |= left
            replaced = _without(replaced, left)
            nearest_end = min(passed, default=math.inf)
        # Under the same predicate, it reads only what the lanes of that predicate hold.
        taken = read - replaced.get(guard, _NO_NAMES) if guard and replaced else read
        if site in first or not (tainted.isdisjoint(taken) or site in never):
            found.add(site)
            tainted |= results
            if replaced:
                replaced = _without(replaced, results)
        elif replaced or not tainted.isdisjoint(results):
            tainted -= results & replaced.get(opposite_of(guard), _NO_NAMES) if guard else results
            replaced = _without(replaced, results)
            if guard and (left_in_others := tainted & results):
                replaced[guard] = replaced.get(guard, _NO_NAMES) | left_in_others
        if leads_to is not None:
            passed[leads_to] = passed.get(leads_to, _NO_NAMES) | tainted
            nearest_end = min(nearest_end, leads_to)
    return found


class _Step(NamedTuple):
    """The parts of an instruction that the search reads. It reads them many times, so they are gathered once."""

    site: Site
    offset: int
    read: Set[str]
    results: Set[str]
    guard: str | None
    leads_to: int | None


@kept_of_code
def _steps(evidence: Evidence) -> Mapping[Site, _Step]:
    found = {}
    for site in evidence.sites:
        one = site.instruction
        # If no lane took a branch, the code at its target may not have run. Then nothing shows what that code overwrites.
        leads_to = None if one.predicate and site.acting == 0 else site.leads_to
        found[site] = _Step(site, one.offset, site.taken, site.use.results, one.predicate, leads_to)
    return found


def _without(replaced: Mapping[str, Set[str]], written: Set[str]) -> dict[str, Set[str]]:
    """Returns `replaced` without the registers and the predicates that were written."""
    return {
        guard: left
        for guard, names in replaced.items()
        if (left := names - written) and written.isdisjoint(predicates_in(guard))
    }


def _looping_twice(sites: Sequence[Site], loops: Iterable[Loop]) -> Sequence[Site]:
    """Returns the instructions in the order of the code, with those of each loop again behind its end."""
    offsets = [site.instruction.offset for site in sites]
    starts: dict[int, int] = {}  # where each loop starts, by where it ends
    for loop in loops:
        end = bisect_left(offsets, loop.end)
        if end < len(sites) and offsets[end] == loop.end:
            starts[end] = bisect_left(offsets, loop.start)
    found: list[Site] = []
    here = 0
    while ahead := [end for end in starts if end >= here]:
        end = min(ahead)
        found += sites[here : end + 1]
        here = starts.pop(end)
    return [*found, *sites[here:]]
