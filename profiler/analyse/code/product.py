"""Traces the outer product in a hot loop: its accumulators, its steps, and what loads each operand.

The loop's instructions in; a `Product` out, or None if multiplications do not all accumulate in the same way. Nothing here knows a kernel: accumulators are the values that an
FMA adds to and hands round the loop, and an operand is every load that feeds one side.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from profiler.analyse.code.code import Instruction
from profiler.analyse.code.opcodes import fmas_of, width_bits
from profiler.analyse.code.registers import (
    NOTHING,
    LoopValue,
    LoopValues,
    Registers,
    follow_loop,
    register_of,
    words_from,
    written_registers,
)

# Finds the two operands of a product: which loads feed each of them, and which of the two is A.
#
# `split_operands` takes multiplications, each a pair of loaded elements and the accumulator that it adds to, and
# returns two operands; or None where they cannot be separated for certain. `find_a` reads from how the result is
# stored which of them is A: in a row-major C = A B, an element of A serves neighbours in memory, and an element of B
# does not. Where the code stores no two neighbours, as with one result a thread or a column of them, neither is named.

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
    """Separates the two sides. A compiler swaps factors as it likes, so the sides are those of the loads, not of the instructions.

    Loads multiplied with each other are on opposite sides. Loads that never meet, as those of different
    steps, belong together if they divide the accumulators into the same groups (rows and columns of a tile divide them differently), or
    else if they share an address.
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


_ADDRESS_REGISTER = re.compile(r"(?<=[\[+])U?R\d+")
_LOADS = ("LDS", "LDSM", "LDG", "LD", "LDL")


@dataclass(frozen=True)
class Operand:
    """One side of the product. `across` are the groups of accumulators that share an element."""

    loads: tuple[Instruction, ...]
    across: frozenset[frozenset[int]]


@dataclass(frozen=True)
class Product:
    """Each of `accumulators` takes `steps` FMAs an iteration; the operands are None where not traced.

    `exit_values` says which accumulator each register holds when the loop is left.
    """

    accumulators: int
    steps: int
    operands: tuple[Operand, Operand] | None
    exit_values: Mapping[str, int]

    def find_a(self, after: Iterable[Instruction]) -> int | None:
        """Returns which operand is A, 0 or 1, from the instructions after the loop."""
        groups = [operand.across for operand in self.operands or ()]
        return find_a(groups, after, self.exit_values) if groups else None


@dataclass(frozen=True)
class _Fma:
    left: LoopValues
    right: LoopValues
    addend: LoopValues


def trace_product(body: Sequence[Instruction]) -> Product | None:
    fmas: dict[int, _Fma] = {}
    addresses: dict[int, object] = {}
    factors = {
        position: [register_of(operand) for operand in instruction.operands[1:4]]
        for position, instruction in enumerate(body)
        if fmas_of(instruction)
    }
    bases = {
        position: _ADDRESS_REGISTER.findall(instruction.text)
        for position, instruction in enumerate(body)
        if instruction.name in _LOADS
    }
    state: Registers = {}
    for position, state in follow_loop(body):
        if len(registers := factors.get(position, ())) == 3:
            fmas[position] = _Fma(*(state.get(register or "", NOTHING) for register in registers))
        if position in bases:  # what is added to the registers is not part of what addresses have in common
            addresses[position] = frozenset((name, state.get(name)) for name in bases[position])
    accumulator_of = _accumulators(fmas)
    lengths = set(Counter(accumulator_of.values()).values())
    if len(lengths) != 1 or len(accumulator_of) < len(factors):
        return None
    return Product(
        accumulators=len(set(accumulator_of.values())),
        steps=lengths.pop(),
        operands=_operands(body, fmas, accumulator_of, addresses),
        exit_values=_held(state, accumulator_of),
    )


def _accumulators(fmas: Mapping[int, _Fma]) -> dict[int, int]:
    """Returns which accumulator each FMA adds to: chains of sums that close on themselves, by number."""
    before = {}
    for position, fma in fmas.items():
        source = _only(fma.addend)
        if source is not None and source[0] in fmas:
            before[position] = source[0]
    accumulator_of: dict[int, int] = {}
    for start in before:
        if start in accumulator_of:
            continue
        chain = [start]
        while (last := before.get(chain[-1])) is not None and last != start and len(chain) <= len(before):
            chain.append(last)
        if last == start:
            accumulator_of.update(dict.fromkeys(chain, start))
    return accumulator_of


def _only(values: LoopValues) -> LoopValue | None:
    return next(iter(values)) if len(values) == 1 else None


def _held(state: Registers, accumulator_of: Mapping[int, int]) -> dict[str, int]:
    held = {}
    for register, values in state.items():
        value = _only(values)
        if value is not None and value[0] in accumulator_of:
            held[register] = accumulator_of[value[0]]
    return held


def _operands(
    body: Sequence[Instruction],
    fmas: Mapping[int, _Fma],
    accumulator_of: Mapping[int, int],
    addresses: Mapping[int, object],
) -> tuple[Operand, Operand] | None:
    """Returns the operands; None unless every multiplication takes one loaded element from either side."""
    multiplications = []
    for position, fma in fmas.items():
        left, right = _only(fma.left), _only(fma.right)
        if left is None or right is None or not all(body[at].name in _LOADS for at, _ in (left, right)):
            return None
        multiplications.append(Multiplication(left, right, accumulator_of[position]))
    sides = split_operands(multiplications, addresses)
    if sides is None:
        return None
    first, second = (
        Operand(tuple(body[position] for position in sorted(side.loads)), side.across) for side in sides
    )
    return first, second
