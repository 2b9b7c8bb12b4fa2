"""Finds where results take in pairs of values that no FMA multiplies: shortest paths, bits that differ, differences that add up."""

from __future__ import annotations

from collections.abc import Iterable, Set

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import ACCESSES, Kind, Site
from profiler.analyse.causes.flow.arithmetic.divisions import find_dividing
from profiler.analyse.causes.flow.dataflow import find_address_work, reach, sources_of
from profiler.analyse.causes.flow.loop_carried import is_carried
from profiler.analyse.code.opcodes import SCALAR_FMAS

_ARITHMETIC: tuple[Kind, ...] = ("fp32", "integer")
# These join two values by one operation and take the result in by another. IADD3 adds three values, which may as well be a plain sum.
_BOTH_AT_ONCE = ("IMAD", "IDP", "VIADDMNMX")
_COMPARES = "SETP"  # writes predicates: what they choose is the result
_PAIR = 2


def count_pairs(evidence: Evidence) -> dict[Site, int]:
    """Returns the instructions that take pairs of values into a result that a loop carries, and how many pairs each takes.

    The loop may be unrolled completely. Both values come from shared memory in this loop: a value that meets no other, such as an
    exponent of a softmax, may be used by no other thread. One operation joins them, and another one takes them in. A sum of sums
    is a plain sum, which uses each value once, however many results a thread computes. What FMAs multiply on the way is counted
    with the FMAs. Remainders and addresses are no results.
    """
    loops = {evidence.innermost_loop(load) for load in evidence.of("shared load")}
    loops = loops - {None} or loops
    no_results = find_address_work(evidence) | {*find_dividing(evidence)}
    return {
        site: pairs
        for site in evidence.of(*_ARITHMETIC)
        if evidence.innermost_loop(site) in loops
        and site not in no_results
        and site.instruction.name not in SCALAR_FMAS
        and not site.instruction.name.endswith(_COMPARES)
        and _adds_to_itself(evidence, site)
        and (pairs := _pairs_of(evidence, site))
    }


def _adds_to_itself(evidence: Evidence, site: Site) -> bool:
    """Returns whether an instruction goes on with its own result of the iteration before, or with that of a copy in an unrolled loop."""
    if evidence.innermost_loop(site):
        return is_carried(evidence, site)
    return site in _find_copies(evidence)


@kept
def _find_copies(evidence: Evidence) -> Set[Site]:
    """Returns the instructions outside of loops that read the result of one with the same opcode, and the latter, as in an unrolled loop."""
    found: set[Site] = set()
    for site in evidence.of(*_ARITHMETIC):
        if evidence.innermost_loop(site) is None:
            before = [one for one in sources_of(evidence, site) if one.opcode == site.opcode and one != site]
            found.update([site, *before] if before else ())
    return found


def _pairs_of(evidence: Evidence, site: Site) -> int:
    joined, name = _makers_in_turn(evidence, site), site.instruction.name
    if name in _BOTH_AT_ONCE:
        return int(_is_pair(evidence, joined))
    # A sum of absolute values is another operation than a sum.
    others = [one for one in joined if one.instruction.name != name or "|" in site.instruction.text]
    return sum(_is_pair(evidence, [one]) for one in others)


def _makers_in_turn(evidence: Evidence, site: Site) -> list[Site]:
    """Returns what made the operands of an instruction in this iteration of its loop, without results that the loop carries."""
    loop = evidence.innermost_loop(site)
    return [
        one
        for one in sources_of(evidence, site)
        if evidence.innermost_loop(one) is loop
        and (one.kind in ACCESSES or not _adds_to_itself(evidence, one))
    ]


def _is_pair(evidence: Evidence, makers: Iterable[Site]) -> bool:
    """Returns whether these are made of two values from shared memory, and no FMA has multiplied them."""
    made_of = reach(makers, lambda one: () if one.kind in ACCESSES else _makers_in_turn(evidence, one))
    loaded = [one for one in made_of if one.kind == "shared load"]
    return len(loaded) >= _PAIR and not any(one.instruction.name in SCALAR_FMAS for one in made_of)
