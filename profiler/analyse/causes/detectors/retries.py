"""Finds the loops that repeat an atomic until it succeeds: spin locks, and updates that others came before.

Such a loop turns as often as its warps have to wait for others. So whatever it executes and waits for, barriers and copies through
shared memory included, ends with the contention and with nothing else. In shared memory, lanes also wait for others of their bank.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from profiler.analyse.causes.evidence.addresses import address_of
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import Site, is_swap
from profiler.analyse.causes.flow.depending import find_depending
from profiler.analyse.code.loops import Loop
from profiler.analyse.code.registers import predicates_in

_COMPILED_SUM = ".SPIN"  # the swap of the loop that the compiler makes of an addition
_IN_VAIN = 2.0  # turns for each success: fewer wait for less than their own update takes


def add_retries(evidence: Evidence) -> Evidence:
    """Returns the evidence with the instructions of all loops that repeat an atomic until it succeeds."""
    swaps = [site for site in evidence.of("atomic", "shared atomic") if is_swap(site)]
    loops = evidence.loops_around(swaps)
    retried = [site for loop in loops if _is_retried(evidence, loop) for site in evidence.inside(loop)]
    return replace(evidence, retried=frozenset(retried)) if retried else evidence


@kept
def find_in_conflict(evidence: Evidence) -> Mapping[Loop, Site]:
    """Returns the loops that repeat an addition in shared memory because its lanes fall into the same bank, each with its load from the same place.

    Where no instruction adds, the compiler swaps in the sum, and a bank lets one lane at a time do that, whatever the places of the others.
    On an H200, a warp that adds to doubles 1, 2, 4 and 8 places apart makes 1, 2, 4 and 8 turns, and takes 120, 239, 489 and 1,036 cycles;
    a loop that the code itself makes of `atomicCAS` makes one turn at all of these distances.

    The load serves all lanes of one place in one pass: if a pass serves fewer than two, more lanes have a place of their own than share one
    with another. It makes a pass less in each turn, so that twice its mean, less one, is how many turns the conflicts explain. If they are
    not half of the turns, other warps come first more often.
    """
    found = {}
    for swap in evidence.of("shared atomic"):
        loop = evidence.innermost_loop(swap)
        if _COMPILED_SUM not in swap.opcode or loop is None or not _is_retried(evidence, loop):
            continue
        for load in evidence.inside(loop):
            passes, needed = load.passes or 0.0, load.ideal_passes or 0.0
            is_of_place = load.kind == "shared load" and address_of(load) == address_of(swap)
            if not is_of_place or passes <= needed or 2 * passes <= load.lane_executions:
                continue
            explained = 2 * passes / load.executed - 1
            if evidence.turns(swap, loop) <= 2 * explained:
                found[loop] = load
    return found


def _is_retried(evidence: Evidence, loop: Loop) -> bool:
    """Returns whether a loop repeats its atomic until that succeeds, and at least half of its turns are in vain."""
    sites = evidence.inside(loop)
    return evidence.turns(sites[0], loop) >= _IN_VAIN and _is_retry(evidence, sites, loop)


def _is_retry(evidence: Evidence, sites: Sequence[Site], loop: Loop) -> bool:
    """Returns whether the loop ends when its atomic has succeeded, and not after so many elements.

    The atomic's result may go to other warps through shared memory.
    """
    depending: set[Site] = set()
    for passed_on in (False, True):
        if passed_on and not any(site.stores_in_shared for site in depending):
            break
        first = {site for site in sites if is_swap(site) or (passed_on and site.kind == "shared load")}
        depending = find_depending(evidence, sites, [loop], first)
    branches = [site for site in sites if site.instruction.name == "BRA"]
    last = branches[-1:]  # goes back; if it does so in any case, one of the others decides
    is_conditional = any(one.instruction.predicate or predicates_in(one.instruction.text) for one in last)
    return not depending.isdisjoint(last if is_conditional else branches)
