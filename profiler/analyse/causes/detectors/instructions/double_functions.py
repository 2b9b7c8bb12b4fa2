"""Finds divisions and roots of doubles that the compiler puts in line, and only calls a function for rare arguments."""

from __future__ import annotations

from profiler.analyse.causes.detectors.instructions.around_functions import EVALUATING, find_around
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import Kind, Site
from profiler.analyse.causes.flow.arithmetic.compiler_functions import find_evaluating

# A guess of the upper word, its refinement, the test for rare arguments and the branch around these, counted in code that nvcc 13.0
# compiles for sm_90: at least as many, because a division is four instructions longer than a reciprocal, and a root five longer than its reciprocal.
_INSTRUCTIONS = {"MUFU.RCP64H": 11, "MUFU.RSQ64H": 12}
_KINDS: tuple[Kind, ...] = ("fp64", *EVALUATING)


def find_inlined_doubles(evidence: Evidence) -> dict[Site, float]:
    """Returns which part of the instructions of a line divides doubles or takes their roots."""
    called = {site for one in find_evaluating(evidence) for site in one.sites}
    found: dict[Site, float] = {}
    for group in find_around(evidence, lambda site: site.opcode in _INSTRUCTIONS, _KINDS):
        own = [site for site in group if site not in called]
        dividing = sum(_INSTRUCTIONS.get(site.opcode, 0) * site.executed for site in own)
        if dividing:
            found |= dict.fromkeys(own, min(1.0, dividing / sum(site.executed for site in own)))
    return found
