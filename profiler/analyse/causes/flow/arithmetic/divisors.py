"""Finds precise divisions of floats that a product with a reciprocal can replace, because a thread or the host can take the reciprocal once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Literal

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import ACCESSES, Site
from profiler.analyse.causes.flow.block_sharing import find_grid_independent
from profiler.analyse.causes.flow.dataflow import all_makers, changed_in, sources_of
from profiler.analyse.code.registers import REGISTER

WhoInverts = Literal["thread", "host"]
_TEST = "FCHK"  # whether a quotient needs the slow path


@kept
def find_products_for_quotients(evidence: Evidence) -> Mapping[Site, WhoInverts]:
    """Returns the tests of such divisions, each with who takes the reciprocal once.

    A thread does so if it divides by the same value several times, in a loop or one after the other. The host does so if the
    divisor is a constant, or made of parameters alone.
    """
    tests = [site for site in evidence.of("fp32") if site.instruction.name == _TEST]
    found: dict[Site, WhoInverts] = {}
    alike = frozenset(find_grid_independent(evidence)) if tests else frozenset()
    divided_by: set[tuple[object, ...]] = set()
    for site in tests:
        divisor = site.instruction.operands[-1].removesuffix(".reuse")
        registers = set(REGISTER.findall(divisor))
        writers, loop = sources_of(evidence, site, registers), evidence.innermost_loop(site)
        same = (site.function, loop, divisor, *writers)
        if not registers or (writers and _is_made_of_parameters(evidence, writers, alike)):
            found[site] = "host"
        elif same in divided_by or (loop is not None and changed_in(evidence, loop).isdisjoint(registers)):
            found[site] = "thread"
        divided_by.add(same)
    return found


def _is_made_of_parameters(evidence: Evidence, writers: Sequence[Site], alike: Set[Site]) -> bool:
    """Returns whether a value is the same for all threads, computed outside of loops, and made of nothing that was loaded."""
    return all(one in alike for one in writers) and all(
        one.kind not in ACCESSES and evidence.innermost_loop(one) is None
        for one in all_makers(evidence, writers)
    )
