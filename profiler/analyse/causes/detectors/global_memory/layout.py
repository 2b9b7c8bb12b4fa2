"""Detects causes in the layout of accesses to global memory: lanes that lie apart, and rows that start inside a sector."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from profiler.analyse.causes.detectors.candidate import WORTH_A_CHANGE, Candidate
from profiler.analyse.causes.detectors.global_memory.advice_on_layout import advise_apart, advise_in_triton
from profiler.analyse.causes.detectors.global_memory.lookups import find_spared_lookups
from profiler.analyse.causes.evidence.addresses import base_of
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import Effect
from profiler.analyse.causes.evidence.sites import Kind, Site
from profiler.analyse.causes.flow.addresses.apart import (
    MOVING,
    find_counted,
    find_updates_apart,
    is_misaligned,
    lies_apart,
    unused_of,
)
from profiler.analyse.causes.flow.addresses.indexed import is_gathered, is_looked_up
from profiler.analyse.causes.flow.addresses.threads import bytes_between_lanes
from profiler.analyse.causes.flow.arithmetic.divisions import find_dividing
from profiler.analyse.causes.flow.loop_carried import is_carried
from profiler.analyse.causes.flow.memory.reduction_trees import find_in_trees
from profiler.catalog.metrics import LANES

_MEMORY_WAITS = ("long_scoreboard", "lg_throttle", "drain", "tex_throttle")


def detect_uncoalesced(evidence: Evidence) -> Iterable[Candidate]:
    """Names accesses that touch more than one sector too many for each request: their lanes lie apart. Atomics count as stores."""
    updates = find_updates_apart(evidence)
    found: dict[Kind, list[Site]] = {
        "global load": _find_apart(evidence, "global load"),
        "global store": [*_find_apart(evidence, "global store"), *updates],
    }
    are_updates = 2 * unused_of(updates) > unused_of(found["global store"])
    stores, write = ("updates", "update") if are_updates else ("stores", "write")
    variants: tuple[tuple[Kind, str, str, str, str, str], ...] = (
        ("global load", "uncoalesced-loads", "loads", "uncoalesced-stores", stores, "read"),
        ("global store", "uncoalesced-stores", stores, "uncoalesced-loads", "loads", write),
    )
    together = [site for sites in found.values() for site in sites]
    # The next address of a search or a chain depends on loaded data, too.
    by_data = {
        kind: is_gathered(evidence, sites[0])
        or is_carried(evidence, sites[0])
        or 2 * unused_of(site for site in sites if is_looked_up(evidence, site)) > unused_of(sites)
        for kind, sites in found.items()
        if sites
    }
    costs = {kind: _cost(evidence, sites) for kind, sites in found.items()}
    for kind, name, verb, other, others, act in variants:
        if not (sites := found[kind]):
            continue
        request, needed = _per_request(sites)
        # If loads and stores lie apart in the same way, the same index causes both, and one change corrects both. The kind that
        # costs most claims it. A loaded index is another one than that of a thread.
        is_most = 2 * costs[kind] >= sum(costs.values()) and len(set(by_data.values())) == 1
        of_others = 1 - unused_of(sites) / unused_of(together)
        mended = together if is_most and of_others >= WORTH_A_CHANGE else sites
        # No more digits than the sectors have: 31.98 of them are shown as 32, and 3.127 % beside 3.125 % would look like a mistake.
        used = f"{100 * needed / request:.1f}".removesuffix(".0")
        apart = bytes_between_lanes(evidence, sites)
        lanes = f"neighbouring lanes are {apart:,} bytes apart and" if apart else "its lanes"
        both = f" Its {others} lie apart too: the saving is that of correcting both at once, and includes theirs."
        yield Candidate(
            name,
            f"A warp {verb} {request:.3g} sectors of 32 bytes a request where {_sectors_text(needed)} would hold its data: {lanes} "
            f"use {used} % of these bytes.{both if len(mended) > len(sites) else ''}",
            advise_apart(evidence, sites, f"{act} neighbouring elements", by_data[kind]),
            cheaper_accesses(evidence, mended),
            {site: site.excess_sectors for site in sites},
            {
                "sectors_per_request": request,
                "ideal_sectors_per_request": needed,
                "used_pct": 100 * needed / request,
            }
            | ({"bytes_apart": apart} if apart else {}),
            regrouped=_spared_on_the_way(evidence, mended),
            includes=other if len(mended) > len(sites) else "",
            in_triton=advise_in_triton(evidence, name, sites, by_data[kind]),
        )


def _spared_on_the_way(evidence: Evidence, sites: Iterable[Site]) -> Mapping[str, float]:
    """Returns the part of each unit's work that may go if the lanes take other elements.

    That is the work for idle lanes, including those that do not make these accesses. It is also the sums over lanes, which go if
    each lane adds up a result of its own, and divisions, which may be of indices.
    """
    acting = max(site.acting or LANES for site in sites)
    idle = {site: 1 - min(acting, site.lanes or LANES) / LANES for site in evidence.sites}
    spared = {*find_dividing(evidence), *find_in_trees(evidence)}
    return evidence.without(idle | dict.fromkeys(spared, 1.0)).resources


def _cost(evidence: Evidence, sites: Iterable[Site]) -> float:
    """Returns how many unused sectors of these accesses the busier of L1 and L2 works for.

    L2 gets all stored sectors, but only those loaded sectors that L1 does not hold. If sectors were estimated, nobody knows
    whether loads or stores touch too many.
    """
    busy = evidence.model.busy
    in_l2 = evidence.has_costs and busy.get("l2", 0.0) > busy.get("l1", 0.0)
    return sum(evidence.excess_beyond_l1(site) if in_l2 else site.excess_sectors for site in sites)


def _find_apart(evidence: Evidence, kind: Kind) -> list[Site]:
    """Returns the uncoalesced accesses without those that data scatters. If the others cost next to nothing, it returns only the scattered ones.

    If each lane takes the element whose index it has loaded, no layout and no order of the threads makes the lanes neighbours.
    """
    apart = [site for site in find_counted(evidence, kind) if lies_apart(evidence, site)]
    others = [site for site in apart if not is_gathered(evidence, site)]
    if unused_of(others) >= WORTH_A_CHANGE * unused_of(apart):
        return others
    return [site for site in apart if site not in others]


def detect_misaligned(evidence: Evidence) -> Iterable[Candidate]:
    """Names accesses most of whose requests touch one sector more than their bytes fill.

    A stencil accesses several neighbours of one base: some of them start inside a sector wherever the rows start. So if any
    access to a base is aligned, no shift helps.
    """
    accesses = find_counted(evidence, *MOVING)
    misaligned = [site for site in accesses if is_misaligned(evidence, site)]
    aligned = {
        base_of(site) for site in accesses if site not in misaligned and not lies_apart(evidence, site)
    }
    sites = [site for site in misaligned if base_of(site) not in aligned]
    if sites:
        request, needed = _per_request(sites)
        yield Candidate(
            "misaligned-accesses",
            f"The lanes of a warp are neighbours but start inside a sector: {request:.1f} sectors a request, where "
            f"{needed:.1f} would do.",
            "Start rows and offsets at multiples of 32 bytes: pad the rows, or shift the first index.",
            cheaper_accesses(evidence, sites),
            {site: site.excess_sectors for site in sites},
            {"sectors_per_request": request, "ideal_sectors_per_request": needed},
        )


def _sectors_text(needed: float) -> str:
    """Returns how many sectors would do; where some requests touch none, their mean is less than one."""
    return "less than one" if float(f"{needed:.3g}") < 1 else f"{needed:.3g}"


def _per_request(sites: Sequence[Site]) -> tuple[float, float]:
    executed = sum(site.executed for site in sites)
    return (
        sum(site.sectors or 0.0 for site in sites) / executed,
        sum(site.ideal_sectors or 0.0 for site in sites) / executed,
    )


def cheaper_accesses(evidence: Evidence, sites: Sequence[Site]) -> Effect:
    """Returns the effect of accesses that touch no more sectors than their data fills.

    Each lookup of a line is work for L1. A sector that L1 holds already is no work for L2, and no warp
    waits long for it. The latency of each access stays.
    """
    wasted = unused_of(sites)
    of_l1, lookups = find_spared_lookups(evidence, sites)
    beyond = {site: evidence.excess_beyond_l1(site) for site in evidence.sites if site.excess_sectors}
    fetched = {site: _part(beyond.get(site, 0.0), site.ideal_sectors or 0.0) for site in sites}
    spared = sum(beyond.get(site, 0.0) for site in sites)
    return Effect(
        resources={
            "l2": _part(spared, evidence.sectors - evidence.excess_sectors + sum(beyond.values()) - spared),
            "l1": of_l1,
            "dram": evidence.wasted_dram * wasted / evidence.sectors,
        },
        lighter=evidence.waiting_for(fetched, *_MEMORY_WAITS)
        | evidence.waiting_for(lookups, "lg_throttle", "mio_throttle"),
    )


def _part(some: float, rest: float) -> float:
    return some / (some + rest) if some else 0.0
