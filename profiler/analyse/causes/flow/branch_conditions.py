"""Finds out what decides a test or a branch: indices and sizes, which are known before a thread starts, or data that it has read."""

from __future__ import annotations

from collections.abc import Iterable, Set

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import ACCESSES, Kind, Site
from profiler.analyse.causes.flow.dataflow import (
    INDICES,
    OF_BLOCK,
    all_makers,
    changed_in,
    choosers_of,
    find_processing,
    makers_of_address,
    reach,
    sources_of,
)
from profiler.analyse.code.opcodes import is_move, is_sum
from profiler.analyse.code.registers import predicates_in

_IN_BLOCK = "SR_TID"
# Threads have computed what they leave there.
_COMPUTED: tuple[Kind, ...] = ("shared load", "atomic", "shared atomic")
# A division of 64-bit integers takes some 80 instructions, and one of 32-bit integers some 20. The index of an element takes fewer than this.
_MOST_OF_AN_INDEX = 256


def compares_data(evidence: Evidence, test: Site) -> bool:
    """Returns whether a comparison tests loaded data, or what is made of it, and not how far an index or a counter has come.

    If data says at which element a loop begins or ends, the loop counts from there, by additions. Such a count is not data.
    """
    processing = find_processing(evidence)
    return test in processing and not any(
        one.kind == "integer" and (one not in processing or adds(one)) for one in sources_of(evidence, test)
    )


def is_decided_by_loads(evidence: Evidence, branch: Site) -> bool:
    """Returns whether a branch is decided by what a block or thread loads from a place of its own, such as the length of its row.

    What all load from one place in global memory, such as a size, is the same for all of them.
    """
    feeding = find_feeding(evidence, choosers_of(evidence, branch))
    return any(one.kind == "global load" and _has_own_place(evidence, one) for one in feeding)


def is_decided_in_turns_before(evidence: Evidence, branch: Site) -> bool:
    """Returns whether what earlier turns of a loop have left decides a branch, and neither an index nor a load of this turn."""
    feeding = find_feeding(evidence, choosers_of(evidence, branch))
    return any(_changes_in_turns(evidence, one) for one in feeding) and not any(
        one.kind in ACCESSES or _names_index(one) for one in feeding
    )


def _changes_in_turns(evidence: Evidence, site: Site) -> bool:
    """Returns whether an instruction reads what a turn before has left in a register, such as a counter."""
    here = site.instruction.offset
    around = (
        one
        for one in evidence.loops.get(site.function, ())
        if one.start <= here <= one.end and evidence.turns(site, one) > 1
    )
    return any(
        not loop.start <= writer.instruction.offset < here
        for loop in around
        for register in site.use.inputs & changed_in(evidence, loop)
        for writer in sources_of(evidence, site, {register})
    )


def is_decided_by_thread(evidence: Evidence, test: Site) -> bool:
    """Returns whether a branch, or what sets a predicate, depends on the thread's index in its block, and on nothing that differs between blocks or turns."""
    deciding = choosers_of(evidence, test) if test.kind == "control" else [test]
    feeding = find_feeding(evidence, deciding)
    return any(_IN_BLOCK in one.instruction.text for one in feeding) and not any(
        one.kind in ACCESSES or OF_BLOCK in one.instruction.text or _changes_in_turns(evidence, one)
        for one in feeding
    )


def find_feeding(evidence: Evidence, deciding: Iterable[Site]) -> Set[Site]:
    """Returns the comparisons that are `deciding`, what makes their operands, and what decides about these; nothing if that is long."""
    return reach(deciding, lambda one: _feeding(evidence, one), _MOST_OF_AN_INDEX)


def may_work_differently(evidence: Evidence) -> bool:
    """Returns whether some warps may have more to do than others.

    They may if a branch depends on an index or a load, or if a branch or an EXIT depends on data that differs between threads. An
    index at an EXIT decides only where the elements end. If parameters and counters alone decide, all warps that go on make as
    many iterations.
    """
    return not evidence.sites or any(
        _differs_by_data(evidence, one)
        or (site.instruction.name == "BRA" and (one.kind == "global load" or _names_index(one)))
        for site in evidence.sites
        if site.instruction.name in ("BRA", "EXIT") and _is_conditional(site)
        for one in find_feeding(evidence, choosers_of(evidence, site))
    )


def _differs_by_data(evidence: Evidence, site: Site) -> bool:
    """Returns whether an instruction reads what differs between threads: what they have computed, or loads from places of their own."""
    return site.kind in _COMPUTED or (site.kind == "global load" and _has_own_place(evidence, site))


def _names_index(site: Site) -> bool:
    return any(index in site.instruction.text for index in INDICES)


def _has_own_place(evidence: Evidence, load: Site) -> bool:
    """Returns whether an address comes from an index of the block or thread, or from what threads may have left in memory."""
    makers = all_makers(evidence, makers_of_address(evidence, load))
    return any(one.kind in _COMPUTED or _names_index(one) for one in makers)


def adds(site: Site) -> bool:
    """Returns whether an instruction adds, or passes a result on, as a counter does in each turn of its loop."""
    return is_sum(site.instruction) or is_move(site.instruction)


def _feeding(evidence: Evidence, site: Site) -> Iterable[Site]:
    return [*sources_of(evidence, site), *choosers_of(evidence, site)]


def _is_conditional(site: Site) -> bool:
    return bool(site.instruction.predicate or predicates_in(site.instruction.text))
