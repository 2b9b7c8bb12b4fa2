"""Finds what several blocks repeat: loads whose addresses do not depend on every dimension of the grid, and code on the same data.

In a product, the rows of A depend on one index of the block and the columns of B on the other, so that all blocks along the
other dimension load the same.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from profiler.analyse.causes.evidence.dataflow import (
    CHANGED_BY_OTHERS,
    COMPUTED,
    address_registers,
    find_writers,
    follow_results,
    place_of,
)
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.code.loops import Loop
from profiler.analyse.code.registers import only_written, read_registers

_BLOCK_INDEX = re.compile(r"SR_CTAID\.([XYZ])")
_DIMENSIONS = "XYZ"


def count_blocks_alike(evidence: Evidence, site: Site) -> int:
    """Returns how many blocks compute the same addresses for a load; 1 if these depend on the whole index, or on loaded values."""
    depends = _dimensions_of_address(evidence, site)
    if depends is None or evidence.shape is None:
        return 1
    return math.prod(
        blocks
        for name, blocks in zip(_DIMENSIONS, evidence.shape.grid, strict=True)
        if name not in depends
    )  # fmt: skip


def _dimensions_of_address(evidence: Evidence, site: Site) -> set[str] | None:
    """Returns the dimensions of the block's index that an address depends on.

    It is None if memory holds a part of it, if its writer is unknown, or if no register is known to hold it: coordinates of a
    texture stand in no brackets.
    """
    sites = evidence.by_function[site.function]
    found: set[str] = set()
    wanted = [(place_of(sites, site), register) for register in address_registers(site.instruction)]
    if not wanted:
        return None
    seen = set(wanted)
    while wanted:
        index, register = wanted.pop()
        if not (writers := find_writers(evidence, sites, index, register)):
            return None
        for writer in writers:
            one = sites[writer]
            if one.kind not in COMPUTED:
                return None
            found.update(_BLOCK_INDEX.findall(one.instruction.text))
            sources = read_registers(one.instruction) - only_written(one.instruction)
            new = {(writer, source) for source in sources} - seen
            seen |= new
            wanted += new
    return found


def find_block_independent(evidence: Evidence) -> list[Site]:
    """Returns the code that every block runs on the same data, because it does not depend on the block.

    An instruction depends on the block if it reads the block's index, or what such an instruction wrote. A loop in which
    any does is the block's own work, with its counters.
    """
    alike: list[Site] = []
    for sites in evidence.by_function.values():
        loops = evidence.loops.get(sites[0].function, [])
        depending = _depending_on_block(sites, loops)
        own = [evidence.inside(loop) for loop in loops]
        in_loops = {site for inside in own if not depending.isdisjoint(inside) for site in inside}
        alike += [site for site in sites if site not in depending and site not in in_loops]
    return alike


def _depending_on_block(sites: Sequence[Site], loops: Iterable[Loop]) -> set[Site]:
    """Returns the instructions that depend on the block's index."""

    def depends(site: Site, reads_dependent: bool) -> bool:
        return reads_dependent or site.kind in CHANGED_BY_OTHERS or "SR_CTAID" in site.instruction.text

    return follow_results(sites, loops, depends)
