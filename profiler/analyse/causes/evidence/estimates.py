"""Estimates what was not recorded of each instruction: sectors, passes and lanes, from the totals of the kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from profiler.analyse.causes.evidence.sites import TEXTURE_FETCHES, Kind, Site
from profiler.catalog.metrics import LANES, SECTOR_BYTES

# L1 looks up one line of four sectors a cycle, and is filled from L2 with 64 bytes a cycle. The widest contiguous access of
# a warp, 16 bytes a lane, is four lines and 512 bytes; fills of other accesses come between, so that one in four is spare.
SECTORS_A_CYCLE = 4.0
_LEAST_CYCLES = 4.0
FILLED_A_CYCLE = 64.0
_SPARE = 1.25
_NEARLY_ALIKE = 1.1  # counts of different passes of the profiler


def estimate_costs(sites: Sequence[Site], figures: Mapping[str, float]) -> None:
    """Fills in passes and sectors from the kernel's totals, where they were not counted for each instruction."""
    for kind, name in (("shared load", "shared_load"), ("shared store", "shared_store")):
        _estimate_passes([site for site in sites if site.kind == kind], name, figures)
    accesses = [site for site in sites if site.kind in ("global load", "global store") and site.width]
    for site in accesses:
        site.ideal_sectors = site.sectors = _sectors_side_by_side(site)
    spilled = [site for site in sites if site.kind == "local"]  # side by side in memory, whatever the index
    for site in spilled:
        site.sectors = _sectors_side_by_side(site)
    if any(site.instruction.name in TEXTURE_FETCHES for site in sites):
        # Fetches go through L1 and L2 as well, and nothing counts their bytes and cycles apart.
        return
    executed = sum(site.executed for site in accesses)
    ideal = sum(site.ideal_sectors or 0.0 for site in accesses)
    not_shared = max(0.0, 1 - figures.get("shared_of_l1_pct", 0.0) / 100)
    cycles = not_shared * figures.get("l1_cycles_per_access", 0.0)
    filling = ideal * SECTOR_BYTES / (executed or 1.0) / FILLED_A_CYCLE
    arrived = figures.get("l2_sectors", 0.0) - sum(site.sectors or 0.0 for site in spilled)
    times = arrived / ideal if ideal else 0.0
    if cycles > max(_LEAST_CYCLES, _SPARE * filling) or times > _SPARE:
        kinds = find_kinds_apart(accesses, figures)
        for site in accesses:
            if site.kind in kinds:
                _spread_sectors(site, cycles, times)


def _sectors_side_by_side(site: Site) -> float:
    """Returns how many sectors an access touches if its lanes lie side by side."""
    return site.executed * LANES * site.width / 8 / SECTOR_BYTES


def find_kinds_apart(accesses: Sequence[Site], figures: Mapping[str, float]) -> set[Kind]:
    """Returns whether loads, stores or both may have lanes that lie apart, by the sectors that reach L2.

    All sectors of a store go to L2, but of a load only those that miss L1. A warp touches at most a sector a lane.
    """
    both: set[Kind] = {"global load", "global store"}
    if "l2_sectors" not in figures or "l1_hit_pct" not in figures:
        return both
    arrived, misses = figures["l2_sectors"], 1 - figures["l1_hit_pct"] / 100
    fewest, most = dict.fromkeys(both, 0.0), dict.fromkeys(both, 0.0)
    for site in accesses:
        fewest[site.kind] += site.ideal_sectors or 0.0
        most[site.kind] += site.executed * LANES
    if arrived <= _NEARLY_ALIKE * sum(fewest.values()):
        return {"global load"}
    if arrived <= fewest["global store"] + misses * (most["global load"] + fewest["global store"]):
        return both
    too_many_for_stores = arrived > most["global store"] + _NEARLY_ALIKE * fewest["global load"]
    return both if too_many_for_stores else {"global store"}


def estimate_lanes(sites: Sequence[Site], lanes: float | None) -> None:
    """Gives each instruction the mean number of lanes.

    How many lanes predicates turn off is known of all instructions together. They may be whole warps, such as those that need no
    correction of an exponential, so no instruction is said to lack lanes by it.
    """
    for site in sites:
        site.lanes = site.acting = lanes


def _estimate_passes(sites: Sequence[Site], name: str, figures: Mapping[str, float]) -> None:
    """Divides the passes of all shared loads, or of all stores, among them by how often they ran and how wide they are."""
    total = figures.get(f"{name}_wavefronts", 0.0)
    weight = sum(site.executed * site.width for site in sites)
    if total and weight:
        needed = 1 - figures.get(f"{name}_conflicts", 0.0) / total
        for site in sites:
            site.passes = total * site.executed * site.width / weight
            site.ideal_passes = site.passes * needed


def _spread_sectors(site: Site, cycles_per_access: float, times: float) -> None:
    """Assumes that an access touches as many sectors as L1 needs cycles for, or as reach L2."""
    filled = LANES * site.width / 8 / SECTOR_BYTES
    spread = max(1.0, times, cycles_per_access * SECTORS_A_CYCLE / filled)
    site.sectors = (site.ideal_sectors or 0.0) * min(LANES / filled, spread)
