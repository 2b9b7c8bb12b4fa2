"""Finds the loops that repeat an atomic until it succeeds: spin locks, and updates that others came before.

Such a loop turns as often as its warps have to wait for others. So whatever it executes and waits for, barriers and copies through
shared memory included, ends with the contention and with nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import Site, is_swap
from profiler.analyse.causes.flow.depending import find_depending
from profiler.analyse.code.loops import Loop
from profiler.analyse.code.registers import predicates_in

_IN_VAIN = 2.0  # turns for each success: fewer wait for less than their own update takes


def add_retries(evidence: Evidence) -> Evidence:
    """Returns the evidence with the instructions of all loops that repeat an atomic until it succeeds."""
    swaps = [site for site in evidence.of("atomic", "shared atomic") if is_swap(site)]
    loops = evidence.loops_around(swaps)
    retried = [site for loop in loops if _is_retried(evidence, loop) for site in evidence.inside(loop)]
    return replace(evidence, retried=frozenset(retried)) if retried else evidence


def _is_retried(evidence: Evidence, loop: Loop) -> bool:
    """Returns whether a loop repeats its atomic until that succeeds, and at least half of its turns are in vain."""
    sites = evidence.inside(loop)
    return evidence.turns(sites[0], loop) >= _IN_VAIN and _is_retry(sites, loop)


def _is_retry(sites: Sequence[Site], loop: Loop) -> bool:
    """Returns whether the loop ends when its atomic has succeeded, and not after so many elements.

    The atomic's result may go to other warps through shared memory.
    """
    depending: set[Site] = set()
    for passed_on in (False, True):
        if passed_on and not any(site.stores_in_shared for site in depending):
            break
        first = {site for site in sites if is_swap(site) or (passed_on and site.kind == "shared load")}
        depending = set(find_depending(sites, [loop], first))
    branches = [site for site in sites if site.instruction.name == "BRA"]
    last = branches[-1:]  # goes back; if it does so in any case, one of the others decides
    is_conditional = any(one.instruction.predicate or predicates_in(one.instruction.text) for one in last)
    return not depending.isdisjoint(last if is_conditional else branches)
