"""Knows which blocks end at once, without work."""

from __future__ import annotations

from itertools import pairwise

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.lane_values import find_differing_in_block


def count_waves(evidence: Evidence) -> float:
    """Returns how often the blocks that have work fill the GPU; 0 if that is not recorded."""
    return (evidence.find("waves") or 0.0) * part_working(evidence)


def count_working_blocks(evidence: Evidence) -> float:
    """Returns how many blocks do not end at once; 0 if the launch is not recorded."""
    return round(count_blocks(evidence) * part_working(evidence))


def part_working(evidence: Evidence) -> float:
    """Returns the part of the blocks that do not end at once."""
    return _find_working(evidence)[0]


def may_be_fewer(evidence: Evidence) -> bool:
    """Returns whether the number of blocks that have work is only the most that it can be."""
    return _find_working(evidence)[1]


@kept
def _find_working(evidence: Evidence) -> tuple[float, bool]:
    """Returns the part of the blocks that do not end at once, before they have stored anything, and whether it may be less.

    Such a block leaves its place to the next one after a few instructions: it is no part of a round. A test that depends on the
    thread may end some warps of a block, and the block stays; but each block that stays has a warp at least, so that there are no
    more of them than warps that go on.
    """
    part, differing = 1.0, set[Site]()
    for site, following in pairwise(evidence.sites):
        if (
            evidence.innermost_loop(site)
            or site.stores_in_shared
            or site.kind in ("global store", "atomic", "barrier")
        ):
            break
        if (
            site.instruction.name == "EXIT"
            and site.instruction.predicate
            and following.executed < site.executed
        ):
            differing = differing or find_differing_in_block(evidence)
            if site in differing:
                left = following.executed / evidence.sites[0].executed * _warps_of_block(evidence)
                return min(part, left), left < part
            part *= following.executed / site.executed
    return part, False


def count_blocks(evidence: Evidence) -> float:
    """Returns how many blocks were launched; 0 if the launch is not recorded."""
    return float(evidence.shape.blocks) if evidence.shape else 0.0


def _warps_of_block(evidence: Evidence) -> int:
    return evidence.shape.warps_of_block if evidence.shape else 1
