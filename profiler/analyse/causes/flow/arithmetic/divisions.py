"""Knows the instructions that divide integers, and the functions that a kernel calls behind its end."""

from __future__ import annotations

import re
from collections.abc import Sequence

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import ACCESSES, Kind, Site

# The quotient of integers is computed by way of a float reciprocal: these convert to it and back.
_DIVISION = re.compile(r"I2F\.(U32|S32|U64|S64)?\.?RP|F2I\.FTZ\.U32\.TRUNC\.NTZ|F2I\.U64\.TRUNC")
# Integers of 8 and 16 bits are divided by a function that is called: a float holds them whole.
_NARROW_DIVISION = ("I2F.U16", "MUFU.RCP", "F2I.U32.TRUNC.NTZ")
# Instructions from the first conversion of a division to its result, as the compiler writes them; a shift and a mask replace them.
OF_A_DIVISION = 20
_DIVIDING: tuple[Kind, ...] = ("integer", "conversion", "special")
_OF_THE_KERNEL: tuple[Kind, ...] = (*ACCESSES, "barrier")


def find_dividing(evidence: Evidence) -> list[Site]:
    """Returns the instructions that divide integers: those of the source line, those of the called function, or those near the conversion.

    An instruction that runs more often than the conversion on the same line is no part of the division: for
    example, the test of a loop.
    """
    found = {site for sites in called_functions(evidence) if divides_integers(sites) for site in sites}
    divisions: dict[str, float] = {}  # by source line
    for sites in evidence.by_function.values():
        for index, site in enumerate(sites):
            if not _DIVISION.match(site.opcode):
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


def called_functions(evidence: Evidence) -> list[list[Site]]:
    """Returns the functions behind a kernel's last EXIT: the slow paths of precise functions, and 64-bit divisions.

    These compute in registers alone. Code there that accesses memory or waits at barriers is the kernel's own: libraries call parts
    of their kernels.
    """
    found: list[list[Site]] = []
    for sites in evidence.by_function.values():
        if any(site.opcode.startswith("CALL.REL") for site in sites):
            last = max(
                (index for index, site in enumerate(sites) if site.instruction.name == "EXIT"),
                default=len(sites),
            )
            found.append([])
            for site in sites[last + 1 :]:
                found[-1].append(site)
                if site.instruction.name == "RET":
                    found.append([])
    return [sites for sites in found if all(site.kind not in _OF_THE_KERNEL for site in sites)]
