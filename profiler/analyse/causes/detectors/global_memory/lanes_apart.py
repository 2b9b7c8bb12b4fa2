"""Finds out what sets the lanes of a warp apart where they access memory apart: that decides how they come together."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from profiler.analyse.causes.detectors.candidate import WIDEST_BITS
from profiler.analyse.causes.evidence.addresses import address_of, base_of, offset_of
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import Kind, Site
from profiler.analyse.causes.flow.addresses.alike_elements import count_elements_alike
from profiler.analyse.causes.flow.addresses.apart import (
    are_neighbours,
    find_side_by_side,
    lies_apart,
    unused_of,
)
from profiler.analyse.causes.flow.addresses.indexed import find_structure
from profiler.analyse.causes.flow.addresses.strides import find_in_runs
from profiler.analyse.causes.flow.addresses.threads import (
    bytes_between_lanes,
    bytes_between_rows,
    offsets_of_threads,
)
from profiler.analyse.causes.flow.arithmetic.shared_turns import only_adds_up
from profiler.analyse.causes.flow.dataflow import makers_of_value, makers_since_access
from profiler.analyse.causes.flow.loop_carried import follows_itself, stores_its_own
from profiler.analyse.causes.flow.pointers import find_pointers
from profiler.analyse.code.loops import Loop
from profiler.catalog.metrics import LANES, SECTOR_BYTES

_WIDEST = WIDEST_BITS // 8
SetApart = Literal[
    "narrow block",  # a row of the block is shorter than a sector, so that a warp takes pieces of several rows
    "short pieces",  # each thread takes a piece of the data that one access can bring
    "elements alike",  # each thread takes neighbours and treats them alike, so that any thread could take any of them
    "long pieces",  # each thread takes a piece of the data that needs several accesses
    "unaligned pieces",  # each thread takes a piece of the data, which begins where no vector can
    "structure",  # neighbouring threads take the same member of neighbouring structures
    "exchange",  # loads are coalesced and their stores lie apart, or the other way round, as in a transpose
    "own turns",  # each thread loops over a run of elements, and any thread could take any turn
    "sums of rows",  # each thread adds up a row in a loop
    "turns in order",  # each thread loops over elements, and a turn may need what the one before it made
    "index",  # the index of a thread counts along another dimension than that of neighbouring elements
]


def find_what_sets_apart(evidence: Evidence, sites: Sequence[Site]) -> SetApart:
    """Returns what sets the lanes of these accesses apart, if it is not data. The first question that is answered by yes decides."""
    if count_narrow_columns(evidence, sites):
        return "narrow block"
    if _take_all_between(evidence, sites):
        return _judge_pieces(evidence, sites)
    if _are_members(evidence, sites):
        return "structure"
    if _move_what_is_coalesced(evidence, sites):
        return "exchange"
    return _judge_turns(evidence, sites)


def _judge_pieces(evidence: Evidence, sites: Sequence[Site]) -> SetApart:
    """Returns what kind of pieces threads take that leave nothing out."""
    pieces = find_pieces(evidence, sites)
    if pieces.bytes_at_once and not _leave_gaps(pieces, sites):
        return "short pieces"
    if count_elements_alike(evidence):
        return "elements alike"
    return "long pieces" if pieces.bytes_at_once else "unaligned pieces"


def _judge_turns(evidence: Evidence, sites: Sequence[Site]) -> SetApart:
    """Returns how the turns of the loop around these accesses depend on each other; "index" where they do not, or where there is no loop."""
    loop = evidence.innermost_loop(find_costliest(sites))
    if loop and evidence.goes_back(loop) and go_through_runs(evidence, sites):
        if stores_its_own(evidence, loop):
            return "own turns"
        if only_adds_up(evidence, loop):
            return "sums of rows"
    if evidence.loops_around(sites) and (follows_itself(evidence) or _may_follow_in_memory(evidence, sites)):
        return "turns in order"
    return "index"


def find_costliest(sites: Iterable[Site]) -> Site:
    return max(sites, key=lambda site: site.excess_sectors)


def go_through_runs(evidence: Evidence, sites: Collection[Site]) -> bool:
    """Returns whether the turns of loops take elements one after the other, by most of these accesses."""
    return _are_most(find_in_runs(evidence), sites)


def _are_most(some: Collection[Site], sites: Collection[Site]) -> bool:
    """Returns whether some accesses touch most of the unused sectors of all."""
    return 2 * unused_of(site for site in sites if site in some) > unused_of(sites)


def count_narrow_columns(evidence: Evidence, sites: Sequence[Site]) -> int:
    """Returns how many threads wide a block is whose rows fill less than a sector each, and lie apart; 0 for other accesses."""
    columns = evidence.shape.block[0] if evidence.shape else LANES
    for site in sites:
        width = site.width // 8
        offsets = (offsets_of_threads(evidence, site) or ())[:LANES]
        row = tuple(range(0, columns * width, width)) if width else ()
        if len(offsets) < LANES or columns * width >= SECTOR_BYTES or offsets[:columns] != row:
            return 0
    return columns if len({site.width for site in sites}) == 1 and columns > 1 else 0


@dataclass(frozen=True)
class Pieces:
    """The pieces of the data that each thread takes."""

    sizes: frozenset[int]  # in bytes, of those whose size the code says
    are_all_known: bool
    bytes_at_once: int  # that one access may bring; 0 if that is no more than an element


def find_pieces(evidence: Evidence, sites: Sequence[Site]) -> Pieces:
    """Returns the pieces of the data that these accesses take.

    A vector has to begin at a multiple of its bytes, and arrays begin at one of 256. Pieces of 84 bytes begin at multiples of 4.
    """
    sizes = {bytes_between_lanes(evidence, [site]) or find_structure(evidence, site) for site in sites}
    known = frozenset(size for size in sizes if size)
    aligned = math.gcd(_WIDEST, *known)
    is_one_element = known and 8 * aligned <= max(site.width for site in sites)
    return Pieces(known, len(known) == len(sizes), 0 if is_one_element else aligned)


def _leave_gaps(pieces: Pieces, sites: Sequence[Site]) -> bool:
    """Returns whether a piece needs several accesses, however wide they are. Between the lanes of each lies what the others take.

    Where the code does not say how many bytes a piece has, the sectors of a request do: pieces of 16 bytes lie in 16 of them.
    """
    if pieces.are_all_known:
        return max(pieces.sizes) > pieces.bytes_at_once
    touched = sum(site.sectors or 0.0 for site in sites) * SECTOR_BYTES
    return touched > _WIDEST * sum(site.lane_executions for site in sites)


def _take_all_between(evidence: Evidence, sites: Sequence[Site]) -> bool:
    """Returns whether each lane accesses all that lies between its own place and that of the next lane. The code may say so, or the sectors."""
    return _fill_what_lies_between(evidence, sites) or _are_most(find_side_by_side(evidence), sites)


def _fill_what_lies_between(evidence: Evidence, sites: Sequence[Site]) -> bool:
    """Returns whether the code says so of each array, however many sectors that is.

    Elements of one array may have their addresses in different registers. Then its pointer shows that they belong together.
    """
    by_registers = {site: base_of(site) for site in sites}
    by_pointer = {site: find_pointers(evidence, site) or base for site, base in by_registers.items()}
    between = bytes_between_lanes(evidence, sites)
    return between is not None and any(
        _bytes_of_each(arrays) == {between} for arrays in (by_registers, by_pointer)
    )


def _bytes_of_each(arrays: Mapping[Site, object]) -> set[int | None]:
    """Returns how many bytes a lane takes of each array; None for an array of which it takes a single element."""
    widths: dict[object, dict[object, int]] = {}
    for site, array in arrays.items():
        widths.setdefault(array, {})[base_of(site), offset_of(site)] = site.width // 8
    return {sum(taken.values()) if len(taken) > 1 else None for taken in widths.values()}


def _are_members(evidence: Evidence, sites: Sequence[Site]) -> bool:
    """Returns whether these are members of structures: one structure begins so many bytes behind another, or its members lie at several offsets.

    If a thread of the next row of the block takes the element beside that of a lane, what lies apart is a dimension of an array.
    """
    costliest = find_costliest(sites)
    if bytes_between_rows(evidence, costliest) == costliest.width // 8:
        return False
    if find_structure(evidence, costliest):
        return True
    # Both sides of a branch may access one place, and a loop may take the elements of a row.
    places = {(base_of(site), offset_of(site)) for site in sites}
    return not evidence.loops_around(sites) and 2 * len({base for base, _ in places}) <= len(places)


def _move_what_is_coalesced(evidence: Evidence, sites: Sequence[Site]) -> bool:
    """Returns whether most of these accesses move elements one for one, and the lanes of the accesses at the other end are neighbours."""
    others: dict[Site, list[Site]] = {}
    for store in evidence.of("global store"):
        for load in makers_since_access(evidence, makers_of_value(evidence, store)):
            if load.kind == "global load" and load.executed == store.executed:
                others.setdefault(load, []).append(store)
                others.setdefault(store, []).append(load)
    moving = {site for site, ends in others.items() if all(_has_neighbours(evidence, one) for one in ends)}
    return _are_most(moving, sites)


def _has_neighbours(evidence: Evidence, site: Site) -> bool:
    """Returns whether the lanes of a warp take elements side by side, and no two lanes the same one.

    If the code says so, a test may have sent lanes away that lie between those that act.
    """
    filled = (site.ideal_sectors or 0.0) * SECTOR_BYTES
    is_side_by_side = not lies_apart(evidence, site) and filled >= site.bytes_of_lanes > 0
    return is_side_by_side or are_neighbours(evidence, site)


def _may_follow_in_memory(evidence: Evidence, sites: Iterable[Site]) -> bool:
    """Returns whether a loop around these loads elements of an array and stores others of it: a turn may start from what another turn has stored."""
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
