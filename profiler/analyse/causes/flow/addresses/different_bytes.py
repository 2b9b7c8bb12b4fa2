"""Knows accesses that take different bytes of device memory, so that it has to move all of them, whatever else is changed.

Two accesses to one array lie apart if each block takes a part of the array by one of them, and the part behind it by the other.
The addresses of all threads of the first blocks show it. Parameters need not be known for that: large numbers stand for them, and
only what is the same for two choices of these counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from itertools import product
from operator import add, mul
from typing import NamedTuple
from zlib import crc32

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import Kind, Site
from profiler.analyse.causes.flow.addresses.operations import Operations, by_table
from profiler.analyse.causes.flow.pointers import find_pointers
from profiler.analyse.causes.flow.possible_writers import writers_before
from profiler.analyse.code.opcodes import LOADS_OF_CONSTANTS, WORD_BITS, launch_sizes, word_of_constants
from profiler.analyse.recording.launch_shapes import LaunchShape
from profiler.catalog.metrics import LANES

_BLOCKS, _FEWER_BLOCKS = 3, 2  # along each axis
_MOST_THREADS = 8192  # of these blocks
_MOST_STEPS = 100  # from an address back to an index
_MOST_ACCESSES = 8  # of one array: each is compared with each other one
_AXES = "XYZ"
_LARGE = 1 << 24  # farther than the first blocks reach
_CHOICES = (1, 2)
_Numbers = tuple[int, ...] | None  # that the threads hold; None where they are not known


def count_different_sectors(evidence: Evidence, kind: Kind) -> float:
    """Returns how many sectors the accesses of a kind need at least: those of accesses whose bytes are known to differ.

    These accesses are executed once, and each thread of the grid has an address of its own. What the kernel both stores and loads
    is left out, as it could keep that in shared memory.
    """
    others: Kind = "global store" if kind == "global load" else "global load"
    of_others = [find_pointers(evidence, site) for site in evidence.of(others, "atomic")]
    if evidence.shape is None or not all(of_others):
        return 0.0
    arrays: dict[frozenset[str], list[_Access]] = {}
    for site in evidence.of(kind):
        array = find_pointers(evidence, site)
        is_free = len(array) == 1 and all(array.isdisjoint(other) for other in of_others)
        if is_free and len(arrays.get(array, ())) < _MOST_ACCESSES and (access := _follow(evidence, site)):
            arrays.setdefault(array, []).append(access)
    return sum(map(_sectors_apart, arrays.values()))


class _Access(NamedTuple):
    """An access by the threads of the first blocks, for each choice of the parameters.

    `first` is the address of the first thread, `behind` how many bytes behind it each one is, and `steps` how far the next block along each axis is.
    """

    site: Site
    first: Sequence[int]
    behind: Sequence[Set[int]]
    steps: Sequence[Sequence[int]]


def _sectors_apart(accesses: Sequence[_Access]) -> float:
    """Returns the sectors of those accesses to an array that lie apart from each other. The largest are chosen first."""
    taken: list[_Access] = []
    for one in sorted(accesses, key=lambda one: -(one.site.ideal_sectors or 0.0)):
        if all(_lie_apart(one, other) for other in taken):
            taken.append(one)
    return sum(one.site.ideal_sectors or 0.0 for one in taken)


def _lie_apart(one: _Access, other: _Access) -> bool:
    """Returns whether two accesses of one width never touch the same place, neither by threads of these blocks nor by those of later ones.

    Both have the same pattern, at some distance from each other, and all places are multiples of the width. Along some axis of
    the grid, a block goes on farther than that distance. It does so by the same ratio whatever the parameters are: so these
    blocks show whether any come to the same places.
    """
    if one.site.width != other.site.width or one.behind != other.behind:
        return False
    first, second = (there - here for here, there in zip(one.first, other.first, strict=True))
    for distance, behind in zip((first, second), one.behind, strict=True):
        if not behind.isdisjoint({address + distance for address in behind}):
            return False
    return any(
        abs(first) < abs(step) and first * again == second * step
        for step, again in zip(*one.steps, strict=True)
    )


def _follow(evidence: Evidence, site: Site) -> _Access | None:
    """Returns an access that is executed once, if the addresses of its threads are known, and all differ."""
    if not site.width or not site.ideal_sectors or evidence.innermost_loop(site):
        return None
    assert evidence.shape is not None
    threads = evidence.shape.threads
    found = [_threads_of(evidence, choice).address(site) for choice in _CHOICES]
    addresses = [numbers for numbers in found if numbers and len(set(numbers)) == len(numbers)]
    if len(addresses) < len(_CHOICES):
        return None
    blocks = _first_blocks(evidence.shape)
    next_along = [threads * count for count in (1, blocks[0], blocks[0] * blocks[1])]
    steps = [
        [numbers[place] - numbers[0] for place, count in zip(next_along, blocks, strict=True) if count > 1]
        for numbers in addresses
    ]
    behind = [{number - numbers[0] for number in numbers} for numbers in addresses]
    return _Access(site, [numbers[0] for numbers in addresses], behind, steps)


def _first_blocks(shape: LaunchShape) -> list[int]:
    """Returns how many blocks along each axis are looked at."""
    blocks = [min(size, _BLOCKS) for size in shape.grid]
    is_few = math.prod(blocks) * shape.threads <= _MOST_THREADS
    return blocks if is_few else [min(size, _FEWER_BLOCKS) for size in shape.grid]


@kept
def _threads_of(evidence: Evidence, choice: int) -> _Threads:
    return _Threads(evidence, choice)


class _Threads(Operations[_Numbers]):
    """Follows what the threads of the first blocks hold in code that is executed once."""

    def __init__(self, evidence: Evidence, choice: int) -> None:
        assert evidence.shape is not None
        self._evidence, self._choice = evidence, choice
        shape, sizes = evidence.shape, launch_sizes(evidence.profile.compute_capability)
        self._sizes = dict(zip((*sizes.block, *sizes.grid), (*shape.block, *shape.grid), strict=True))
        block, blocks = shape.block, _first_blocks(shape)
        self._threads = [
            (index, of_block)
            for of_block in (one[::-1] for one in product(*map(range, reversed(blocks))))
            for index in (one[::-1] for one in product(*map(range, reversed(block))))
        ]
        self._known: dict[tuple[Site, str], _Numbers] = {}
        self._steps = 0

    def held(self, site: Site, register: str) -> _Numbers:
        writers = writers_before(self._evidence, site, register)
        if len(writers) != 1:
            return None
        (writer,) = writers
        if self._evidence.innermost_loop(writer):
            return None
        written = (writer, register)
        if written not in self._known and self._steps < _MOST_STEPS:
            self._known[written] = None  # until it is computed: nothing follows from itself
            self._steps += 1
            self._known[written] = self.result(writer, register)
            self._steps -= 1
        return self._known.get(written)

    def constant(self, number: int) -> _Numbers:
        return (number,) * len(self._threads)

    def special(self, register: str) -> _Numbers:
        name, axis = register[:-1], _AXES.find(register[-1])
        if name in ("SR_TID.", "SR_CTAID."):
            return tuple(one[name == "SR_CTAID."][axis] for one in self._threads)
        return None

    def result(self, site: Site, register: str) -> _Numbers:
        """Returns what an instruction writes to a register. Words that follow in constant memory are loaded with the first one."""
        place = site.use.written.index(register)
        if place and site.instruction.name in LOADS_OF_CONSTANTS:
            word = word_of_constants(site.instruction.operands[1], place)
            return self.elsewhere(word) if word else None
        return super().result(site, register)

    def elsewhere(self, operand: str, /) -> _Numbers:
        """Returns the size of the block or the grid, or a large number that stands for another parameter."""
        operand = word_of_constants(operand) or ""
        if not operand.startswith("c[0x0]["):
            return None
        other = _LARGE + self._choice * (crc32(operand.encode()) % _LARGE) * LANES
        return self.constant(self._sizes.get(operand, other))

    def other(self, site: Site, taken: Sequence[_Numbers], /) -> _Numbers:
        loads = site.instruction.name in LOADS_OF_CONSTANTS and len(taken) == 1
        return taken[0] if loads else None

    def sum(self, one: _Numbers, other: _Numbers) -> _Numbers:
        return tuple(map(add, one, other)) if one and other else None

    def product(self, one: _Numbers, other: _Numbers) -> _Numbers:
        return tuple(map(mul, one, other)) if one and other else None

    def shifted_left(self, value: _Numbers, by: _Numbers) -> _Numbers:
        if value and by and all(0 <= bits < WORD_BITS for bits in by):
            return tuple(number << bits for number, bits in zip(value, by, strict=True))
        return None

    def shifted_right(self, value: _Numbers, by: _Numbers) -> _Numbers:
        if value and by and all(0 <= bits < WORD_BITS for bits in by):
            return tuple(number >> bits for number, bits in zip(value, by, strict=True))
        return None

    def logic(self, values: Sequence[_Numbers], table: int) -> _Numbers:
        known = [one for one in values if one]
        if len(known) < len(values):
            return None
        return tuple(by_table(bits, table) for bits in zip(*known, strict=True))
