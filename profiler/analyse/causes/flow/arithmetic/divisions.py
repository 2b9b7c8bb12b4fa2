"""Finds the instructions that divide integers, and what uses their quotients."""

from __future__ import annotations

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import Kind, Site
from profiler.analyse.causes.flow.arithmetic.compiler_functions import DIVISION, find_compiler_functions
from profiler.analyse.causes.flow.dataflow import choosers_of, sources_of

# Instructions from the first conversion of a division to its result, as the compiler writes them; a shift and a mask replace them.
OF_A_DIVISION = 20
_CONVERTING = ("I2F", "F2I")
_EITHER = "0xfc"  # the table by which LOP3 computes a | b
# The others are two or three moves: a zero that is added to a product, or the quotient with another sign.
_DIVIDING: tuple[Kind, ...] = ("integer", "conversion", "special", "other")


@kept
def find_dividing(evidence: Evidence) -> list[Site]:
    """Returns the instructions that divide integers: those of the source line, those of the called function, or those near the conversion.

    An instruction that runs more often than the conversion on the same line is no part of the division: for example, the test of
    a loop.
    """
    found = {site for one in find_compiler_functions(evidence) if one.divides_integers for site in one.sites}
    divisions: dict[str, float] = {}  # by source line
    for sites in evidence.by_function.values():
        for index, site in enumerate(sites):
            if site.instruction.name not in _CONVERTING or site in found or not DIVISION.match(site.opcode):
                continue
            if line := site.instruction.place:
                divisions[line] = max(site.executed, divisions.get(line, 0.0))
            else:
                near = sites[index : index + OF_A_DIVISION]
                found.update(one for one in near if one.kind in _DIVIDING)
    if not (found or divisions):
        return []
    return [
        site
        for site in evidence.sites
        if site in found
        or (site.kind in _DIVIDING and site.executed <= divisions.get(site.instruction.place or "", 0.0))
    ]


def find_dividing_64_bits(evidence: Evidence) -> list[Site]:
    """Returns the instructions that divide integers on lines where a branch tests whether the upper words of both numbers are zero.

    The branch skips the call of the function that divides 64 bits, and leads to the division of the lower words.
    """
    testing = {
        branch.instruction.place
        for branch in evidence.of("control")
        for test in choosers_of(evidence, branch)
        if any(_EITHER in one.instruction.operands for one in sources_of(evidence, test))
    } - {None}
    return [site for site in find_dividing(evidence) if site.instruction.place in testing]
