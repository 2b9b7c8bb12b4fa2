"""Knows what the integer instructions that make addresses do, whatever is known of the numbers that they take."""

from __future__ import annotations

import re
import struct
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import reduce
from typing import Generic, TypeVar

from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.code.opcodes import MOVES, SUMS, WORD_BITS
from profiler.analyse.code.registers import is_predicate

_PARTS = re.compile(r"(?:^|\+)([^+]+)")
_PART = re.compile(r"(-?)(U?R\d+|U?RZ)(?:\.(?:X(\d+)|U32|64))?(?:\.reuse)?")
_NUMBER = re.compile(r"-?0x[0-9a-f]+")
_MOVES = (*MOVES, "R2UR")
CARRY = "IMAD.X"  # adds the carry to the upper half of a 64-bit sum, as a product with zero
_SHIFTS_RIGHT, _SHIFTS_LEFT = ("SHF.R", "USHF.R"), ("SHF.L", "USHF.L")
_LOWEST_BITS = ("SGXT.U32", "USGXT.U32")  # so many of them
_OF_HALVES = frozenset({"HI", "X", "U64"})  # their results are the upper half of 64 bits, or all of them
_NEGATIVE = 1 << WORD_BITS - 1
WORDS = 1 << WORD_BITS  # how many different words there are
AND = 0xC0  # the table by which LOP3 computes a & b

_Number = TypeVar("_Number")


class Operations(ABC, Generic[_Number]):
    """Follows numbers through the code. Each subclass says what it knows of a number, and what it still knows of a sum or a product."""

    @abstractmethod
    def held(self, site: Site, register: str) -> _Number:
        """Returns what a register holds when an instruction reads it."""

    @abstractmethod
    def constant(self, number: int) -> _Number: ...

    @abstractmethod
    def special(self, register: str) -> _Number:
        """Returns what a special register holds, such as the index of the thread."""

    @abstractmethod
    def elsewhere(self, operand: str, /) -> _Number:
        """Returns what is known of an operand that is neither a register nor a whole number, such as a parameter of the kernel."""

    @abstractmethod
    def other(self, site: Site, taken: Sequence[_Number], /) -> _Number:
        """Returns what is known of any other result that was made from these numbers."""

    @abstractmethod
    def sum(self, one: _Number, other: _Number) -> _Number: ...

    @abstractmethod
    def product(self, one: _Number, other: _Number) -> _Number: ...

    @abstractmethod
    def shifted_left(self, value: _Number, by: _Number) -> _Number: ...

    @abstractmethod
    def shifted_right(self, value: _Number, by: _Number) -> _Number: ...

    @abstractmethod
    def logic(self, values: Sequence[_Number], table: int) -> _Number:
        """Returns what LOP3 makes of three numbers by its table; `by_table` computes it."""

    def address(self, access: Site) -> _Number:
        """Returns the address of an access, or its lower half if it has 64 bits. The descriptor before it is the same for all threads."""
        text = access.instruction.text.rpartition("[")[2].partition("]")[0]
        return reduce(self.sum, (self.operand(access, part) for part in _PARTS.findall(text)))

    def operand(self, site: Site, text: str) -> _Number:
        """Returns what an operand of an instruction is."""
        if (number := whole_number(text)) is not None:
            return self.constant(number)
        found = _PART.fullmatch(text)
        if found is None:
            return self.elsewhere(text)
        minus, name, scale = found.groups()
        if name.endswith("RZ"):
            return self.constant(0)
        value = self.held(site, name)
        factor = int(scale or 1) * (-1 if minus else 1)
        return value if factor == 1 else self.product(value, self.constant(factor))

    def result(self, site: Site, register: str) -> _Number:
        """Returns what an instruction writes to a register. Of a result of 64 bits, only the lower half is known."""
        one = site.instruction
        operands = [part for part in one.operands[1:] if not is_predicate(part)]
        if one.name in ("S2R", "S2UR"):
            return self.special(operands[0])
        if one.moves_a_constant:
            number = None if "BF16" in one.opcode else _of_halves(*operands[-2:])
            return self.other(site, ()) if number is None else self.constant(number)
        if one.name == "LOP3" and len(operands) == 4 and operands[3].startswith("0x"):
            return self.logic([self.operand(site, part) for part in operands[:3]], int(operands[3], 16))
        taken = [self.operand(site, part) for part in operands]
        found = self._of_integers(site, taken) if one.operands[0] == register else None
        return self.other(site, taken) if found is None else found

    def _of_integers(self, site: Site, taken: Sequence[_Number]) -> _Number | None:
        one, count = site.instruction, len(taken)
        if one.name in _MOVES and taken:
            return taken[0]
        if one.opcode.startswith(_SHIFTS_RIGHT) and one.opcode.endswith(".HI") and count == 3:
            return self.shifted_right(taken[2], taken[1])
        if not _OF_HALVES.isdisjoint(one.opcode.split(".")):
            return None
        if one.name in SUMS and taken:
            return reduce(self.sum, taken)
        if one.name in ("IMAD", "UIMAD") and count == 3:
            return self.sum(self.product(taken[0], taken[1]), taken[2])
        if one.name in ("LEA", "ULEA") and count >= 3:
            return self.sum(taken[1], self.shifted_left(taken[0], taken[2]))
        if one.opcode.startswith(_SHIFTS_LEFT) and count >= 2:
            return self.shifted_left(taken[0], taken[1])
        if one.opcode in _LOWEST_BITS and count == 2 and one.operands[-1].startswith("0x"):
            mask = self.constant((1 << int(one.operands[-1], 16)) - 1)
            return self.logic([taken[0], mask, mask], AND)
        return None


def whole_number(operand: str) -> int | None:
    """Returns the number that an operand is. Machine code writes some negative ones as a word without a sign."""
    number = int(operand, 16) if _NUMBER.fullmatch(operand) else None
    return number - WORDS if number is not None and number >= _NEGATIVE else number


def _of_halves(upper: str, lower: str) -> int | None:
    """Returns the number whose bits are those of two 16-bit floats; None where they are not printed as numbers."""
    try:
        return int.from_bytes(struct.pack(">ee", float(upper), float(lower)), signed=True)
    except (ValueError, OverflowError):
        return None


def by_table(numbers: Sequence[int], table: int) -> int:
    """Returns what LOP3 computes: for each bit, the entry of its table that the bits of the three numbers choose."""
    first, second, third = numbers
    result = 0
    for row in range(8):
        if table >> row & 1:
            result |= (
                (first if row & 4 else ~first)
                & (second if row & 2 else ~second)
                & (third if row & 1 else ~third)
            )
    return result
