"""Finds what several blocks repeat or share: loads of the same data, parts of the same sectors, and code on the same data.

Addresses of the same data do not depend on every dimension of the grid.
In a product, the rows of A depend on one index of the block and the columns of B on the other, so that all blocks along the
other dimension load the same. So do blocks whose index is divided by a power of two, such as the heads of a group that share keys and
values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence, Set
from typing import NamedTuple

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.latency import LAUNCH, Effect
from profiler.analyse.causes.evidence.sites import SHARED, SIZE_IS_UNKNOWN, Kind, Site
from profiler.analyse.causes.evidence.tensor_work import count_operand_bytes
from profiler.analyse.causes.flow.dataflow import (
    CHANGED_BY_OTHERS,
    COMPUTED,
    address_registers,
    find_depending,
    find_writers,
)
from profiler.catalog.metrics import LANES

_BLOCK_INDEX = re.compile(r"SR_CTAID\.([XYZ])")
_DIMENSIONS = "XYZ"
# What reads the index of a thread or of its block, chooses a lane, or says what the threads of a block found at a barrier.
_OF_A_THREAD = ("S2R", "S2UR", "CS2R", "ELECT", "B2R")
_CHANGES_MEANWHILE = ".STRONG"  # a load of volatile data, such as a flag that is waited for
OF_BLOCK = "SR_CTAID"  # whichever dimension of the grid
# The traffic of device memory beyond one trip for each sector, and the sectors that a block finds in L1: of blocks that share their
# sectors with others, both are small.
_FEW = 0.5
# Work that is left when blocks are merged. Arithmetic may not be, because a block may compute once what serves all of its
# elements.
_STAYS = ("dram", "tensor")
_Value = tuple[int, str]  # of a register at a place
_ARITHMETIC: tuple[Kind, ...] = ("fp32", "fp64", "special", "tensor")
_SHIFT_RIGHT = re.compile(r"U?SHF\.R\.[US]32\.HI .*, (0x[0-9a-f]+), (U?R\d+)$")


def count_blocks_alike(evidence: Evidence, site: Site, through_memory: bool = False) -> int:
    """Returns how many blocks compute the same addresses for a load; 1 if these depend on the whole index, or on loaded values.

    With `through_memory`, loaded values count as what their own addresses depend on: a table of pages has one entry for all.
    """
    if evidence.shape is None or (depends := _bits_dropped(evidence, site, through_memory)) is None:
        return 1
    alike = 1
    for name, blocks in zip(_DIMENSIONS, evidence.shape.grid, strict=True):
        alike *= min(blocks, 2 ** depends[name]) if name in depends else blocks
    return alike


def _bits_dropped(evidence: Evidence, site: Site, through_memory: bool) -> dict[str, int] | None:
    """Returns the dimensions of the block's index on which an address depends, and how many of the lowest bits of each do not count.

    It is None if memory holds a part of it, if its writer is unknown, or if no register is known to hold it: coordinates of a
    texture stand in no brackets.
    """
    here = evidence.place(site, evidence.by_function[site.function])
    wanted = [(here, register) for register in address_registers(site.instruction)]
    if not wanted:
        return None
    shifted: dict[str, int] = {}
    seen = set(wanted)
    while wanted:
        origin = _origin_of(evidence, site.function, *wanted.pop(), through_memory)
        if origin is None:
            return None
        for name, bits in origin.shifted:
            shifted[name] = min(shifted.get(name, bits), bits)
        new = origin.sources - seen
        seen |= new
        wanted += new
    return shifted


class _Origin(NamedTuple):
    """The sources of a register's value: what it is computed from."""

    shifted: list[
        tuple[str, int]
    ]  # dimensions of the block's index, and how many of their lowest bits are dropped
    sources: set[_Value]  # other registers, which have to be looked up in turn


@kept
def _origin_of(
    evidence: Evidence, function: int, index: int, register: str, through_memory: bool
) -> _Origin | None:
    """Returns what the value of a register at a place is made of; None if that is unknown. The addresses of many loads have a part in common."""
    sites = evidence.by_function[function]
    origin = _Origin([], set())
    writers = find_writers(evidence, sites, index, register)
    for writer in writers:
        one = sites[writer]
        sources = _sources(sites, writer, through_memory)
        if sources is None:
            return None
        origin.shifted.extend((name, 0) for name in _BLOCK_INDEX.findall(one.instruction.text))
        if found := _shifted_index(evidence, sites, writer):
            origin.shifted.append(found)
        else:
            origin.sources.update(sources)
    return origin if writers else None


def _shifted_index(evidence: Evidence, sites: Sequence[Site], writer: int) -> tuple[str, int] | None:
    """Returns the dimension whose index an instruction divides by a power of two, and the exponent."""
    shift = _SHIFT_RIGHT.search(sites[writer].instruction.text)
    if not shift:
        return None
    read = find_writers(evidence, sites, writer, shift[2])
    names = {name for one in read for name in _BLOCK_INDEX.findall(sites[one].instruction.text)}
    return (names.pop(), int(shift[1], 16)) if len(read) == 1 and len(names) == 1 else None


def _sources(sites: Sequence[Site], writer: int, through_memory: bool) -> set[_Value] | None:
    """Returns where the values come from that a result is made of, as places and registers; None if that is unknown."""
    one = sites[writer]
    if one.kind in COMPUTED:
        read = one.use.inputs
        return {(writer, register) for register in read}
    if through_memory and one.kind == "global load" and (address := address_registers(one.instruction)):
        return {(writer, register) for register in address}
    if through_memory and one.kind == "shared load":
        return {
            (place, register)
            for place in _stores_before(sites, writer)
            for register in sites[place].use.named - address_registers(sites[place].instruction)
        } or None
    return None


def _stores_before(sites: Sequence[Site], load: int) -> list[int]:
    """Returns the stores whose values a load from shared memory may see: those between the last barrier before it and the one before that."""
    found: list[int] = []
    barriers = 0
    for place in range(load - 1, -1, -1):
        barriers += sites[place].kind == "barrier"
        if barriers == 2:
            break
        if barriers and sites[place].kind == "shared store":
            found.append(place)
    return found


def count_sharing_blocks(evidence: Evidence, sites: Sequence[Site]) -> float:
    """Returns among how many blocks the sectors of these accesses are shared out; 1 if each block uses its own, or if any could take them.

    A block whose threads exchange values, as to add up a column, keeps its elements together. If it touches each sector once, L1 has not
    held it, and device memory has delivered it for others too, the neighbours of its elements belong to other blocks.
    """
    exchanging = bool(_exchanges(evidence))
    loads = [site for site in sites if site.kind == "global load"]
    touched = sum(site.sectors or 0.0 for site in loads)
    needed = sum(site.ideal_sectors or 0.0 for site in loads)
    in_loops = any(evidence.innermost_loop(site) for site in loads)
    if not exchanging or not needed or in_loops:
        return 1.0
    if evidence.missing_l1 < 1 - _FEW or evidence.wasted_dram > _FEW:
        return 1.0
    return max(1.0, touched / needed)


def merge_blocks(evidence: Evidence, effect: Effect, blocks: float) -> tuple[Effect, float]:
    """Returns the effect where one block takes the work of so many as well, and the most that this saves.

    Work that each block does once is done less often: launching it, and the exchange between its threads.
    """
    fewer = evidence.without(dict.fromkeys(_exchanges(evidence), 1 - 1 / blocks))
    merged = Effect(
        {**fewer.resources, LAUNCH: 1 - 1 / blocks, **effect.resources}, fewer.waits, effect.lighter
    )
    return merged, evidence.model.bound(merged, _STAYS)[0]


def _exchanges(evidence: Evidence) -> list[Site]:
    """Returns the instructions by which the threads of a block exchange values, if they wait for each other at barriers."""
    barriers = evidence.of("barrier")
    shuffles = [site for site in evidence.of("mio") if site.instruction.name == "SHFL"]
    return [*barriers, *shuffles, *evidence.of(*SHARED)] if barriers else []


@kept
def find_block_independent(evidence: Evidence, index: str) -> list[Site]:
    """Returns the code that every block runs on the same data, because it does not depend on the block; or every thread along another index.

    An instruction depends on an index if it reads it, or what such an instruction wrote. A loop in which
    any does is the block's own work, with its counters.
    """
    return _find_independent(evidence, lambda sites: _naming(sites, index))


@kept
def find_grid_independent(evidence: Evidence) -> list[Site]:
    """Returns the code that all threads of the grid run on the same data, because it depends neither on the thread nor on its block."""

    def first(sites: Sequence[Site]) -> set[Site]:
        found = {
            site
            for site in sites
            if (site.instruction.name in _OF_A_THREAD and "SRZ" not in site.instruction.text)
            or _CHANGES_MEANWHILE in site.opcode
        }
        return found | _naming(sites, OF_BLOCK)

    return _find_independent(evidence, first)


@kept
def find_single_values(evidence: Evidence) -> Set[Site]:
    """Returns the loads by which all threads of the grid look up one value, such as an entry of a table: it is no data, however often it is loaded.

    Only a load of which it is known what its address is made of can be one.
    """
    return {
        site
        for site in find_grid_independent(evidence)
        if site.kind == "global load" and _bits_dropped(evidence, site, through_memory=False) is not None
    }


def _find_independent(evidence: Evidence, first: Callable[[Sequence[Site]], set[Site]]) -> list[Site]:
    """Returns the code that depends on none of the `first` instructions of its function. A loop with an instruction that does is no part of it."""
    alike: list[Site] = []
    for sites in evidence.by_function.values():
        loops = evidence.loops.get(sites[0].function, [])
        depending = set(find_depending(sites, loops, first(sites)))
        own = [evidence.inside(loop) for loop in loops]
        in_loops = {site for inside in own if not depending.isdisjoint(inside) for site in inside}
        alike += [site for site in sites if site not in depending and site not in in_loops]
    return alike


def _naming(sites: Sequence[Site], index: str, known: Collection[Site] = ()) -> set[Site]:
    """Returns what reads an index, or what memory holds that others change, but for the `known` loads."""
    return {
        site
        for site in sites
        if (site.kind in CHANGED_BY_OTHERS and site not in known) or index in site.instruction.text
    }


def find_inner_loops_alike(evidence: Evidence, index: str) -> list[list[Site]]:
    """Returns the loops that all blocks along an index run on the same data, each within a loop that is the block's own work.

    Shared memory that such a loop fills itself holds the same in all of these blocks.
    """
    found = []
    for sites in evidence.by_function.values():
        loops = evidence.loops.get(sites[0].function, [])
        inner = [
            inside
            for loop in loops
            if any(other != loop and other.start <= loop.start and loop.end <= other.end for other in loops)
            and _computes_with_loads(inside := evidence.inside(loop))
            and _reads_what_it_brings(inside)
        ]
        if inner:
            known = {site for inside in inner for site in inside if site.kind == "shared load"}
            depending = set(find_depending(sites, loops, _naming(sites, index, known)))
            alike = set(find_block_independent(evidence, index))
            found += [inside for inside in inner if depending.isdisjoint(inside) and alike.isdisjoint(inside)]
    return found


def _computes_with_loads(inside: Sequence[Site]) -> bool:
    kinds = {site.kind for site in inside}
    return "global load" in kinds and not kinds.isdisjoint(_ARITHMETIC)


def _reads_what_it_brings(inside: Sequence[Site]) -> bool:
    """Returns whether a loop reads no more bytes of shared memory than it brings there, and so none that were there before.

    What it brings and never reads, it need not bring. Copies of unknown size count as none.
    """
    read = brought = 0.0
    for site in inside:
        moved = site.executed * (LANES if site.acting is None else site.acting) * site.width / 8
        if site.kind == "shared load":
            read += moved
        elif site.stores_in_shared and site.instruction.name not in SIZE_IS_UNKNOWN:
            brought += moved
        elif site.kind == "tensor":
            read += count_operand_bytes(site)
    return read <= brought
