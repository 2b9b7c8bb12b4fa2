"""Counts the threads of a block that compute the same result, of which one stores it.

This happens in Triton, where a tile has fewer elements than a block has threads. All threads load, and the first of those with the
same element stores: a half, a quarter or less of them. Other shares come of data. These may, too, if what a thread loads decides
whether it stores.
"""

from __future__ import annotations

from collections.abc import Collection, Set

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import VOTES, Site
from profiler.analyse.causes.flow.addresses.made_up import first_addresses
from profiler.analyse.causes.flow.branch_conditions import is_decided_by_loads
from profiler.analyse.causes.flow.dataflow import choosers_of
from profiler.analyse.causes.flow.lane_values import find_differing_in_block
from profiler.catalog.metrics import LANES

_BETWEEN_LANES = ("SHFL", "VOTE", "MATCH", "REDUX", "CREDUX")
_BY_A_DISTANCE = ("SHFL.BFLY", "SHFL.DOWN", "SHFL.UP")
_FROM_A_LANE = "SHFL.IDX"


@kept
def count_copies(evidence: Evidence) -> int:
    """Returns how many threads of a block compute each result, although one of them stores it; 1 where others may need what a thread computes.

    Lanes that pass values to each other work for their warp, or for a part of it. Then whole warps tell, and how many such parts a
    warp has.
    """
    meeting = any(site.opcode.startswith(VOTES) for site in evidence.sites)
    if meeting or evidence.of("shared store", "shared atomic", "tensor"):
        return 1
    differing = find_differing_in_block(evidence)
    if _is_storing_by_data(evidence, differing):
        return 1
    loads = [site for site in evidence.of("global load") if site in differing]
    stores = evidence.of("global store", "atomic")
    passing = [site for site in evidence.sites if site.opcode.startswith(_BETWEEN_LANES)]
    loading, storing = (
        max((_part_of_threads(evidence, site, bool(passing)) for site in sites), default=0.0)
        for sites in (loads, stores)
    )
    copies = round(loading / storing) if storing else 1
    copies = copies if copies * storing == loading and copies.bit_count() == 1 else 1
    return copies * _count_parts_alike(evidence, passing, loads) if passing else copies


def _count_parts_alike(evidence: Evidence, passing: Collection[Site], loads: Collection[Site]) -> int:
    """Returns into how many parts a warp falls that load the same elements, if no lane passes values to another part."""
    shape, most = evidence.shape, LANES // 2
    if (
        shape is None
        or shape.threads != shape.block[0]
        or not all(_stays_among(one, most) for one in passing)
    ):
        return 1  # addresses take long to find
    of_lanes = [
        first_addresses(evidence.by_function[function], index=lane)
        for function in {site.function for site in loads}
        for lane in range(LANES)
    ]
    places = [[found[site] for found in of_lanes if site in found] for site in loads]
    elements = max((len(set(one)) for one in places), default=LANES)
    repeated = all(one == (one[:elements] * LANES)[:LANES] for one in places)
    alone = all(_stays_among(site, elements) for site in passing)
    return LANES // elements if elements.bit_count() == 1 and repeated and alone else 1


def _stays_among(site: Site, lanes: int) -> bool:
    """Returns whether an instruction that passes values from lane to lane gives none to lanes so far away."""
    if site.opcode.startswith(_FROM_A_LANE):
        return True  # from whichever copy, it is the same value
    distance = site.instruction.operands[3] if site.opcode.startswith(_BY_A_DISTANCE) else ""
    return distance.startswith("0x") and int(distance, 16) < lanes


def _is_storing_by_data(evidence: Evidence, differing: Set[Site]) -> bool:
    """Returns whether data that the threads of a block load each for themselves decides which of them store, end, or skip code."""
    deciding = (
        site
        for site in evidence.sites
        if site.kind in ("global store", "atomic") or site.leads_to or site.instruction.name == "EXIT"
    )
    return any(
        is_decided_by_loads(evidence, site) and not differing.isdisjoint(choosers_of(evidence, site))
        for site in deciding
    )


def _part_of_threads(evidence: Evidence, site: Site, of_warps: bool) -> float:
    """Returns for which part of the threads that reach its loop, or begin its function, an access acts; with `of_warps`, of their warps, at most."""
    loop = evidence.innermost_loop(site)
    first = (evidence.inside(loop) if loop else evidence.by_function[site.function])[0]
    acting = min(site.executed, site.lane_executions) if of_warps else site.lane_executions / LANES
    return acting / first.executed if first.executed else 0.0
