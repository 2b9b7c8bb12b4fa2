"""Finds loads that several blocks repeat: their addresses do not depend on every dimension of the grid.

In a product, the rows of A depend on one index of the block and the columns of B on the other, so that all blocks along the
other dimension load the same.
"""

from __future__ import annotations

import math
import re

from profiler.analyse.causes.evidence.dataflow import COMPUTED, address_registers, find_writers, place_of
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import Site
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
