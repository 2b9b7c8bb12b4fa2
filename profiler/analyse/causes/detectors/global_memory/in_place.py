"""Detects blocks that work in place in global memory, with a barrier after each step, although shared memory could hold their part."""

from __future__ import annotations

from collections.abc import Iterable

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.detectors.global_memory.redundant_loads import OFTEN
from profiler.analyse.causes.evidence.blocks_of_sm import shared_of_block
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import FENCES, Site
from profiler.analyse.causes.flow.dataflow import find_pointers
from profiler.analyse.causes.flow.repeated_stores import is_read_past_barrier
from profiler.catalog.metrics import SECTOR_BYTES

# By which blocks of a grid or of a cluster wait for each other, or order what others read, beside atomics and loads that no cache serves.
_BETWEEN_BLOCKS = (*FENCES, "UCGABAR_ARV", "UCGABAR_WAIT")


def detect_in_place(evidence: Evidence) -> Iterable[Candidate]:
    """Names what a block loads and stores in global memory in each turn of a loop, with barriers so that its threads find what others stored.

    Where nothing in the loop orders what other blocks read, none of them can work on the same part: a barrier does not wait for it. Device
    memory delivers that part once, unless L2 holds it from before.
    """
    stores = [
        site
        for site in evidence.of("global store")
        if evidence.innermost_loop(site)
        and is_read_past_barrier(evidence, site)
        and not _waits_for_blocks(evidence, site)
    ]
    arrays = {one for site in stores for one in find_pointers(evidence, site)}
    loads = [
        site
        for loop in evidence.loops_around(stores)
        for site in evidence.inside(loop)
        if site.kind == "global load" and not arrays.isdisjoint(find_pointers(evidence, site))
    ]
    loaded = sum(site.ideal_sectors or 0.0 for site in loads) * SECTOR_BYTES
    delivered = evidence.find("dram_bytes_read") or 0.0
    blocks = evidence.shape.blocks if evidence.shape else 1
    least = max((_stored_in_turn(evidence, site) for site in stores), default=0.0)
    if not least <= delivered < loaded / OFTEN or not 0 < delivered / blocks <= _shared_left(evidence):
        return
    times = loaded / delivered
    yield Candidate(
        "redundant-global-loads",
        f"Each block works in place in global memory: in each turn of a loop, it loads what its threads stored before a barrier, {times:,.0f} times "
        "the bytes that device memory delivers.",
        "Load the part of a block into shared memory once, work on it there, and store it after the loop.",
        evidence.without(dict.fromkeys([*loads, *stores], 1 - 1 / times)),
        {site: site.sectors or 0.0 for site in loads},
        {"requested_per_delivered": times},
    )


def _waits_for_blocks(evidence: Evidence, store: Site) -> bool:
    """Returns whether a loop around a store may wait for other blocks, as by the barrier of a cooperative grid: these then read what it stores."""
    return any(
        site.kind == "atomic"
        or site.instruction.name in _BETWEEN_BLOCKS
        or (site.kind == "global load" and ".STRONG" in site.opcode)
        for loop in evidence.loops.get(store.function, [])
        if store.instruction in loop
        for site in evidence.inside(loop)
    )


def _stored_in_turn(evidence: Evidence, store: Site) -> float:
    """Returns the bytes that all blocks store in a turn of the loop, on average: between barriers, no two threads store at one place."""
    around = [loop for loop in evidence.loops[store.function] if store.instruction in loop]
    entering = evidence.last_before(store.function, min(around, key=lambda loop: loop.start))
    turning = max(site.executed for site in evidence.around(store))
    turns = turning / entering.executed if entering else 1.0
    return (store.ideal_sectors or 0.0) * SECTOR_BYTES / max(1.0, turns)


def _shared_left(evidence: Evidence) -> float:
    """Returns the bytes of shared memory that a block of this GPU can have beside those that it has."""
    used = evidence.shape.shared_bytes if evidence.shape else None
    return shared_of_block(evidence) - (used or 0)
