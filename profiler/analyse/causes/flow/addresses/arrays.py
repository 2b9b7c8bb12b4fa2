"""Tells loads of different data apart, so that a bound counts all of the data that device memory has to deliver.

A model of the time counts one instruction's loads as needed, since others may load the same. Here, what is known to be other data joins them.
"""

from __future__ import annotations

from dataclasses import replace

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.measured_time import wasted_dram
from profiler.analyse.causes.flow.dataflow import find_pointers
from profiler.analyse.code.loops import Loop

# Where the caches answer more than this part of the loads, much is loaded again, and other instructions may be what loads it first.
_LOADED_AGAIN_PCT = 10.0
_HITS = ("l1_hit_pct", "l2_hits_of_loads_pct")


def add_arrays(evidence: Evidence) -> Evidence:
    """Returns the evidence with a bound by device memory that counts the data of each array, and of all copies of a load in an unrolled loop.

    Who loads data that no cache holds loads it for the first time, or after so long that a loop that was not unrolled would load it
    anew, too.
    """
    hits = [evidence.find(name) for name in _HITS]
    if "dram" not in evidence.model.avoidable or any(hit is None or hit > _LOADED_AGAIN_PCT for hit in hits):
        return evidence
    if not (loaded := _loaded(evidence)):
        return evidence
    missed = 1.0
    for hit in hits:
        missed *= 1 - (hit or 0.0) / 100
    stored = max((site.ideal_sectors or 0.0 for site in evidence.of("global store")), default=0.0)
    wasted = wasted_dram(evidence.figures, missed * loaded + stored)
    avoidable = {
        **evidence.model.avoidable,
        "dram": min(evidence.model.avoidable["dram"], wasted),
    }
    return replace(evidence, model=replace(evidence.model, avoidable=avoidable))


def _loaded(evidence: Evidence) -> float:
    """Returns the sectors of different data that are loaded: for each array, those of the load, with its copies, that needs most."""
    copies: dict[tuple[frozenset[str], Loop, str], float] = {}
    for site in evidence.of("global load"):
        loop, line = evidence.innermost_loop(site), site.instruction.place
        if loop and line and site.ideal_sectors:
            asked = (find_pointers(evidence, site), loop, line)
            copies[asked] = copies.get(asked, 0.0) + site.ideal_sectors
    arrays: dict[frozenset[str], float] = {}
    for (pointers, _, _), sectors in copies.items():
        arrays[pointers] = max(sectors, arrays.get(pointers, 0.0))
    known = sum(sectors for pointers, sectors in arrays.items() if len(pointers) == 1)
    return max([known, *(sectors for pointers, sectors in arrays.items() if len(pointers) != 1)])
