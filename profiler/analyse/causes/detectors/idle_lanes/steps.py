"""Finds the instructions that serve lanes without work: tests, branches and addresses of steps in which few lanes act."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence, Set

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import ACCESSES, BOOKKEEPING, LANE_MISSING, Kind, Site
from profiler.analyse.causes.flow.arithmetic.divisions import find_dividing
from profiler.analyse.causes.flow.arithmetic.padding import acts_in_whole_warps
from profiler.analyse.causes.flow.dataflow import choosers_of, reach, sources_of
from profiler.analyse.causes.flow.lane_values import find_chosen_by_warp
from profiler.catalog.metrics import LANES, SECTOR_BYTES

_RESULTS: tuple[Kind, ...] = ("fp32", "fp64", "special", "tensor")
_OF_TESTS = 50  # instructions: tests of indices need fewer, even with two divisions


def find_idle_while_serving(evidence: Evidence) -> dict[Site, float]:
    """Returns the part of the tests, branches and addresses of a step that serves lanes without work in it.

    A step is the code between two barriers, as in a tree; code without a barrier is one step. It serves the lanes that access
    memory in it. With full warps, fewer warps would execute the step and its tests. What more lanes need for accesses in another
    step does not count.
    If a step computes for more lanes than access memory, the part is not known. To add up what lanes exchange is no such
    computation, because a lane without an element gives nothing to the sum; but behind a barrier, each warp may need what all
    have left. A division of integers is none either, although it takes the reciprocal of a float. A search has work for all
    lanes, although few of them store what they find.
    """
    serving: dict[Site, float] = {}
    unconcerned = find_unconcerned(evidence)
    dividing = set(find_dividing(evidence))
    for sites in evidence.by_function.values():
        step: list[Site] = []
        for site in sites:
            step.append(site)
            if site.kind == "barrier":
                serving |= _serving_step(evidence, step, site.executed, unconcerned, dividing)
                step = []
        if len(step) == len(sites) and evidence.has_costs:
            beside = dividing | _find_exchanging(step)
            serving |= _serving_step(evidence, step, step[0].executed, unconcerned, beside)
    return serving


def _serving_step(
    evidence: Evidence, step: Sequence[Site], passing: float, unconcerned: Collection[Site], beside: Set[Site]
) -> dict[Site, float]:
    """Returns the part of a step that serves lanes without work, if so many warps are `passing` through it.

    A value that all lanes load alike is work for none of them, and instructions `beside` make no result.
    """
    alike = {site for site in step if is_broadcast(site)}
    accesses = [
        site for site in step if site.kind in ACCESSES and site not in unconcerned and site not in alike
    ]
    working = max((site.lane_executions for site in accesses), default=passing * LANES)
    idle = 1 - working / (passing * LANES)
    if idle < LANE_MISSING:
        return {}
    exchanging = {site for site in _find_exchanging(step) if site.instruction.name != "SHFL"}
    results = [site for site in step if (site.kind in _RESULTS or site in exchanging) and site not in beside]
    if any(site.lane_executions > working for site in results) or _is_search(evidence, step, beside):
        return {}
    served = {site for site in step if site.kind in BOOKKEEPING} | alike | beside
    elsewhere = {
        site
        for site in evidence.by_function[step[0].function]
        if site.kind in ACCESSES and site.lane_executions > working
    }
    needed = reach(elsewhere.difference(step), lambda site: _made_by(evidence, site))
    served -= needed
    return {site: idle for site in step if site in served and site.executed == passing}


def _is_search(evidence: Evidence, step: Sequence[Site], beside: Set[Site]) -> bool:
    """Returns whether most of a step finds out which lanes go on, by more than tests of indices."""
    choosing = [one for site in step if site.kind == "control" for one in choosers_of(evidence, site)]
    deciding = reach(choosing, lambda site: _made_by(evidence, site))
    finding_out = [site for site in step if site in deciding and site not in beside]
    return len(finding_out) > max(_OF_TESTS, len(step) / 2)


@kept
def _made_by(evidence: Evidence, site: Site) -> list[Site]:
    """Returns what makes an instruction's operands and its predicate, and the value that stays in its register if the predicate does not hold."""
    stays = sources_of(evidence, site, set(site.use.written)) if site.instruction.predicate else []
    return [*sources_of(evidence, site), *choosers_of(evidence, site), *stays]


def _find_exchanging(step: Iterable[Site]) -> set[Site]:
    """Returns the shuffles, and the arithmetic on their results."""
    found: set[Site] = set()
    brought: set[str] = set()
    for site in step:
        written = site.use.written
        if site.instruction.name == "SHFL":
            found.add(site)
            brought.update(written)
            continue
        if site.kind in (*_RESULTS, "integer") and not brought.isdisjoint(site.use.inputs):
            found.add(site)
        brought.difference_update(written)
    return found


def is_broadcast(site: Site) -> bool:
    """Returns whether all lanes of a warp load the same place, so that they need fewer bytes than lanes with places of their own."""
    apart = site.executed * LANES * site.width / 8
    return (
        (site.acting or 0.0) >= LANES
        and site.ideal_sectors == site.executed
        and site.ideal_sectors * SECTOR_BYTES < apart
    )


@kept
def find_unconcerned(evidence: Evidence) -> set[Site]:
    """Returns the instructions that a predicate keeps whole warps from, so that no lane is idle while others act.

    Accesses to spilled values that a lane does not need are among them.
    """
    by_warp = find_chosen_by_warp(evidence) if evidence.has_costs else set()
    counted = {guard_of(site) for site in evidence.of(*ACCESSES) if acts_in_whole_warps(site)}
    spilled = {site for site in evidence.of("local") if site.instruction.predicate}
    chosen = {site for site in evidence.sites if site in by_warp or guard_of(site) in counted}
    return {site for site in chosen if is_whole(site)} | spilled


def guard_of(site: Site) -> object:
    """Returns a predicate with the number of lanes that it lets act, because one register holds many predicates in turn."""
    return site.function, site.instruction.predicate, round(site.acting or 0.0)


def is_whole(site: Site) -> bool:
    """Returns whether whole warps reach an instruction, whatever its predicate lets them do."""
    return (site.lanes or 0.0) > LANES * (1 - LANE_MISSING)
