"""Which operand of a product is A, which B: read from how the result is stored.

In a row-major C = A B, an element of A serves neighbours in memory, and an element of B
does not. Where the code stores no two neighbours, as with one result a thread or a
column of them, nothing is named.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from profiler.analyse.code.code import Instruction
from profiler.analyse.code.opcodes import width_bits
from profiler.analyse.code.product import Product
from profiler.analyse.code.registers import register_of, words_from, written_registers

_STORES = ("STG", "ST")
_SCALED = ("MOV", "IMAD", "FMUL", "FADD", "FFMA")  # alpha * (A B) + beta * C is still that element
_ADDRESS = re.compile(r"\[(R\d+)(?:\.64)?(?:\+(-?0x[0-9a-f]+))?\]")
_WORD_BYTES = 4


def find_a(product: Product, after: Iterable[Instruction]) -> int | None:
    """0 or 1 for the operand that is A, given the instructions after the loop."""
    if product.operands is None:
        return None
    votes = set()
    for pair in _neighbours(after, product.exit_values):
        shared = [any(pair <= group for group in operand.across) for operand in product.operands]
        if shared[0] != shared[1]:
            votes.add(shared.index(True))
    return votes.pop() if len(votes) == 1 else None


def _neighbours(after: Iterable[Instruction], held: Mapping[str, int]) -> set[frozenset[int]]:
    """Pairs of accumulators that are stored side by side."""
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
    """Base register, offset and register of every word."""
    address, register = _ADDRESS.search(instruction.text), register_of(instruction.operands[-1])
    if address is None or register is None:
        return []
    words = words_from(register, (width_bits(instruction.opcode) or 0) // (8 * _WORD_BYTES))
    start = int(address[2] or "0", 16)
    return [(address[1], start + _WORD_BYTES * word, name) for word, name in enumerate(words)]


def _kept(instruction: Instruction, accumulator_in: Mapping[str, int]) -> int | None:
    """The accumulator whose value goes on under a new name."""
    if instruction.name not in _SCALED:
        return None
    sources = (register_of(operand) for operand in instruction.operands[1:])
    found = {accumulator_in[source] for source in sources if source and source in accumulator_in}
    return found.pop() if len(found) == 1 else None
