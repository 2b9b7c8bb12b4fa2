"""Finds the instructions that divide integers, and what uses their quotients."""

from __future__ import annotations

import re
from collections.abc import Sequence

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import Kind, Site
from profiler.analyse.causes.flow.arithmetic.compiler_functions import find_compiler_functions
from profiler.analyse.causes.flow.dataflow import choosers_of, sources_of

# The quotient of integers is computed by way of a float reciprocal: these convert to it and back.
_DIVISION = re.compile(r"I2F\.(U32|S32|U64|S64)?\.?RP|F2I\.FTZ\.U32\.TRUNC\.NTZ|F2I\.U64\.TRUNC")
# Integers of 8 and 16 bits are divided by a function that is called: a float holds them whole.
_NARROW_DIVISION = ("I2F.U16", "MUFU.RCP", "F2I.U32.TRUNC.NTZ")
# Instructions from the first conversion of a division to its result, as the compiler writes them; a shift and a mask replace them.
OF_A_DIVISION = 20
_EITHER = "0xfc"  # the table of LOP3 by which it says whether one of two words has a bit
_DIVIDING: tuple[Kind, ...] = ("integer", "conversion", "special")


def find_dividing(evidence: Evidence) -> list[Site]:
    """Returns the instructions that divide integers: those of the source line, those of the called function, or those near the conversion.

    An instruction that runs more often than the conversion on the same line is no part of the division: for
    example, the test of a loop.
    """
    found = {
        site for one in find_compiler_functions(evidence) if divides_integers(one.sites) for site in one.sites
    }
    divisions: dict[str, float] = {}  # by source line
    for sites in evidence.by_function.values():
        for index, site in enumerate(sites):
            if site in found or not _DIVISION.match(site.opcode):
                continue
            if line := site.instruction.place:
                divisions[line] = max(site.executed, divisions.get(line, 0.0))
            else:
                near = sites[index : index + OF_A_DIVISION]
                found.update(one for one in near if one.kind in _DIVIDING)
    return [
        site
        for site in evidence.sites
        if site in found
        or (site.kind in _DIVIDING and site.executed <= divisions.get(site.instruction.place or "", 0.0))
    ]


def divides_integers(function: Sequence[Site]) -> bool:
    """Returns whether a called function divides integers."""
    return any(_DIVISION.match(site.opcode) for site in function) or all(
        any(site.opcode.startswith(part) for site in function) for part in _NARROW_DIVISION
    )


def find_dividing_64_bits(evidence: Evidence) -> list[Site]:
    """Returns the instructions that divide integers on lines where a branch tests whether the upper words of both numbers are zero.

    The branch passes by the call of the function that divides 64 bits, and leads to the division of the lower words. Without the call, the
    program itself may ask whether one of two numbers has a bit.
    """
    testing = {
        branch.instruction.place
        for branch in evidence.of("control")
        if _passes_by_a_call(evidence, branch)
        for test in choosers_of(evidence, branch)
        if any(_EITHER in one.instruction.operands for one in sources_of(evidence, test))
    } - {None}
    return [site for site in find_dividing(evidence) if site.instruction.place in testing]


def _passes_by_a_call(evidence: Evidence, branch: Site) -> bool:
    """Returns whether a branch leads past the call of a function, which need not have run."""
    code = evidence.profile.code
    if branch.leads_to is None or code is None:
        return False
    return any(
        one.name == "CALL" and branch.instruction.offset < one.offset < branch.leads_to
        for one in code.functions[branch.function]
    )


@kept
def find_users_of_quotients(evidence: Evidence) -> dict[Site, dict[Site, float]]:
    """Returns by the instructions that divide integers of 64 bits the first ones on other lines that use the results, each with its part.

    Where the upper words of both numbers are zero, the compiler divides the lower ones instead. It adds the test of that when the code has
    its lines already, so that test and division stand at the line of whatever precedes them.
    """
    found: dict[Site, dict[Site, float]] = {}
    for sites in evidence.by_function.values():
        for start, site in enumerate(sites):
            if site.instruction.name == "BSSY" and (inside := _divided_by_halves(sites, start)):
                users = _first_users(sites, inside)
                found |= dict.fromkeys(inside, dict.fromkeys(users, 1 / len(users))) if users else {}
    return found


def _divided_by_halves(sites: Sequence[Site], start: int) -> list[Site]:
    """Returns a division of 64 bits whose branches part at this place, with the test of the upper words; else nothing."""
    meeting = sites[start].instruction.operands[0]
    end = next(
        (
            place
            for place, site in enumerate(sites[start:], start)
            if site.instruction.name == "BSYNC" and site.instruction.operands[0] == meeting
        ),
        start,
    )
    tests = [site for site in sites[max(0, start - 1) : start + 2] if site.instruction.name == "LOP3"]
    inside = [*tests, *(site for site in sites[start : end + 1] if site not in tests)]
    is_division = any(_EITHER in site.instruction.operands for site in tests) and divides_integers(inside)
    return inside if is_division and len({site.instruction.place for site in inside}) == 1 else []


def _first_users(sites: Sequence[Site], inside: Sequence[Site]) -> list[Site]:
    """Returns for each register that a division leaves the first instruction behind it that reads it, on another line."""
    open_ = {register for site in inside for register in site.use.written}
    users: dict[Site, None] = {}
    for site in sites[sites.index(inside[-1]) + 1 :]:
        if not open_.isdisjoint(site.use.inputs) and site.instruction.place != inside[0].instruction.place:
            users[site] = None
            open_.difference_update(site.use.inputs)
        open_.difference_update(site.use.written)
    return list(users)
