"""Follows precise roots to what uses them: a comparison, which squares would answer, or arithmetic."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.dataflow import reach, readers_behind, sources_of, uses_of
from profiler.analyse.code.math_functions.sizes import tests_reciprocal, tests_root
from profiler.analyse.code.registers import register_of

_CHOOSES = "FMNMX"
_COMPARES = frozenset({"FSETP", _CHOOSES})
_COPIES = "IMAD.MOV"
# What hands a root on, as it chooses one of two values or copies it: the larger of two roots is the root of the larger number.
_HANDS_ON = frozenset({_CHOOSES, "FSEL", "SEL", "MOV"})
# hypotf and norm3df scale the root back by a power of two, whose mantissa is this one of its bits.
_SCALES_BACK = "0x800000"
_NEAR = 16  # instructions between a test and the guess: others stand between them


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
    using = {use for site in values for use in uses_of(evidence, site)}
    if not any(use.instruction.name in _COMPARES for use in using):
        return 0.0
    others = sum(use.executed for use in using if not (hands_on(use) or use.instruction.name in _COMPARES))
    return max(0.0, 1 - others / root.result.executed)


def _hands_on(evidence: Evidence, site: Site) -> bool:
    if site.instruction.name == "FMUL":
        return any(_SCALES_BACK in one.instruction.operands for one in sources_of(evidence, site))
    return site.instruction.name in _HANDS_ON or site.opcode.startswith(_COPIES)
