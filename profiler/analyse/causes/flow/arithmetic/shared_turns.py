"""Finds loops whose iterations more threads or blocks can share: those that pass on nothing but sums, and those that step by the whole grid."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.dataflow import (
    address_registers,
    all_makers,
    changed_in,
    makers_of_value,
    makers_since_access,
    reach,
    sources_of,
)
from profiler.analyse.causes.flow.loop_carried import find_carried, find_passed_on, find_sources
from profiler.analyse.causes.flow.same_in_turns import find_steady
from profiler.analyse.code.code import Instruction
from profiler.analyse.code.loops import Loop
from profiler.analyse.code.opcodes import SUMS, is_matrix, launch_sizes
from profiler.analyse.code.registers import is_predicate, register_of, written_registers

_ADDING = ("FADD", "DADD", "HADD2", *SUMS)
_MULTIPLYING_AND_ADDING = ("FFMA", "DFMA", "HFMA2", "IMAD")  # these multiply the first two operands
_MIXING = "LOP3"
_LOADING = ("LDG", "LDS", "LD")
# A loop that copies tiles ahead counts its buffers with these, and returns to the first one.
_COUNTING_BUFFERS = ("UISETP", "USEL")


@kept
def find_loop_adding_up(evidence: Evidence) -> Loop | None:
    """Returns the outermost loop in which warps spend most of the time, if its iterations only add up; else None."""
    half = sum(evidence.waits_by_reason.values()) / 2
    for loops in evidence.loops.values():
        for loop in sorted(loops, key=lambda one: (one.start, -one.end)):
            spent = sum(evidence.charged[site].total for site in evidence.inside(loop))
            if spent > half and evidence.goes_back(loop):
                return loop if only_adds_up(evidence, loop) else None
    return None


def find_axis_of_steps(evidence: Evidence, loop: Loop) -> int | None:
    """Returns the axis of the grid along which more blocks leave fewer iterations to each, because a counter steps by the size of the grid."""
    sizes = launch_sizes(evidence.profile.compute_capability).grid
    counting = find_carried(evidence, loop) - find_passed_on(evidence, loop)
    counters = [site for site in evidence.inside(loop) if site.instruction.offset in counting]
    changed = changed_in(evidence, loop)
    steps = [one for site in counters for one in sources_of(evidence, site, site.use.inputs - changed)]
    adding = {*counters, *all_makers(evidence, steps)}
    stepping = (
        axis for axis, size in enumerate(sizes) if any(size in one.instruction.text for one in adding)
    )
    return next(stepping, None)


def only_adds_up(evidence: Evidence, loop: Loop) -> bool:
    """Returns whether the iterations of a loop pass on sums alone, and nothing else in the loop reads how far these have come."""
    body, passed_on = loop.body, find_passed_on(evidence, loop)
    adds_any = False
    for one, read in zip(body, find_sources(evidence, loop), strict=True):
        before = [
            body[place]
            for place in read
            if body[place].offset in passed_on and body[place].name not in _COUNTING_BUFFERS
        ]
        if one.offset not in passed_on:
            if before:
                return False
        elif one.name not in _COUNTING_BUFFERS:
            if not _adds_to_one_value(one, before):
                return False
            adds_any = True
    return adds_any and not any(_may_be_read_later(evidence, site) for site in evidence.inside(loop))


def _adds_to_one_value(one: Instruction, before: Sequence[Instruction]) -> bool:
    if is_matrix(one.opcode):
        return True
    operands = [operand for operand in one.operands[1:] if not is_predicate(operand)]
    made = {register for other in before for register in written_registers(other)}
    taken = [operand for operand in operands if register_of(operand) in made]
    multiplied = operands[:2] if one.name in _MULTIPLYING_AND_ADDING and "0x1" not in operands else []
    return (
        one.name in (*_ADDING, *_MULTIPLYING_AND_ADDING)
        and len(taken) == 1
        and taken[0] not in multiplied
        and not taken[0].startswith("-")
    )


def goes_on_from_turn_before(evidence: Evidence, loop: Loop) -> bool:
    """Returns whether an iteration makes something new of what the one before has made: it multiplies that, evaluates a function of it, or loads from there.

    Of sums, products and extremes, lanes can make parts that are joined afterwards.
    """
    body, sources = loop.body, find_sources(evidence, loop)
    passed_on = find_passed_on(evidence, loop)
    steady = {site.instruction.offset for site in find_steady(evidence, loop).instructions}
    for here, (one, read) in enumerate(zip(body, sources, strict=True)):
        if one.offset not in passed_on:
            continue
        others = [place for place in read if place != here and body[place].offset not in steady]
        anew = set(_find_made_anew(one, is_by_constant=not others))
        before = {
            register
            for place in read
            if anew.intersection(written_registers(body[place]))
            and here in reach([place], sources.__getitem__)
            for register in written_registers(body[place])
        }
        if len(anew & before) >= (2 if one.name == _MIXING else 1):
            return True
    return False


def _find_made_anew(one: Instruction, *, is_by_constant: bool) -> Iterable[str | None]:
    """Returns the registers of which an instruction makes more than a sum, a product or an extreme: factors, arguments of functions, and addresses.

    A factor counts if something else is added. A multiple of the result before by a constant, with a constant added, needs no iteration before.
    Random numbers mix the bits of a number with themselves, shifted.
    """
    operands = [operand for operand in one.operands[1:] if not is_predicate(operand)]
    if one.name in _MULTIPLYING_AND_ADDING:
        factors = [register_of(operand) for operand in operands[:2]]
        is_power = factors[0] != factors[1] and (is_by_constant or operands[2:3] == ["RZ"])
        return () if "0x1" in operands or is_power else factors
    if one.name in ("MUFU", _MIXING):
        return map(register_of, operands)
    return address_registers(one) if one.name in _LOADING else ()


def _may_be_read_later(evidence: Evidence, site: Site) -> bool:
    """Returns whether an instruction stores what a later iteration may start from.

    A store to shared memory counts only if its value is made of one that was loaded from there: copies from global memory do not
    count.
    """
    if site.kind in ("global store", "local", "atomic", "shared atomic"):
        return True
    return site.kind == "shared store" and any(
        one.kind == "shared load" for one in makers_since_access(evidence, makers_of_value(evidence, site))
    )
