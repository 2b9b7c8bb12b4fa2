"""Finds by how many bytes an index is multiplied to become an address: the size of an element, of a structure, or of a row."""

from __future__ import annotations

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.addresses.operations import step_in_loop
from profiler.analyse.causes.flow.dataflow import find_address_work
from profiler.analyse.code.registers import REGISTER, is_predicate

_OF_AN_ADDRESS = 3  # operands: the result, the index and the base, beside the scale
_MOST_SHIFTED = 32


def scaled_index(site: Site) -> tuple[set[str], int] | None:
    """Returns the registers of an index, and by how many bytes an instruction multiplies it, if it makes an address of it."""
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
    """Returns the bytes from one structure to the next where an access takes a member: more than the member has, and a constant.

    The length of a row is a parameter in most programs, and the elements of a row are counted by the bytes of one. Where it is a constant, the
    columns of such rows are like members, unless the turns of a loop take the elements of a row one after the other.
    """
    widths = {
        scaled[1]
        for one in find_address_work(evidence, [access])
        if _makes_address(one) and (scaled := scaled_index(one))
    }
    size = min(widths, default=0)
    if size <= access.width / 8:
        return None
    loop = evidence.innermost_loop(access)
    step = step_in_loop(evidence, loop, access) if loop else None
    return None if step and abs(step) < size else size


def _makes_address(site: Site) -> bool:
    """Returns whether the result has the 64 bits of an address: the carry of its lower half goes on to the upper one."""
    return site.opcode.startswith("IMAD.WIDE") or (
        site.instruction.name == "LEA" and is_predicate(site.instruction.operands[1])
    )
