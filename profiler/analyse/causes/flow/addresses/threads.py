"""Computes how far apart the threads of a block access memory.

What all threads add alike, such as where an array begins or how far a loop has come, need not be known for that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from operator import add, mul
from typing import NamedTuple

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.addresses.operations import Operations, by_table
from profiler.analyse.causes.flow.lane_values import NOT_REPEATED
from profiler.analyse.causes.flow.possible_writers import writers_before
from profiler.analyse.code.opcodes import WORD_BITS
from profiler.catalog.metrics import LANES


class _InThreads(NamedTuple):
    """The number that each thread holds; None where nothing is known.

    If `is_relative`, the first thread's number is not known, and each number says how much more its thread holds.
    """

    numbers: tuple[int, ...] | None
    is_relative: bool = False

    @property
    def is_alike(self) -> bool:
        return self.numbers is not None and len(set(self.numbers)) == 1

    @property
    def exact(self) -> tuple[int, ...] | None:
        return None if self.is_relative else self.numbers


_UNKNOWN = _InThreads(None)
_Read = tuple[Site, str]  # an instruction and a register that it reads


class _NotKnownYet(Exception):
    """Says that the value of a register needs another value first, which no step has computed yet."""


def offsets_of_threads(evidence: Evidence, access: Site) -> Sequence[int] | None:
    """Returns for each thread of a block how many bytes behind the first one it accesses memory."""
    if evidence.shape is None:
        return None
    found = _threads_of(evidence, evidence.shape.block).address(access).numbers
    return _from_first(found) if found else None


def bytes_between_lanes(evidence: Evidence, accesses: Iterable[Site]) -> int | None:
    """Returns how far apart neighbouring lanes access memory, if that is the same for all of them and for all these accesses."""
    found: set[int] = set()
    for access in accesses:
        offsets = offsets_of_threads(evidence, access)
        if offsets is None:
            return None
        found |= {abs(one - other) for one, other in pairwise(offsets[:LANES])}
        if len(found) > 1:
            return None
    return found.pop() if found else None


def bytes_between_columns(evidence: Evidence, access: Site) -> int | None:
    """Returns how far apart threads whose index in x differs by one access memory, if that is the same for all.

    How far apart the rows of the block do so need not be known.
    """
    columns = evidence.shape.block[0] if evidence.shape else 1
    return _step_in(evidence, access, (columns, 1, 1))


def bytes_between_rows(evidence: Evidence, access: Site) -> int | None:
    """Returns how far apart threads whose index in y differs by one access memory, if that is the same for all.

    How far apart the lanes do so need not be known.
    """
    rows = evidence.shape.block[1] if evidence.shape else 1
    return _step_in(evidence, access, (1, rows, 1))


def _step_in(evidence: Evidence, access: Site, threads: tuple[int, int, int]) -> int | None:
    found = _threads_of(evidence, threads).address(access).numbers
    steps = {abs(one - other) for one, other in pairwise(found or ())}
    return steps.pop() if len(steps) == 1 else None


def constant_in(evidence: Evidence, site: Site, operand: str) -> int | None:
    """Returns the number that an operand of an instruction has, if the code says that all threads of any block have the same."""
    if evidence.shape is None:
        return None
    found = _threads_of(evidence, evidence.shape.block).operand(site, operand)
    return found.exact[0] if found.exact and found.is_alike else None


@kept
def _threads_of(evidence: Evidence, block: tuple[int, int, int]) -> _Threads:
    return _Threads(evidence, block)


class _Threads(Operations[_InThreads]):
    """Follows what the threads of a block hold, from the first instructions on and round all loops until nothing changes any more.

    This ends, because each step only says less of a register: exact numbers, then how far they lie apart, then nothing.
    """

    def __init__(self, evidence: Evidence, block: tuple[int, int, int]) -> None:
        self._evidence = evidence
        self._known: dict[_Read, _InThreads | None] = {}  # None until a path says something of the value
        self._needed_by: dict[_Read, set[_Read]] = defaultdict(set)
        self._to_compute: list[_Read] = []
        self._computing: _Read | None = None
        self._indices = [(x, y, z) for z in range(block[2]) for y in range(block[1]) for x in range(block[0])]
        self._alike = _InThreads((0,) * len(self._indices), is_relative=True)

    def held(self, site: Site, register: str) -> _InThreads:
        read = (site, register)
        if self._computing is None:
            return self._compute(read)
        self._needed_by[read].add(self._computing)
        self._ask(read)
        if (value := self._known[read]) is None:
            raise _NotKnownYet
        return value

    def _ask(self, read: _Read) -> None:
        if read not in self._known:
            self._known[read] = None
            self._to_compute.append(read)

    def _compute(self, wanted: _Read) -> _InThreads:
        """Computes what is read and all that it needs, and does so again whenever something that it needs changes."""
        self._ask(wanted)
        while self._to_compute:
            self._computing = self._to_compute.pop()
            value = self._joined(*self._computing)
            if value != self._known[self._computing]:
                self._known[self._computing] = value
                self._to_compute += self._needed_by[self._computing]
        self._computing = None
        return self._known[wanted] or _UNKNOWN

    def _joined(self, reader: Site, register: str) -> _InThreads | None:
        """Returns what a register holds if several instructions may have written it: one value, or one that a loop changes for all threads alike.

        Of several values, some threads may hold one and some another. Two parameters are two values, although neither is known.
        """
        writers = writers_before(self._evidence, reader, register)
        if not writers:
            return _UNKNOWN
        found = set(self._results(writers, register))
        is_one = len(writers) == 1 or not any(value.is_relative for value in found)
        if len(found) <= 1 and is_one:
            return found.pop() if found else None
        steps = {_from_first(value.numbers) if value.numbers else None for value in found}
        chosen = [one for one in writers if not self._is_for_all(one, reader)]
        if len(steps) != 1 or len(chosen) > 1 or (step := steps.pop()) is None:
            return _UNKNOWN
        return _InThreads(step, is_relative=True)

    def _results(self, writers: Iterable[Site], register: str) -> Iterator[_InThreads]:
        """Yields what these instructions write to a register, as far as that is known by now."""
        for writer in writers:
            with suppress(_NotKnownYet):
                yield self.result(writer, register)

    def _is_for_all(self, writer: Site, reader: Site) -> bool:
        """Returns whether, in any iteration of a loop, either all threads have executed an instruction or none has."""
        loop = self._evidence.innermost_loop(writer)
        return loop is not None and reader.instruction in loop and writer.instruction.predicate is None

    def constant(self, number: int) -> _InThreads:
        return _InThreads((number,) * len(self._indices))

    def special(self, register: str) -> _InThreads:
        if register == "SR_LANEID":
            return _InThreads(tuple(number % LANES for number in range(len(self._indices))))
        if register.startswith("SR_TID."):
            return _InThreads(tuple(one["XYZ".index(register[-1])] for one in self._indices))
        return self._alike if register.startswith(("SR_CTAID", "SR_CgaCtaId", "SR_NTID")) else _UNKNOWN

    def elsewhere(self, operand: str, /) -> _InThreads:
        """Returns that a constant is the same for all threads, unless a register says where it lies. RZ, as in `c[0x0][RZ]`, is none."""
        at_register = "R" in operand.replace("RZ", "")
        return self._alike if operand.startswith("c[") and not at_register else _UNKNOWN

    def other(self, site: Site, taken: Sequence[_InThreads], /) -> _InThreads:
        """Returns that all threads hold the same if they took the same."""
        if site.kind in NOT_REPEATED or site.use.predicates_read or not taken:
            return _UNKNOWN
        return self._alike if all(value.is_alike for value in taken) else _UNKNOWN

    def sum(self, one: _InThreads, other: _InThreads) -> _InThreads:
        if one.numbers is None or other.numbers is None:
            return _UNKNOWN
        added = tuple(map(add, one.numbers, other.numbers))
        if one.is_relative or other.is_relative:
            return _InThreads(_from_first(added), is_relative=True)
        return _InThreads(added)

    def product(self, one: _InThreads, other: _InThreads) -> _InThreads:
        if one.exact and other.exact:
            return _InThreads(tuple(map(mul, one.exact, other.exact)))
        if one.is_alike and other.is_alike:
            return self._alike
        known, relative = (one, other) if one.exact else (other, one)
        if known.exact and known.is_alike and relative.numbers:
            return _InThreads(tuple(number * known.exact[0] for number in relative.numbers), is_relative=True)
        return _UNKNOWN

    def shifted_left(self, value: _InThreads, by: _InThreads) -> _InThreads:
        if not by.exact or not all(0 <= bits < WORD_BITS for bits in by.exact):
            return self._alike if value.is_alike and by.is_alike else _UNKNOWN
        return self.product(value, _InThreads(tuple(1 << bits for bits in by.exact)))

    def shifted_right(self, value: _InThreads, by: _InThreads) -> _InThreads:
        if value.exact and by.exact and all(0 <= bits < WORD_BITS for bits in by.exact):
            return _InThreads(
                tuple(number >> bits for number, bits in zip(value.exact, by.exact, strict=True))
            )
        return self._alike if value.is_alike and by.is_alike else _UNKNOWN

    def logic(self, values: Sequence[_InThreads], table: int) -> _InThreads:
        exact = [one.exact for one in values]
        if all(exact):
            return _InThreads(tuple(by_table(bits, table) for bits in zip(*exact, strict=True)))
        return self._alike if all(one.is_alike for one in values) else _UNKNOWN


def _from_first(numbers: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(number - numbers[0] for number in numbers)
