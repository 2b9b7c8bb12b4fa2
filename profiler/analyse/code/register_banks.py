"""Counts the cycles in which an instruction reads its registers, of which each bank of the register file delivers one a cycle.

There are two banks since Volta, the even and the odd registers (Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via
Microbenchmarking", 2018). On an H200, multiply-adds of three different registers take three cycles each where all are in one
bank and two otherwise; of two registers, two in one bank and one otherwise (tests/data/causes/register_banks.py). A register
that the next instruction reads in the same place among its operands can be kept for it; the compiler marks such operands with
`.reuse`, and reports leave these marks out of the machine code. So all are taken to be kept.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from profiler.analyse.code.code import Instruction
from profiler.analyse.code.registers import register_of

_PREDICATE = re.compile(r"!?U?P(T|\d+)")


class ReadCycles(NamedTuple):
    """The cycles that reading takes, and those that it would take with the registers divided between the banks."""

    taken: int
    fewest: int


def count_read_cycles(function: Sequence[Instruction]) -> Iterator[ReadCycles]:
    """Yields the cycles of each instruction; of one that reads whole pairs, they are not known to be right."""
    kept: set[tuple[int, str]] = set()
    for instruction in function:
        sources = [one for one in instruction.operands[1:] if not _PREDICATE.fullmatch(one)]
        places = {(place, name) for place, one in enumerate(sources) if (name := register_of(one))}
        read = {name for _, name in places - kept}
        odd = sum(int(name[1:]) % 2 for name in read)
        yield ReadCycles(max(1, odd, len(read) - odd), max(1, math.ceil(len(read) / 2)))
        kept = places
