"""Follows the values in registers as a loop runs.

A value is written as (position in the loop, word): the second register of the LDS.128 at
position 7 holds (7, 1). A register may hold one of several, behind a predicate.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from profiler.analyse.code.code import KEPT, Instruction, parse_text
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
_WRITE_NO_REGISTER = frozenset({"BAR", "BRA", "BRX", "CALL", "JMX", "NANOSLEEP", "RET", "WARPSYNC"})
_WRITE_PREDICATES = re.compile(r"U?[A-Z]SETP2?|FCHK")  # and compare the registers that follow
_OF_TEXTURES = frozenset({"TEX", "TLD", "TLD4", "TXD"})
_WHOLE_TEXEL = 0b1111
_PAIRS = re.compile(
    r"^(D(ADD|FMA|MUL)|F(ADD|FMA|MUL)2|LEPC)\b|^([FI]2F|FRND)\.F64|^F2I\.[US]64|^CS2R(?!\.32)"
    r"|^IMNMX\.[SU]64|\.TRANS64\b|\.WIDE|\.64\b"
)
_OF_DOUBLES = ("DADD", "DMUL", "DFMA", "DSETP", "DMNMX")
_OF_WIDE_INTEGERS = re.compile(r"U?(IADD3?|IMNMX|ISETP|MOV|SEL)\b.*\.[SU]?64\b|MATCH\..*\.U64\b")
_TWO_FLOATS = ".F32x2"
_FROM_PAIRS = re.compile(r"(F2[FI]|FRND)\b.*\.F64\b(?!\.F)|I2F\b.*\.[US]64\b")
_ADDED_TO_PAIRS = ("IMAD.WIDE", "IMAD.HI", "UIMAD.WIDE", "UIMAD.HI")
_NEVER_ACTS = "@!PT "
_TIMES_ROUND = 3  # one iteration to fill the registers, one by which a copy may lag, and the one that counts
_JUST_ASKED = (
    8  # what is written is asked three times in a row, by what an instruction writes, reads, and only writes
)
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
    return written_by(instruction.text)


@lru_cache(maxsize=KEPT)
def written_by(text: str) -> tuple[str, ...]:
    """Returns the registers that the text of an instruction writes; kept, because several analyses ask for them."""
    if text.startswith(_NEVER_ACTS):
        return ()
    _, opcode, operands = parse_text(text)
    registers = (
        (REGISTER.match(operands[place]), words) for place, words in _words_written(opcode, operands).items()
    )
    return tuple(word for first, words in registers if first for word in words_from(first.group(), words))


def read_registers(instruction: Instruction) -> frozenset[str]:
    """Returns the registers in the operands, also those that are written too; all of a pair or a group of which the first one is named."""
    return _read_by(instruction.text)


@lru_cache(maxsize=KEPT)
def _read_by(text: str) -> frozenset[str]:
    _, opcode, operands = parse_text(text)
    named_in = ", ".join(operands)  # and not in the opcode, such as R2UR
    named = {*_NAMED.findall(named_in), *(f"R{int(number) + 1}" for number in _PAIR.findall(named_in))}
    for place, words in _words_read(opcode, operands).items():
        first = REGISTER.search(operands[place]) if place < len(operands) else None
        if first and "[" not in operands[place]:
            named.update(words_from(first.group(), words))
    return frozenset(named)


def _words_read(opcode: str, operands: tuple[str, ...]) -> dict[int, int]:
    """Returns by its place how many registers an operand stands for, where it is more than the one that is named."""
    count = len(operands)
    name = opcode.partition(".")[0]
    width = width_bits(opcode)
    if _OF_WIDE_INTEGERS.match(opcode):
        return dict.fromkeys(set(range(count)) - set(_words_written(opcode, operands)), 2)
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
    if pairs := [place for place, one in enumerate(operands) if _TWO_FLOATS in one]:
        return dict.fromkeys(pairs, 2)
    # The sum to which a product of 64 bits, or its upper half, is added.
    return {count - 1: 2} if opcode.startswith(_ADDED_TO_PAIRS) else {}


def only_written(instruction: Instruction) -> frozenset[str]:
    """Returns the registers that an instruction names to write them, unless other operands name them too."""
    return _only_written_by(instruction.text)


@lru_cache(maxsize=KEPT)
def _only_written_by(text: str) -> frozenset[str]:
    if not written_by(text):
        return frozenset()
    _, opcode, operands = parse_text(text)
    places = _words_written(opcode, operands)
    written = ", ".join(operands[place] for place in places)
    others = ", ".join(one for place, one in enumerate(operands) if place not in places)
    return frozenset(_NAMED.findall(written)).difference(_NAMED.findall(others))


def inputs_of(instruction: Instruction) -> frozenset[str]:
    """Returns the registers whose values an instruction takes."""
    return inputs_in(instruction.text)


@lru_cache(maxsize=KEPT)
def inputs_in(text: str) -> frozenset[str]:
    return _read_by(text) - _only_written_by(text)


def words_from(register: str, words: int) -> list[str]:
    """Returns R4 and R5 for two words from R4; of uniform registers, UR4 and UR5."""
    file, number = ("UR", register[2:]) if register.startswith("U") else ("R", register[1:])
    return [f"{file}{one}" for one in range(int(number), int(number) + words)]


@lru_cache(maxsize=_JUST_ASKED)
def _words_written(opcode: str, operands: tuple[str, ...]) -> Mapping[int, int]:
    """Returns by its place how many registers an operand stands for, where the instruction writes it.

    The predicates that an instruction writes too, as SHFL, MATCH, LOP3 and ATOMG do, stand before its register.
    """
    name = opcode.partition(".")[0]
    place = next((place for place, one in enumerate(operands) if not is_predicate(one)), None)
    if place is None or name in _WRITE_NO_REGISTER or _WRITE_PREDICATES.fullmatch(name):
        return {}
    if name in _OF_TEXTURES:
        # The third and the fourth value wanted go to the register that is named first.
        mask = int(operands[-1], 16) if operands[-1].startswith("0x") else _WHOLE_TEXEL
        first = min(mask.bit_count(), 2)
        return {place: mask.bit_count() - first, place + 1: first}
    width = width_bits(opcode)
    if width is not None:
        return {place: max(1, width // WORD_BITS)}
    if shape := words_of_product(opcode):
        return {place: shape[0]}
    return {place: 2 if _PAIRS.search(opcode) else 1}


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
