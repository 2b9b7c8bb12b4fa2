"""Knows which addresses are computed from an index: by how many bytes that is multiplied, and whether it was loaded."""

from __future__ import annotations

from collections.abc import Iterable, Set

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept_of_code
from profiler.analyse.causes.evidence.sites import ACCESSES, Site
from profiler.analyse.causes.flow.addresses.strides import step_in_loop
from profiler.analyse.causes.flow.addresses.threads import constant_in
from profiler.analyse.causes.flow.dataflow import (
    address_registers,
    choosers_of,
    factors_of,
    find_address_work_of,
    makers_of_address,
    makers_since_access,
    reach,
    sources_of,
)
from profiler.analyse.causes.flow.lane_values import is_of_loaded_data
from profiler.analyse.causes.flow.loop_carried import is_carried
from profiler.analyse.causes.flow.memory.staging import feeds_shared_memory
from profiler.analyse.causes.flow.possible_writers import writers_of_any
from profiler.analyse.code.opcodes import WORD_BITS
from profiler.analyse.code.registers import REGISTER, is_predicate
from profiler.catalog.metrics import SECTOR_BYTES

_OF_AN_ADDRESS = 3  # operands: the result, the index and the base, beside the scale
_MOST_SHIFTED = 32
_TO_INTEGER = "F2I"
_ADDED_BY_SIGN = ("LOP3", "SEL")


def is_gathered(evidence: Evidence, site: Site) -> bool:
    """Returns whether the access takes single elements by indices that were loaded, as x[index[i]] does.

    Then a loaded value is multiplied by the width of an element to become the address, and by nothing else. A structure that fits
    into a sector is such an element, too: however its members lie, each lane needs a sector of its own.

    An index from which a loop walks on does not count: it says where a row begins. The elements of a row are neighbours, and so
    may be the lanes that take them.
    """
    of_address = address_registers(site.instruction)
    loaded: list[tuple[Site, set[str]]] = []
    for writer in sources_of(evidence, site, of_address):
        if writer.position >= site.position or (scaled := scaled_index(writer)) is None:
            continue
        index, width = scaled
        is_of_element = not width % max(1, site.width // 8) and 0 < width <= SECTOR_BYTES
        if is_of_element and _is_loaded_index(evidence, writer, index, width):
            loaded.append((writer, index))
    if not loaded or _walks(evidence, site, of_address):
        return False
    return any(not _walks(evidence, writer, index) for writer, index in loaded)


def is_looked_up(evidence: Evidence, access: Site) -> bool:
    """Returns whether a loaded number that is no index says where a lane goes, as a position says in which cell of a grid it lies.

    Many such numbers become one index. A table may say where the list of each cell begins: then this index says which list a lane
    takes.
    """
    if not _find_rounding(evidence):
        return False
    makers = [*makers_since_access(evidence, makers_of_address(evidence, access))]
    places = [
        one for load in makers if load.kind == "global load" for one in makers_of_address(evidence, load)
    ]
    led_there = {*makers, *makers_since_access(evidence, places)}
    return is_of_loaded_data(evidence, _find_rounding(evidence) & led_there)


@kept_of_code
def _find_rounding(evidence: Evidence) -> set[Site]:
    """Returns the instructions that make an integer of a number."""
    return {site for site in evidence.sites if site.opcode.startswith(_TO_INTEGER)}


def _is_loaded_index(evidence: Evidence, site: Site, registers: Set[str], width: int) -> bool:
    """Returns whether one of these registers, which the instruction multiplies by a width, may hold an index that was loaded.

    What has 64 bits may as well be a pointer, unless it is multiplied. A multiplied value from shared memory is such an index,
    too, if loaded values were stored there.
    """
    sources = [_before_wrapping(evidence, one) for one in sources_of(evidence, site, registers)]
    return any(one.kind == "global load" and (width > 1 or one.width <= WORD_BITS) for one in sources) or (
        width > 1
        and any(one.kind == "shared load" for one in sources)
        and any(feeds_shared_memory(evidence, one) for one in evidence.of("global load"))
    )


def _before_wrapping(evidence: Evidence, site: Site) -> Site:
    """Returns the load of an index to which an instruction adds the length if it is negative, as Numba does for `x[-1]`; else the instruction.

    Nothing but the sign of the index decides whether the length is added, by a mask or by a choice.
    """
    parts = sources_of(evidence, site) if site.instruction.name == "IADD3" else []
    added = {one for one in parts if one.instruction.name in _ADDED_BY_SIGN}
    index = [one for one in parts if one not in added]
    made_of = reach(
        added,
        lambda one: () if one.kind in ACCESSES else (*sources_of(evidence, one), *choosers_of(evidence, one)),
    )
    return index[0] if index and index == [one for one in made_of if one.kind in ACCESSES] else site


def _walks(evidence: Evidence, site: Site, registers: Iterable[str]) -> bool:
    """Returns whether an instruction of a loop reads what each iteration computes from the one before, such as a counter or a moving pointer.

    A place that is computed from what the iteration before has loaded, as along a list, does not count: it need not be a
    neighbour.
    """
    return any(
        is_carried(evidence, one)
        and one
        in reach(
            computed_in_loop(evidence, one, one.use.inputs),
            lambda other: computed_in_loop(evidence, other, other.use.inputs),
        )
        for one in computed_in_loop(evidence, site, registers)
    )


def computed_in_loop(evidence: Evidence, site: Site, registers: Iterable[str]) -> list[Site]:
    """Returns the instructions of a loop, other than loads, whose results these registers may hold, also from the iteration before."""
    writers = writers_of_any(evidence, site, registers)
    return [one for one in writers if one.kind not in ACCESSES and evidence.innermost_loop(one)]


def scaled_index(site: Site) -> tuple[set[str], int] | None:
    """Returns the registers of an index, and by how many bytes an instruction multiplies it to make an address; None for any other instruction."""
    name, operands = site.instruction.name, site.instruction.operands
    if name == "IADD3":  # a byte lies as far on as its index says
        return set(REGISTER.findall(", ".join(operands[1:]))), 1
    # `IMAD.WIDE R2, R4, 0x4, R6` and `LEA R2, P0, R4, R6, 0x2`: the index stands third from the end.
    if len(operands) <= _OF_AN_ADDRESS or name not in ("IMAD", "LEA"):
        return None
    factor = operands[-2] if name == "IMAD" else operands[-1]
    if not factor.startswith("0x"):
        return None
    number = int(factor, 16)
    width = number if name == "IMAD" else 1 << min(number, _MOST_SHIFTED)
    return set(REGISTER.findall(operands[-3])), width


def find_structure(evidence: Evidence, access: Site) -> int | None:
    """Returns the bytes from one structure to the next, if an access takes a member: a constant, and more than the member has.

    In most programs, the length of a row is a parameter, and an index within the row is multiplied by the bytes of one element.
    If the length is a constant, the columns of such rows are like members, unless the iterations of a loop take the elements of a
    row one after the other. What is multiplied once more is still an index, and no address.
    """
    work = find_address_work_of(evidence, [access])
    indices = {maker for one in work for maker in sources_of(evidence, one, _scaled_by(one))}
    widths = {
        scaled[1] * _multiple_in(evidence, one, scaled[0])
        for one in work - indices
        if _makes_address(one) and (scaled := scaled_index(one))
    }
    size = min(widths, default=0)
    if size <= access.width / 8:
        return None
    loop = evidence.innermost_loop(access)
    step = step_in_loop(evidence, loop, access) if loop else None
    return None if step and abs(step) < size else size


def _scaled_by(site: Site) -> set[str]:
    """Returns the registers that an instruction multiplies, or shifts, which multiplies as well."""
    scaled = scaled_index(site) if site.instruction.name == "LEA" else None
    return scaled[0] if scaled else factors_of(site)


def _multiple_in(evidence: Evidence, site: Site, index: Set[str]) -> int:
    """Returns by which constant an index was multiplied before, if what was added to it is a constant, too: 27 in `27 * node + 3`; else 1."""
    makers = sources_of(evidence, site, index)
    if len(makers) != 1 or makers[0].instruction.name != "IMAD":
        return 1
    *factors, added = (constant_in(evidence, makers[0], one) for one in makers[0].instruction.operands[-3:])
    known = [one for one in factors if one]
    return abs(known[0]) if len(known) == 1 and added is not None else 1


def _makes_address(site: Site) -> bool:
    """Returns whether the result has the 64 bits of an address: the carry of its lower half goes on to the upper one."""
    return site.opcode.startswith("IMAD.WIDE") or (
        site.instruction.name == "LEA" and is_predicate(site.instruction.operands[1])
    )
