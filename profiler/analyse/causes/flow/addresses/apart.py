"""Knows which accesses touch more sectors of global memory than their bytes fill, and which of those fill them together."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from profiler.analyse.causes.evidence.addresses import base_of, offset_of
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.measured_time import find_avoidable, wasted_dram
from profiler.analyse.causes.evidence.sites import Kind, Site, is_swap
from profiler.analyse.causes.flow.addresses.strides import step_in_loop
from profiler.analyse.causes.flow.addresses.threads import bytes_between_columns
from profiler.catalog.metrics import LANES, SECTOR_BYTES

MOVING: tuple[Kind, ...] = ("global load", "global store")


def find_counted(evidence: Evidence, *kinds: Kind) -> list[Site]:
    """Returns the accesses of these kinds whose sectors are known."""
    return [site for site in evidence.of(*kinds) if site.sectors and site.ideal_sectors is not None]


def lies_apart(evidence: Evidence, site: Site) -> bool:
    """Returns whether a request touches more than one sector too many for each row, because its lanes are not neighbours."""
    return site.excess_sectors > site.executed * _rows(evidence, site) or _takes_pieces(evidence, site)


def unused_of(sites: Iterable[Site]) -> float:
    """Returns how many sectors these accesses touch beyond those that their data would fill."""
    return sum(site.excess_sectors for site in sites)


@kept
def find_updates_apart(evidence: Evidence) -> list[Site]:
    """Returns the atomics by which each lane updates the elements of a row of its own, iteration after iteration.

    If neighbouring lanes took neighbouring elements of one row, there would be as many updates of as many places, and a request
    would touch few sectors. Contended atomics wait for others at their place, however the lanes lie. It is enough if one copy of
    an unrolled iteration is known to move on.
    """
    atomics = find_counted(evidence, "atomic")
    if not atomics or evidence.atomics_are_contended:
        return []
    around = {site: loop for site in atomics if (loop := evidence.innermost_loop(site))}
    going_on = {loop for site, loop in around.items() if step_in_loop(evidence, loop, site)}
    return [
        site
        for site, loop in around.items()
        if loop in going_on and not is_swap(site) and lies_apart(evidence, site)
    ]


def count_bytes_apart(evidence: Evidence) -> Evidence:
    """Returns the evidence in which accesses whose lanes lie apart need only the sectors that their bytes would fill side by side.

    The fewest sectors of a request were counted as whole ones. If few lanes act, lanes of other requests could use the rest of a
    sector.
    """
    apart = [site for site in find_counted(evidence, *MOVING) if lies_apart(evidence, site)]
    if not (evidence.has_costs and apart):
        return evidence
    for site in apart:
        site.ideal_sectors = site.bytes_asked / SECTOR_BYTES
    figures, sites = evidence.figures, evidence.sites
    return replace(
        evidence,
        model=replace(
            evidence.model, avoidable=find_avoidable(figures, sites, evidence.profile.compute_capability)
        ),
        wasted_dram=wasted_dram(figures, sum(site.ideal_sectors or 0.0 for site in sites)),
    )


def _takes_pieces(evidence: Evidence, site: Site) -> bool:
    """Returns whether a request touches more sectors than a run of as many bytes does: its lanes take short pieces of several rows.

    A run that starts anywhere touches, on average, less than one sector beyond those that its bytes fill. The bytes of the acting
    lanes count, since the fewest sectors that were counted are whole ones. Where the code says that neighbouring lanes access
    neighbouring bytes, a test has sent the other lanes away: those that act lie in the run of all.
    """
    if not evidence.has_costs or site.acting is None or not site.excess_sectors:
        return False
    of_runs = site.executed * _rows(evidence, site) + site.bytes_of_lanes / SECTOR_BYTES
    return (site.sectors or 0.0) > of_runs and not are_neighbours(evidence, site)


def are_neighbours(evidence: Evidence, site: Site) -> bool:
    """Returns whether the code says that the lanes of a warp access neighbouring elements, and all of them elements of one row of their block."""
    is_one_row = evidence.shape is not None and evidence.shape.block[0] % LANES == 0
    return is_one_row and bytes_between_columns(evidence, site) == site.width // 8


def is_misaligned(evidence: Evidence, site: Site) -> bool:
    """Returns whether most rows touch one sector too many, because their neighbouring lanes start inside a sector.

    Requests that touch more have lanes that lie apart.
    """
    rows = site.executed * _rows(evidence, site)
    return rows / 2 < site.excess_sectors <= rows and not lies_apart(evidence, site)


def _rows(evidence: Evidence, site: Site) -> int:
    """Returns how many rows of its block a warp accesses. They lie apart, and each may start inside a sector.

    Rows that fill only one sector count as one: they touch two if they start inside it, but also if every other element is taken.
    """
    columns, *others = evidence.shape.block if evidence.shape else (LANES, 1)
    if LANES % columns or columns * site.width / 8 < 2 * SECTOR_BYTES:
        return 1
    return min(LANES // columns, math.prod(others))


def find_side_by_side(evidence: Evidence) -> set[Site]:
    """Returns the accesses that take the elements of each lane one by one, and that together fill the sectors that each of them touches.

    So it is with a pixel or a structure: the elements of one lane are neighbours, and those of the next lane follow. A lane that
    takes a single element has none beside it.
    """
    together: dict[tuple[object, int, float], list[Site]] = {}
    for site in find_counted(evidence, *MOVING):
        if lies_apart(evidence, site):
            together.setdefault((base_of(site), site.width, site.executed), []).append(site)
    found: set[Site] = set()
    for (_, width, executed), sites in together.items():
        offsets = sorted({offset_of(site) for site in sites})
        filled = len(offsets) * LANES * width / 8 / SECTOR_BYTES
        if (
            len(offsets) > 1
            and offsets[-1] - offsets[0] == (len(offsets) - 1) * width / 8
            and all(filled - 1 < (site.sectors or 0.0) / executed <= filled + 1 for site in sites)
        ):
            found.update(sites)
    return found
