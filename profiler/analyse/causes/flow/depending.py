"""Follows results to all that depends on them, in the order of the code, through loops and past branches."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence, Set

from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.code.loops import Loop
from profiler.analyse.code.registers import opposite_of


def find_depending(
    sites: Sequence[Site],
    loops: Iterable[Loop],
    first: Set[Site],
    never: Set[Site] = frozenset(),
    before: Iterable[str] = (),
) -> Iterator[Site]:
    """Yields `first`, and what reads their results or those of others that were found, in the order of the code; but `never` these.

    The search goes through loops twice. What a branch may pass by, such as the slow path of a division, leaves the result of the others.
    What is written under a predicate leaves it in other lanes, until they write under the opposite one. Registers may hold such results
    `before` the code begins.
    """
    tainted = set(before)
    # By register that holds such a result in some lanes, the predicate of those that have another.
    replaced: dict[str, str] = {}
    # By the end of what a branch may pass by, the registers that hold such results where it begins.
    passed: dict[int, set[str]] = {}
    nearest_end: float = math.inf
    for site in _looping_twice(sites, loops):
        while nearest_end <= site.instruction.offset:
            left = passed.pop(int(nearest_end))
            tainted |= left
            replaced = _without_names(replaced, left)
            nearest_end = min(passed, default=math.inf)
        results, guard = site.use.results, site.instruction.predicate
        # Under the same predicate, it reads what such lanes have.
        taken: Set[str] = site.taken
        if guard and replaced:
            taken = {name for name in taken if replaced.get(name) != guard}
        depends = site in first or not (tainted.isdisjoint(taken) or site in never)
        if depends:
            yield site
            tainted |= results
        elif guard is None:
            tainted -= results
        else:
            tainted -= {name for name in results if replaced.get(name) == opposite_of(guard)}
        replaced = _without_names(replaced, results)
        if guard and not depends:
            replaced |= dict.fromkeys(results & tainted, guard)
        # Where no lane took a branch, what it leads to may not have run, and shows nothing of what it would replace.
        if site.leads_to is not None and not (guard and site.acting == 0):
            passed.setdefault(site.leads_to, set()).update(tainted)
            nearest_end = min(nearest_end, site.leads_to)


def _without_names(replaced: dict[str, str], written: Set[str]) -> dict[str, str]:
    """Returns what is known of registers under predicates, without these registers and these predicates."""
    if not replaced:
        return replaced
    return {
        name: guard
        for name, guard in replaced.items()
        if name not in written and guard.removeprefix("!") not in written
    }


def _looping_twice(sites: Sequence[Site], loops: Iterable[Loop]) -> Sequence[Site]:
    """Returns the instructions in the order of the code, with those of each loop again behind its end."""
    offsets = [site.instruction.offset for site in sites]
    starts: dict[int, int] = {}  # the place where a loop starts, by that of its end
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
