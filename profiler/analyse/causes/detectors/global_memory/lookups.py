"""Estimates for how many cycles L1 looks up accesses to global memory, and how many of these neighbouring lanes would save.

L1 looks up a line of four sectors a cycle. Lanes that are neighbours use all four sectors; lanes that lie apart use one each.
"""

from __future__ import annotations

from collections.abc import Iterable

from profiler.analyse.causes.evidence.estimates import SECTORS_A_CYCLE
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import GLOBAL, Site

# A store takes a cycle for each sector, and two if its lanes lie apart. Copies of 16 bytes a lane keep L1 busy for one cycle a
# sector. Transposes that store columns keep it busy for 64 cycles a request (`transpose_rows` in tests/data/causes).
_CYCLES_TO_STORE = 2.0


def find_spared_lookups(evidence: Evidence, sites: Iterable[Site]) -> tuple[float, dict[Site, float]]:
    """Returns the part of L1's work that goes if the lanes of these accesses become neighbours, and for each access the part of its own work.

    Lanes in the same line are looked up together. If L1 was busy for fewer cycles than it looked up sectors, some lanes were in
    the same line.
    """
    cycles = {site: _cycles_of(site) for site in evidence.of(*GLOBAL) if site.sectors}
    needed, beyond = (sum(column) for column in zip(*cycles.values(), strict=True))
    of_accesses = 1.0 - evidence.shared_of_l1
    counted = evidence.find("l1_cycles")
    whole, part = needed + beyond, 1.0
    if counted is not None and beyond:
        part = min(1.0, max(0.0, counted * of_accesses - needed) / beyond)
        whole = max(needed + part * beyond, counted * of_accesses)
    spared = {site: part * cycles[site][1] for site in sites}
    return of_accesses * sum(spared.values()) / whole, {
        site: gone / (cycles[site][0] + gone) for site, gone in spared.items()
    }


def _cycles_of(site: Site) -> tuple[float, float]:
    """Returns the cycles that an access takes if its lanes are neighbours, and how many more it takes if each sector lies in a line of its own."""
    needed, touched = site.ideal_sectors or site.sectors or 0.0, site.sectors or 0.0
    is_store = site.kind == "global store"
    together = needed if is_store else max(site.executed, needed / SECTORS_A_CYCLE)
    if site.excess_sectors <= 0:
        return together, 0.0
    return together, max(0.0, touched * (_CYCLES_TO_STORE if is_store else 1.0) - together)
