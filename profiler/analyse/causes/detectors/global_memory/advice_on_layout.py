"""Says how to bring the lanes of a warp together where they access memory apart, by what sets them apart."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from profiler.analyse.causes.detectors.candidate import WIDEST_BITS
from profiler.analyse.causes.detectors.copied_loads import AT_ONCE
from profiler.analyse.causes.evidence.addresses import address_of, base_of, offset_of
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import Kind, Site
from profiler.analyse.causes.flow.addresses.alike_elements import count_elements_alike
from profiler.analyse.causes.flow.addresses.apart import find_side_by_side, lies_apart, unused_of
from profiler.analyse.causes.flow.addresses.indexed import find_structure
from profiler.analyse.causes.flow.addresses.strides import find_in_runs
from profiler.analyse.causes.flow.addresses.threads import (
    bytes_between_lanes,
    bytes_between_rows,
    offsets_of_threads,
)
from profiler.analyse.causes.flow.arithmetic.divisions import find_dividing
from profiler.analyse.causes.flow.arithmetic.shared_turns import only_adds_up
from profiler.analyse.causes.flow.dataflow import (
    find_address_work_of,
    find_pointers,
    makers_of_value,
    makers_since_access,
)
from profiler.analyse.causes.flow.lane_values import find_differing
from profiler.analyse.causes.flow.loop_carried import follows_itself, stores_its_own
from profiler.analyse.causes.words_of_triton import IN_TRITON
from profiler.analyse.code.loops import Loop
from profiler.catalog.metrics import LANES, SECTOR_BYTES

_WIDEST = WIDEST_BITS // 8
_THREADS = "T is the number of threads"
_INTERLEAVE = f"lay out the array so that element k of thread t is `x[k * T + t]` ({_THREADS})"
_OR_A_TILE = "Or pass a tile through shared memory."
_TAKE_TURNS = (
    f"Let thread t take elements t, t + T, t + 2T … ({_THREADS}, as in a grid-stride loop) instead of {{}}. Then neighbouring threads {{}}, and "
    "no thread needs what another one has computed."
)
_SHARE_ROW = (
    "Let a warp take each row instead of a thread: lane l adds up elements l, l + 32, l + 64 … of it, and shuffles (`__shfl_xor_sync`) add up the sums "
    f"of the lanes. Where rows are much shorter than a warp, {_INTERLEAVE}, or pass a tile through shared memory."
)
# Along which dimension lanes become neighbours.
_ALONG_NEIGHBOURS = (
    "Let `threadIdx.x` count along the dimension of the array whose elements are neighbours in memory"
)
# What helps without sorting where data scatters accesses: loads in CUDA C++, loads in Triton, and stores.
_KEEP_TABLE = "keep the table in shared memory if it fits"
_BRING_INTO_ORDER = (
    "bring the data into that order once before, where it serves several times (`x[:, index]`)"
)
_LET_GATHER = "store in the order of the work, and let what reads the results gather them"
_DESPITE_REMAINDERS = (
    "Triton does not see that offsets which are remainders or quotients stay neighbours. Where BLOCK divides the size, write "
    "`tl.max_contiguous(tl.multiple_of(offsets % size, BLOCK), BLOCK)` and `tl.max_constancy(offsets // size, BLOCK)`. Otherwise, "
)


def advise_apart(evidence: Evidence, sites: Sequence[Site], advice: str, by_data: bool) -> str:
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
    if _fill_what_lies_between(evidence, sites) or 2 * unused_of(
        site for site in sites if site in side_by_side
    ) > unused_of(sites):
        return _advise_on_runs(evidence, sites, advice, at_once)
    walks = any(evidence.innermost_loop(site) for site in sites)
    costliest = max(sites, key=lambda site: site.excess_sectors)
    size = find_structure(evidence, costliest)
    # The members of a structure lie at several distances from its beginning; both sides of a branch may access one place.
    members = {(base_of(site), offset_of(site)) for site in sites}
    are_members = size or (not walks and 2 * len({base for base, _ in members}) <= len(members))
    if are_members and not _lies_between_rows(evidence, costliest):
        apart = f" (here one begins every {size:,} bytes)" if size else ""
        together = f"access what lies together in one thread {at_once}, or " if at_once else ""
        return (
            f"Keep the members of a structure{apart} in arrays of their own, so that neighbouring threads {advice}. Or {together}pass a tile "
            "through shared memory."
        )
    if _move_what_is_coalesced(evidence, sites):
        others = "stores" if sites[0].kind == "global load" else "loads"
        return (
            f"To let neighbouring threads {advice}, pass a tile through shared memory, or change the layout. Exchanging the indices would only set "
            f"the {others} apart instead."
        )
    in_runs = 2 * unused_of(site for site in sites if site in find_in_runs(evidence)) > unused_of(sites)
    loop = evidence.innermost_loop(costliest)
    if in_runs and loop and evidence.goes_back(loop):
        if stores_its_own(evidence, loop):
            return _TAKE_TURNS.format("a run of its own", advice)
        if only_adds_up(evidence, loop):
            return _SHARE_ROW
    of_rows = " (such as a warp for each row, instead of a thread)" if walks else ""
    # No lane could take a turn that starts from what the turn before made.
    follows = walks and (follows_itself(evidence) or _may_follow_in_memory(evidence, sites))
    wider = ""
    if evidence.shape and evidence.shape.block[0] < min(LANES, evidence.shape.threads):
        wider = f", in blocks that are {LANES} threads wide in x"
    layout = _INTERLEAVE if in_runs else "change the layout"
    together = f"so that neighbouring threads {advice}"
    if follows:
        return f"{_begun(layout)}, {together}. {_OR_A_TILE}"
    return (
        f"{_ALONG_NEIGHBOURS}{of_rows}{wider}, {together}. Or {layout}, or pass a tile through shared memory."
    )


def _advise_on_runs(evidence: Evidence, sites: Sequence[Site], advice: str, at_once: str) -> str:
    """Returns how to bring lanes together where each takes all elements up to those of the next one."""
    together = f"neighbouring threads {advice}"
    if at_once and not _leave_gaps(evidence, sites):
        return f"Access the neighbouring elements of a thread {at_once}, or let {together}."
    if count := count_elements_alike(evidence):
        return _TAKE_TURNS.format(f"{count} in a row", advice)
    if at_once:
        return (
            f"Access the neighbouring elements of a thread {at_once}. That takes several pieces a thread: give it only one of them, or lay out "
            f"the array so that piece k of thread t is number `k * T + t` ({_THREADS})."
        )
    return f"{_begun(_INTERLEAVE)}, and members of a structure in arrays of their own, so that {together}. {_OR_A_TILE}"


def _begun(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]


def _may_follow_in_memory(evidence: Evidence, sites: Iterable[Site]) -> bool:
    """Returns whether a loop around these loads elements of an array of which it stores others, so that a turn may start from what another one has stored."""
    return any(
        array in stored and not loaded.issubset(stored[array])
        for loop in evidence.loops_around(sites)
        for stored in [_addresses(evidence, loop, "global store")]
        for array, loaded in _addresses(evidence, loop, "global load").items()
    )


def _addresses(evidence: Evidence, loop: Loop, kind: Kind) -> dict[str, set[str]]:
    """Returns the addresses by which a loop accesses each array that is a parameter, as the code has them."""
    found: dict[str, set[str]] = {}
    for site in evidence.inside(loop):
        for array in find_pointers(evidence, site) if site.kind == kind else ():
            found.setdefault(array, set()).add(address_of(site))
    return found


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
    return 2 * unused_of(moving) > unused_of(sites)


def _has_neighbours(evidence: Evidence, site: Site) -> bool:
    """Returns whether the lanes of a warp take elements side by side, each one of its own."""
    filled = (site.ideal_sectors or 0.0) * SECTOR_BYTES
    return not lies_apart(evidence, site) and filled >= site.bytes_of_lanes > 0


def _say_at_once(evidence: Evidence, sites: Sequence[Site]) -> str:
    """Returns in how many bytes a thread may access its elements at once, as far as its part of the data is aligned; "" if that is one element.

    A vector has to begin at a multiple of its bytes, and arrays begin at one of 256. Parts of 84 bytes begin at multiples of 4.
    """
    apart = _sizes_of_parts(evidence, sites)
    known = [one for one in apart if one]
    aligned = math.gcd(_WIDEST, *known)
    if known and 8 * aligned <= max(site.width for site in sites):
        return ""
    if len(known) == len(apart):
        return AT_ONCE[aligned]
    return f"{AT_ONCE[aligned]} if each thread's part begins at a multiple of that"


def _sizes_of_parts(evidence: Evidence, sites: Iterable[Site]) -> set[int | None]:
    """Returns how many bytes the parts of the data have that a thread each takes; None for those of which the code does not say it."""
    return {bytes_between_lanes(evidence, [site]) or find_structure(evidence, site) for site in sites}


def _leave_gaps(evidence: Evidence, sites: Sequence[Site]) -> bool:
    """Returns whether a thread's part of the data needs several accesses, however wide they are: between the lanes of each lies what the others take.

    Where the code does not say how many bytes a part has, the sectors of a request do: parts of 16 bytes lie in 16 of them.
    """
    sizes = _sizes_of_parts(evidence, sites)
    known = [one for one in sizes if one]
    if len(known) == len(sizes):
        return max(known) > math.gcd(_WIDEST, *known)
    touched = sum(site.sectors or 0.0 for site in sites) * SECTOR_BYTES
    return touched > _WIDEST * sum(site.lane_executions for site in sites)


def _fill_what_lies_between(evidence: Evidence, sites: Sequence[Site]) -> bool:
    """Returns whether each lane accesses all that lies between its own place and that of the next lane, in each array, however many sectors that is.

    Some elements of an array may have an address in registers of their own: then it is by its pointer that they are of one array.
    """
    by_registers = {site: base_of(site) for site in sites}
    by_pointer = {site: find_pointers(evidence, site) or base for site, base in by_registers.items()}
    between = bytes_between_lanes(evidence, sites)
    return between is not None and any(
        _bytes_of_each(arrays) == {between} for arrays in (by_registers, by_pointer)
    )


def _bytes_of_each(arrays: Mapping[Site, object]) -> set[int | None]:
    """Returns how many bytes a lane takes of each array; None for one of which it takes a single element."""
    widths: dict[object, dict[object, int]] = {}
    for site, array in arrays.items():
        widths.setdefault(array, {})[base_of(site), offset_of(site)] = site.width // 8
    return {sum(taken.values()) if len(taken) > 1 else None for taken in widths.values()}


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


def advise_in_triton(evidence: Evidence, name: str, sites: Sequence[Site], by_data: bool) -> str:
    if by_data:
        return (
            "Data says where each element lies: sort or group the work by that index, so that neighbours in the block are neighbours in memory, or "
            f"{_BRING_INTO_ORDER if name == 'uncoalesced-loads' else _LET_GATHER}."
        )
    is_divided = name == "uncoalesced-loads" and _divides_in_lanes(evidence, sites)
    usual = IN_TRITON[name]
    return f"{_DESPITE_REMAINDERS}{usual[0].lower()}{usual[1:]}" if is_divided else usual


def _divides_in_lanes(evidence: Evidence, sites: Sequence[Site]) -> bool:
    """Returns whether an address needs a division of what differs from lane to lane: an index that all share sets none of them apart.

    The quotient is the upper half of a product with the reciprocal of the divisor.
    """
    of_lanes = find_differing(evidence) & find_address_work_of(evidence, sites)
    return any(site.opcode.startswith("IMAD.HI") for site in of_lanes.intersection(find_dividing(evidence)))
