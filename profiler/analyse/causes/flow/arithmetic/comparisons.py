"""Follows functions of single precision to what uses them: a comparison with what stays the same, which their arguments would answer."""

from __future__ import annotations

from collections.abc import Iterator, Set
from functools import partial
from itertools import chain

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.dataflow import reach, readers_of, sources_of
from profiler.analyse.code.math_functions.compared import compared_function
from profiler.analyse.code.math_functions.sizes import moves_constant
from profiler.catalog.metrics import LANES

# The rest of a function, and what hands its result on.
_CONTINUES = frozenset({"FFMA", "FMUL", "FADD", "FSEL", "SEL", "LOP3", "MOV", "MUFU", "FMNMX"})
_CHOOSES = "FMNMX"
_COMPARES = frozenset({"FSETP", _CHOOSES})
_SUMS = frozenset({"FADD", "FFMA", "FMUL"})
_PARAMETERS = frozenset({"LDC", "LDCU", "ULDC"})
_COPIES = "IMAD.MOV"
_ALL = 0.9  # of the lanes; what counts them is sampled beside what counts executions
# A function's own, and as many that choose the least of a hundred copies.
_MOST_VALUES = 128
_OF_NUMBERS = "INF"  # asks whether a value is a number


def find_only_compared(evidence: Evidence) -> dict[Site, float]:
    """Returns by one instruction of each function for which part of its evaluations it is compared and nothing else.

    The other side of the comparison is a constant, stays as it is in the loop, or is a value of such a function, too.
    """
    marked = {
        site: function.joins
        for sites in evidence.by_function.values()
        for site in sites
        if (function := compared_function(site.instruction))
    }
    values = {site: _values_of(evidence, site) for site in marked}
    of_functions = frozenset[Site]().union(*values.values())
    parts = {
        site: _part_only_compared(evidence, site, values[site], of_functions)
        for site, joins in marked.items()
        if site in values[site]
        and sum(_joins_others(evidence, one, of_functions) for one in values[site] if one is not site)
        <= joins
    }
    return {site: part for site, part in parts.items() if part}


def _values_of(evidence: Evidence, mark: Site) -> Set[Site]:
    """Returns what computes the result of a function and hands it on; nothing where much is computed with it."""
    return reach([mark], lambda site: filter(_continues, uses_of(evidence, site)), _MOST_VALUES)


def uses_of(evidence: Evidence, site: Site) -> Iterator[Site]:
    """Yields what reads a result, in its loop, in the next turn too, and behind the loop; other results only some lanes write to its register."""
    code = evidence.by_function[site.function]
    here = evidence.place(site, code)
    loop = evidence.innermost_loop(site)
    inside = evidence.inside(loop) if loop else []
    for register in site.use.written:
        overwrites = partial(_overwrites, site, register)
        if not inside:
            yield from readers_of(register, code[here + 1 :], overwrites)
            continue
        place, first = evidence.place(site, inside), evidence.place(inside[0], code)
        behind = inside[place + 1 :]
        yield from readers_of(register, chain(behind, inside[: place + 1]), overwrites)
        if not any(map(overwrites, behind)):
            yield from readers_of(register, code[first + len(inside) :], overwrites)


def _overwrites(writer: Site, register: str, site: Site) -> bool:
    """Returns whether all lanes that wrote a register write another result to it: not under a predicate, nor in a branch."""
    if register not in site.use.written or site.instruction.predicate:
        return False
    return site.executed * (site.lanes or LANES) >= _ALL * writer.executed * (writer.lanes or LANES)


def _continues(site: Site) -> bool:
    return site.instruction.name in _CONTINUES or site.opcode.startswith(_COPIES)


def _joins_others(evidence: Evidence, site: Site, of_functions: Set[Site]) -> bool:
    """Returns whether arithmetic joins a value with one that is neither a constant nor a function's value, or adds it to a sum."""
    sources = sources_of(evidence, site)
    if site.instruction.name in _SUMS and site in sources:
        return True
    return site.instruction.name != _CHOOSES and any(
        one not in of_functions and not moves_constant(one.instruction) for one in sources
    )


def _part_only_compared(evidence: Evidence, mark: Site, values: Set[Site], of_functions: Set[Site]) -> float:
    using = {use for site in values for use in uses_of(evidence, site)}
    comparing = {use for use in using if _compares_with_fixed(evidence, use, of_functions)}
    if not comparing:
        return 0.0
    others = sum(
        use.executed
        for use in using - comparing
        if (not _continues(use) and _OF_NUMBERS not in use.instruction.text)
        or use.instruction.name == _CHOOSES
    )
    return max(0.0, 1 - others / mark.executed)


def _compares_with_fixed(evidence: Evidence, use: Site, of_functions: Set[Site]) -> bool:
    if use.instruction.name not in _COMPARES or _OF_NUMBERS in use.instruction.text:
        return False
    loop = evidence.innermost_loop(use)
    return all(
        one in of_functions
        or moves_constant(one.instruction)
        or one.instruction.name in _PARAMETERS
        or (loop is not None and evidence.innermost_loop(one) != loop)
        for one in sources_of(evidence, use)
    )
