"""Finds what all threads of a block compute alike in each turn of a loop that is otherwise each thread's own work.

Where a block loads the members of a list into shared memory, and each thread goes through the list, what is made of a member alone is the
same for all threads. One of them could make it, when the member is loaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import Kind, Site
from profiler.analyse.causes.flow.arithmetic.repeated_in_turns import ARITHMETIC
from profiler.analyse.causes.flow.dataflow import find_depending, readers_behind
from profiler.analyse.causes.flow.lane_values import find_differing_in_block
from profiler.analyse.causes.flow.loop_carried import is_carried
from profiler.analyse.causes.flow.same_in_turns import has_fixed_address
from profiler.catalog.metrics import LANES

_LOADS: tuple[Kind, ...] = ("global load", "shared load")
_TOGETHER: tuple[Kind, ...] = ("barrier", "atomic", "shared atomic", "tensor")


def find_alike_in_block(evidence: Evidence) -> dict[Site, float]:
    """Returns such arithmetic, and the part of it that goes if each turn's is done once for the block.

    Threads that meet in a loop may have made together what they all go on with. What starts from the turn before cannot be done
    before it.
    """
    if evidence.shape is None or evidence.shape.threads <= LANES:
        return {}
    found: dict[Site, float] = {}
    differing = find_differing_in_block(evidence)
    for inside in evidence.innermost_loops():
        loop = evidence.innermost_loop(inside[0]) if inside else None
        if loop is None or differing.isdisjoint(inside) or any(map(_meets_others, inside)):
            continue
        turns = min(evidence.shape.threads, evidence.turns(inside[0], loop))
        alike = _find_alike(evidence, [site for site in inside if site not in differing])
        if alike and turns > 1:
            # Each result that others read is loaded, where what it is made of was.
            gone = 1 - _count_added(evidence, inside, alike) / len(alike)
            found |= dict.fromkeys(alike, (1 - 1 / turns) * max(0.0, gone))
    return {site: part for site, part in found.items() if part}


def _find_alike(evidence: Evidence, inside: Sequence[Site]) -> list[Site]:
    loads = {site for site in inside if site.kind in _LOADS and not has_fixed_address(evidence, site)}
    before = {site for site in inside if site.kind in (*_LOADS, *ARITHMETIC) and is_carried(evidence, site)}
    of_loads, going_on = (set(find_depending(inside, [], some)) for some in (loads, before))
    return [
        site
        for site in inside
        if site.kind in ARITHMETIC and site.use.written and site in of_loads and site not in going_on
    ]


def _count_added(evidence: Evidence, inside: Iterable[Site], alike: Sequence[Site]) -> int:
    """Returns how many more loads a turn makes if it loads the results instead of what only these are made of."""
    made = set(alike)
    results = [site for site in alike if any(one not in made for one in readers_behind(evidence, site))]
    loads = [
        site
        for site in inside
        if site.kind in _LOADS and (read := readers_behind(evidence, site)) and made.issuperset(read)
    ]
    return max(0, len(results) - len(loads))


def _meets_others(site: Site) -> bool:
    return site.kind in _TOGETHER or site.stores_in_shared
