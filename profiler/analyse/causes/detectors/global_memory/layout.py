"""Detects causes in the layout of what a warp accesses in global memory: lanes that lie apart, and rows that start inside a sector."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from profiler.analyse.causes.detectors.candidate import WIDEST_BITS, WORTH_A_CHANGE, Candidate
from profiler.analyse.causes.detectors.copied_loads import AT_ONCE
from profiler.analyse.causes.detectors.global_memory.lookups import find_spared_lookups
from profiler.analyse.causes.evidence.addresses import base_of, offset_of
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import Effect
from profiler.analyse.causes.evidence.sites import Kind, Site
from profiler.analyse.causes.flow.addresses.apart import (
    MOVING,
    find_counted,
    find_side_by_side,
    find_updates_apart,
    is_misaligned,
    lies_apart,
)
from profiler.analyse.causes.flow.addresses.indexed import find_structure, is_gathered
from profiler.analyse.causes.flow.addresses.threads import (
    bytes_between_lanes,
    bytes_between_rows,
    offsets_of_threads,
)
from profiler.analyse.causes.flow.arithmetic.divisions import find_dividing
from profiler.analyse.causes.flow.dataflow import find_address_work_of, makers_of_value, makers_since_access
from profiler.analyse.causes.flow.lane_values import find_differing
from profiler.analyse.causes.flow.loop_carried import follows_itself, is_carried
from profiler.analyse.causes.flow.reduction_trees import find_in_trees
from profiler.analyse.causes.words_of_triton import IN_TRITON
from profiler.catalog.metrics import LANES, SECTOR_BYTES

_MEMORY_WAITS = ("long_scoreboard", "lg_throttle", "drain", "tex_throttle")
# What helps without sorting where data scatters accesses: loads in CUDA C++, loads in Triton, and stores.
_KEEP_TABLE = "keep the table in shared memory if it fits"
_BRING_INTO_ORDER = (
    "bring the data into that order once before, where it serves several times (`x[:, index]`)"
)
_LET_GATHER = "store in the order of the work, and let what reads the results gather them"
_DESPITE_REMAINDERS = (
    " Where offsets are remainders, Triton does not see that they stay neighbours: write `tl.max_contiguous(tl.multiple_of(offsets % size, BLOCK), "
    "BLOCK)`, or use a mask instead."
)


def detect_uncoalesced(evidence: Evidence) -> Iterable[Candidate]:
    """Names accesses that touch more than one sector too many for each request: their lanes lie apart. Atomics are stores, too."""
    updates = find_updates_apart(evidence)
    found: dict[Kind, list[Site]] = {
        "global load": _find_apart(evidence, "global load"),
        "global store": [*_find_apart(evidence, "global store"), *updates],
    }
    are_updates = 2 * _unused(updates) > _unused(found["global store"])
    stores, write = ("updates", "update") if are_updates else ("stores", "write")
    variants: tuple[tuple[Kind, str, str, str, str, str], ...] = (
        ("global load", "uncoalesced-loads", "loads", "uncoalesced-stores", stores, "read"),
        ("global store", "uncoalesced-stores", stores, "uncoalesced-loads", "loads", write),
    )
    together = [site for sites in found.values() for site in sites]
    # Where a search or a chain goes on is a matter of what it has loaded, too.
    by_data = {
        kind: is_gathered(evidence, sites[0]) or is_carried(evidence, sites[0])
        for kind, sites in found.items()
        if sites
    }
    costs = {kind: _cost(evidence, sites) for kind, sites in found.items()}
    for kind, name, verb, other, others, act in variants:
        if not (sites := found[kind]):
            continue
        request, needed = _per_request(sites)
        # If loads and stores lie apart in the same way, the same index causes both, and one change corrects both: of those that cost most.
        # An index that was loaded is another one than that of a thread.
        is_most = 2 * costs[kind] >= sum(costs.values()) and len(set(by_data.values())) == 1
        of_others = 1 - _unused(sites) / _unused(together)
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
            _advice_apart(evidence, sites, f"{act} neighbouring elements", by_data[kind]),
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
            in_triton=_advice_in_triton(evidence, name, sites, by_data[kind]),
        )


def _spared_on_the_way(evidence: Evidence, sites: Iterable[Site]) -> Mapping[str, float]:
    """Returns the part of each unit's work that may go where the lanes take other elements.

    These are their idle places, those of lanes that these accesses leave out, the sums over lanes, if each adds up a result of its own, and
    divisions, which may be of indices.
    """
    acting = max(site.acting or LANES for site in sites)
    idle = {site: 1 - min(acting, site.lanes or LANES) / LANES for site in evidence.sites}
    spared = {*find_dividing(evidence), *find_in_trees(evidence)}
    return evidence.without(idle | dict.fromkeys(spared, 1.0)).resources


def _unused(sites: Iterable[Site]) -> float:
    return sum(site.excess_sectors for site in sites)


def _cost(evidence: Evidence, sites: Iterable[Site]) -> float:
    """Returns how many unused sectors of these accesses the busier of L1 and L2 works for.

    L2 gets all that are stored, and of those that are loaded only what L1 does not hold. Where sectors were estimated, nobody knows
    whether those of loads or of stores are too many.
    """
    busy = evidence.model.busy
    in_l2 = evidence.has_costs and busy.get("l2", 0.0) > busy.get("l1", 0.0)
    return sum(evidence.excess_beyond_l1(site) if in_l2 else site.excess_sectors for site in sites)


def _advice_in_triton(evidence: Evidence, name: str, sites: Sequence[Site], by_data: bool) -> str:
    if by_data:
        return (
            "Data says where each element lies: sort or group the work by that index, so that neighbours in the block are neighbours in memory, or "
            f"{_BRING_INTO_ORDER if name == 'uncoalesced-loads' else _LET_GATHER}."
        )
    is_divided = name == "uncoalesced-loads" and _divides_in_lanes(evidence, sites)
    return IN_TRITON[name] + (_DESPITE_REMAINDERS if is_divided else "")


def _divides_in_lanes(evidence: Evidence, sites: Sequence[Site]) -> bool:
    """Returns whether an address needs a division of what differs from lane to lane: an index that all share sets none of them apart.

    The quotient is the upper half of a product with the reciprocal of the divisor.
    """
    of_lanes = find_differing(evidence) & find_address_work_of(evidence, sites)
    return any(site.opcode.startswith("IMAD.HI") for site in of_lanes.intersection(find_dividing(evidence)))


def _advice_apart(evidence: Evidence, sites: Sequence[Site], advice: str, by_data: bool) -> str:
    """Returns how to bring lanes together, by what sets them apart: loaded indices, the elements of each thread, or its index."""
    if by_data:
        return (
            f"Data says where each lane goes: sort or group the work by that index, so that neighbouring threads {advice}, or "
            f"{_KEEP_TABLE if sites[0].kind == 'global load' else _LET_GATHER}."
        )
    if columns := _columns_of_pieces(evidence, sites):
        return (
            f"Make the block wider in x: it is {columns} threads wide, so that a warp takes pieces of {columns * sites[0].width // 8} bytes of "
            "several rows. 32 threads take one piece of one row."
        )
    side_by_side = find_side_by_side(evidence)
    at_once = _say_at_once(evidence, sites)
    if _fill_what_lies_between(evidence, sites) or 2 * _unused(
        site for site in sites if site in side_by_side
    ) > _unused(sites):
        others = f"let neighbouring threads {advice}"
        if at_once:
            return f"Access the neighbouring elements of a thread {at_once}, or {others}."
        return f"{others.capitalize()}: change the layout, or pass a tile through shared memory."
    walks = any(evidence.innermost_loop(site) for site in sites)
    costliest = max(sites, key=lambda site: site.excess_sectors)
    size = find_structure(evidence, costliest)
    # The members of a structure lie at several distances from its beginning; both sides of a branch may access one place.
    members = {(base_of(site), offset_of(site)) for site in sites}
    are_members = size or (not walks and 2 * len({base for base, _ in members}) <= len(members))
    if are_members and not _lies_between_rows(evidence, costliest):
        apart = f" (here one begins every {size:,} bytes)" if size else ""
        together = f"access what lies together in one thread {at_once}, " if at_once else ""
        return (
            f"Let neighbouring threads {advice}: keep the members of a structure{apart} in arrays of their own, {together}or pass a tile "
            "through shared memory."
        )
    if _move_what_is_coalesced(evidence, sites):
        others = "stores" if sites[0].kind == "global load" else "loads"
        return (
            f"Let neighbouring threads {advice}: pass a tile through shared memory, or change the layout. Exchanging the indices would only set "
            f"the {others} apart instead."
        )
    of_rows = " (such as a warp for each row, instead of a thread)" if walks else ""
    # No lane could take a turn that starts from what the turn before made.
    follows = walks and follows_itself(evidence)
    roles = "" if follows else f"exchange the roles of the indices{of_rows}, "
    return (
        f"Let neighbouring threads {advice}: {roles}change the layout, or pass a tile through shared memory."
    )


def _lies_between_rows(evidence: Evidence, site: Site) -> bool:
    """Returns whether the element beside that of a lane belongs to a thread of the next row of the block: what lies apart is a dimension of an array, and no structure."""
    return bytes_between_rows(evidence, site) == site.width // 8


def _move_what_is_coalesced(evidence: Evidence, sites: Sequence[Site]) -> bool:
    """Returns whether most of these accesses bring elements one for one to stores, or from loads, whose lanes are neighbours, as a transpose does."""
    others: dict[Site, list[Site]] = {}
    for store in evidence.of("global store"):
        for load in makers_since_access(evidence, makers_of_value(evidence, store)):
            if load.kind == "global load" and load.executed == store.executed:
                others.setdefault(load, []).append(store)
                others.setdefault(store, []).append(load)
    moving = [
        site
        for site in sites
        if site in others and all(_has_neighbours(evidence, one) for one in others[site])
    ]
    return 2 * _unused(moving) > _unused(sites)


def _has_neighbours(evidence: Evidence, site: Site) -> bool:
    """Returns whether the lanes of a warp take elements side by side, each one of its own."""
    filled = (site.ideal_sectors or 0.0) * SECTOR_BYTES
    return not lies_apart(evidence, site) and filled >= site.bytes_of_lanes > 0


def _say_at_once(evidence: Evidence, sites: Sequence[Site]) -> str:
    """Returns in how many bytes a thread may access its elements at once, as far as its part of the data is aligned; "" if that is one element.

    A vector has to begin at a multiple of its bytes, and arrays begin at one of 256. Parts of 84 bytes begin at multiples of 4.
    """
    widest = WIDEST_BITS // 8
    apart = {bytes_between_lanes(evidence, [site]) or find_structure(evidence, site) for site in sites}
    known = [one for one in apart if one]
    aligned = math.gcd(widest, *known)
    if known and 8 * aligned <= max(site.width for site in sites):
        return ""
    if len(known) == len(apart):
        return AT_ONCE[aligned]
    return f"{AT_ONCE[aligned]} if each thread's part begins at a multiple of that"


def _fill_what_lies_between(evidence: Evidence, sites: Sequence[Site]) -> bool:
    """Returns whether each lane accesses all that lies between its own place and that of the next lane, in each array, however many sectors that is."""
    widths: dict[object, dict[int, int]] = {}
    for site in sites:
        widths.setdefault(base_of(site), {})[offset_of(site)] = site.width // 8
    apart = bytes_between_lanes(evidence, sites)
    return all(len(of_array) > 1 and sum(of_array.values()) == apart for of_array in widths.values())


def _columns_of_pieces(evidence: Evidence, sites: Sequence[Site]) -> int:
    """Returns how many threads wide a block is whose rows fill less than a sector each, and lie apart; 0 for other accesses."""
    columns = evidence.shape.block[0] if evidence.shape else LANES
    for site in sites:
        width = site.width // 8
        offsets = (offsets_of_threads(evidence, site) or ())[:LANES]
        row = tuple(range(0, columns * width, width)) if width else ()
        if len(offsets) < LANES or columns * width >= SECTOR_BYTES or offsets[:columns] != row:
            return 0
    return columns if len({site.width for site in sites}) == 1 and columns > 1 else 0


def _find_apart(evidence: Evidence, kind: Kind) -> list[Site]:
    """Returns the accesses whose lanes lie apart, without those that data scatters; or these alone, where the others cost nobody anything.

    Where each lane takes the element whose index it has loaded, no layout and no order of the threads makes the lanes neighbours.
    """
    apart = [site for site in find_counted(evidence, kind) if lies_apart(evidence, site)]
    others = [site for site in apart if not is_gathered(evidence, site)]
    if _unused(others) >= WORTH_A_CHANGE * _unused(apart):
        return others
    return [site for site in apart if site not in others]


def detect_misaligned(evidence: Evidence) -> Iterable[Candidate]:
    """Names accesses most of whose requests touch one sector more than their bytes fill.

    Where neighbours of one base are accessed, as by a stencil, some start inside a sector wherever the rows start: while any are
    aligned, no shift helps.
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
    wasted = _unused(sites)
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
