"""Adds to the evidence what stores of all threads to one place cost.

However many warps store there, and from however many SMs, one slice of L2 takes them all, while the others idle. No counter shows that.
Whatever else is requested waits behind them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from profiler.analyse.causes.evidence.addresses import offset_of
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.latency import ONE_SLICE
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.addresses.threads import offsets_of_threads
from profiler.analyse.causes.flow.block_sharing import count_blocks_alike
from profiler.analyse.causes.flow.dataflow import address_registers, sources_of
from profiler.analyse.causes.flow.same_in_turns import has_fixed_address
from profiler.catalog.metrics import SECTOR_BYTES

# L2's cycles for a sector: `scaled_by_all` of one_place.cu in tests/data/causes, which does little else, takes as many on an H200. At its peak, a
# slice moves two sectors a cycle ("NVIDIA A100 Tensor Core GPU Architecture": 5,120 bytes from 80 slices).
_CYCLES_A_SECTOR = 0.586
# The part of the time below which nothing is named.
_SOME = 0.03


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
        made = frozenset(sources_of(evidence, site, address_registers(site.instruction)))
        place = site.function, made, offset_of(site) // SECTOR_BYTES
        found[place] = found.get(place, 0.0) + (site.sectors or 0.0)
    return found
