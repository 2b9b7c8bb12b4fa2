"""Finds stores that others make useless: the same loop or a later one overwrites them, or all threads store to one place.

However many warps store to one place, and from however many SMs, one slice of L2 takes them all, while the others idle. No
counter shows that, and all other requests wait behind them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import product
from typing import NamedTuple

from profiler.analyse.causes.evidence.addresses import address_of, offset_of
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.latency import ONE_SLICE
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.addresses.made_up import first_addresses
from profiler.analyse.causes.flow.addresses.threads import offsets_of_threads
from profiler.analyse.causes.flow.block_sharing import count_blocks_alike
from profiler.analyse.causes.flow.dataflow import address_registers, makers_of_address
from profiler.analyse.causes.flow.memory.repeated_loads import (
    NEARLY_ALIKE,
    fits_in_block,
    is_near,
)
from profiler.analyse.causes.flow.pointers import find_pointers
from profiler.analyse.causes.flow.same_in_turns import has_fixed_address
from profiler.analyse.code.loops import Loop
from profiler.catalog.metrics import LANES, SECTOR_BYTES

# L2's cycles for a sector, measured on an H200 with `scaled_by_all` of one_place.cu in tests/data/causes, which does little else. At its
# peak, a slice moves two sectors a cycle ("NVIDIA A100 Tensor Core GPU Architecture": 5,120 bytes from 80 slices).
_CYCLES_A_SECTOR = 0.586
# The part of the time below which nothing is named.
_SOME = 0.03


@kept
def part_overwritten(evidence: Evidence, store: Site) -> float:
    """Returns the part of a loop's stores that the loop itself overwrites. A store that acts only in the last iteration overwrites nothing.

    The compiler may have unrolled some of the iterations, or all.
    """
    turns = count_in_a_row(evidence, store) / (1 - has_fixed_address(evidence, store))
    acting = turns * min(1.0, store.acting_lanes / (store.lanes or LANES))
    return 1 - 1 / acting if acting > 1 else 0.0


def count_in_a_row(evidence: Evidence, store: Site) -> int:
    """Returns how many stores to the same address stand in a row, including this one. Each overwrites the one before.

    No branch or barrier stands between them. Barriers of an unrolled loop are counted in the same way, with no branch between
    them.
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


class TakenBack(NamedTuple):
    """The loads by which threads read back what they stored in an earlier loop, and those of these stores that they overwrite later."""

    loads: list[Site]
    overwritten: list[Site]


@kept
def find_taken_back(evidence: Evidence) -> TakenBack:
    """Returns the loads by which threads read back what they stored themselves in an earlier loop, if a block could have kept the values.

    Since then, nothing else may have stored there, and nothing else may load nearby, where another thread may have stored. The
    loads may stand in a loop, or outside of all loops, as in one that the compiler has unrolled completely.
    """
    found = TakenBack([], [])
    for sites in evidence.by_function.values():
        around = evidence.loops_around(one for one in sites if one.kind == "global store")
        loads = [one for one in sites if _may_be_of_own(one)]
        if not around or not loads or min(loop.end for loop in around) >= loads[-1].instruction.offset:
            continue  # addresses take long to find
        addresses = first_addresses(sites)
        for before, loop in product(around, dict.fromkeys(map(evidence.innermost_loop, loads))):
            if loop is None or before.end < loop.start:
                one = _taken_back(evidence, addresses, before, loop)
                found.loads.extend(one.loads)
                found.overwritten.extend(one.overwritten)
    return found


def _may_be_of_own(site: Site) -> bool:
    """Returns whether a load may read what the kernel stored, and is not meant to read what other threads store."""
    return site.kind == "global load" and ".CONSTANT" not in site.opcode and ".STRONG" not in site.opcode


def _taken_back(
    evidence: Evidence, addresses: Mapping[Site, int], before: Loop, loop: Loop | None
) -> TakenBack:
    """Returns what a loop, or the code behind it outside of all loops, reads back of what the loop `before` stored."""
    since = [one for one in addresses if one.instruction.offset >= before.start]
    stored = [one for one in since if one.kind == "global store" and one.instruction in before]
    later = [
        one for one in since if one.instruction.offset > before.end and evidence.innermost_loop(one) is loop
    ]
    back = [one for one in later if _may_be_of_own(one) and is_near(addresses, one, stored)]
    stored = [one for one in stored if is_near(addresses, one, back)]
    again = [one for one in later if one.kind == "global store" and is_near(addresses, one, back)]
    own = {*stored, *back, *again}
    if (
        not _come_to_the_same(addresses, stored, back)
        or any(one not in own and is_near(addresses, one, back) for one in since)
        or not fits_in_block(evidence, before, loop, back)
    ):
        return TakenBack([], [])
    return TakenBack(back, stored if _come_to_the_same(addresses, stored, again) else [])


def _come_to_the_same(
    addresses: Mapping[Site, int], some: Collection[Site], others: Collection[Site]
) -> bool:
    """Returns whether two groups of accesses run about as often, and begin at the same places, or one at more: its loop may be unrolled further."""
    first, second = (sum(one.executed for one in each) for each in (some, others))
    places, more = sorted(({addresses[one] for one in each} for each in (some, others)), key=len)
    return 0 < max(first, second) <= NEARLY_ALIKE * min(first, second) and places <= more


def is_read_past_barrier(evidence: Evidence, store: Site) -> bool:
    """Returns whether a loop loads from other places of the array to which it stores, with a barrier between iterations."""
    if not any(site.kind == "barrier" for site in evidence.around(store)):
        return False
    arrays = find_pointers(evidence, store)
    return any(
        not arrays.isdisjoint(find_pointers(evidence, site)) for site in find_other_loads(evidence, store)
    )


def find_other_loads(evidence: Evidence, store: Site) -> list[Site]:
    """Returns the loads in a store's loop from other places than that of the store."""
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
    """Returns the stores that have the same address in all threads of the grid and keep a slice of L2 busy."""
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
    """Returns how many sectors such stores write at each place. What made the address, and the sector behind that, identify a place."""
    found: dict[object, float] = {}
    for site in find_stores_alike(evidence):
        made = frozenset(makers_of_address(evidence, site))
        place = site.function, made, offset_of(site) // SECTOR_BYTES
        found[place] = found.get(place, 0.0) + (site.sectors or 0.0)
    return found
