"""Detects stores to global memory whose results are overwritten before anyone reads them."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.detectors.waiting.unoverlapped_loads import find_lonely_loads
from profiler.analyse.causes.evidence.addresses import address_of
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import Effect
from profiler.analyse.causes.evidence.sites import FENCES, Site
from profiler.analyse.causes.flow.carried import is_carried
from profiler.analyse.causes.flow.dataflow import (
    address_registers,
    find_pointers,
    has_fixed_address,
)
from profiler.catalog.metrics import LANES

_UNROLLED = 4.0  # turns of a loop by the compiler


def detect_redundant_stores(evidence: Evidence) -> Iterable[Candidate]:
    """Names stores that a loop repeats to the same address, if nothing in the loop shows that anyone reads the overwritten values."""
    repeated = {
        site: part
        for site in evidence.of("global store")
        if ".STRONG" not in site.opcode
        and (part := part_overwritten(evidence, site)) > 0
        and not _is_read_meanwhile(evidence, site)
    }
    if repeated:
        turns = sum(site.executed for site in repeated) / sum(
            (1 - part) * site.executed for site, part in repeated.items()
        )
        fewer = evidence.without(repeated)
        together = evidence.waiting_for(_loads_held_apart(evidence, repeated), "long_scoreboard")
        yield Candidate(
            "redundant-global-stores",
            f"A loop stores to the same address in each of its {turns:.0f} turns: only what the last one stores remains.",
            "Store once, after the loop, and keep the value in a register until then.",
            Effect(fewer.resources, {**fewer.waits, **together}),
            {site: site.executed for site in repeated},
            {"turns": turns},
        )


def _loads_held_apart(evidence: Evidence, stores: Collection[Site]) -> dict[Site, float]:
    """Returns the part of the waiting for loads that ends with these stores: the loads of several turns are issued together.

    A store may change what a later load reads, so that the compiler leaves them in their order. It unrolls a plain loop by four,
    or by as many turns as the stores to one address show. A loop of single turns beside an unrolled one takes those that are left, and stays
    so. A load whose address comes from the load before has to wait all the same.
    """
    held: dict[Site, float] = {}
    lonely = [one for one in find_lonely_loads(evidence) if not is_carried(evidence, one)]
    unrolled = {store.instruction.place for store in stores if _count_copies(evidence, store) > 1} - {None}
    for store in stores:
        inside = set(evidence.around(store))
        loads = {one: evidence.charged[one]["long_scoreboard"] for one in lonely if one in inside}
        kept, copies = 1 / _UNROLLED, _count_copies(evidence, store)
        if copies == 1 and store.instruction.place in unrolled:
            continue
        if copies >= _UNROLLED and (total := sum(loads.values())):
            # Each turn stands by itself, and together they wait as long as the one that waits longest.
            kept = max(1 / copies, max(loads.values()) / total)
        held |= {one: max(held.get(one, 0.0), 1 - kept) for one in loads}
    return held


def part_overwritten(evidence: Evidence, store: Site) -> float:
    """Returns the part of a loop's stores that the loop itself overwrites; a store that only acts in the last turn overwrites nothing.

    The compiler may have unrolled some of the turns, or all.
    """
    turns = _count_copies(evidence, store) / (1 - has_fixed_address(evidence, store))
    acting = turns * (1.0 if store.acting is None else store.acting / (store.lanes or LANES))
    return 1 - 1 / acting if acting > 1 else 0.0


def _count_copies(evidence: Evidence, store: Site) -> int:
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


def _is_read_meanwhile(evidence: Evidence, store: Site) -> bool:
    """Returns whether others may read the stored values within the loop: after a fence or a barrier, or at addresses that do not change either.

    In a list that is worked on in place, each thread stores its own element and loads its neighbours.
    """
    return (
        any(site.instruction.name in FENCES for site in evidence.around(store))
        or any(has_fixed_address(evidence, site) > 0 for site in _other_loads(evidence, store))
        or is_read_past_barrier(evidence, store)
    )


def is_read_past_barrier(evidence: Evidence, store: Site) -> bool:
    """Returns whether the loop loads from other places of the array to which it stores, with a barrier between turns."""
    if not any(site.kind == "barrier" for site in evidence.around(store)):
        return False
    arrays = find_pointers(evidence, store)
    return any(not arrays.isdisjoint(find_pointers(evidence, site)) for site in _other_loads(evidence, store))


def _other_loads(evidence: Evidence, store: Site) -> list[Site]:
    return [
        site
        for site in evidence.around(store)
        if site.kind == "global load" and address_of(site) != address_of(store)
    ]
