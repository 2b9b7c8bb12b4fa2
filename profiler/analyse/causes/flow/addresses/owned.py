"""Finds places in shared memory of which each thread of a block has its own, as the machine code computes them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from profiler.analyse.causes.evidence.addresses import address_of, offset_of
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.addresses.shared_places import is_apart
from profiler.analyse.causes.flow.addresses.threads import offsets_of_threads
from profiler.analyse.causes.flow.dataflow import address_registers
from profiler.analyse.causes.flow.same_in_turns import has_fixed_address
from profiler.analyse.code.loops import Loop


def find_owned(evidence: Evidence, loop: Loop) -> list[Site]:
    """Returns the loads and stores of a loop at a place that stays, and to which only the same thread comes in this loop, barriers or not."""
    accesses = [site for site in evidence.inside(loop) if site.kind == "shared load" or site.stores_in_shared]
    together: dict[frozenset[str], list[Site]] = {}
    for site in accesses:
        together.setdefault(address_registers(site.instruction), []).append(site)
    found: list[Site] = []
    for some in together.values():
        loaded, stored = (
            {address_of(site) for site in some if site.kind == kind}
            for kind in ("shared load", "shared store")
        )
        others = [site for site in accesses if site not in some]
        if (
            loaded & stored
            and all(site.kind in ("shared load", "shared store") for site in some)
            and all(has_fixed_address(evidence, site) > 0 for site in some)
            and _are_apart_in_threads(evidence, some)
            and all(is_apart(evidence, site, others) for site in some)
        ):
            found += (site for site in some if address_of(site) in loaded & stored)
    return found


def _are_apart_in_threads(evidence: Evidence, some: Sequence[Site]) -> bool:
    """Returns whether no two threads of a block come to the same bytes, by any of these accesses from the same registers on."""
    threads = offsets_of_threads(evidence, some[0])
    sizes: dict[int, int] = {}
    for site in some:
        offset = offset_of(site)
        sizes[offset] = max(sizes.get(offset, 0), site.width // 8)
    places = sorted((one + offset, size) for one in threads or () for offset, size in sizes.items())
    return bool(places) and all(first + size <= second for (first, size), (second, _) in pairwise(places))
