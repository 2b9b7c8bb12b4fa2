"""Knows which blocks end at once, without work, and which warps are missing while others work."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.lane_values import find_differing_in_block
from profiler.analyse.recording.launch_shapes import LaunchShape


def count_waves(evidence: Evidence) -> float:
    """Returns how often the blocks that have work fill the GPU; 0 if that is not recorded."""
    return (evidence.find("waves") or 0.0) * part_working(evidence)


def count_at_once(evidence: Evidence) -> float:
    """Returns how many blocks the GPU holds at once; 0 if that is not recorded."""
    waves = evidence.find("waves")
    return count_blocks(evidence) / waves if waves else 0.0


def count_working_blocks(evidence: Evidence) -> float:
    """Returns how many blocks do not end at once; 0 if the launch is not recorded."""
    return round(count_blocks(evidence) * part_working(evidence))


def part_working(evidence: Evidence) -> float:
    """Returns the part of the blocks that do not end at once."""
    return _find_working(evidence)[0]


def may_be_fewer(evidence: Evidence) -> bool:
    """Returns whether the number of blocks that have work is only an upper bound."""
    return _find_working(evidence)[1]


@kept
def _find_working(evidence: Evidence) -> tuple[float, bool]:
    """Returns the part of the blocks that do not end at once, before they have stored anything, and whether it may be less.

    A block that ends at once leaves its place to the next one after a few instructions: it is no part of a wave. A test that
    depends on the thread may end only some warps of a block, and the block stays. But each block that stays has at least one
    warp, so there are no more such blocks than warps that go on.
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
                left = following.executed / evidence.sites[0].executed
                left *= _warps_of_block(evidence)
                return min(part, left), left < part
            part *= following.executed / site.executed
    return part, False


def count_blocks(evidence: Evidence) -> float:
    """Returns how many blocks were launched; 0 if the launch is not recorded."""
    return float(evidence.shape.blocks) if evidence.shape else 0.0


def _warps_of_block(evidence: Evidence) -> int:
    return evidence.shape.warps_of_block if evidence.shape else 1


def find_missing_warps(evidence: Evidence) -> float:
    """Returns how many warps are missing, on average on SMs at work, as a share of those that would fit and that the grid has."""
    occupancy, limit = evidence.find("occupancy_pct"), evidence.find("occupancy_limit_pct")
    fitting = (limit or 0.0) * min(1.0, count_waves(evidence) or 1.0)
    return max(0.0, 1 - occupancy / fitting) if occupancy and fitting else 0.0


def find_lonely_loops(evidence: Evidence) -> dict[Site, float]:
    """Returns loops that warps of few SMs enter, in which such a warp executes more than one does on average, and how many times as much.

    One thread that adds up what all have computed is an example. If it executes more than a warp of each round of blocks, the loop lasts
    for longer than all of them may, while at least half of the SMs have nothing to do.
    """
    warps, sms = evidence.shape.warps if evidence.shape else 0, evidence.find("sms")
    if not warps or not sms:
        return {}
    found: dict[Site, float] = {}
    for function, loops in evidence.loops.items():
        for loop in loops:
            inside, before = evidence.inside(loop), evidence.last_before(function, loop)
            if before is None or not inside or 2 * before.executed > min(sms, warps):
                continue
            each = sum(site.executed for site in inside) / before.executed
            times = each * warps / evidence.executed
            if times > max(1.0, count_waves(evidence)):
                found |= dict.fromkeys(inside, times)
    return found


@kept
def find_lone_warps(evidence: Evidence) -> Mapping[Site, float]:
    """Returns the code in which one warp of a block works without the others, with the part of the missing warps that its idle lanes explain.

    While that warp works, all others of its block are missing, as long as samples find it there. If others still work meanwhile,
    more warps would be explained than are missing: then the parts are scaled down.
    """
    shape, missing = evidence.shape, find_missing_warps(evidence)
    total = sum(site.instruction.samples or 0 for site in evidence.sites)
    if shape is None or not total or not missing:
        return {}
    idle = {
        site: site.idle_share * (site.instruction.samples or 0) / total
        for site in _work_of_one_warp(evidence, shape)
        if site.idle_share
    }
    missed = (shape.warps_of_block - 1) * (1 - missing) / missing
    return {site: part * missed / max(1.0, missed * sum(idle.values())) for site, part in idle.items()}


def _work_of_one_warp(evidence: Evidence, shape: LaunchShape) -> Iterator[Site]:
    """Yields the code that one warp executes after the others have ended, and the code to which each iteration of a loop sends one warp alone."""
    for sites in evidence.by_function.values():
        are_last = False
        for before, site in pairwise(sites):
            if before.instruction.name == "EXIT":
                are_last = _leaves_one_warp(shape, before, site)
            if are_last or _is_for_one_warp(evidence, shape, site):
                yield site


def _is_for_one_warp(evidence: Evidence, shape: LaunchShape, site: Site) -> bool:
    """Returns whether an instruction runs once in as many iterations as a block has warps. What data decides runs so often only by chance."""
    loop = evidence.innermost_loop(site) if shape.warps_of_block > 1 else None
    return loop is not None and math.isclose(shape.warps_of_block * site.executed, loop.iterations)


def _leaves_one_warp(shape: LaunchShape, end: Site, following: Site) -> bool:
    """Returns whether several warps of a block come to an EXIT, and one goes on behind it."""
    going_on = following.executed
    is_one = going_on <= shape.blocks < end.executed <= going_on * shape.warps_of_block
    return is_one and end.instruction.predicate is not None
