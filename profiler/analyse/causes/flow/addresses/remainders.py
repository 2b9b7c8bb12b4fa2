"""Finds the loads whose address has nothing of a thread but a remainder of its index: threads with the same remainder load the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import ACCESSES, Site
from profiler.analyse.causes.flow.dataflow import INDICES, OF_BLOCK, address_registers
from profiler.analyse.causes.flow.possible_writers import makers_on_all_paths, writers_of_any
from profiler.analyse.code.opcodes import LOADS_OF_CONSTANTS, MOVES
from profiler.analyse.code.registers import register_of

_REMAINDER, _QUOTIENT = "IMAD", "IMAD.HI"  # the latter multiplies by a reciprocal
_OF_INDEX = (*LOADS_OF_CONSTANTS, *MOVES, "S2R", "S2UR", "R2UR", "CS2R", "IMAD", "IABS")


@kept
def find_loads_of_remainders(evidence: Evidence) -> Set[Site]:
    """Returns such loads. For example, each thread takes an element of one of several planes, and loads what all planes share."""
    remainders = set(_find_remainders(evidence))
    if not remainders:
        return set()
    return {site for site in evidence.of("global load") if _has_nothing_else(evidence, site, remainders)}


def _has_nothing_else(evidence: Evidence, load: Site, remainders: Set[Site]) -> bool:
    """Returns whether an address is made of remainders, and otherwise only of what all threads have."""
    made_of = makers_on_all_paths(
        evidence, load, address_registers(load.instruction), remainders.__contains__
    )
    return not remainders.isdisjoint(made_of) and not any(
        one.kind in ACCESSES or _names(one, INDICES) for one in made_of
    )


def _find_remainders(evidence: Evidence) -> Iterator[Site]:
    """Yields the instructions that make a remainder of an index of the whole grid: `index - length * (index / length)`.

    The steps of a division are under predicates, so that all instructions count which may have written a register.
    """
    integers = evidence.of("integer")
    if not any(map(_is_quotient, integers)):
        return
    for site in integers:
        if site.opcode != _REMAINDER:
            continue
        *factors, taken_from = (
            {register} if (register := register_of(operand)) else set()
            for operand in site.instruction.operands[1:4]
        )
        if not _takes_away(evidence, site, factors):  # as most do not
            continue
        index = makers_on_all_paths(evidence, site, taken_from)
        of_grid = {one for one in index if _names(one, (OF_BLOCK,))}
        if not of_grid or not all(map(_makes_index, index)):
            continue
        multiplied = [makers_on_all_paths(evidence, site, factor) for factor in factors]
        if any(of_grid & made and any(map(_is_quotient, made)) for made in multiplied):
            yield site


def _makes_index(site: Site) -> bool:
    """Returns whether an instruction may be a step of `blockIdx.x * blockDim.x + threadIdx.x`.

    One that adds more leads to a neighbour, as across the edge of a picture.
    """
    return site.instruction.name in _OF_INDEX and not _is_quotient(site)


def _is_quotient(site: Site) -> bool:
    return site.opcode.startswith(_QUOTIENT)


def _takes_away(evidence: Evidence, site: Site, factors: Iterable[Set[str]]) -> bool:
    """Returns whether a factor is negative: it has a sign here, or where it was computed."""
    here = site.instruction.operands[1:3]
    before = [one for factor in factors for one in writers_of_any(evidence, site, factor)]
    signed = (*here, *(operand for one in before for operand in one.instruction.operands[1:]))
    return any(operand.startswith("-") for operand in signed)


def _names(site: Site, words: Iterable[str]) -> bool:
    return any(word in site.instruction.text for word in words)
