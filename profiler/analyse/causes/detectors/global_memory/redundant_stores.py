"""Detects stores to global memory in vain, and loads that take back what the same thread stored.

A store is in vain if its result is overwritten before anyone reads it, or if only the block reads it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.detectors.global_memory.device_memory import (
    bytes_left_for,
    part_of_device_memory,
)
from profiler.analyse.causes.detectors.global_memory.fewer_loads import without_loads
from profiler.analyse.causes.evidence.blocks_of_sm import shared_of_block
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import ONE_SLICE, Effect
from profiler.analyse.causes.evidence.loads_under_way import find_lonely_loads
from profiler.analyse.causes.evidence.sites import FENCES, Site
from profiler.analyse.causes.flow.addresses.scratch import find_scratch
from profiler.analyse.causes.flow.loop_carried import is_carried
from profiler.analyse.causes.flow.memory.repeated_stores import (
    count_in_a_row,
    find_other_loads,
    find_stores_alike,
    find_taken_back,
    is_read_past_barrier,
    part_overwritten,
    sectors_by_place,
)
from profiler.analyse.causes.flow.same_in_turns import has_fixed_address
from profiler.text import mean_count, whole_percent

_OFTEN = 2.0  # half of what is stored is in vain
_UNROLLED = 4.0  # iterations of a plain loop by the compiler


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
        fewer = evidence.without(repeated)
        together = evidence.waiting_for(loads_held_apart(evidence, repeated), "long_scoreboard")
        yield Candidate(
            "redundant-global-stores",
            "A loop stores again and again to the same address: only what it stores last remains.",
            "Store once, after the loop, and keep the value in a register until then.",
            Effect(fewer.resources, {**fewer.waits, **together}),
            {site: site.executed for site in repeated},
        )
    if alike := find_stores_alike(evidence):
        fewer = evidence.without(dict.fromkeys(alike, 1.0))
        count = max(sectors_by_place(evidence).values())
        yield Candidate(
            "redundant-global-stores",
            f"Warps store {count:,.0f} times to one place, whichever threads and blocks they are: only what the last one stores remains, and "
            "one slice of L2 takes them all.",
            "Let one thread of the whole grid store the value. If data says which threads have something to store, let a block ask all of "
            "its threads first, and one of them store.",
            replace(fewer, resources={**fewer.resources, ONE_SLICE: 1.0}),
            {site: site.sectors or 0.0 for site in alike},
            {"stores_alike": count},
        )


def detect_taken_back(evidence: Evidence) -> Iterable[Candidate]:
    """Names values that threads store in one loop and load again in a later one, although they could have kept them.

    If the stored values are overwritten afterwards, the stores go as well.
    """
    loads, overwritten = find_taken_back(evidence)
    if not loads:
        return
    of_loads, fewer = (
        without_loads(evidence, dict.fromkeys(loads, 1.0)),
        evidence.without(dict.fromkeys([*loads, *overwritten], 1.0)),
    )
    accesses = evidence.of("global load", "global store")
    part = sum(one.bytes_asked for one in (*loads, *overwritten)) / sum(one.bytes_asked for one in accesses)
    yield Candidate(
        "redundant-global-stores" if overwritten else "redundant-global-loads",
        f"Threads load again what they have stored themselves in an earlier loop{', and then overwrite it' if overwritten else ''}: "
        f"{whole_percent(100 * part)} % of the bytes that the kernel loads and stores.",
        "Keep the values until then, in registers (an array of which every index is a constant, because its loops are unrolled) or in shared memory"
        + (", and store only the last ones." if overwritten else "."),
        Effect(fewer.resources, {**fewer.waits, **of_loads.waits}, of_loads.lighter),
        {site: site.sectors or 0.0 for site in (overwritten or loads)},
        {"taken_back_pct": 100 * part},
        in_triton="Keep the values until then: take a whole row as one block (BLOCK of the next power of two, with more `num_warps`)"
        + (", and store it once." if overwritten else "."),
    )


def detect_scratch(evidence: Evidence) -> Iterable[Candidate]:
    """Names arrays in global memory that a block fills in each turn of a loop, reads once in the same turn, and overwrites in the next."""
    found = find_scratch(evidence)
    if not found:
        return
    stores = [site for one in found for site in one.stores]
    loads = [site for one in found for site in one.loads]
    of_block = sum(one.bytes_of_block for one in found)
    gone = dict.fromkeys([*stores, *loads], 1.0)
    fewer = evidence.without(gone)
    waiting = evidence.waiting_for(loads_held_apart(evidence, stores) | gone, "long_scoreboard")
    spared = bytes_left_for(evidence, stores, "global store") + bytes_left_for(evidence, loads, "global load")
    accesses = evidence.of("global load", "global store")
    part = sum(one.bytes_asked for one in (*stores, *loads)) / sum(one.bytes_asked for one in accesses)
    stored = f"{of_block / 1024:,.0f} KiB" if of_block >= 1024 else f"{mean_count(of_block)} bytes"
    shared = " Or keep the values in shared memory." if of_block <= shared_of_block(evidence) else ""
    yield Candidate(
        "redundant-global-stores",
        f"In each turn of a loop, a block stores {stored} in global memory, loads them behind a barrier, and overwrites them in the next turn: "
        f"{whole_percent(100 * part)} % of the bytes that the kernel loads and stores.",
        f"Compute each value where it is used, since it is used once: join the loop that loads the values with the one that stores them.{shared}",
        Effect(
            {**fewer.resources, "dram": part_of_device_memory(evidence, spared)},
            {**fewer.waits, **waiting},
        ),
        {site: site.sectors or 0.0 for site in stores},
        {"scratch_pct": 100 * part},
    )


def loads_held_apart(evidence: Evidence, stores: Collection[Site]) -> dict[Site, float]:
    """Returns the part of the waiting for loads that ends with these stores or barriers: loads of several iterations are then issued together.

    The compiler keeps the order of stores and later loads, because a store may change what a load reads. The same holds for a
    barrier: it waits for others, whose stores may. Without them, the compiler unrolls a plain loop by four, or by as many
    iterations as there are stores to one address in a row. A load whose address comes from the load before it has to wait all the
    same.
    """
    held: dict[Site, float] = {}
    lonely = [one for one in find_lonely_loads(evidence) if not is_carried(evidence, one)]
    for store in stores:
        inside = set(evidence.around(store))
        loads = {one: evidence.charged[one]["long_scoreboard"] for one in lonely if one in inside}
        kept, copies = 1 / _UNROLLED, count_in_a_row(evidence, store)
        if copies >= _UNROLLED and (total := sum(loads.values())):
            # Each unrolled iteration has its own load. Issued together, they wait as long as the one that waits longest.
            kept = max(1 / copies, max(loads.values()) / total)
        held |= {one: max(held.get(one, 0.0), 1 - kept) for one in loads}
    return held


def _is_read_meanwhile(evidence: Evidence, store: Site) -> bool:
    """Returns whether others may read the stored values within the loop: after a fence or a barrier, or at addresses that do not change either.

    In a list that is updated in place, for example, each thread stores its own element and loads its neighbours.
    """
    return (
        any(site.instruction.name in FENCES for site in evidence.around(store))
        or any(has_fixed_address(evidence, site) > 0 for site in find_other_loads(evidence, store))
        or is_read_past_barrier(evidence, store)
    )
