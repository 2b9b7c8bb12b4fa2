"""Finds the loops that repeat an atomic until it succeeds: spin locks, and updates that others came before.

Such a loop runs for as long as its warps have to wait for others. Whatever it executes and waits for, including barriers and
copies through shared memory, goes with the contention and with nothing else. In shared memory, lanes also wait for other lanes of
their bank.
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

_COMPILED_SUM = ".SPIN"  # marks the swap of a loop that the compiler made of an addition
_IN_VAIN = 2.0  # iterations for each success: with fewer, warps wait for less than their own update takes


def add_retries(evidence: Evidence) -> Evidence:
    """Returns the evidence with the instructions of all loops that repeat an atomic until it succeeds."""
    swaps = [site for site in evidence.of("atomic", "shared atomic") if is_swap(site)]
    loops = evidence.loops_around(swaps)
    retried = [site for loop in loops if _is_retried(evidence, loop) for site in evidence.inside(loop)]
    return replace(evidence, retried=frozenset(retried)) if retried else evidence


@kept
def find_in_conflict(evidence: Evidence) -> Mapping[Loop, Site]:
    """Returns the loops that repeat an addition in shared memory because of bank conflicts, each with its load from the updated address.

    Where no instruction can add, the compiler makes a loop that swaps in the sum. A bank lets one lane at a time do that, even if
    the other lanes have other addresses. On an H200, a warp that adds to doubles 1, 2, 4 and 8 elements apart makes 1, 2, 4 and 8
    iterations, and takes 120, 239, 489 and 1,036 cycles. A loop that the source itself makes of `atomicCAS` makes one iteration
    at all of these distances.

    The load serves all lanes of one address in one pass. If a pass serves fewer than two lanes, more lanes have an address of
    their own than share one. Each iteration takes one pass less than the one before, so the first takes twice the mean, less one:
    that is how many iterations the conflicts explain. If these are less than half of all, other warps come first more often.
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
    """Returns whether the loop ends when its atomic has succeeded, and not after a number of elements.

    The atomic's result may go to other warps through shared memory.
    """
    depending: set[Site] = set()
    for passed_on in (False, True):
        if passed_on and not any(site.stores_in_shared for site in depending):
            break
        first = {site for site in sites if is_swap(site) or (passed_on and site.kind == "shared load")}
        depending = find_depending(evidence, sites, [loop], first)
    branches = [site for site in sites if site.instruction.name == "BRA"]
    last = branches[-1:]  # goes back; if it is unconditional, one of the others decides
    is_conditional = any(one.instruction.predicate or predicates_in(one.instruction.text) for one in last)
    return not depending.isdisjoint(last if is_conditional else branches)
