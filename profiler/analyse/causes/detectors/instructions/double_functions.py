"""Finds the functions of doubles that the compiler puts in line."""

from __future__ import annotations

from collections.abc import Callable

from profiler.analyse.causes.detectors.instructions.around_functions import EVALUATING, find_around
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import Kind, Site
from profiler.analyse.causes.flow.arithmetic.compiler_functions import find_evaluating
from profiler.analyse.code.code import Instruction
from profiler.analyse.code.math_functions.doubles import (
    is_test,
    size_in_line,
    size_in_single_precision,
    size_of_division,
)

# Powers, which the compiler calls, take about twice as many instructions as those of floats.
_LONGER_THAN_OF_FLOATS = 1 / 2
_KINDS: tuple[Kind, ...] = ("fp64", *EVALUATING)


def find_inlined_doubles(evidence: Evidence) -> dict[Site, float]:
    """Returns which part of the instructions of a line evaluates functions of doubles."""
    return _find(evidence, size_in_line)


def find_divisions_of_doubles(evidence: Evidence) -> dict[Site, float]:
    """Returns which part of the instructions of a line divides doubles or takes their roots."""
    return _find(evidence, size_of_division)


def find_spared_by_floats(evidence: Evidence) -> dict[Site, float]:
    """Returns which part of the instructions of functions goes if they are computed in single precision."""
    in_line = _find(evidence, lambda one: size_in_line(one) - size_in_single_precision(one))
    return in_line | dict.fromkeys(find_called_doubles(evidence), _LONGER_THAN_OF_FLOATS)


def find_called_doubles(evidence: Evidence) -> list[Site]:
    """Returns the instructions of the functions that compute in double precision and that the compiler calls."""
    called = find_evaluating(evidence)
    return [site for one in called if any(two.kind == "fp64" for two in one.sites) for site in one.sites]


def _find(evidence: Evidence, size_of: Callable[[Instruction], float]) -> dict[Site, float]:
    found: dict[Site, float] = {}
    if not _has_tests(evidence):
        return found
    called = {site for one in find_evaluating(evidence) for site in one.sites}
    for group in find_around(evidence, lambda site: bool(size_of(site.instruction)), _KINDS):
        own = [site for site in group if site not in called]
        if not any(is_test(site.instruction) for site in own):
            continue
        evaluating = sum(size_of(site.instruction) * site.executed for site in own)
        if evaluating > 0:
            found |= dict.fromkeys(own, min(1.0, evaluating / sum(site.executed for site in own)))
    return found


@kept
def _has_tests(evidence: Evidence) -> bool:
    return any(is_test(site.instruction) for site in evidence.sites)
