"""Knows for how many cycles L1 looks up accesses to global memory, and which of these neighbouring lanes would spare.

L1 looks up a line of four sectors a cycle. Where lanes are neighbours, they use all four; where they lie apart, one each. A request of 8 bytes
a lane is served in two halves of the warp, and one of 16 bytes in four: a sector that lanes of several parts use is looked up for
each.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from profiler.analyse.causes.evidence.estimates import SECTORS_A_CYCLE
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import GLOBAL, Site
from profiler.analyse.causes.flow.dataflow import sources_of

# A store takes a cycle for each sector, and two if its lanes lie apart: copies of 16 bytes a lane keep L1 busy for as many cycles as they
# store sectors, and transposes that store columns for 64 cycles a request (`transpose_rows` in tests/data/causes).
_CYCLES_TO_STORE = 2.0
# 4 bytes of each lane fill the line that is looked up in a cycle. A product of doubles in which the 16 lanes of both rows of a warp load
# from 16 lines, the same for both rows, keeps L1 busy for 32 cycles a load, not for 16.
_BITS_AT_ONCE = 32


def find_spared_lookups(evidence: Evidence, sites: Iterable[Site]) -> tuple[float, dict[Site, float]]:
    """Returns the part of L1's work that goes if the lanes of these accesses become neighbours, and the part of each access's own.

    Lanes that lie in the same line are looked up together; as far as L1 was busy for fewer cycles than there are sectors, they do. As far as
    it was busy for more, several parts of a warp use the same sectors.
    """
    fed = _find_operands(evidence)
    cycles = {site: _cycles_of(site, site in fed) for site in evidence.of(*GLOBAL) if site.sectors}
    needed, beyond = (sum(column) for column in zip(*cycles.values(), strict=True))
    of_accesses = 1.0 - evidence.shared_of_l1
    counted = evidence.find("l1_cycles")
    again = {site: _cycles_again(site) for site in cycles}
    whole, part, part_again = needed + beyond, 1.0, 0.0
    if counted is not None and beyond:
        counted *= of_accesses
        part = min(1.0, max(0.0, counted - needed) / beyond)
        most_again = sum(again.values())
        part_again = min(1.0, max(0.0, counted - whole) / most_again) if most_again else 0.0
        whole = max(needed + part * beyond, counted)
    spared = {site: part * cycles[site][1] + part_again * again[site] for site in sites}
    return of_accesses * sum(spared.values()) / whole, {
        site: cycles_gone / (cycles[site][0] + cycles_gone) for site, cycles_gone in spared.items()
    }


def _find_operands(evidence: Evidence) -> Set[Site]:
    """Returns what loads operands of tensor cores into registers: each row of their tile is in a line of its own, whichever lanes load it."""
    return {one for site in evidence.of("tensor") for one in sources_of(evidence, site)}


def _cycles_of(site: Site, in_rows: bool) -> tuple[float, float]:
    """Returns the cycles of an access whose lanes are neighbours, and those beyond for sectors in lines of their own."""
    needed, touched = site.ideal_sectors or site.sectors or 0.0, site.sectors or 0.0
    is_store = site.kind == "global store"
    together = needed if is_store or in_rows else max(site.executed, needed / SECTORS_A_CYCLE)
    if site.excess_sectors <= 0:
        return together, 0.0
    return together, max(0.0, touched * (_CYCLES_TO_STORE if is_store else 1.0) - together)


def _cycles_again(site: Site) -> float:
    """Returns the cycles at most for sectors that an earlier part of the warp has used: one for each lane, and for each part."""
    if site.kind != "global load" or site.excess_sectors <= 0:
        return 0.0
    touched = site.sectors or 0.0
    parts = max(1, site.width // _BITS_AT_ONCE)
    return max(0.0, min(site.lane_executions, parts * touched) - touched)
