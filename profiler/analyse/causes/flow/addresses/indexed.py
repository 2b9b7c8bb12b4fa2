"""Knows which accesses take single elements from places that data says."""

from __future__ import annotations

from collections.abc import Iterable, Set

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import ACCESSES, Site
from profiler.analyse.causes.flow.addresses.structures import scaled_index
from profiler.analyse.causes.flow.dataflow import (
    address_registers,
    find_address_work,
    reach,
    sources_of,
)
from profiler.analyse.causes.flow.loop_carried import is_carried
from profiler.analyse.causes.flow.possible_writers import writers_before
from profiler.analyse.code.opcodes import WORD_BITS
from profiler.catalog.metrics import SECTOR_BYTES


def is_gathered(evidence: Evidence, site: Site) -> bool:
    """Returns whether the access takes single elements by indices that were loaded, as x[index[i]] does.

    Then a loaded value is multiplied by the width of an element to become the address, and by nothing else. A structure that fits
    into a sector is such an element, too: however its members lie, each lane needs a sector of its own.

    A loaded index from which a loop walks on says where a row begins. The elements of a row are neighbours, and so may be the lanes that
    take them.
    """
    if _walks(evidence, site, address_registers(site.instruction)):
        return False
    for writer in sources_of(evidence, site):
        scaled = scaled_index(writer)
        if writer.position >= site.position or scaled is None:
            continue
        index, width = scaled
        if _walks(evidence, writer, index):
            continue
        if width % max(1, site.width // 8) or not 0 < width <= SECTOR_BYTES:
            continue
        if _is_loaded_index(evidence, writer, index, width):
            return True
    return False


def is_placed_by_data(evidence: Evidence, access: Site) -> bool:
    """Returns whether the address is computed from an index that was loaded."""
    if _is_loaded_index(evidence, access, address_registers(access.instruction)):
        return True
    return any(
        _is_loaded_index(evidence, maker, maker.use.inputs)
        or ((scaled := scaled_index(maker)) is not None and _is_loaded_index(evidence, maker, *scaled))
        for maker in find_address_work(evidence, [access])
    )


def _is_loaded_index(evidence: Evidence, site: Site, registers: Set[str], width: int = 1) -> bool:
    """Returns whether one of these registers, which the instruction multiplies by a width, may hold an index that was loaded.

    What has 64 bits may be a pointer as well, unless it is multiplied.
    """
    return any(
        one.kind == "global load" and (width > 1 or one.width <= WORD_BITS)
        for one in sources_of(evidence, site, registers)
    )


def _walks(evidence: Evidence, site: Site, registers: Iterable[str]) -> bool:
    """Returns whether an instruction of a loop reads what each turn computes from the turn before, as a counter or a pointer that moves on.

    What is computed from a place that the turn before has loaded, as along a list, does not move on to a neighbour.
    """
    return any(
        is_carried(evidence, one)
        and one
        in reach(
            _computed_from(evidence, one, one.use.inputs),
            lambda other: _computed_from(evidence, other, other.use.inputs),
        )
        for one in _computed_from(evidence, site, registers)
    )


def _computed_from(evidence: Evidence, site: Site, registers: Iterable[str]) -> list[Site]:
    """Returns the instructions of a loop, other than loads, whose results these registers may hold."""
    writers = {writer for name in registers for writer in writers_before(evidence, site, name)}
    return [one for one in writers if one.kind not in ACCESSES and evidence.innermost_loop(one)]
