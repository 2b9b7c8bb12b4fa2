"""Tells loads of different data apart, so that a bound counts all of the data that device memory has to deliver.

A model of the time counts one instruction's loads as needed, since others may load the same. Here, what is known to be other data joins them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from profiler.analyse.causes.evidence.addresses import base_of, offset_of
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.measured_time import wasted_dram
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.addresses.apart import MOVING, find_side_by_side
from profiler.analyse.causes.flow.addresses.strides import step_in_loop
from profiler.analyse.causes.flow.dataflow import find_pointers
from profiler.analyse.code.loops import Loop

# Where the caches answer more than this part of the loads, much is loaded again, and other instructions may be what loads it first.
_LOADED_AGAIN_PCT = 10.0
_HITS = ("l1_hit_pct", "l2_hits_of_loads_pct")


def add_arrays(evidence: Evidence) -> Evidence:
    """Returns the evidence with a bound by device memory that counts all data that is known to be different."""
    if "dram" not in evidence.model.avoidable or not (
        needed := max(_of_elements(evidence), _of_arrays(evidence))
    ):
        return evidence
    wasted = min(evidence.model.avoidable["dram"], wasted_dram(evidence.figures, needed))
    return replace(
        evidence, model=replace(evidence.model, avoidable={**evidence.model.avoidable, "dram": wasted})
    )


def _of_elements(evidence: Evidence) -> float:
    """Returns the sectors of the data that accesses side by side take together, as of the bytes of a pixel: all that each of them touches."""
    if not (together := find_side_by_side(evidence)):
        return 0.0
    return sum(
        max(
            ((site.sectors if site in together else site.ideal_sectors) or 0.0 for site in evidence.of(kind)),
            default=0.0,
        )
        for kind in MOVING
    )


def _of_arrays(evidence: Evidence) -> float:
    """Returns the sectors of the data of each array, and of all copies of a load in an unrolled loop.

    Where caches hold little of what is loaded, other loads of an array may still be of the same data, so that only one counts.
    """
    hits = [evidence.find(name) for name in _HITS]
    if any(hit is None or hit > _LOADED_AGAIN_PCT for hit in hits) or not (loaded := _loaded(evidence)):
        return 0.0
    missed = math.prod(1 - (hit or 0.0) / 100 for hit in hits)
    return missed * loaded + max(
        (site.ideal_sectors or 0.0 for site in evidence.of("global store")), default=0.0
    )


def _loaded(evidence: Evidence) -> float:
    """Returns the sectors of different data that are loaded: for each array, those of the load, with its copies, that needs most."""
    copies: dict[tuple[frozenset[str], Loop, object], list[Site]] = {}
    for site in evidence.of("global load"):
        loop = evidence.innermost_loop(site)
        if loop and site.ideal_sectors:
            copies.setdefault((find_pointers(evidence, site), loop, base_of(site)), []).append(site)
    arrays: dict[frozenset[str], float] = {}
    for (pointers, loop, _), sites in copies.items():
        needed = [site.ideal_sectors or 0.0 for site in sites]
        sectors = sum(needed) if _are_copies(evidence, loop, sites) else max(needed)
        arrays[pointers] = max(sectors, arrays.get(pointers, 0.0))
    known = sum(sectors for pointers, sectors in arrays.items() if len(pointers) == 1)
    return max([known, *(sectors for pointers, sectors in arrays.items() if len(pointers) != 1)])


def _are_copies(evidence: Evidence, loop: Loop, sites: Sequence[Site]) -> bool:
    """Returns whether these loads from the same registers are those of several turns, so that the next turn begins behind all of them.

    Three planes that each turn loads are not: the next turn loads two of them again.
    """
    offsets = set(map(offset_of, sites))
    step = step_in_loop(evidence, loop, sites[0])
    return bool(step) and len(offsets) == len(sites) and max(offsets) - min(offsets) < abs(step or 0)
