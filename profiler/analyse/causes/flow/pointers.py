"""Finds the arrays that an access may be to: the parameters of 64 bits that led to its address.

A kernel of thousands of accesses computes as many addresses. So what led to each instruction is found for all of them at once,
as a number with a bit for each instruction of the function.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept_of_code
from profiler.analyse.causes.evidence.sites import ACCESSES, Site
from profiler.analyse.causes.flow.dataflow import PARAMETER, factors_of, sources_of, upper_halves
from profiler.analyse.code.opcodes import LOADS_OF_CONSTANTS, word_of_constants
from profiler.analyse.code.registers import REGISTER

# Instructions that read a parameter of 64 bits, such as a pointer, or two of them. Sizes of 32 bits are multiplied and compared instead.
_LOADING = tuple(f"{name}.{bits}" for name in LOADS_OF_CONSTANTS for bits in (64, 128))
_OF_64_BITS = (*_LOADING, "IMAD.WIDE", "LEA", "ULEA")


def find_pointers(evidence: Evidence, site: Site) -> frozenset[str]:
    """Returns the 64-bit parameters from which an address is computed: the arrays that the access may be to.

    One load may bring two parameters of 32 bits. An address needs only one of these, or multiplies by one, such as the length of
    a row.
    """
    # The address alone, without the descriptor before it and the stored value behind it.
    text = site.instruction.text.rpartition("[")[2].partition("]")[0]
    address = {*REGISTER.findall(text), *upper_halves(text)}
    all_makers = _makers(evidence, site.function)
    makers = reduce(or_, (all_makers[one] for one in sources_of(evidence, site, address)), 0)
    return frozenset(
        parameter
        for one in _parameters_read(evidence, site.function)
        if makers & one.reader and not makers & one.multiplying
        if all(register in address or makers & using for register, using in one.users.items())
        for parameter in one.parameters
    )


@dataclass(frozen=True)
class _Parameters:
    """Parameters that one instruction reads, with a bit for each instruction that does something with them."""

    parameters: list[str]
    reader: int
    # Of an instruction that only loads them:
    multiplying: int
    users: dict[str, int]  # by the register that it loads


@kept_of_code
def _parameters_read(evidence: Evidence, function: int) -> list[_Parameters]:
    """Returns the 64-bit parameters of a function that may be pointers."""
    sites = evidence.by_function[function]
    multiplying: dict[tuple[Site, str], int] = {}
    users: dict[str, int] = {}
    for place, site in enumerate(sites):
        if site.kind in ACCESSES:
            continue
        for register in factors_of(site):
            for factor in sources_of(evidence, site, {register}):
                multiplying[factor, register] = multiplying.get((factor, register), 0) | 1 << place
        for register in site.use.inputs:
            users[register] = users.get(register, 0) | 1 << place
    found = []
    for place, site in enumerate(sites):
        parameters, written = PARAMETER.findall(site.instruction.text), site.use.written
        if not parameters or not site.opcode.startswith(_OF_64_BITS):
            continue
        if not site.opcode.startswith(_LOADING):
            found.append(_Parameters(parameters, 1 << place, 0, {}))
            continue
        for word, pair in enumerate(zip(written[::2], written[1::2], strict=True)):
            parameter = word_of_constants(site.instruction.operands[1], 2 * word)
            factors = reduce(or_, (multiplying.get((site, register), 0) for register in pair))
            using = {register: users.get(register, 0) for register in pair}
            found.append(_Parameters([parameter] if parameter else [], 1 << place, factors, using))
    return found


@kept_of_code
def _makers(evidence: Evidence, function: int) -> dict[Site, int]:
    """Returns for each instruction itself and those whose results led to its own, back to accesses, as bits."""
    sites = evidence.by_function[function]
    found = {site: 0 if site.kind in ACCESSES else 1 << place for place, site in enumerate(sites)}
    is_complete = False
    while not is_complete:  # a loop passes results to its next turn
        is_complete = True
        for site in sites:
            if site.kind not in ACCESSES:
                makers = reduce(or_, (found[one] for one in sources_of(evidence, site)), found[site])
                is_complete &= makers == found[site]
                found[site] = makers
    return found
