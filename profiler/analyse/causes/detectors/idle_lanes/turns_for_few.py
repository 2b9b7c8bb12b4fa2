"""Finds loops in whose turns half of the lanes have an element at most: the others compute with zeros, or with what others have."""

from __future__ import annotations

from collections.abc import Collection

from profiler.analyse.causes.detectors.idle_lanes.steps import acting_lanes, find_unconcerned, is_broadcast
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import ACCESSES, Kind, Site
from profiler.analyse.causes.flow.arithmetic.divisions import find_dividing
from profiler.analyse.causes.flow.dataflow import find_depending
from profiler.analyse.causes.flow.lane_values import find_differing
from profiler.catalog.metrics import LANES

_HALF = 1 / 2
_RESULTS: tuple[Kind, ...] = ("fp32", "fp64", "special", "conversion", "tensor")


@kept
def find_turns_for_few(evidence: Evidence) -> dict[Site, float]:
    """Returns the instructions of these loops, and the part of them that is for lanes without an element.

    No access of a turn acts for more lanes, and all results are made of what these load: what a lane makes of its own index, or of a value
    that it keeps, may be work that needs no access. Warps whose lanes all have an element make as many turns fewer.
    """
    if not evidence.has_costs:
        return {}
    found: dict[Site, float] = {}
    unconcerned = find_unconcerned(evidence)
    dividing = set(find_dividing(evidence))
    for loop in evidence.loops_around(evidence.of("global load")):
        own = [site for site in evidence.inside(loop) if evidence.innermost_loop(site) == loop]
        accesses = [
            site
            for site in own
            if site.kind in ACCESSES and site not in unconcerned and not is_broadcast(site)
        ]
        loads = {site for site in accesses if site.kind == "global load"}
        part = max(map(acting_lanes, accesses), default=0.0) / (loop.iterations * LANES)
        results = {site for site in own if site.kind in _RESULTS and site not in dividing}
        if loads and results and 0 < part <= _HALF and results <= _made_of(evidence, loads):
            found |= dict.fromkeys(own, 1 - part)
    return found


def _made_of(evidence: Evidence, loads: Collection[Site]) -> set[Site]:
    """Returns what depends on the lane by way of what these load alone."""
    function = next(iter(loads)).function
    fed = find_depending(evidence.by_function[function], evidence.loops[function], set(loads))
    return set(fed) - set(find_differing(evidence, set(loads)))
