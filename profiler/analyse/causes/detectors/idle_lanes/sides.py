"""Tells lanes that run the other side of a branch from lanes that have nothing to do."""

from __future__ import annotations

from bisect import bisect_left

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.lane_values import is_left_early
from profiler.analyse.code.loops import Loop
from profiler.catalog.metrics import LANES


def goes_both_ways(evidence: Evidence, site: Site) -> bool:
    """Returns whether warps reach this with some lanes, and run other code with the rest of them.

    Warps must come to the other code at least half as often: else most of them have no other side. The iterations of a loop on
    one side do not count as more warps. A loop that some lanes leave earlier than others counts too: the rest of the warp goes on
    without them. A loop may also have code for more lanes: the rest of the warp is then in the loop, and none of its code is
    another side of code outside.
    """
    if is_left_early(evidence, site):
        return True
    if _is_only_passed_by(evidence, site):
        return False
    here, own = site.lanes or 0.0, evidence.innermost_loop(site)
    return any(
        2 * _coming_to(evidence, site.function, other, count, own)
        >= _coming_to(evidence, site.function, own, site.executed, other)
        for lanes, counts in evidence.executed_with_lanes[site.function].items()
        if lanes < LANES - 1 and abs(lanes + here - LANES) < 1.0
        for other, count in counts.items()
        if _holds_side(evidence, other, own, LANES - here)
    )


def _is_only_passed_by(evidence: Evidence, site: Site) -> bool:
    """Returns whether the missing lanes have no other code to run: they went straight to where they wait for the others, or have ended."""
    sites = evidence.by_function[site.function]
    place = evidence.place(site, sites)
    for branch in reversed(sites[:place]):
        loses_lanes = (branch.lanes or LANES) - (site.lanes or 0.0) >= 1.0
        if loses_lanes and branch.instruction.predicate:
            if branch.instruction.name == "EXIT":
                return True
            if (branch.leads_to or 0) > site.instruction.offset:
                end = bisect_left(sites, branch.leads_to, key=lambda one: one.instruction.offset)
                ends = (one.instruction for one in sites[end : end + 1])
                return any(one.offset == branch.leads_to and one.name == "BSYNC" for one in ends)
    return False


def _holds_side(evidence: Evidence, loop: Loop | None, own: Loop | None, lanes: float) -> bool:
    """Returns whether code in a loop may be the other side of code whose innermost loop is its `own`.

    It may be if the loop is around both, and so around the branch, or if no code of the loop runs with more than so many lanes.
    """
    if loop is None or (own and _is_in(own, loop)):
        return True
    return all((site.lanes or 0.0) - lanes < 1.0 for site in evidence.inside(loop))


def _coming_to(
    evidence: Evidence, function: int, loop: Loop | None, executed: float, beside: Loop | None
) -> float:
    """Returns how often warps come to code of a loop, without counting iterations.

    That is how often they come to the outermost loop around it that is not also around the code in the loop `beside`.
    """
    if loop is beside:
        return executed  # the same loops are around both
    alone = [
        one
        for one in evidence.loops.get(function, ())
        if loop and _is_in(loop, one) and not (beside and _is_in(beside, one))
    ]
    before = evidence.last_before(function, alone[0]) if alone else None
    return min(executed, before.executed) if before else executed


def _is_in(loop: Loop, other: Loop) -> bool:
    return other.start <= loop.start and loop.end <= other.end
