"""Finds the tests that turn lanes off: lanes that came to one of them are missing behind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import pairwise
from math import ceil
from typing import NamedTuple

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.dataflow import sources_of
from profiler.analyse.causes.flow.lane_values import find_differing_in_block
from profiler.analyse.code.registers import predicates_in
from profiler.catalog.metrics import LANES

TurnedOff = Mapping[Site, Mapping[Site, float]]
# A comparison with these lets the threads up to some index go on, or those from there on.
BY_SIZE = ("ISETP.LT", "ISETP.LE", "ISETP.GT", "ISETP.GE", "UISETP.LT", "UISETP.LE", "UISETP.GT", "UISETP.GE")
_SENDING = ("BRA", "EXIT")


class _Passed(NamedTuple):
    """A test that warps pass at an offset, how many of their lanes come so far, and how many are still there at the end of a loop."""

    offset: int
    test: Site
    coming: float
    staying: float = 0.0


def find_turned_off(evidence: Evidence, idle: Mapping[Site, float]) -> TurnedOff:
    """Returns by test which executions of instructions behind it lack lanes because of it: 32 lanes that are off count as one.

    A test is a branch, the end of a loop that some lanes leave before others, or what sets the predicate of an instruction.
    """
    found: dict[Site, dict[Site, float]] = {}
    for function, sites in evidence.by_function.items():
        ends = ends_of_sides(sites)
        around: list[
            tuple[_Passed, int | None]
        ] = []  # branches past this code, and where their lanes meet again
        for site in sites:
            here = site.instruction.offset
            around = [(one, end) for one, end in around if end is None or here < end]
            if site in idle and site.idle_share:
                # A loop is entered before the branch with which it begins.
                passed = [*_loops_entered(evidence, function, site), *(one for one, _ in around)]
                for test, lost in _lost_behind(evidence, passed, site, idle[site]):
                    behind = found.setdefault(test, {})
                    behind[site] = behind.get(site, 0.0) + lost / LANES * site.executed
            if site.instruction.name in _SENDING and site.instruction.predicate:
                target = site.instruction.target
                if target is None or site.leads_to:  # no end of a loop
                    passing = _Passed(here, site, site.lanes or LANES)
                    around.append((passing, ends.get(site.leads_to, site.leads_to)))
    return found


def ends_of_sides(sites: Sequence[Site]) -> Mapping[int | None, int | None]:
    """Returns for the beginning of the second side of each branch where that side ends: the first one ends in a branch past it."""
    return {
        behind.instruction.offset: one.leads_to
        for one, behind in pairwise(sites)
        if one.leads_to and not one.instruction.predicate
    }


def _loops_entered(evidence: Evidence, function: int, site: Site) -> Iterator[_Passed]:
    """Yields the end of each loop around an instruction, at the place where the loop is entered."""
    for loop in evidence.loops.get(function, ()):
        if loop.start <= site.instruction.offset <= loop.end:
            before = evidence.last_before(function, loop)
            if before and before.lanes:
                end = evidence.inside(loop)[-1]
                yield _Passed(loop.start, end, before.lanes, end.lanes or 0.0)


def _lost_behind(
    evidence: Evidence, passed: list[_Passed], site: Site, idle: float
) -> Iterator[tuple[Site, float]]:
    """Yields the tests on the way to an instruction that some lanes do not pass, and how many lanes."""
    here = site.lanes or 0.0
    way = sorted(passed, key=lambda one: one.offset)
    for one, going_on in zip(way, [*(one.coming for one in way[1:]), here], strict=False):
        if (left := max(going_on, one.staying)) < one.coming:
            yield one.test, one.coming - left
    under_predicate = LANES * idle - (LANES - here)
    if under_predicate > 0 and (test := setter_of(evidence, site)):
        yield test, under_predicate


def setter_of(evidence: Evidence, site: Site) -> Site | None:
    """Returns what sets the predicate under which an instruction stands, if that is known."""
    guarding = predicates_in(site.instruction.predicate or "")
    around = evidence.around(site)
    here = evidence.place(site, around)
    sites = evidence.by_function[site.function]
    before = sites[: evidence.place(site, sites)]
    in_turn_before = any(_sets(one, guarding) for one in around[here:])
    among = around[:here] if in_turn_before else before
    return next((one for one in reversed(among) if _sets(one, guarding)), None)


def _sets(site: Site, predicates: Set[str]) -> bool:
    return not predicates.isdisjoint(site.use.predicates_written)


def lanes_of_acting_warps(evidence: Evidence, site: Site) -> float:
    """Returns how many lanes act in a warp in which any does.

    If a predicate compares the thread's index itself with a size, as in `threadIdx.x < 144`, the lanes of the first warps act, and those of
    one warp in part. The others have none to keep waiting.
    """
    setter, shape = setter_of(evidence, site), evidence.shape
    acting = site.acting_lanes
    if setter is None or shape is None or shape.block[1:] != (1, 1) or (site.lanes or 0.0) < LANES:
        return acting
    if not setter.opcode.startswith(BY_SIZE) or not _compares_index(evidence, setter):
        return acting
    threads = acting * shape.warps_of_block
    return threads / ceil(threads / LANES) if threads else 0.0


def _compares_index(evidence: Evidence, test: Site) -> bool:
    differing = find_differing_in_block(evidence)
    compared = [one for one in sources_of(evidence, test) if one in differing]
    return bool(compared) and all("SR_TID.X" in one.instruction.text for one in compared)
