"""Finds the differences of doubles, of which single precision leaves no digit where both values are nearly equal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.dataflow import all_makers, sources_of
from profiler.analyse.code.opcodes import WORD_BITS
from profiler.analyse.code.registers import REGISTER

_WIDENED = "F2F.F64.F32"
_FACTORS = {"DADD": 1, "DFMA": 2}  # how many operands make up the first term, behind the result


def find_differences(evidence: Evidence, sites: Iterable[Site]) -> list[Site]:
    """Returns which instructions subtract one double from another, and neither is a constant or has been a float.

    In a division or a root, a product of the guess is taken from the number of which the guess was made: that is no such difference.
    """
    return [site for site in sites if (terms := _terms_of(site)) and _are_of_their_own(evidence, site, terms)]


def are_of_loaded_doubles(evidence: Evidence, differences: Iterable[Site]) -> bool:
    """Returns whether one of these is the difference of two loaded doubles, as of two sums up to a place each."""
    return any(
        sources and all(one.kind == "global load" and one.width > WORD_BITS for one in sources)
        for sources in (sources_of(evidence, site) for site in differences)
        if len(sources) > 1
    )


def _terms_of(site: Site) -> list[set[str]]:
    """Returns the registers of both terms of a difference; none for other instructions, and where an operand is no register."""
    count = _FACTORS.get(site.instruction.name)
    operands = site.instruction.operands[1:]
    if count is None or not all(REGISTER.search(one) and "[" not in one for one in operands):
        return []
    first, second = operands[:count], operands[count:]
    return (
        [_registers_in(first), _registers_in(second)] if _is_negative(first) != _is_negative(second) else []
    )


def _is_negative(factors: Sequence[str]) -> bool:
    return sum(one.startswith("-") for one in factors) % 2 == 1


def _registers_in(operands: Sequence[str]) -> set[str]:
    return set(REGISTER.findall(", ".join(operands)))


def _are_of_their_own(evidence: Evidence, site: Site, terms: Sequence[set[str]]) -> bool:
    first, second = (sources_of(evidence, site, registers) for registers in terms)
    have_been_floats = any(one.opcode.startswith(_WIDENED) for one in (*first, *second))
    return not have_been_floats and (
        all_makers(evidence, first).isdisjoint(second) or site.instruction.name == "DADD"
    )
