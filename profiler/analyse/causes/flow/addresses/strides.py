"""Finds accesses by which a thread walks through neighbouring elements, one after the other."""

from __future__ import annotations

from profiler.analyse.causes.evidence.addresses import base_of, offset_of
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import GLOBAL, Site
from profiler.analyse.causes.flow.addresses.operations import step_in_loop
from profiler.analyse.code.loops import Loop


@kept
def find_walking(evidence: Evidence) -> set[Site]:
    """Returns the accesses to global memory that, in each turn of a loop, take the elements behind those of the turn before."""
    copies: dict[tuple[object, Loop], list[Site]] = {}
    for site in evidence.of(*GLOBAL):
        if site.width and (loop := evidence.innermost_loop(site)):
            copies.setdefault((base_of(site), loop), []).append(site)
    return {
        site
        for (_, loop), sites in copies.items()
        if abs(step_in_loop(evidence, loop, sites[0]) or 0)
        == sum({offset_of(one): one.width // 8 for one in sites}.values())
        for site in sites
    }
