"""Finds loops in whose turns at most half of the lanes have an element: the others compute with zeros, or with what others have."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from operator import attrgetter
from typing import NamedTuple

from profiler.analyse.causes.detectors.idle_lanes.steps import find_unconcerned, is_broadcast
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import ACCESSES, Kind, Site
from profiler.analyse.causes.flow.arithmetic.divisions import find_dividing
from profiler.analyse.causes.flow.depending import find_depending
from profiler.analyse.causes.flow.lane_values import find_differing, is_left_early
from profiler.catalog.metrics import LANES

_HALF = 1 / 2
_RESULTS: tuple[Kind, ...] = ("fp32", "fp64", "special", "conversion", "tensor")


class _Turns(NamedTuple):
    """The instructions of a loop itself, with its loads and results, and the part of the lanes that have an element in a turn."""

    own: list[Site]
    loads: set[Site]
    results: set[Site]
    iterations: float
    part: float


def count_computing(turns: Iterable[Site]) -> float:
    """Returns how many lanes of a warp compute results in such turns at most: few where a branch sends the others past."""
    return max((site.lanes or LANES for site in turns if site.kind in _RESULTS), default=LANES)


@kept
def find_turns_for_few(evidence: Evidence) -> dict[Site, float]:
    """Returns the instructions of these loops, and the part of them that is for lanes without an element.

    No access of a turn acts for more lanes, and all results are made of what these load: what a lane makes of its own index, or of a value
    that it keeps, may be work that needs no access. Warps whose lanes all have an element make as many turns fewer.
    """
    if not evidence.has_costs:
        return {}
    some = [turns for turns in _find_turns(evidence) if 0 < turns.part <= _HALF]
    loads = {load for turns in some for load in turns.loads}
    made = {function: _made_of(evidence, function, loads) for function in {load.function for load in loads}}
    found: dict[Site, float] = {}
    for turns in some:
        if turns.results <= made[turns.own[0].function]:
            # What a branch passes by in some turns is executed in others only.
            needed = turns.part * turns.iterations
            found |= {site: max(0.0, 1 - needed / site.executed) for site in turns.own}
    return found


def _find_turns(evidence: Evidence) -> list[_Turns]:
    """Returns the loops that load and compute, and that all lanes of a warp leave together: who has left does not compute."""
    found = []
    unconcerned = find_unconcerned(evidence)
    dividing = set(find_dividing(evidence))
    for loop in evidence.loops_around(evidence.of("global load")):
        inside = evidence.inside(loop)
        own = [site for site in inside if evidence.innermost_loop(site) == loop]
        # Its loops access for its lanes, too: an access of its own may be for the elements that they leave over.
        accesses = [
            site
            for site in inside
            if site.kind in ACCESSES and site not in unconcerned and not is_broadcast(site)
        ]
        loads = {site for site in accesses if site.kind == "global load"}
        results = {site for site in own if site.kind in _RESULTS and site not in dividing}
        if loads and results and not is_left_early(evidence, own[-1]):
            # Lanes that a branch keeps out of the loop compute nothing in it.
            entered = max(site.lanes or LANES for site in own)
            part = max(site.lane_executions for site in accesses) / (loop.iterations * entered)
            found.append(_Turns(own, loads, results, loop.iterations, part))
    return found


def _made_of(evidence: Evidence, function: int, loads: Collection[Site]) -> set[Site]:
    """Returns what depends on the lane by way of what these load alone. A lane's index may choose a result, such as zero for no element."""
    sites = evidence.by_function[function]
    fed = find_depending(sites, evidence.loops[function], set(loads))
    return set(fed) - set(find_differing(evidence, set(loads), takes=attrgetter("use.inputs")))
