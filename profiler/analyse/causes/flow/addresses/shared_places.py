"""Finds out which bytes of shared memory an access may touch, and to which places only one thread of a block comes.

That follows from the thread's index and from constants: a declared array begins at a constant, and each thread adds a part of its
index. What a loop only reads there, such as a block's parameters, lies before or behind all that the loop stores.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from profiler.analyse.causes.evidence.addresses import address_of, offset_of
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.addresses.operations import AND, Operations
from profiler.analyse.causes.flow.addresses.strides import step_of
from profiler.analyse.causes.flow.addresses.threads import offsets_of_threads
from profiler.analyse.causes.flow.dataflow import INDICES, address_registers
from profiler.analyse.causes.flow.possible_writers import writers_before
from profiler.analyse.causes.flow.same_in_turns import has_fixed_address
from profiler.analyse.code.loops import Loop
from profiler.analyse.code.opcodes import WORD_BITS

_IN_BLOCK = {"SR_TID.X": 0, "SR_TID.Y": 1, "SR_TID.Z": 2}
# The number of a block in its cluster becomes the upper bits of an address, which say whose shared memory it is.
_OF_CLUSTER = "SR_CgaCtaId"
_MOST_STEPS = 12  # from an address back to the index of the thread, as a bound of the search


class Between(NamedTuple):
    """The least and the greatest value that a register may hold."""

    least: float
    most: float


_ANY, _ZERO = Between(-math.inf, math.inf), Between(0, 0)


def is_apart(evidence: Evidence, load: Site, stores: Iterable[Site]) -> bool:
    """Returns whether a load from shared memory certainly reads nothing that these instructions store."""
    read = _bytes_of(evidence, load)
    stored = [_bytes_of(evidence, one) for one in stores]
    return all(read.most < one.least or one.most < read.least for one in stored)


def _bytes_of(evidence: Evidence, access: Site) -> Between:
    spans = _Spans(evidence, _MOST_STEPS)
    return spans.sum(spans.address(access), Between(0, max(access.width // 8, 1) - 1))


@dataclass(frozen=True)
class _Spans(Operations[Between]):
    """Follows the bounds of a number, at most so many `steps` back."""

    evidence: Evidence
    steps: int

    def held(self, site: Site, register: str) -> Between:
        return _held(self.evidence, site, register, self.steps)

    def constant(self, number: int) -> Between:
        return Between(number, number)

    def special(self, register: str) -> Between:
        if register == _OF_CLUSTER:
            return _ZERO
        if register in _IN_BLOCK and self.evidence.shape:
            return Between(0, self.evidence.shape.block[_IN_BLOCK[register]] - 1)
        return Between(0, math.inf) if register.startswith(INDICES) else _ANY

    def elsewhere(self, _operand: str, /) -> Between:
        return _ANY

    def other(self, _site: Site, _taken: Sequence[Between], /) -> Between:
        return _ANY

    def sum(self, one: Between, other: Between) -> Between:
        return Between(one.least + other.least, one.most + other.most)

    def product(self, one: Between, other: Between) -> Between:
        found = [_product(a, b) for a in one for b in other]
        return Between(min(found), max(found))

    def shifted_left(self, value: Between, by: Between) -> Between:
        return self.product(value, self.constant(int(2**by.least))) if _is_shift(by) else _ANY

    def shifted_right(self, value: Between, by: Between) -> Between:
        if not _is_shift(by) or value.least < 0:
            return _ANY
        return Between(value.least // 2**by.least, value.most / 2**by.least)

    def logic(self, values: Sequence[Between], table: int) -> Between:
        mask = values[1]
        return Between(0, mask.most) if table == AND and mask.least >= 0 else _ANY


def _product(one: float, other: float) -> float:
    return one * other if one and other else 0.0


def _is_shift(by: Between) -> bool:
    return by.least == by.most and 0 <= by.least < WORD_BITS


@kept
def _held(evidence: Evidence, site: Site, register: str, steps: int) -> Between:
    """Returns what a register may hold when an instruction reads it. A counter goes up or down, and nobody knows how far."""
    writers = writers_before(evidence, site, register)
    others = writers - {site}
    if not others or not steps:
        return _ANY
    made = _Spans(evidence, steps - 1)
    spans = [made.result(one, register) for one in others]
    least, most = min(one.least for one in spans), max(one.most for one in spans)
    if site not in writers:
        return Between(least, most)
    step = step_of(site, register)
    if step is None:
        return _ANY
    return Between(-math.inf, most) if step < 0 else Between(least, math.inf)


def find_owned(evidence: Evidence, loop: Loop) -> list[Site]:
    """Returns the accesses of a loop to shared memory that a register could replace, barriers or not, because their place stays the same.

    They are loads from a place to which only the same thread stores in this loop, whoever else loads from there. The stores there
    are among them if no other thread loads from there.
    """
    accesses = [site for site in evidence.inside(loop) if site.kind == "shared load" or site.stores_in_shared]
    together: dict[frozenset[str], list[Site]] = {}
    for site in accesses:
        together.setdefault(address_registers(site.instruction), []).append(site)
    found: list[Site] = []
    for some in together.values():
        if any(
            site.kind not in ("shared load", "shared store") or not has_fixed_address(evidence, site)
            for site in some
        ):
            continue
        stores = [site for site in some if site.stores_in_shared]
        stored = {address_of(site) for site in stores}
        own = [site for site in some if not site.stores_in_shared and address_of(site) in stored]
        others = [site for site in accesses if site not in some]
        if own and _are_its_own(evidence, [*own, *stores], [one for one in others if one.stores_in_shared]):
            found += own
            if _are_its_own(evidence, some, others):
                found += (site for site in stores if address_of(site) in set(map(address_of, own)))
    return found


def _are_its_own(evidence: Evidence, some: Sequence[Site], others: Sequence[Site]) -> bool:
    """Returns whether only one thread comes to each place of some accesses with the same address registers, by these or by `others`."""
    return _are_apart_in_threads(evidence, some) and all(is_apart(evidence, one, others) for one in some)


def _are_apart_in_threads(evidence: Evidence, some: Sequence[Site]) -> bool:
    """Returns whether no two threads of a block come to the same bytes by any of these accesses, which have the same address registers."""
    threads = offsets_of_threads(evidence, some[0])
    sizes: dict[int, int] = {}
    for site in some:
        offset = offset_of(site)
        sizes[offset] = max(sizes.get(offset, 0), site.width // 8)
    places = sorted((one + offset, size) for one in threads or () for offset, size in sizes.items())
    return bool(places) and all(first + size <= second for (first, size), (second, _) in pairwise(places))
