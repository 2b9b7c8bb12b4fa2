"""Finds the addresses that a test of bounds chooses, such as those of neighbours that are mirrored at an edge.

The compiler cannot compute such an address once and reach the others by constant offsets: each is computed anew behind its test.
"""

from __future__ import annotations

from collections.abc import Set
from typing import NamedTuple

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.dataflow import choosers_of, find_address_work, readers_in
from profiler.analyse.causes.flow.depending import NOTHING, depending_on
from profiler.analyse.causes.flow.possible_writers import writers_before

# What chooses one of two values without a branch.
_CHOICES = ("SEL", "IMNMX", "VIMNMX")


class Tested(NamedTuple):
    """`choosing` are the tests, and the instructions that take one value or the other by them; `computed` is what makes addresses of the values."""

    choosing: Set[Site]
    computed: Set[Site]


def find_tested(evidence: Evidence, tests: frozenset[Site]) -> Tested:
    """Returns the work on addresses that one of these `tests` chooses."""
    work = find_address_work(evidence)
    choosing: set[Site] = set()
    computed: set[Site] = set()
    for function in evidence.by_function:
        chosen = {
            site: found
            for site in work
            if site.function == function
            and (found := tests.intersection(choosers_of(evidence, site)))
            and (site.instruction.name in _CHOICES or _leaves_another(evidence, site))
        }
        if chosen:
            choosing |= {*chosen, *(test for found in chosen.values() for test in found)}
            computed |= depending_on(evidence, function, frozenset(chosen), NOTHING) & work
    return Tested(choosing, computed - choosing)


def _leaves_another(evidence: Evidence, site: Site) -> bool:
    """Returns whether what reads the result finds another one in lanes for which the test is not true. What only they do is no choice."""
    return any(
        len(writers_before(evidence, reader, register)) > 1
        for reader in readers_in(evidence, site.function).get(site, ())
        for register in reader.use.inputs.intersection(site.use.written)
    )
