"""Finds what a loop passes from one iteration to the next through global memory, although the same thread stores and loads it.

So do recurrences that keep all their results: `y[t] = a * y[t - 1] + x[t]`. The compiler keeps no result in a register past a store
that may change it in memory, and it seldom knows that none does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.addresses.made_up import addresses_in_turns
from profiler.analyse.causes.flow.dataflow import all_makers, makers_of_value
from profiler.analyse.code.loops import Loop, loops_within

_LOOK_BACK = 3  # iterations in which a result that is loaded was stored at most: recurrences of a higher order are rare
_NEARLY_ALL = 0.9  # of the executions of a load: iterations that are peeled off the loop store, too


class Passed(NamedTuple):
    """A store whose value the same iteration loads again, or one that comes so many iterations later."""

    store: Site
    turns: int


@kept
def find_passed_through_memory(evidence: Evidence) -> Mapping[Site, Passed]:
    """Returns the loads of innermost loops that read what the same thread has stored there shortly before, each with that store.

    Past a barrier, another thread may have stored there.
    """
    found: dict[Site, Passed] = {}
    for function, sites in evidence.by_function.items():
        loops = evidence.loops.get(function, [])
        for loop in loops:
            kinds = {one.kind for one in evidence.inside(loop)}
            may_pass = {"global load", "global store"} <= kinds and "barrier" not in kinds
            if may_pass and not loops_within(loop, loops):
                found |= _passed_in(evidence, sites, loop)
    return found


def find_stores_in_chains(evidence: Evidence) -> list[Site]:
    """Returns the stores of results that are made from what the same loop stored before, and loads again."""
    loads = find_passed_through_memory(evidence)
    return [
        store
        for store in dict.fromkeys(passed.store for passed in loads.values())
        if any(one in loads for one in all_makers(evidence, makers_of_value(evidence, store)))
    ]


def _passed_in(evidence: Evidence, sites: Sequence[Site], loop: Loop) -> dict[Site, Passed]:
    """Returns the loads of one loop that take up what it stored the same number of iterations before, in each of the last two that are looked at."""
    before = [one for one in sites if one.instruction.offset < loop.start]
    stored: dict[int, tuple[Site, int]] = {}  # by address: what stored there last, and in which iteration
    found: list[dict[Site, Passed]] = []
    for turn, addresses in enumerate(addresses_in_turns(before, evidence.inside(loop), _LOOK_BACK + 2)):
        found.append({})
        for site, address in addresses.items():
            if site.kind != "global load":
                stored[address] = site, turn
            elif address in stored and _may_take(site, stored[address][0]):
                store, since = stored[address]
                found[turn][site] = Passed(store, turn - since)
    return {load: passed for load, passed in found[-1].items() if found[-2].get(load) == passed}


def _may_take(load: Site, store: Site) -> bool:
    """Returns whether a load takes just what a store has put there, if both have the same address."""
    return (
        store.kind == "global store"
        and store.width == load.width
        and ".STRONG" not in load.opcode
        and store.lane_executions >= _NEARLY_ALL * load.lane_executions
    )
