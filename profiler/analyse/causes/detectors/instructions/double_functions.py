"""Finds functions of doubles that the compiler puts in line: divisions and roots, for rare arguments of which it calls a function, exponentials and logarithms."""

from __future__ import annotations

from collections.abc import Mapping

from profiler.analyse.causes.detectors.instructions.around_functions import EVALUATING, find_around
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import Kind, Site
from profiler.analyse.causes.flow.arithmetic.compiler_functions import find_evaluating

# How many instructions of a function one of them stands for, by its opcode or by a constant that no other function tests or masks with.
# They were counted in code that nvcc 13.0 compiles for sm_90 (sm_80 has the same), without the moves of constants, which loops share.
_LOGARITHM, _EXPONENTIAL = "0x800fffff", "4.1917929649353027344"
_DIVISIONS = {
    "MUFU.RCP64H": 11,
    "1.469367938527859385e-39": 4,  # a division: 15, of which a reciprocal has 11
    "MUFU.RSQ64H": 12,  # the reciprocal of a root
    "0xfcb00000": 5,  # a root: 17
    "0x7fd00000": 21,  # hypot, which scales its numbers before it squares them: 33
    _LOGARITHM: -11,  # it divides as well
}
_FUNCTIONS = {**_DIVISIONS, _LOGARITHM: 32, _EXPONENTIAL: 23}  # of a logarithm, 11 are those of a reciprocal
_KINDS: tuple[Kind, ...] = ("fp64", *EVALUATING)


def find_inlined_doubles(evidence: Evidence) -> dict[Site, float]:
    """Returns which part of the instructions of a line evaluates functions of doubles."""
    return _find(evidence, _FUNCTIONS)


def find_divisions_of_doubles(evidence: Evidence) -> dict[Site, float]:
    """Returns which part of the instructions of a line divides doubles or takes their roots."""
    return _find(evidence, _DIVISIONS)


def _find(evidence: Evidence, sizes: Mapping[str, int]) -> dict[Site, float]:
    called = {site for one in find_evaluating(evidence) for site in one.sites}
    found: dict[Site, float] = {}
    for group in find_around(evidence, lambda site: bool(_size_of(site, sizes)), _KINDS):
        own = [site for site in group if site not in called]
        evaluating = sum(_size_of(site, sizes) * site.executed for site in own)
        if evaluating > 0:
            found |= dict.fromkeys(own, min(1.0, evaluating / sum(site.executed for site in own)))
    return found


def _size_of(site: Site, sizes: Mapping[str, int]) -> int:
    return next((sizes[one] for one in (site.opcode, *site.instruction.operands) if one in sizes), 0)
