"""Traces the outer product in a hot loop: its accumulators, its steps, and what loads each operand.

The loop's instructions in; a `Product` out, or None if multiplications do not all accumulate in the same way. Nothing
here knows a kernel: accumulators are the values that an FMA adds to and hands round the loop, and an operand is every
load that feeds one side.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from profiler.analyse.code.code import Instruction
from profiler.analyse.code.opcodes import fmas_of
from profiler.analyse.code.operands import Groups, Multiplication, find_a, split_operands
from profiler.analyse.code.registers import (
    NOTHING,
    LoopValue,
    LoopValues,
    Registers,
    follow_loop,
    register_of,
)

_ADDRESS_REGISTER = re.compile(r"(?<=[\[+])U?R\d+")
_LOADS = ("LDS", "LDSM", "LDG", "LD", "LDL")


@dataclass(frozen=True)
class Operand:
    """One side of the product. `across` are the groups of accumulators that share an element."""

    loads: tuple[Instruction, ...]
    across: Groups


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
    """Returns the product that a loop of these instructions computes, or None if its FMAs do not all accumulate alike."""
    fmas: dict[int, _Fma] = {}
    addresses: dict[int, object] = {}
    state: Registers = {}
    for position, state in follow_loop(body):
        if position == len(body):
            break
        one = body[position]
        if fmas_of(one) and len(one.operands) > 3:
            factors = (register_of(operand) or "" for operand in one.operands[1:4])
            fmas[position] = _Fma(*(state.get(register, NOTHING) for register in factors))
        if one.name in _LOADS:  # addresses are compared without what is added to their registers
            names = _ADDRESS_REGISTER.findall(one.text)
            addresses[position] = frozenset((name, state.get(name)) for name in names)
    accumulator_of = _accumulators(fmas)
    lengths = set(Counter(accumulator_of.values()).values())
    if len(lengths) != 1 or len(accumulator_of) < sum(bool(fmas_of(one)) for one in body):
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
