"""Finds out which addresses the lanes of a warp update together: that decides which of them can add up their values first."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import ACCESSES, LANE_MISSING, Kind, Site, is_swap
from profiler.analyse.causes.flow.addresses.indexed import computed_in_loop
from profiler.analyse.causes.flow.addresses.strides import step_of
from profiler.analyse.causes.flow.addresses.threads import bytes_between_lanes, offsets_of_threads
from profiler.analyse.causes.flow.dataflow import (
    address_registers,
    find_processing,
    makers_of_address,
    makers_since_access,
    reach,
)
from profiler.analyse.causes.flow.lane_values import find_differing_in_block
from profiler.catalog.metrics import SECTOR_BYTES

ATOMIC_CONTENTION = "atomic-contention"
MEMORY: Mapping[Kind, str] = {"atomic": "global", "shared atomic": "shared"}
Updated = Literal[
    "one place",  # for all lanes of a warp, as far as the code and the counters say; or nothing is known
    "one place a warp",  # for all its lanes; each warp of the block has another one
    "by one lane",  # of each warp; all warps of a block have the same place
    "places of warps",  # by one lane of each warp, too; each warp has another place
    "places of lanes",  # each lane has another one
    "places of data",  # loaded or computed data say which, as in a histogram
]

_FLOATS: tuple[Kind, ...] = ("fp32", "fp64")


def find_updated(evidence: Evidence, weights: Mapping[Site, float]) -> Updated:
    """Returns which places most of these updates are to, by weight."""
    found: dict[Updated, float] = {}
    for site, weight in weights.items():
        updated = _updated_by(evidence, site)
        found[updated] = found.get(updated, 0.0) + weight
    return max(found, key=lambda one: found[one])


def _updated_by(evidence: Evidence, site: Site) -> Updated:
    finding = makers_of_address(evidence, site)
    makers = makers_since_access(evidence, finding)
    # In an update that is retried, the last lane may be alone, too.
    if site.acting is not None and site.acting <= 1.0 and not is_swap(site):
        return _updated_by_one_lane(evidence, site, makers)
    apart = bytes_between_lanes(evidence, [site])
    if apart == 0:
        return "one place a warp" if any(offsets_of_threads(evidence, site) or ()) else "one place"
    if not find_processing(evidence).isdisjoint(finding):
        if _is_one_for_all(evidence, site, makers):
            return "one place"
        if not _differs_by_thread_alone(evidence, makers):
            return "places of data"
    if any(one.kind in _FLOATS for one in makers):
        return "places of data"
    return "places of lanes" if apart or has_room_for_lanes(site) else "one place"


def _updated_by_one_lane(evidence: Evidence, site: Site, makers: Collection[Site]) -> Updated:
    """Returns which places the warps of a block update by one lane each. If it is one place, they can add up for each other.

    `makers` made the address.
    """
    offsets = offsets_of_threads(evidence, site)
    if offsets:
        return "places of warps" if any(offsets) else "by one lane"
    if find_differing_in_block(evidence).isdisjoint(makers):
        return "by one lane"
    return "places of data" if any(one.kind in ACCESSES for one in makers) else "places of warps"


def _is_one_for_all(evidence: Evidence, site: Site, makers: Collection[Site]) -> bool:
    """Returns whether all threads of a block load the place's address from one address, and counters show that lanes share places.

    `makers` made the address.
    """
    if (
        not site.sectors
        or has_room_for_lanes(site)
        or not find_differing_in_block(evidence).isdisjoint(makers)
    ):
        return False
    offsets = [offsets_of_threads(evidence, one) for one in makers if one.kind in ACCESSES]
    return all(found is not None and not any(found) for found in offsets)


def _differs_by_thread_alone(evidence: Evidence, makers: Collection[Site]) -> bool:
    """Returns whether the places differ within a block only by the thread's index, and not by anything that each thread loaded for itself."""
    differing = find_differing_in_block(evidence).intersection(makers)
    return bool(differing) and not any(one.kind in ACCESSES for one in differing)


def has_room_for_lanes(site: Site) -> bool:
    """Returns whether a request touches as many sectors as the values of its lanes fill side by side: if fewer, lanes share places.

    Two of many places may be the same by chance.
    """
    return (
        bool(site.sectors)
        and SECTOR_BYTES * (site.sectors or 0.0) >= (1 - LANE_MISSING) * site.bytes_of_lanes
    )


def stays_for_turns(evidence: Evidence, site: Site) -> bool:
    """Returns whether consecutive iterations of a loop update one place, such as bits of the same word.

    The address then contains the loop counter without its lower bits, which a shift to the right has dropped. If the code uses
    the old value, it needs that in each iteration.
    """
    loop = evidence.innermost_loop(site)
    if loop is None or is_swap(site) or site.use.written:
        return False

    def makers(one: Site) -> list[Site]:
        return computed_in_loop(evidence, one, one.use.inputs)

    of_address = computed_in_loop(evidence, site, address_registers(site.instruction))
    shifting = {
        one: int(one.instruction.operands[2], 16) for one in reach(of_address, makers) if _drops_bits(one)
    }
    return any(
        0 < (step_of(counting, counting.instruction.operands[0]) or 0) < 1 << bits
        for one, bits in shifting.items()
        for counting in reach(makers(one), makers)
    )


def _drops_bits(site: Site) -> bool:
    operands = site.instruction.operands
    return site.instruction.name == "SHF" and ".R" in site.opcode and operands[2].startswith("0x")
