"""Knows which fences belong to atomics, and for what warps wait at barriers."""

from __future__ import annotations

from functools import partial
from itertools import takewhile

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import FENCES, Site

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
    loading = 0.0
    for site in evidence.sites:
        waits = evidence.charged[site]
        if site.kind == "barrier":
            waiting = waits["barrier"] + waits["membar"]
            parts[site] = waiting / (waiting + loading) if waiting else 0.0
            loading = 0.0
        elif site.kind == "global load":
            loading += waits["long_scoreboard"]
    return parts
