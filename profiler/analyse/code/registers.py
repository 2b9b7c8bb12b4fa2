"""Follows the values in registers as a loop runs.

A value is written as (position in the loop, word): the second register of the LDS.128 at
position 7 holds (7, 1). A register may hold one of several, behind a predicate.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from profiler.analyse.code.code import Instruction, operands_of
from profiler.analyse.code.opcodes import WORD_BITS, width_bits, words_of_product

LoopValue = tuple[int, int]
LoopValues = frozenset[LoopValue]
Registers = dict[str, LoopValues]

_REGISTER = re.compile(r"(?<![A-Z])R\d+")
REGISTER = re.compile(r"U?R\d+")  # a uniform one too
_NAMED = re.compile(r"(?<![\w.])U?R\d+")
_PAIR = re.compile(r"(?<![\w.])R(\d+)\.64")
_PREDICATE = re.compile(r"!?U?P(T|\d+)")
_COPIES = {"MOV": 1, "IMAD.MOV.U32": 3, "IMAD.MOV": 3}  # and which operand is copied
_WRITE_NO_REGISTER = frozenset({"BAR", "BRX", "CALL", "JMX", "NANOSLEEP", "R2P", "RET", "WARPSYNC"})
# Their first operand is a predicate they write, and the register comes after it.
_WRITE_BOTH = frozenset({"ATOM", "ATOMG", "ATOMS", "MATCH", "SHFL", "VOTE"})
_PAIRS = re.compile(r"^D(ADD|FMA|MUL)\b|^[FI]2F\.F64|^F2I\.[US]64|^CS2R(?!\.32)|\.WIDE|\.64\b")
_OF_DOUBLES = ("DADD", "DMUL", "DFMA", "DSETP", "DMNMX")
_FROM_PAIRS = re.compile(r"F2[FI]\b.*\.F64\b(?!\.F)|I2F\b.*\.[US]64\b")
_ADDED_TO_PAIRS = ("IMAD.WIDE", "IMAD.HI", "UIMAD.WIDE", "UIMAD.HI")
_NEVER_ACTS = "@!PT "
_TIMES_ROUND = 3  # one iteration to fill the registers, one by which a copy may lag, and the one that counts
NOTHING: LoopValues = frozenset()


def register_of(operand: str) -> str | None:
    """Returns R12 for `-R12.reuse` and `|R12|`; the zero register holds no value."""
    match = _REGISTER.search(operand)
    return match.group() if match and "[" not in operand else None


def is_predicate(operand: str) -> bool:
    """Returns whether an operand is a predicate, such as P0, !UP1 or PT."""
    return _PREDICATE.fullmatch(operand) is not None


def written_registers(instruction: Instruction) -> tuple[str, ...]:
    """Returns the registers that an instruction writes, uniform ones too."""
    return _written_by(instruction.opcode, instruction.text)


@lru_cache(maxsize=16_384)
def _written_by(opcode: str, text: str) -> tuple[str, ...]:
    """Returns the registers that the text of an instruction writes; kept, because several analyses ask for them."""
    name = opcode.partition(".")[0]
    if name in _WRITE_NO_REGISTER or text.startswith(_NEVER_ACTS):
        return ()
    operands = operands_of(text)
    if name in _WRITE_BOTH:
        operands = [operand for operand in operands if not is_predicate(operand)]
    first = REGISTER.match(operands[0]) if operands else None
    return tuple(words_from(first.group(), _words_written(opcode))) if first else ()


def read_registers(instruction: Instruction) -> frozenset[str]:
    """Returns the registers in the operands, also those that are written too; all of a pair or a group of which the first one is named."""
    return _read_by(instruction.opcode, instruction.text)


@lru_cache(maxsize=16_384)
def _read_by(opcode: str, text: str) -> frozenset[str]:
    operands = operands_of(text)
    named_in = ", ".join(operands)  # and not in the opcode, such as R2UR
    named = {*_NAMED.findall(named_in), *(f"R{int(number) + 1}" for number in _PAIR.findall(named_in))}
    for place, words in _words_read(opcode, operands).items():
        first = REGISTER.search(operands[place]) if place < len(operands) else None
        if first and "[" not in operands[place]:
            named.update(words_from(first.group(), words))
    return frozenset(named)


def _words_read(opcode: str, operands: Sequence[str]) -> dict[int, int]:
    """Returns by its place how many registers an operand stands for, where it is more than the one that is named."""
    count = len(operands)
    name = opcode.partition(".")[0]
    width = width_bits(opcode)
    if width is not None:
        # Only what is stored, or handed to an atomic, follows an address.
        address = next((place for place, one in enumerate(operands) if "[" in one), count)
        words = width // WORD_BITS
        return dict.fromkeys(range(address + 1, count), words) if words > 1 else {}
    if shape := words_of_product(opcode):
        _, left, right, added = shape
        # A factor in shared memory has a descriptor; if the first one has, it is that of both.
        is_described = count > 1 and operands[1].startswith("gdesc")
        return {2: added} if is_described else {1: left, 2: right, 3: added}
    if name in _OF_DOUBLES:
        return dict.fromkeys(range(1, count), 2)
    if _FROM_PAIRS.match(opcode):
        return {1: 2}
    # The sum to which a product of 64 bits, or its upper half, is added.
    return {count - 1: 2} if opcode.startswith(_ADDED_TO_PAIRS) else {}


def only_written(instruction: Instruction) -> frozenset[str]:
    """Returns the registers of the first operand, unless others name them too."""
    return _only_written_by(instruction.opcode, instruction.text)


@lru_cache(maxsize=16_384)
def _only_written_by(opcode: str, text: str) -> frozenset[str]:
    if not _written_by(opcode, text):
        return frozenset()
    first, *others = operands_of(text)
    return frozenset(_NAMED.findall(first)).difference(_NAMED.findall(", ".join(others)))


def inputs_of(instruction: Instruction) -> frozenset[str]:
    """Returns the registers whose values an instruction takes."""
    return _inputs_by(instruction.opcode, instruction.text)


@lru_cache(maxsize=16_384)
def _inputs_by(opcode: str, text: str) -> frozenset[str]:
    return _read_by(opcode, text) - _only_written_by(opcode, text)


def words_from(register: str, words: int) -> list[str]:
    """Returns R4 and R5 for two words from R4; of uniform registers, UR4 and UR5."""
    file, number = ("UR", register[2:]) if register.startswith("U") else ("R", register[1:])
    return [f"{file}{one}" for one in range(int(number), int(number) + words)]


def _words_written(opcode: str) -> int:
    width = width_bits(opcode)
    if width is not None:
        return max(1, width // 32)
    if shape := words_of_product(opcode):
        return shape[0]
    return 2 if _PAIRS.search(opcode) else 1


def follow_loop(body: Sequence[Instruction]) -> Iterator[tuple[int, Registers]]:
    """Yields each position with the registers before it, in a loop that has been running for a while.

    Past the last position comes the state in which the loop is left. The state is one
    object, which changes as the loop goes on.
    """
    writes = [(written_registers(one), _copied_register(one), one.predicate is None) for one in body]
    state: Registers = {}
    for time in range(_TIMES_ROUND):
        for position, (written, copied, is_certain) in enumerate(writes):
            if time == _TIMES_ROUND - 1:
                yield position, state
            for word, register in enumerate(written):
                values = frozenset({(position, word)}) if copied is None else state.get(copied, NOTHING)
                state[register] = values if is_certain else values | state.get(register, NOTHING)
    yield len(body), state


def _copied_register(instruction: Instruction) -> str | None:
    """Returns the register that an instruction copies, if it does nothing else."""
    index = _COPIES.get(instruction.opcode, len(instruction.operands))
    return register_of(instruction.operands[index]) if index < len(instruction.operands) else None
