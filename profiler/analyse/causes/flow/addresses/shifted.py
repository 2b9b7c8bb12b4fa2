"""Finds loads of elements that other threads load, too, such as the neighbours of a point in a stencil."""

from __future__ import annotations

from collections import defaultdict

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.addresses.made_up import first_addresses
from profiler.analyse.causes.flow.addresses.operations import WORDS
from profiler.analyse.causes.flow.dataflow import all_makers, makers_of_address


@kept
def find_shifted_loads(evidence: Evidence) -> list[list[Site]]:
    """Returns the groups of loads whose elements lie equally far apart for all threads, such as `x[i]` and `x[i + stride]`.

    Two threads show it: each has made-up indices of its own, and both have the same parameters. An address that is the same in
    both is that of all threads. Elements of several arrays at one index are one group, too: the counters say whether data
    repeats. If data says what a thread loads, no neighbour is known to load it.
    """
    groups: dict[int, list[Site]] = defaultdict(list)
    different: dict[int, set[int]] = defaultdict(set)
    for sites in evidence.by_function.values():
        if sum(one.kind == "global load" for one in sites) < 2:
            continue  # addresses take long to find
        one, other = (first_addresses(sites, thread) for thread in ("", " of another"))
        for site, address in one.items():
            if site.kind == "global load" and address != other[site] and not _is_by_data(evidence, site):
                apart = (address - other[site]) % WORDS
                groups[apart].append(site)
                different[apart].add(address)
    return [loads for apart, loads in groups.items() if len(different[apart]) > 1]


def _is_by_data(evidence: Evidence, load: Site) -> bool:
    makers = all_makers(evidence, makers_of_address(evidence, load))
    return any(one.kind == "global load" for one in makers)
