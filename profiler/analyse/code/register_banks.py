"""Counts the cycles in which instructions read their registers: each bank of the register file delivers one a cycle.

There are two banks since Volta, the even and the odd registers (Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via
Microbenchmarking", 2018). On an H200, a multiply-add takes as many cycles as it reads registers from one bank: three if all three are
in one bank, and two otherwise (tests/data/causes/register_banks.py). A register that the next instruction reads in
the same place among its operands can be kept for it. The compiler marks such operands with `.reuse`. Reports leave these marks out of
the machine code, so all such registers are taken to be kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain, repeat, zip_longest
from typing import NamedTuple

from profiler.analyse.code.code import KEPT, Instruction
from profiler.analyse.code.registers import is_predicate, register_of

# The number of instructions whose reads wait for each other. On an H200, compiled code that reads as much from both banks takes 1.32
# cycles an instruction. If each instruction had to wait by itself, it would take 1.54; if sixteen wait together, 1.31.
_WINDOW = 16


class ReadCycles(NamedTuple):
    """The cycles that reading takes, and how many it would take with the registers divided between the banks."""

    taken: float
    fewest: float


def count_read_cycles(function: Sequence[Instruction]) -> Iterator[ReadCycles]:
    """Yields the cycles of each instruction, as its share of the cycles of its neighbourhood; a pair of registers counts as one."""
    reads = list(_reads(function))
    for start in range(0, len(reads), _WINDOW):
        window = reads[start : start + _WINDOW]
        even, odd, count = sum([one for one, _ in window]), sum([one for _, one in window]), len(window)
        cycles = ReadCycles(max(count, even, odd) / count, max(count, (even + odd) / 2) / count)
        yield from repeat(cycles, count)


def _reads(function: Sequence[Instruction]) -> Iterator[tuple[int, int]]:
    """Yields how many even and how many odd registers each instruction reads."""
    kept: list[int | None] = []
    for instruction in function:
        places = list(chain.from_iterable(map(_place_of, instruction.operands[1:])))
        read = {one for one, before in zip_longest(places, kept) if one is not None and one != before}
        odd = sum([register % 2 for register in read])
        yield len(read) - odd, odd
        kept = places


@lru_cache(maxsize=KEPT)
def _place_of(operand: str) -> tuple[int | None, ...]:
    """Returns the number of the register that a source names, or None if it is no register. A predicate has no place among sources: ()."""
    if is_predicate(operand):
        return ()
    register = register_of(operand)
    return (int(register[1:]) if register else None,)
