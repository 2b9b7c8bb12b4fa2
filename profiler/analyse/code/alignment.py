"""Puts two pieces of machine code side by side, whatever addresses and registers they use.

Instructions of two kernels in; rows out, each with what corresponds on either side.
Compilers interleave independent work as they like, so order counts between blocks (the
stretches that barriers and branches leave) and not inside of one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, zip_longest
from typing import TypeVar

from profiler.analyse.code.code import Instruction
from profiler.analyse.code.hot_loop import PlacedOpcode, opcode_as_shown
from profiler.analyse.code.opcodes import JUMPS_BY_REGISTER, family_of

T = TypeVar("T")
Pair = tuple[T | None, T | None]
InstructionBlock = list[Instruction]

_ENDS = ("BAR", "RET", *JUMPS_BY_REGISTER)  # besides instructions that name their target
_ALIKE = 0.5  # for two runs of one family; if they are of one opcode, each instruction counts 1
_MOST_CELLS = 250_000  # a fifth of a second


def blocks_of(body: Sequence[Instruction]) -> list[InstructionBlock]:
    """Divides code into blocks. A block ends after a barrier, and where a branch or its target makes the following code run more or less often.

    Code that never ran is left out, so that a branch around it divides nothing.
    """
    targets = {instruction.target for instruction in body}
    blocks: list[InstructionBlock] = []
    is_divided = is_branched = False
    for instruction in body:
        is_branched |= instruction.offset in targets
        if instruction.executed:
            changes = is_branched and blocks and blocks[-1][-1].executed != instruction.executed
            if is_divided or changes or not blocks:
                blocks.append([])
            blocks[-1].append(instruction)
            is_divided = is_branched = False
        is_divided |= instruction.name in _ENDS and bool(instruction.executed)
        is_branched |= instruction.target is not None
    return blocks


def align_blocks(
    before: Sequence[InstructionBlock], after: Sequence[InstructionBlock]
) -> list[Pair[InstructionBlock]]:
    """Pairs blocks by the instructions that they have in common, so that large blocks find each other first."""

    def with_families(block: InstructionBlock) -> tuple[InstructionBlock, Counter[str]]:
        return block, Counter(family_of(opcode_as_shown(one)) for one in block)

    left, right = (list(map(with_families, side)) for side in (before, after))
    pairs = align(left, right, lambda one, other: float(sum((one[1] & other[1]).values())))
    return [(one and one[0], other and other[0]) for one, other in pairs]


def align_counts(before: Sequence[PlacedOpcode], after: Sequence[PlacedOpcode]) -> list[Pair[PlacedOpcode]]:
    """Pairs the opcodes of two blocks: those on both sides first, then those of one family."""
    left, right = ({one.opcode: one for one in side} for side in (before, after))
    partner = {opcode: opcode for opcode in left if opcode in right}
    free = [opcode for opcode in right if opcode not in left]
    for opcode in left:
        if opcode not in partner:
            alike = next((other for other in free if family_of(other) == family_of(opcode)), None)
            if alike is not None:
                partner[opcode] = alike
                free.remove(alike)
    rows: list[Pair[PlacedOpcode]] = [(one, right.get(partner.get(one.opcode, ""))) for one in before]
    place = 0
    for one in after:  # what only the right has keeps its predecessor there
        if one.opcode in free:
            rows.insert(place, (None, one))
        else:
            place = next(index for index, row in enumerate(rows) if row[1] is one)
        place += 1
    return rows


def align_instructions(
    before: Sequence[Instruction], after: Sequence[Instruction]
) -> list[Pair[Instruction]]:
    """Pairs instructions one by one: runs of the same opcode are aligned, and their instructions paired in order."""
    runs = [[tuple(run) for _, run in groupby(side, key=opcode_as_shown)] for side in (before, after)]
    rows: list[Pair[Instruction]] = []
    for left, right in align(runs[0], runs[1], _run_likeness):
        rows += zip_longest(left or (), right or ())
    return rows


def align(before: Sequence[T], after: Sequence[T], likeness: Callable[[T, T], float]) -> list[Pair[T]]:
    """Pairs entries in order so that the likeness of the pairs adds up to the most; a likeness of 0 never pairs.

    Sequences that are too long to try every pairing are aligned half by half.
    """
    rows, columns = len(before), len(after)
    if rows * columns > _MOST_CELLS:
        row, column = rows // 2, columns // 2
        return align(before[:row], after[:column], likeness) + align(before[row:], after[column:], likeness)
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    likenesses = [[likeness(one, other) for other in after] for one in before]
    for row in range(rows - 1, -1, -1):
        for column in range(columns - 1, -1, -1):
            gain = likenesses[row][column]
            paired = gain and gain + best[row + 1][column + 1]
            best[row][column] = max(best[row + 1][column], best[row][column + 1], paired)
    return list(_walk(before, after, best, likenesses))


def _walk(
    before: Sequence[T], after: Sequence[T], best: list[list[float]], likenesses: list[list[float]]
) -> Iterator[Pair[T]]:
    row = column = 0
    while row < len(before) and column < len(after):
        gain = likenesses[row][column]
        if gain and best[row][column] == gain + best[row + 1][column + 1]:
            yield before[row], after[column]
            row, column = row + 1, column + 1
        elif best[row][column] == best[row + 1][column]:
            yield before[row], None
            row += 1
        else:
            yield None, after[column]
            column += 1
    yield from ((one, None) for one in before[row:])
    yield from ((None, other) for other in after[column:])


def _run_likeness(one: Sequence[Instruction], other: Sequence[Instruction]) -> float:
    opcode, other_opcode = opcode_as_shown(one[0]), opcode_as_shown(other[0])
    if opcode == other_opcode:
        return float(min(len(one), len(other)))
    return _ALIKE if family_of(opcode) == family_of(other_opcode) else 0.0
