"""Finds out which bytes of shared memory an access may touch, as far as its address follows from the thread's index and from constants.

An array that is declared begins at a constant, and each thread adds a part of its index. What a loop only reads there, as a block's
parameters, lies before or behind all that the loop stores.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import Site
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
    writers = set(_writers(evidence, site, register))
    others = writers - {site}
    if not others or not steps:
        return _ANY
    spans = [
        # In the turn before, a counter became what it counts on from now.
        _held(evidence, one, register, steps - 1)
        if one.position > site.position and _step_of(one, register) is not None
        else _made(evidence, one, steps - 1)
        for one in others
    ]
    least, most = min(one.least for one in spans), max(one.most for one in spans)
    if site not in writers:
        return Between(least, most)
    step, loop = _step_of(site, register), evidence.innermost_loop(site)
    if step is None or loop is None:
        return _ANY
    return Between(least, most + step * max(0.0, evidence.turns(site, loop) - 1))


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


def _writers(evidence: Evidence, site: Site, register: str) -> Iterator[Site]:
    """Yields the instructions before this one that may have written a register, and those of the turns before in all loops around."""
    sites = evidence.by_function[site.function]
    here = evidence.place(site, sites)
    last = here
    for place in range(here - 1, -1, -1):
        if register in sites[place].use.written:
            yield sites[place]
            if sites[place].instruction.predicate is None:
                last = place
                break
    for loop in evidence.loops.get(site.function, ()):
        if site.instruction not in loop:
            continue
        inside = evidence.inside(loop)
        if last < here and sites[last].instruction in loop:
            continue
        yield from _last_of(inside[evidence.place(site, inside) :], register)


def _last_of(sites: Sequence[Site], register: str) -> Iterator[Site]:
    for site in reversed(sites):
        if register in site.use.written:
            yield site
            if site.instruction.predicate is None:
                return


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
