"""Finds out which bytes of shared memory an access may touch, as far as its address follows from the thread's index and from constants.

An array that is declared begins at a constant, and each thread adds a part of its index. What a loop only reads there, as a block's
parameters, lies before or behind all that the loop stores.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Sequence, Set
from typing import NamedTuple

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.dataflow import reach
from profiler.analyse.code.loops import Loop
from profiler.analyse.code.registers import is_predicate

_PART = re.compile(r"(-?)(U?R\d+|U?RZ|0x[0-9a-f]+)(?:\.(?:X(\d+)|U32))?(?:\.reuse)?")
_IN_BLOCK = {"SR_TID.X": 0, "SR_TID.Y": 1, "SR_TID.Z": 2}
_INDICES = ("SR_TID", "SR_CTAID", "SR_LANEID")
# The number of a block in its cluster becomes the upper bits of an address, which say whose shared memory it is.
_OF_CLUSTER = "SR_CgaCtaId"
_MOVES = ("MOV", "UMOV", "R2UR")
_SUMS = ("IADD3", "UIADD3", "VIADD")
_SHIFTS_RIGHT, _SHIFTS_LEFT = ("SHF.R", "USHF.R"), ("SHF.L", "USHF.L")
_OF_HALVES = frozenset({"HI", "WIDE", "X", "U64"})  # their results are a half of 64 bits, or all of them
_WORD_BITS = 32
_WORD, _NEGATIVE = 1 << _WORD_BITS, 1 << _WORD_BITS - 1
_AND = "0xc0"
# Branches to an address that a register holds.
_TO_ANYWHERE = ("BRX", "BRXU", "JMX", "JMXU")
_COMPARED = re.compile(r"ISETP\.(NE|LT|EQ|GE)(?:\.U32)?\.AND P\d, PT, (R\d+), (0x[0-9a-f]+), PT")
_MOST_STEPS = 12  # from an address back to the index of the thread, as a bound of the search


class Between(NamedTuple):
    """The least and the greatest value that a register may hold."""

    least: float
    most: float

    def plus(self, other: Between) -> Between:
        return Between(self.least + other.least, self.most + other.most)

    def times(self, other: Between) -> Between:
        found = [_product(one, two) for one in self for two in other]
        return Between(min(found), max(found))


_ANY, _ZERO = Between(-math.inf, math.inf), Between(0, 0)


def is_apart(evidence: Evidence, load: Site, stores: Iterable[Site]) -> bool:
    """Returns whether a load from shared memory certainly reads nothing that these instructions store."""
    read = _bytes_of(evidence, load)
    stored = [_bytes_of(evidence, one) for one in stores]
    return all(read.most < one.least or one.most < read.least for one in stored)


def _bytes_of(evidence: Evidence, access: Site) -> Between:
    address = access.instruction.text.partition("[")[2].partition("]")[0]
    parts = re.findall(r"(?:^|\+)([^+]+)", address)
    first = _added(_value(evidence, access, part, _MOST_STEPS) for part in parts)
    return first.plus(Between(0, max(access.width // 8, 1) - 1))


def _just(number: float) -> Between:
    return Between(number, number)


def _added(spans: Iterable[Between]) -> Between:
    total = _ZERO
    for one in spans:
        total = total.plus(one)
    return total


def _product(one: float, other: float) -> float:
    return one * other if one and other else 0.0


def _value(evidence: Evidence, site: Site, operand: str, steps: int) -> Between:
    """Returns what an operand of an instruction may be."""
    found = _PART.fullmatch(operand)
    if found is None:
        return _ANY
    minus, name, scale = found.groups()
    if name.endswith("RZ"):
        return _ZERO
    if name.startswith("0x"):
        number = int(name, 16)
        value = _just(number - _WORD if number >= _NEGATIVE else number)
    else:
        value = _held(evidence, site, name, steps)
    value = value.times(_just(int(scale or 1)))
    return Between(-value.most, -value.least) if minus else value


@kept
def _held(evidence: Evidence, site: Site, register: str, steps: int) -> Between:
    """Returns what a register may hold when an instruction reads it. A counter goes up in each turn of its loop, by one step."""
    before = _before_each(evidence, site.function)[_place(evidence, site)]
    writers = _writers(evidence, site.function, before, register)
    others = writers - {site}
    if not others or not steps:
        return _ANY

    def is_of_turn_before(one: Site) -> bool:
        loop = evidence.innermost_loop(one)
        return one.position > site.position and loop is not None and site.instruction in loop

    spans = [
        # In the turn before, a counter became what it counts on from now.
        _held(evidence, one, register, steps - 1)
        if is_of_turn_before(one) and _step_of(one, register) is not None
        else _made(evidence, one, steps - 1)
        for one in others
    ]
    least, most = min(one.least for one in spans), max(one.most for one in spans)
    if site not in writers:
        return Between(least, most)
    step, loop = _step_of(site, register), evidence.innermost_loop(site)
    if step is None or loop is None:
        return _ANY
    if site in _entering(evidence, loop, site.function, register):  # it counts on when the loop starts again
        return Between(least, math.inf)
    return Between(least, most + _product(step, _most_turns(evidence, loop, site.function, steps - 1) - 1))


@kept
def _most_turns(evidence: Evidence, loop: Loop, function: int, steps: int) -> float:
    """Returns how many turns a loop makes at most, where it ends when a counter reaches a constant.

    How often its instructions ran does not say so: some warps may make more turns than others.
    """
    inside, before = evidence.inside(loop), _before_each(evidence, function)
    last = inside[-1]
    tests = _writers(
        evidence,
        function,
        before[_place(evidence, last)],
        (last.instruction.predicate or "").removeprefix("!"),
    )
    test = next(iter(tests)) if len(tests) == 1 else None
    compared = test and _COMPARED.fullmatch(test.instruction.text)
    if not (test and compared and steps):
        return math.inf
    comparison, register, bound = compared[1], compared[2], int(compared[3], 16)
    counters = [one for one in inside if register in one.use.results]
    step = _step_of(counters[0], register) if len(counters) == 1 else None
    entering = _entering(evidence, loop, function, register)
    first = [_made(evidence, one, steps - 1) for one in entering]
    if not step or len(first) != 1 or not 0 <= first[0].least == first[0].most or bound >= _NEGATIVE:
        return math.inf  # also where the counter goes on as the loop starts again
    if not all(_is_in_each_turn(evidence, loop, one) for one in (test, *counters)):
        return math.inf
    turns = (bound - first[0].least) / step
    ends_where_it_holds = (last.instruction.predicate or "").startswith("!")
    if ends_where_it_holds != (comparison in ("EQ", "GE")) or turns <= 0:
        return math.inf
    if comparison in ("NE", "EQ") and turns % 1:
        return math.inf  # it never is the bound
    # A test before the counter goes up finds the bound a turn later.
    return math.ceil(turns) + (test.position < counters[0].position)


def _is_in_each_turn(evidence: Evidence, loop: Loop, site: Site) -> bool:
    """Returns whether each turn of a loop that goes on has executed an instruction once."""
    if evidence.innermost_loop(site) != loop or site.instruction.predicate is not None:
        return False
    inside, before = evidence.inside(loop), _before_each(evidence, site.function)
    here = _place(evidence, site)
    passed = reach([_place(evidence, inside[-1])], lambda one: () if one == here else before[one])
    return _place(evidence, inside[0]) not in passed - {here}


def _entering(evidence: Evidence, loop: Loop, function: int, register: str) -> Set[Site]:
    """Returns the instructions whose result a register may hold when a loop starts."""
    before, inside = _before_each(evidence, function), evidence.inside(loop)
    within = {_place(evidence, one) for one in inside}
    return _writers(
        evidence, function, [one for place in within for one in before[place] if one not in within], register
    )


def _step_of(site: Site, register: str) -> float | None:
    """Returns by how much an instruction raises a register, if it adds a constant to it."""
    one = site.instruction
    added = [part for part in one.operands[1:] if part != register and not is_predicate(part)]
    if one.name not in _SUMS or len(added) == len(one.operands[1:]):
        return None
    if not all(
        part.endswith("RZ") or (part.startswith("0x") and int(part, 16) < _NEGATIVE) for part in added
    ):
        return None
    return float(sum(int(part, 16) for part in added if not part.endswith("RZ")))


def _writers(evidence: Evidence, function: int, ends: Collection[int], register: str) -> Set[Site]:
    """Returns the instructions whose result a register or predicate may hold at the ends of these paths; none where another may.

    `find_writers` follows the text, and here all that a branch may pass by counts.
    """
    sites, before = evidence.by_function[function], _before_each(evidence, function)

    def is_written(place: int) -> bool:
        return register in sites[place].use.results and sites[place].instruction.predicate is None

    passed = reach(ends, lambda place: () if is_written(place) else before[place])
    if any(sites[one].instruction.name == "CALL" or not (before[one] or is_written(one)) for one in passed):
        return set()
    return {sites[one] for one in passed if register in sites[one].use.results}


@kept
def _before_each(evidence: Evidence, function: int) -> Sequence[Sequence[int]]:
    """Returns for each instruction of a function the places of those that may be executed right before it."""
    sites = evidence.by_function[function]
    places = {site.instruction.offset: place for place, site in enumerate(sites)}
    before: list[list[int]] = [[] for _ in sites]
    if any(site.instruction.name in _TO_ANYWHERE for site in sites):
        return before
    met = [site.instruction.operands for site in sites if site.instruction.name == "BSSY"]
    for place, site in enumerate(sites):
        one = site.instruction
        targets = [int(end, 16) for barrier, end in met if one.name == "BSYNC" and barrier == one.operands[0]]
        for target in (*targets, one.target):
            if target in places:
                before[places[target]].append(place)
        leaves = one.name in ("EXIT", "RET") or (one.target is not None and len(one.operands) == 1)
        if place + 1 < len(sites) and not (leaves and one.predicate is None):
            before[place + 1].append(place)
    return before


def _place(evidence: Evidence, site: Site) -> int:
    return evidence.place(site, evidence.by_function[site.function])


def _made(evidence: Evidence, site: Site, steps: int) -> Between:
    """Returns what the result of an instruction may be."""
    one = site.instruction
    operands = [part for part in one.operands[1:] if not is_predicate(part)]

    def value(place: int) -> Between:
        return _value(evidence, site, operands[place], steps) if place < len(operands) else _ANY

    if one.name in ("S2R", "S2UR"):
        return _special(evidence, operands[0])
    if one.name in _MOVES:
        return value(0)
    if one.opcode.startswith(_SHIFTS_RIGHT) and one.opcode.endswith(".HI"):
        return _shifted_right(value(2), value(1))
    if not _OF_HALVES.isdisjoint(one.opcode.split(".")):
        return _ANY
    if one.name in _SUMS:
        return _added(map(value, range(len(operands))))
    if one.name in ("IMAD", "UIMAD"):
        return value(0).times(value(1)).plus(value(2))
    if one.name in ("LEA", "ULEA"):
        return value(1).plus(_shifted_left(value(0), value(2)))
    if one.opcode.startswith(_SHIFTS_LEFT):
        return _shifted_left(value(0), value(1))
    if one.name == "LOP3" and operands[-1:] == [_AND]:
        return Between(0, value(1).most) if value(1).least >= 0 else _ANY
    return _ZERO if one.name == "HFMA2" and operands[-2:] == ["0", "0"] else _ANY


def _special(evidence: Evidence, register: str) -> Between:
    if register == _OF_CLUSTER:
        return _ZERO
    if register in _IN_BLOCK and evidence.shape:
        return Between(0, evidence.shape.block[_IN_BLOCK[register]] - 1)
    return Between(0, math.inf) if register.startswith(_INDICES) else _ANY


def _shifted_left(value: Between, by: Between) -> Between:
    return value.times(_just(2**by.least)) if _is_shift(by) else _ANY


def _shifted_right(value: Between, by: Between) -> Between:
    if not _is_shift(by) or value.least < 0:
        return _ANY
    return Between(value.least // 2**by.least, value.most / 2**by.least)


def _is_shift(by: Between) -> bool:
    return by.least == by.most and 0 <= by.least < _WORD_BITS
