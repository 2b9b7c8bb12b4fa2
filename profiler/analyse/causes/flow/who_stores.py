"""Finds out what decides a branch or a store: indices and sizes, which are known before a thread starts, or what it has read and worked out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import ACCESSES, Kind, Site
from profiler.analyse.causes.flow.dataflow import (
    STACK,
    address_registers,
    choosers_of,
    find_processing,
    reach,
    sources_of,
)
from profiler.analyse.causes.flow.lane_values import find_differing_in_block
from profiler.analyse.causes.flow.loop_carried import is_carried
from profiler.analyse.code.registers import REGISTER, is_predicate, predicates_in

# What threads leave there, they have computed; except for spilled registers in local memory.
_COMPUTED: tuple[Kind, ...] = ("shared load", "atomic", "shared atomic")
# By these, a loop counts, or moves a result on.
_ADDING = ("IADD", "IADD3", "UIADD3", "VIADD", "MOV", "UMOV")
_ADDING_BY_PRODUCT = ("IMAD.IADD", "IMAD.MOV")
# These add what they multiply or shift to another value, whose place it is among the values.
_ADDEND = {"IMAD": 2, "UIMAD": 2, "LEA": 1, "ULEA": 1}
_INDICES = ("SR_CTAID", "SR_TID", "SR_LANEID")
# A division of integers of 64 bits takes some 80 instructions, and one of 32 bits some 20: the index of an element is found with fewer.
_MOST_OF_AN_INDEX = 256


def is_chosen_by_data(evidence: Evidence, stores: Sequence[Site]) -> bool:
    """Returns whether what threads have read or worked out decides on these stores, so that a thread does not know before whether it stores.

    What all threads of a block load alike from global memory is no such data: the length of a row is a size, wherever it comes from.
    """
    deciding = [*stores, *(branch for store in stores for branch in _deciding_on(evidence, store))]
    tests = [test for site in dict.fromkeys(deciding) for test in choosers_of(evidence, site)]
    feeding = reach(tests, lambda one: _feeding(evidence, one))
    if len(feeding) > _MOST_OF_AN_INDEX or any(_is_worked_out(evidence, one) for one in feeding):
        return True
    loads = {one for one in feeding if one.kind == "global load"}
    return bool(loads) and not find_differing_in_block(evidence).isdisjoint(loads)


def compares_data(evidence: Evidence, test: Site) -> bool:
    """Returns whether a comparison looks at what was loaded, or made of it, and not at how far an index or a counter has come.

    Where data says at which element a loop begins or ends, the loop counts from there, by additions.
    """
    processing = find_processing(evidence)
    return test in processing and not any(
        one.kind == "integer" and (one not in processing or _adds(one)) for one in sources_of(evidence, test)
    )


def is_decided_by_loads(evidence: Evidence, branch: Site) -> bool:
    """Returns whether what a block or thread loads of its own decides on a branch, such as the length of its row on the end of a loop.

    What all load from one place in global memory, such as a size, is the same for all of them.
    """
    feeding = reach(choosers_of(evidence, branch), lambda one: _feeding(evidence, one), _MOST_OF_AN_INDEX)
    return any(one.kind == "global load" and _has_own_place(evidence, one) for one in feeding)


def may_work_differently(evidence: Evidence) -> bool:
    """Returns whether some warps may have more to do than others: indices, or what they load or work out, decide on a branch.

    Where parameters and counters alone decide, all warps that go on past the test for the end make as many turns.
    """
    return not evidence.sites or any(
        one.kind in (*_COMPUTED, "global load") or any(index in one.instruction.text for index in _INDICES)
        for branch in evidence.sites
        if branch.instruction.name == "BRA" and _is_conditional(branch)
        for one in reach(
            choosers_of(evidence, branch), lambda one: _feeding(evidence, one), _MOST_OF_AN_INDEX
        )
    )


def _has_own_place(evidence: Evidence, load: Site) -> bool:
    """Returns whether an address comes from an index of the block or thread, or from what threads may have left in memory."""
    makers = reach(
        sources_of(evidence, load, address_registers(load.instruction)),
        lambda one: _made_of(evidence, one),
    )
    return any(
        one.kind in _COMPUTED or any(index in one.instruction.text for index in _INDICES) for one in makers
    )


def _is_worked_out(evidence: Evidence, site: Site) -> bool:
    """Returns whether a result is no index: threads have left it in memory, or a loop has made it from that of the turn before by more than counting."""
    if site.kind in _COMPUTED:
        return True
    if site.kind == "local":
        return site.instruction.name == "LDL" and not _is_spilled_once(evidence, site)
    return site.kind not in ACCESSES and is_carried(evidence, site) and not _counts(evidence, site)


def _counts(evidence: Evidence, site: Site) -> bool:
    """Returns whether a carried result is the one before and something more: where a loop multiplies, it multiplies something else.

    What is added is judged by itself, as all that feeds a test.
    """
    if _adds(site):
        return True
    if (place := _ADDEND.get(site.instruction.name)) is None:
        return False
    values = [one for one in site.instruction.operands[1:] if not is_predicate(one)]
    others = {name for one in (*values[:place], *values[place + 1 :]) for name in REGISTER.findall(one)}
    return site not in reach(
        sources_of(evidence, site, others), lambda one: sources_of(evidence, one), _MOST_OF_AN_INDEX
    )


def _adds(site: Site) -> bool:
    return site.instruction.name in _ADDING or site.opcode.startswith(_ADDING_BY_PRODUCT)


def _feeding(evidence: Evidence, site: Site) -> Iterable[Site]:
    return [*sources_of(evidence, site), *choosers_of(evidence, site), *_spills_of(evidence, site)]


def _is_spilled_once(evidence: Evidence, load: Site) -> bool:
    """Returns whether a register was spilled that is not made of what is loaded from there: a hash may be in local memory from turn to turn."""
    spills = _spills_of(evidence, load)
    return bool(spills) and load not in reach(spills, lambda one: _made_of(evidence, one))


def _made_of(evidence: Evidence, site: Site) -> Iterable[Site]:
    return [*sources_of(evidence, site), *_spills_of(evidence, site)]


def _spills_of(evidence: Evidence, load: Site) -> list[Site]:
    """Returns the stores of the register that is loaded again from its place on the stack, if an instruction does that.

    Where an array is indexed at run time, any store may have been to that place.
    """
    if load.instruction.name != "LDL":
        return []
    stores = [site for site in evidence.by_function[load.function] if site.instruction.name == "STL"]
    if any(not address_registers(site.instruction) <= STACK for site in (load, *stores)):
        return []
    return [
        site
        for site in stores
        if site.instruction.operands[0] == load.instruction.operands[-1]
        and site.opcode.partition(".")[2] == load.opcode.partition(".")[2]
    ]


def _deciding_on(evidence: Evidence, store: Site) -> Iterator[Site]:
    """Yields the branches and exits before a store that may keep a thread from it.

    A branch that leads to a place before the store does so only if those that it passes by never come to that place.
    """
    code = evidence.by_function[store.function]
    last = evidence.place(store, code)
    for place, site in enumerate(code[:last]):
        if site.instruction.name == "EXIT" and site.instruction.predicate:
            yield site
        elif (target := site.leads_to) and _is_conditional(site):
            between = (one for one in code[place + 1 : last] if one.instruction.offset < target)
            if target > store.instruction.offset or any(_goes_elsewhere(one, store) for one in between):
                yield site


def _goes_elsewhere(site: Site, store: Site) -> bool:
    """Returns whether all threads that come to an instruction end there, or go on behind the store."""
    if _is_conditional(site):
        return False
    return site.instruction.name == "EXIT" or (site.leads_to or 0) > store.instruction.offset


def _is_conditional(site: Site) -> bool:
    return bool(site.instruction.predicate or predicates_in(site.instruction.text))
