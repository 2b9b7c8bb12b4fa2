"""Finds what several blocks repeat: loads of the same data, and code on the same data.

Addresses of the same data do not depend on every dimension of the grid. In a product, the rows of A depend on one index of the
block and the columns of B on the other, so that all blocks along the other dimension load the same.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence, Set
from typing import NamedTuple

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.arithmetic.compiler_functions import find_calls
from profiler.analyse.causes.flow.dataflow import (
    CHANGED_BY_OTHERS,
    COMPUTED,
    OF_BLOCK,
    address_comes_of,
    address_registers,
)
from profiler.analyse.causes.flow.depending import NOTHING, depending_on
from profiler.analyse.causes.flow.possible_writers import writers_before

_BLOCK_INDEX = re.compile(rf"{OF_BLOCK}\.([XYZ])")
_DIMENSIONS = "XYZ"
# What reads the index of a thread or of its block, chooses a lane, or says what the threads of a block found at a barrier.
_OF_A_THREAD = ("S2R", "S2UR", "CS2R", "ELECT", "B2R")
_CHANGES_MEANWHILE = ".STRONG"  # a load of volatile data, such as a flag that is waited for
_Value = tuple[Site, str]  # of a register, when an instruction reads it


def count_blocks_alike(evidence: Evidence, site: Site) -> int:
    """Returns how many blocks compute the same addresses for a load; 1 if these depend on the whole index, or on loaded values."""
    return math.prod(find_axes_alike(evidence, site).values())


def find_axes_alike(evidence: Evidence, site: Site) -> dict[int, int]:
    """Returns the axes of the grid along which all blocks compute the same addresses for a load, each with how many blocks these are."""
    if evidence.shape is None or (depends := _find_dimensions(evidence, site)) is None:
        return {}
    axes = enumerate(zip(_DIMENSIONS, evidence.shape.grid, strict=True))
    return {axis: blocks for axis, (name, blocks) in axes if blocks > 1 and name not in depends}


def _find_dimensions(evidence: Evidence, site: Site) -> set[str] | None:
    """Returns the dimensions of the block's index on which an address depends.

    It is None if a part of the address comes from memory, or if the writer of one is unknown. It is also None if no register is
    known to hold the address: coordinates of a texture stand in no brackets.
    """
    wanted = [(site, register) for register in address_registers(site.instruction)]
    if not wanted:
        return None
    found: set[str] = set()
    seen = set(wanted)
    while wanted:
        origin = _origin_of(evidence, *wanted.pop())
        if origin is None:
            return None
        found |= origin.dimensions
        new = origin.sources - seen
        seen |= new
        wanted += new
    return found


class _Origin(NamedTuple):
    """The sources of a register's value: what it is computed from."""

    dimensions: set[str]  # of the block's index
    sources: set[_Value]  # other registers, which have to be looked up in turn


@kept
def _origin_of(evidence: Evidence, reader: Site, register: str) -> _Origin | None:
    """Returns what the value of a register is made of; None if that is unknown. The addresses of many loads have a part in common."""
    origin = _Origin(set(), set())
    writers = writers_before(evidence, reader, register)
    for one in writers:
        if one.kind not in COMPUTED:
            return None
        origin.dimensions.update(_BLOCK_INDEX.findall(one.instruction.text))
        origin.sources.update((one, read) for read in one.use.inputs)
    return origin if writers else None


@kept
def find_block_independent(evidence: Evidence, index: str) -> list[Site]:
    """Returns the code that does not depend on this index of a block or a thread, so that all along that index run it on the same data.

    An instruction depends on an index if it reads it, or what such an instruction wrote. A loop in which any instruction does is
    the block's own work, with its counters.
    """
    return _find_independent(evidence, lambda sites: _first_depending_on(sites, index))


@kept
def find_grid_independent(evidence: Evidence) -> list[Site]:
    """Returns the code that all threads of the grid run on the same data, because it depends neither on the thread nor on its block."""
    return _find_independent(evidence, _of_one_thread)


def _of_one_thread(sites: Sequence[Site]) -> frozenset[Site]:
    """Returns what reads the index of a thread or of its block, or what others change."""
    found = {
        site
        for site in sites
        if (site.instruction.name in _OF_A_THREAD and "SRZ" not in site.instruction.text)
        or _CHANGES_MEANWHILE in site.opcode
    }
    return _first_depending_on(sites, OF_BLOCK) | found


@kept
def find_single_values(evidence: Evidence) -> Set[Site]:
    """Returns the loads by which all threads of the grid look up one value, such as an entry of a table: it is no data, however often it is loaded.

    It has to be known what the address of such a load is made of.
    """
    return {
        site
        for site in find_grid_independent(evidence)
        if site.kind == "global load" and _find_dimensions(evidence, site) is not None
    }


@kept
def find_lookups_alike(evidence: Evidence) -> Set[Site]:
    """Returns the loads that have one address for all threads of the grid in the same iteration of a loop, whatever else the loop does."""
    found: set[Site] = set()
    for function, sites in evidence.by_function.items():
        depending = depending_on(evidence, function, _of_one_thread(sites), NOTHING)
        found |= {
            site
            for site in sites
            if site.kind == "global load"
            and site not in depending
            and _find_dimensions(evidence, site) is not None
        }
    return found


@kept
def find_updates_of_one_place(evidence: Evidence) -> Set[Site]:
    """Returns the atomics by which all threads of the grid update one place, in the same iteration of a loop.

    Its address is made of parameters alone.
    """
    found: set[Site] = set()
    for function, sites in evidence.by_function.items():
        atomics = [
            site for site in sites if site.kind == "atomic" and _find_dimensions(evidence, site) == set()
        ]
        if atomics:
            depending = depending_on(evidence, function, _of_one_thread(sites), NOTHING)
            found |= {site for site in atomics if not address_comes_of(evidence, site, depending)}
    return found


def _find_independent(evidence: Evidence, first: Callable[[Sequence[Site]], frozenset[Site]]) -> list[Site]:
    """Returns the code that depends on none of the `first` instructions of its function. A loop in which anything does is left out whole.

    So is a function of the compiler, such as pow: some of its calls may depend on them.
    """
    alike: list[Site] = []
    called = find_calls(evidence)
    for function, sites in evidence.by_function.items():
        depending = depending_on(evidence, function, first(sites), NOTHING)
        own = [evidence.inside(loop) for loop in evidence.loops.get(function, [])]
        in_loops = {site for inside in own if not depending.isdisjoint(inside) for site in inside}
        others = depending | in_loops | called.keys()
        alike += [site for site in sites if site not in others]
    return alike


def _first_depending_on(sites: Sequence[Site], index: str) -> frozenset[Site]:
    """Returns the instructions that read an index, or what memory holds that others may change."""
    return frozenset(
        site for site in sites if site.kind in CHANGED_BY_OTHERS or index in site.instruction.text
    )
