"""Finds the functions of the compiler: what it calls where hardware has no instruction, such as a division of 64 bits, or pow."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import ACCESSES, Kind, Site
from profiler.analyse.code.called_functions import find_called
from profiler.analyse.code.code import Instruction

# The quotient of integers is computed by way of a float reciprocal: these convert to it and back.
DIVISION = re.compile(r"I2F\.(U32|S32|U64|S64)?\.?RP|F2I\.FTZ\.U32\.TRUNC\.NTZ|F2I\.U64\.TRUNC")
# Integers of 8 and 16 bits are divided by a function that is called: a float holds them whole.
_NARROW_DIVISION = ("I2F.U16", "MUFU.RCP", "F2I.U32.TRUNC.NTZ")
_OF_THE_KERNEL: tuple[Kind, ...] = (*ACCESSES, "barrier")


@dataclass(frozen=True)
class CompilerFunction:
    """The instructions of a function, and for each call its part of all calls."""

    sites: Sequence[Site]
    calls: Mapping[Site, float]

    @property
    def start(self) -> int:
        return self.sites[0].instruction.offset

    @cached_property
    def divides_integers(self) -> bool:
        opcodes = [site.opcode for site in self.sites]
        return any(map(DIVISION.match, opcodes)) or all(
            any(one.startswith(part) for one in opcodes) for part in _NARROW_DIVISION
        )


@kept
def find_compiler_functions(evidence: Evidence) -> list[CompilerFunction]:
    """Returns the functions of the compiler that ran.

    They stand behind the last EXIT of the kernel, whether that ran or not, and have no line but that of the EXIT. They compute in
    registers alone. Code that accesses memory or waits at barriers is the kernel's own: some libraries call parts of it, too.
    """
    found = []
    code = evidence.profile.code
    for number, sites in evidence.by_function.items():
        exits = [one for one in code.functions[number] if one.name == "EXIT"] if code else []
        at = {site.instruction.offset: site for site in sites}
        for called in find_called([site.instruction for site in sites]) if exits else ():
            body = [at[one.offset] for one in called.body]
            if _is_of_compiler(body, exits[-1]):
                times = sum(at[call.offset].executed for call in called.calls)
                calls = {at[call.offset]: at[call.offset].executed / times for call in called.calls}
                found.append(CompilerFunction(body, calls))
    return found


def find_evaluating(evidence: Evidence) -> list[CompilerFunction]:
    """Returns the functions of the compiler that evaluate something: all but those that divide integers."""
    return [one for one in find_compiler_functions(evidence) if not one.divides_integers]


def _is_of_compiler(body: Sequence[Site], last_exit: Instruction) -> bool:
    return body[0].instruction.offset > last_exit.offset and all(
        site.kind not in _OF_THE_KERNEL and site.instruction.place == last_exit.place for site in body
    )


@kept
def find_calls(evidence: Evidence) -> dict[Site, Mapping[Site, float]]:
    """Returns for each instruction of the compiler's functions the calls of its function, each with its part of all of these."""
    return {site: one.calls for one in find_compiler_functions(evidence) for site in one.sites}


def with_called(evidence: Evidence, parts: Mapping[Site, float]) -> dict[Site, float]:
    """Returns these parts of instructions, and those parts of the compiler's functions that go with the calls among them."""
    found = dict(parts)
    for one in find_compiler_functions(evidence):
        if part := sum(of_calls * parts.get(call, 0.0) for call, of_calls in one.calls.items()):
            found |= dict.fromkeys(one.sites, part)
    return found
