"""Finds quotients and rests of the block's index, by which one index counts tiles of rows and columns, and how many values each takes.

There is no instruction for the division of integers. Compilers multiply by a reciprocal that is slightly too small, so that the quotient
is one too small for each multiple of the divisor, and an instruction under a predicate then adds one. How many threads that acts for
is recorded, and says how many multiples there are: what the divisor is need not be known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.code.registers import REGISTER

_DIMENSIONS = "XYZ"
_INDEX = "SR_CTAID."
# They have two operands, one of which may be zero or a negated register. IABS is one, because an index is not negative.
_COPIES = ("MOV", "IABS", "R2UR")
_TO_INTEGER = "F2I"
_ZERO = ("RZ", "URZ")


@dataclass(frozen=True)
class IndexPart:
    """The index of a block in one dimension, or the quotient or the rest of the division of one by something that is not known.

    `corrected` is the part of all threads for which the quotient was corrected.
    """

    dimension: str
    of: IndexPart | None = None
    is_rest: bool = False
    division: int = -1  # the place of its instruction
    corrected: float = 0.0


def count_values(evidence: Evidence, part: IndexPart) -> float:
    """Returns how many values a part of the index takes; the last row or group is taken to be full."""
    if part.of is None:
        grid = evidence.shape.grid if evidence.shape else (1, 1, 1)
        return float(grid[_DIMENSIONS.index(part.dimension)])
    divided = count_values(evidence, part.of)
    quotients = 1.0 + part.corrected * divided
    return max(1.0, divided / quotients) if part.is_rest else quotients


def never_acts(evidence: Evidence, site: Site) -> bool:
    """Returns whether an instruction stands under a predicate that never held, such as the one for a divisor of zero."""
    return evidence.has_costs and site.instruction.predicate is not None and site.acting == 0


@kept
def find_parts(evidence: Evidence, function: int) -> Mapping[int, IndexPart]:
    """Returns, by their place, the instructions of a function whose result is the block's index, a quotient or a rest of it."""
    if not evidence.has_costs:
        return {}
    sites = evidence.by_function[function]
    found: dict[int, IndexPart] = {}
    held: dict[str, IndexPart] = {}
    reciprocals: set[str] = set()
    for place, site in enumerate(sites):
        if never_acts(evidence, site):
            continue
        written = site.use.written
        part = _part_written(sites, place, held, reciprocals)
        is_reciprocal = _is_reciprocal(site, reciprocals)
        for register in written:
            held.pop(register, None)
            reciprocals.discard(register)
        if part is not None:
            held[written[0]] = found[place] = part
        elif is_reciprocal:
            reciprocals.add(written[0])
    return found


def _is_reciprocal(site: Site, reciprocals: set[str]) -> bool:
    """Returns whether the result is the reciprocal of an integer: a converted one, or that with its error taken off."""
    if site.instruction.name == _TO_INTEGER:
        return True
    operands = site.instruction.operands
    return _is_upper_product(site) and operands[3] not in _ZERO and _register(operands[1]) in reciprocals


def _is_upper_product(site: Site) -> bool:
    return site.opcode.removeprefix("U").startswith("IMAD.HI") and len(site.instruction.operands) > 3


def _part_written(
    sites: Sequence[Site], place: int, held: Mapping[str, IndexPart], reciprocals: set[str]
) -> IndexPart | None:
    """Returns the part of the index that an instruction writes, if it writes one."""
    site = sites[place]
    name, operands = site.instruction.name.removeprefix("U"), site.instruction.operands
    if site.instruction.name in ("S2R", "S2UR") and operands[-1].startswith(_INDEX):
        return IndexPart(operands[-1].removeprefix(_INDEX))
    if not held:
        return None
    registers = [_register(one) for one in operands]
    if name in _COPIES or site.opcode.removeprefix("U").startswith("IMAD.MOV"):
        return held.get(registers[-1])
    is_changed = registers and registers[0] == next(filter(None, registers[1:]), None)
    if site.instruction.predicate is not None and is_changed:
        return held.get(registers[0])  # a correction by one, or by the divisor
    if name != "IMAD" or len(operands) < 4:
        return None
    *factors, added = registers[1:4]
    if not _is_upper_product(site):
        return _find_rest([held.get(one) for one in factors], held.get(added))
    is_quotient = operands[3] in _ZERO and not reciprocals.isdisjoint(factors)
    divided = next((held[one] for one in factors if one in held), None) if is_quotient else None
    corrected = _find_correction(sites, place, registers[0]) if divided else None
    if divided is None or corrected is None:
        return None
    return IndexPart(divided.dimension, divided, False, place, corrected)


def _find_rest(factors: Iterable[IndexPart | None], added: IndexPart | None) -> IndexPart | None:
    """Returns the rest of a division, as a product with its quotient leaves it of what was divided; None if these parts are others."""
    for quotient in factors:
        if quotient and added and quotient.of == added and not quotient.is_rest:
            return IndexPart(added.dimension, added, True, quotient.division, quotient.corrected)
    return None


def _register(operand: str) -> str:
    """Returns R12 for `-R12.reuse`, and nothing for the zero register."""
    match = REGISTER.search(operand)
    return match.group() if match and "[" not in operand else ""


def _find_correction(sites: Sequence[Site], place: int, quotient: str) -> float | None:
    """Returns the part of all threads for which the first correction of a quotient acts; None if there is none."""
    for site in sites[place + 1 :]:
        if quotient not in site.use.written:
            continue
        operands = site.instruction.operands
        adds_one = site.instruction.predicate is not None and "0x1" in operands[1:]
        if not adds_one or _register(operands[1]) != quotient or site.acting is None or not site.lanes:
            return None
        return site.acting / site.lanes
    return None
