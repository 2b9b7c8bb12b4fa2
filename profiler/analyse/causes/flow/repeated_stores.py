"""Knows which stores a loop itself overwrites, and whether other threads may read them before."""

from __future__ import annotations

from profiler.analyse.causes.evidence.addresses import address_of
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.dataflow import (
    address_registers,
    find_pointers,
)
from profiler.analyse.causes.flow.same_in_turns import has_fixed_address
from profiler.catalog.metrics import LANES


def part_overwritten(evidence: Evidence, store: Site) -> float:
    """Returns the part of a loop's stores that the loop itself overwrites; a store that only acts in the last turn overwrites nothing.

    The compiler may have unrolled some of the turns, or all.
    """
    turns = count_copies(evidence, store) / (1 - has_fixed_address(evidence, store))
    acting = turns * (1.0 if store.acting is None else store.acting / (store.lanes or LANES))
    return 1 - 1 / acting if acting > 1 else 0.0


def count_copies(evidence: Evidence, store: Site) -> int:
    """Returns how many stores to the same address stand in a row, this one among them: with no branch or barrier between them, each overwrites the one before."""
    registers, place = address_registers(store.instruction), address_of(store)
    sites = evidence.around(store)
    here = evidence.place(store, sites)
    copies = 1
    for direction in (range(here + 1, len(sites)), range(here - 1, -1, -1)):
        for site in (sites[index] for index in direction):
            if (
                site.kind == store.kind
                and address_of(site) == place
                and site.instruction.predicate == store.instruction.predicate
            ):
                copies += 1
            elif site.kind in ("control", "barrier") or registers & set(site.use.written):
                break
    return copies


def is_read_past_barrier(evidence: Evidence, store: Site) -> bool:
    """Returns whether the loop loads from other places of the array to which it stores, with a barrier between turns."""
    if not any(site.kind == "barrier" for site in evidence.around(store)):
        return False
    arrays = find_pointers(evidence, store)
    return any(
        not arrays.isdisjoint(find_pointers(evidence, site)) for site in find_other_loads(evidence, store)
    )


def find_other_loads(evidence: Evidence, store: Site) -> list[Site]:
    """Returns the loads of a loop from other places than that to which it stores."""
    return [
        site
        for site in evidence.around(store)
        if site.kind == "global load" and address_of(site) != address_of(store)
    ]
