"""Finds what compilers make of an array in registers whose index is known only at run time: a comparison and a move for each element."""

from __future__ import annotations

from collections.abc import Sequence, Set

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.dataflow import sources_of
from profiler.analyse.code.registers import REGISTER, predicates_in

_ELEMENT = 4  # bytes: the index is compared with the places at which elements would lie in memory
_FEWEST = 3  # elements: between two, any condition chooses
COMPARISONS = ("ISETP", "UISETP")
_CHOICES = ("SEL", "USEL")
_MOVES = ("MOV", "UMOV", *_CHOICES)


@kept
def find_indexed_registers(evidence: Evidence) -> Set[Site]:
    """Returns the comparisons of an index with each element's place, what joins them, and the moves to or from the register of the element."""
    found: set[Site] = set()
    for sites in evidence.by_function.values():
        places: dict[tuple[Site, ...], dict[int, list[Site]]] = {}
        for site in sites:
            if (place := _place_of(site)) is not None:
                index = tuple(sources_of(evidence, site, {_index_of(site)}))
                places.setdefault(index, {}).setdefault(place, []).append(site)
        comparing = {
            site
            for by_place in places.values()
            if _has_neighbours(by_place.keys())
            for at_place in by_place.values()
            for site in at_place
        }
        found |= _choosing_by(sites, comparing) if comparing else set()
    return found


def _index_of(comparison: Site) -> str:
    found = REGISTER.search(comparison.instruction.operands[2])
    return found.group() if found else ""


def _place_of(site: Site) -> int | None:
    """Returns the place with which an instruction compares an index for equality; None for any other instruction."""
    operands = site.instruction.operands
    if (
        site.instruction.name not in COMPARISONS
        or ".EQ" not in site.opcode
        or len(operands) < 4
        or not _index_of(site)
    ):
        return None
    if operands[3] in ("RZ", "URZ"):
        return 0
    return int(operands[3], 16) if operands[3].removeprefix("-").startswith("0x") else None


def _has_neighbours(places: Set[int]) -> bool:
    """Returns whether these are the places of elements that lie side by side."""
    steps = range(0, _FEWEST * _ELEMENT, _ELEMENT)
    return any(all(place + step in places for step in steps) for place in places)


def _choosing_by(sites: Sequence[Site], comparing: Set[Site]) -> set[Site]:
    """Returns these comparisons with what joins their predicates, and moves under them; nothing where they choose no register."""
    holding: set[str] = set()
    joining, moving = set(comparing), set[Site]()
    for site in sites:
        written = site.use.predicates_written
        if _is_move(site) and not holding.isdisjoint(_predicates_of(site)):
            moving.add(site)
        elif site in comparing or (site.instruction.name == "PLOP3" and not holding.isdisjoint(site.taken)):
            joining.add(site)
            holding |= written
        else:
            holding -= written
    return joining | moving if len(moving) >= _FEWEST else set()


def _predicates_of(move: Site) -> Set[str]:
    """Returns the predicates that decide whether a value is moved."""
    return (
        move.taken if move.instruction.name in _CHOICES else predicates_in(move.instruction.predicate or "")
    )


def _is_move(site: Site) -> bool:
    """Returns whether a value is moved, also as `IMAD.MOV.U32 R5, RZ, RZ, R20`, and from a uniform register as `IMAD.U32 R5, RZ, RZ, UR7`."""
    one = site.instruction
    is_moved = one.name == "IMAD" and one.operands[1:3] == ("RZ", "RZ")
    return is_moved or one.name in _MOVES or one.moves_a_constant
