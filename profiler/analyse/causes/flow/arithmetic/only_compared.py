"""Follows functions of single precision, and precise roots, to what uses them: a comparison, which their arguments or squares would answer, or arithmetic."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.dataflow import reach, readers_behind, sources_of, uses_of
from profiler.analyse.code.math_functions.compared import compared_function
from profiler.analyse.code.math_functions.sizes import moves_constant, tests_reciprocal, tests_root
from profiler.analyse.code.registers import register_of

# The rest of a function, and what hands its result on.
_CONTINUES = frozenset({"FFMA", "FMUL", "FADD", "FSEL", "SEL", "LOP3", "MOV", "MUFU", "FMNMX"})
_CHOOSES = "FMNMX"
_COMPARES = frozenset({"FSETP", _CHOOSES})
_SUMS = frozenset({"FADD", "FFMA", "FMUL"})
_PARAMETERS = frozenset({"LDC", "LDCU", "ULDC"})
_COPIES = "IMAD.MOV"
# A function's own, and as many that choose the least of a hundred copies.
_MOST_VALUES = 128
_OF_NUMBERS = "INF"  # asks whether a value is a number
# What hands a root on, as it chooses one of two values or copies it: the larger of two roots is the root of the larger number.
_HANDS_ON = frozenset({_CHOOSES, "FSEL", "SEL", "MOV"})
# hypotf and norm3df scale the root back by a power of two, whose mantissa is this one of its bits.
_SCALES_BACK = "0x800000"
_NEAR = 16  # instructions between a test and the guess: others stand between them


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


def _uses_of_any(evidence: Evidence, values: Set[Site]) -> set[Site]:
    return {use for site in values for use in uses_of(evidence, site)}


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
    using = _uses_of_any(evidence, values)
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


@dataclass(frozen=True, eq=False)
class Root:
    """`test` asks whether the argument is one that the fast path takes, and `result` is the last instruction of that path."""

    test: Site
    result: Site


def find_roots(evidence: Evidence) -> list[Root]:
    """Returns the precise roots that the kernel takes."""
    return [
        Root(site, result)
        for sites in evidence.by_function.values()
        for site in sites
        if tests_root(site.instruction) and (result := _result_of(evidence, site))
    ]


def _result_of(evidence: Evidence, test: Site) -> Site | None:
    """Returns the last multiply-add of a root: of g, the guess of 1 / sqrt(x), it makes a = x * g and a + (x - a * a) * g / 2."""
    code = evidence.by_function[test.function]
    here = evidence.place(test, code)
    argument = register_of(test.instruction.operands[1])
    if argument is None:
        return None
    makers = sources_of(evidence, test, {argument})
    for guess in code[max(0, here - _NEAR) : here + _NEAR]:
        reads_it = guess.opcode.startswith("MUFU.RSQ") and argument in guess.use.inputs
        if not reads_it or sources_of(evidence, guess, {argument}) != makers:
            continue
        products = (one for one in readers_behind(evidence, guess) if argument in one.use.inputs)
        for product in products:
            for error in _multiply_adds_behind(evidence, product):
                for last in _multiply_adds_behind(evidence, error):
                    if product in sources_of(evidence, last):
                        return last
    return None


def _multiply_adds_behind(evidence: Evidence, site: Site) -> list[Site]:
    return [one for one in readers_behind(evidence, site) if one.instruction.name == "FFMA"]


def is_reciprocal_of(evidence: Evidence, site: Site, results: Set[Site]) -> bool:
    """Returns whether an instruction begins a precise reciprocal of one of these results."""
    return tests_reciprocal(site.instruction) and not results.isdisjoint(sources_of(evidence, site))


def part_root_only_compared(evidence: Evidence, root: Root) -> float:
    """Returns for which part of its evaluations a root is compared and nothing else.

    Squares answer a comparison, and the root of what they choose can be taken where arithmetic uses it, as often as that runs.
    """
    if not root.result.executed:
        return 0.0

    def hands_on(site: Site) -> bool:
        return _hands_on(evidence, site)

    values = reach([root.result], lambda site: filter(hands_on, uses_of(evidence, site)))
    using = _uses_of_any(evidence, values)
    if not any(use.instruction.name in _COMPARES for use in using):
        return 0.0
    others = sum(use.executed for use in using if not (hands_on(use) or use.instruction.name in _COMPARES))
    return max(0.0, 1 - others / root.result.executed)


def _hands_on(evidence: Evidence, site: Site) -> bool:
    if site.instruction.name == "FMUL":
        return any(_SCALES_BACK in one.instruction.operands for one in sources_of(evidence, site))
    return site.instruction.name in _HANDS_ON or site.opcode.startswith(_COPIES)
