"""Finds the two operands of a product: which loads feed each of them, and which of the two is A.

`split_operands` takes multiplications, each a pair of loaded elements and the accumulator that it adds to, and returns
two operands; or None where they cannot be separated for certain. `find_a` reads from how the result is stored which of
them is A: in a row-major C = A B, an element of A serves neighbours in memory, and an element of B does not. Where the
code stores no two neighbours, as with one result a thread or a column of them, neither is named.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from profiler.analyse.code.code import Instruction
from profiler.analyse.code.opcodes import width_bits
from profiler.analyse.code.registers import LoopValue, register_of, words_from, written_registers

Groups = frozenset[frozenset[int]]

_STORES = ("STG", "ST")
_SCALED = ("MOV", "IMAD", "FMUL", "FADD", "FFMA")  # alpha * (A B) + beta * C is still that element
_ADDRESS = re.compile(r"\[(R\d+)(?:\.64)?(?:\+(-?0x[0-9a-f]+))?\]")
_WORD_BYTES = 4


@dataclass(frozen=True)
class Multiplication:
    left: LoopValue
    right: LoopValue
    accumulator: int


@dataclass
class OperandSide:
    """`across` holds, for every element, the accumulators it is multiplied into."""

    loads: set[int] = field(default_factory=set)
    across: Groups = frozenset()


def split_operands(
    multiplications: Sequence[Multiplication], addresses: Mapping[int, object]
) -> tuple[OperandSide, OperandSide] | None:
    """Separates the two sides. A compiler swaps factors as it likes, so the loads decide which side a factor is on, and not its
    place in the instruction.

    Loads multiplied with each other are on opposite sides. Loads that never meet, as in different steps, belong together if they
    divide the accumulators into the same groups (rows and columns of a tile divide them differently), or else if they share an
    address.
    """
    parts = _opposite_sides(multiplications)
    if not parts:
        return None
    one, other = parts.pop(0)
    while parts:
        for index, part in enumerate(parts):
            turned = _turned((one, other), part, addresses)
            if turned is not None:
                first, second = reversed(part) if turned else part
                one, other = _joined(one, first), _joined(other, second)
                del parts[index]
                break
        else:
            return None
    return (one, other) if min(one.loads) < min(other.loads) else (other, one)


def _opposite_sides(multiplications: Sequence[Multiplication]) -> list[tuple[OperandSide, OperandSide]]:
    """Returns the connected parts of the graph of loads, each split in two; none if one cannot be."""
    neighbours: dict[int, set[int]] = {}
    users: dict[LoopValue, set[int]] = {}
    for one in multiplications:
        neighbours.setdefault(one.left[0], set()).add(one.right[0])
        neighbours.setdefault(one.right[0], set()).add(one.left[0])
        for value in (one.left, one.right):
            users.setdefault(value, set()).add(one.accumulator)
    side_of: dict[int, int] = {}
    parts = []
    for start in neighbours:
        if start in side_of:
            continue
        side_of[start], reached = 0, [start]
        for load in reached:
            for neighbour in neighbours[load]:
                if neighbour not in side_of:
                    side_of[neighbour] = 1 - side_of[load]
                    reached.append(neighbour)
                elif side_of[neighbour] == side_of[load]:
                    return []
        parts.append((_side(reached, side_of, 0, users), _side(reached, side_of, 1, users)))
    return parts


def _side(
    loads: Sequence[int], side_of: Mapping[int, int], which: int, users: Mapping[LoopValue, set[int]]
) -> OperandSide:
    chosen = {load for load in loads if side_of[load] == which}
    return OperandSide(chosen, frozenset(frozenset(users[value]) for value in users if value[0] in chosen))


def _turned(
    known: tuple[OperandSide, OperandSide],
    new: tuple[OperandSide, OperandSide],
    addresses: Mapping[int, object],
) -> bool | None:
    """Returns whether the first side of the new pair belongs to the second known side; None if that is undecided."""
    if known[0].across != known[1].across:
        if (new[0].across, new[1].across) == (known[0].across, known[1].across):
            return False
        if (new[1].across, new[0].across) == (known[0].across, known[1].across):
            return True
    seen, found = ([{addresses[load] for load in side.loads} for side in pair] for pair in (known, new))
    straight = bool(seen[0] & found[0] or seen[1] & found[1])
    crossed = bool(seen[0] & found[1] or seen[1] & found[0])
    return crossed if straight != crossed else None


def _joined(one: OperandSide, other: OperandSide) -> OperandSide:
    return OperandSide(one.loads | other.loads, one.across | other.across)


def find_a(operands: Sequence[Groups], after: Iterable[Instruction], held: Mapping[str, int]) -> int | None:
    """Returns 0 or 1 for the operand that is A; `after` follows the loop, and begins with these accumulators held.

    Each of `operands` is its groups of accumulators that share an element.
    """
    votes = set()
    for pair in _neighbours(after, held):
        shared = [any(pair <= group for group in groups) for groups in operands]
        if shared[0] != shared[1]:
            votes.add(shared.index(True))
    return votes.pop() if len(votes) == 1 else None


def _neighbours(after: Iterable[Instruction], held: Mapping[str, int]) -> set[frozenset[int]]:
    """Returns the pairs of accumulators that are stored side by side."""
    accumulator_in = dict(held)
    writes: dict[str, int] = {}
    stored: dict[tuple[str, int], dict[int, int]] = {}
    for instruction in after:
        if instruction.executed == 0:
            continue
        if instruction.name in _STORES:
            for base, offset, register in _words_stored(instruction):
                if register in accumulator_in:
                    place = stored.setdefault((base, writes.get(base, 0)), {})
                    place[offset] = accumulator_in[register]
            continue
        kept = _kept(instruction, accumulator_in)
        for register in written_registers(instruction):
            writes[register] = writes.get(register, 0) + 1
            accumulator_in.pop(register, None)
            if kept is not None:
                accumulator_in[register] = kept
    return {
        frozenset({accumulator, place[offset + _WORD_BYTES]})
        for place in stored.values()
        for offset, accumulator in place.items()
        if place.get(offset + _WORD_BYTES, accumulator) != accumulator
    }


def _words_stored(instruction: Instruction) -> list[tuple[str, int, str]]:
    """Lists the base register, the offset and the register of every word."""
    address, register = _ADDRESS.search(instruction.text), register_of(instruction.operands[-1])
    if address is None or register is None:
        return []
    words = words_from(register, (width_bits(instruction.opcode) or 0) // (8 * _WORD_BYTES))
    start = int(address[2] or "0", 16)
    return [(address[1], start + _WORD_BYTES * word, name) for word, name in enumerate(words)]


def _kept(instruction: Instruction, accumulator_in: Mapping[str, int]) -> int | None:
    """Returns the accumulator whose value lives on in another register."""
    if instruction.name not in _SCALED:
        return None
    sources = (register_of(operand) for operand in instruction.operands[1:])
    found = {accumulator_in[source] for source in sources if source and source in accumulator_in}
    return found.pop() if len(found) == 1 else None
