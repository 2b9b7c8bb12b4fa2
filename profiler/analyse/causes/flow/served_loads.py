"""Finds the work on addresses that goes with loads: what serves these loads and nothing else."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.dataflow import find_address_work, sources_of


def find_addresses_gone(evidence: Evidence, fractions: Mapping[Site, float]) -> dict[Site, float]:
    """Returns the part of the work on addresses that is no longer needed without these parts of the loads.

    Which executions of a load stay is not known, but each of them needs as much work on its address as today. What is computed outside
    of the innermost loop around a load is computed once for many of them, and stays.
    """
    served: dict[Site, float] = {}
    gone: dict[Site, float] = {}
    outside: set[Site] = set()
    for load, part in fractions.items():
        loop = evidence.innermost_loop(load)
        for site in find_address_work(evidence, [load]):
            served[site] = served.get(site, 0.0) + load.executed
            gone[site] = gone.get(site, 0.0) + part * load.executed
            if evidence.innermost_loop(site) != loop:
                outside.add(site)
    serving = (site for site in _serving_only(evidence, fractions) if site not in outside and served[site])
    return {site: gone[site] / served[site] for site in serving}


def _serving_only(evidence: Evidence, loads: Collection[Site]) -> list[Site]:
    """Returns the work on addresses whose results reach nothing but these loads, in the order of the code.

    An index that is also counted, compared or stored stays, and so does all that it is computed from.
    """
    work = set(find_address_work(evidence, loads))
    readers = {function: _readers_in(evidence, function) for function in {site.function for site in work}}
    shared = [
        site
        for site in work
        if any(one not in work and one not in loads for one in readers[site.function].get(site, ()))
    ]
    while shared:
        site = shared.pop()
        if site in work:
            work.remove(site)
            shared += [one for one in sources_of(evidence, site) if one in work]
    return [site for site in evidence.sites if site in work]


@kept
def _readers_in(evidence: Evidence, function: int) -> dict[Site, list[Site]]:
    """Returns by instruction what reads its result next, in one walk through a function."""
    found: dict[Site, list[Site]] = {}
    for site in evidence.by_function[function]:
        for source in sources_of(evidence, site):
            found.setdefault(source, []).append(site)
    return found
