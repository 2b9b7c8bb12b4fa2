"""Finds stores that another one makes useless: those that a loop overwrites itself, and those of all threads to one place.

However many warps store to one place, and from however many SMs, one slice of L2 takes them all, while the others idle. No counter shows
that, and whatever else is requested waits behind them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from profiler.analyse.causes.evidence.addresses import address_of, offset_of
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.latency import ONE_SLICE
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.addresses.threads import offsets_of_threads
from profiler.analyse.causes.flow.block_sharing import count_blocks_alike
from profiler.analyse.causes.flow.dataflow import address_registers, find_pointers, makers_of_address
from profiler.analyse.causes.flow.same_in_turns import has_fixed_address
from profiler.catalog.metrics import LANES, SECTOR_BYTES

# L2's cycles for a sector: `scaled_by_all` of one_place.cu in tests/data/causes, which does little else, takes as many on an H200. At its peak, a
# slice moves two sectors a cycle ("NVIDIA A100 Tensor Core GPU Architecture": 5,120 bytes from 80 slices).
_CYCLES_A_SECTOR = 0.586
_SIZE_OF_L2 = "device__attribute_l2_cache_size"
# The part of the time below which nothing is named.
_SOME = 0.03


@kept
def part_overwritten(evidence: Evidence, store: Site) -> float:
    """Returns the part of a loop's stores that the loop itself overwrites; a store that only acts in the last turn overwrites nothing.

    The compiler may have unrolled some of the turns, or all.
    """
    turns = count_in_a_row(evidence, store) / (1 - has_fixed_address(evidence, store))
    acting = turns * min(1.0, store.acting_lanes / (store.lanes or LANES))
    return 1 - 1 / acting if acting > 1 else 0.0


def count_in_a_row(evidence: Evidence, store: Site) -> int:
    """Returns how many stores to the same address stand in a row, this one among them: with no branch or barrier between them, each overwrites the one before.

    Barriers of an unrolled loop are counted alike, with no branch between them.
    """
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


def count_stored_again(evidence: Evidence, stores: Iterable[Site]) -> float:
    """Returns how often these store to each place at least, on average: what device memory has not taken in is in L2, and no other place was stored to."""
    in_l2, written = (evidence.find(name) for name in (_SIZE_OF_L2, "dram_bytes_written"))
    if not in_l2 or written is None:
        return 0.0
    return sum(store.bytes_of_lanes for store in stores) / (in_l2 + written)


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


def add_stores_alike(evidence: Evidence) -> Evidence:
    """Returns the evidence with the load of the slice of L2 to which all threads store."""
    cycles, sectors = (
        evidence.find("lts__cycles_elapsed.max"),
        max(sectors_by_place(evidence).values(), default=0.0),
    )
    if not cycles or not sectors:
        return evidence
    busy = {**evidence.model.busy, ONE_SLICE: min(1.0, _CYCLES_A_SECTOR * sectors / cycles)}
    return replace(evidence, model=replace(evidence.model, busy=busy))


@kept
def find_stores_alike(evidence: Evidence) -> list[Site]:
    """Returns the stores that have one address in all threads of the grid, and that keep a slice of L2 busy."""
    cycles = evidence.find("lts__cycles_elapsed.max")
    if not cycles or evidence.shape is None:
        return []
    return [
        site
        for site in evidence.of("global store")
        if ".STRONG" not in site.opcode
        and _SOME * cycles <= _CYCLES_A_SECTOR * (site.sectors or 0.0)
        and (site.sectors or 0.0) <= site.executed
        and (has_fixed_address(evidence, site) > 0 or not evidence.innermost_loop(site))
        and count_blocks_alike(evidence, site) == evidence.shape.blocks
        and not any(offsets_of_threads(evidence, site) or (1,))
    ]


@kept
def sectors_by_place(evidence: Evidence) -> Mapping[object, float]:
    """Returns how many sectors such stores make of each place: what they took their address from, and which of its sectors."""
    found: dict[object, float] = {}
    for site in find_stores_alike(evidence):
        made = frozenset(makers_of_address(evidence, site))
        place = site.function, made, offset_of(site) // SECTOR_BYTES
        found[place] = found.get(place, 0.0) + (site.sectors or 0.0)
    return found
