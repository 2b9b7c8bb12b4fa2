"""Follows the values in registers as a loop runs.

A value is written as (position in the loop, word): the second register of the LDS.128 at
position 7 holds (7, 1). A register may hold one of several, behind a predicate.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from itertools import chain, pairwise
from math import inf
from typing import NamedTuple

from profiler.analyse.code.code import KEPT, NEVER, Instruction, parse_text
from profiler.analyse.code.opcodes import JUMPS, WORD_BITS, width_bits, words_of_product

LoopValue = tuple[int, int]
LoopValues = frozenset[LoopValue]
Registers = dict[str, LoopValues]

_REGISTER = re.compile(r"(?<![A-Z])R\d+")
REGISTER = re.compile(r"U?R\d+")  # a uniform one too
_NAMED = re.compile(r"(?<![\w.])U?R\d+")
_PAIR = re.compile(r"(?<![\w.])R(\d+)\.64")
_PREDICATE = re.compile(r"(?<![\w])U?P\d")
_ONLY_PREDICATE = re.compile(r"!?U?P(T|\d+)")
_COPIES = {"MOV": 1, "IMAD.MOV.U32": 3, "IMAD.MOV": 3}  # and which operand is copied
_WRITE_NO_REGISTER = JUMPS | {"BAR", "NANOSLEEP"}
_WRITE_PREDICATES = re.compile(r"U?[A-Z]SETP2?|FCHK")  # and compare the registers that follow
# The sum of three words has two carries, which stand behind it: `IADD3 R12, P0, P1, R18, UR7, R13`.
_TWO_CARRIES = re.compile(r"U?IADD3\b")
_OF_TEXTURES = frozenset({"TEX", "TLD", "TLD4", "TXD"})
_WHOLE_TEXEL, _MASK = 0b1111, re.compile("0x[0-9a-f]+")
# The dimensions of a texture stand behind its coordinates. These lie in as many registers, from the named one on: `TEX RZ, R8, R8, R7,
# UR4, 0x0.ARRAY_2D, 0x1` takes the layer from R8, x from R9 and y from R10.
_DIMENSIONS = re.compile(r"(?:^|\.)(ARRAY_)?(?:([123])D|CUBE)$")
_OF_CUBE = 3
_PAIRS = re.compile(
    r"^(D(ADD|FMA|MUL)|F(ADD|FMA|MUL)2|LEPC)\b|^([FI]2F|FRND)\.F64|^F2I\.[US]64|^CS2R(?!\.32)"
    r"|^IMNMX\.[SU]64|\.TRANS64\b|\.WIDE|\.64\b"
)
_OF_DOUBLES = ("DADD", "DMUL", "DFMA", "DSETP", "DMNMX")
_OF_WIDE_INTEGERS = re.compile(r"U?(IADD3?|IMNMX|ISETP|MOV|SEL)\b.*\.[SU]?64\b|MATCH\..*\.U64\b")
_TWO_FLOATS = ".F32x2"
# Four uniform registers describe where the factors of four warps' product lie in shared memory: `HGMMA.64x64x16.F32 R24, gdesc[UR8], R24`
# reads the address of the first one from UR8 and UR9, and of the second from UR10 and UR11. If registers hold the first factor, nothing
# reads its address, and compilers keep other values there.
_DESCRIBED, _WORDS_OF_PLACE = "gdesc[", 2
_OF_FOUR_WARPS = re.compile(r"[A-Z]GMMA\b")
# Consecutive uniform registers say which tile of a tensor is copied: `UTMALDG.2D [UR16], [UR28]` takes the address in shared memory from
# UR16, that of the barrier from UR17, and the coordinates from UR18 and UR19. A copy to global memory, UTMASTG, needs no barrier. The
# address of the tensor's descriptor is in UR28 and UR29.
_OF_TENSORS = re.compile(r"UTMA(LD|ST|RED)G\.(\d)D")
_FROM_PAIRS = re.compile(r"(F2[FI]|FRND)\b.*\.F64\b(?!\.F)|I2F\b.*\.[US]64\b")
_ADDED_TO_PAIRS = ("IMAD.WIDE", "IMAD.HI", "UIMAD.WIDE", "UIMAD.HI")
_CLEARS_LOWER_HALF = re.compile(r"PRMT (R\d+), RZ, 0x7610, \1(\.reuse)?")
_TIMES_ROUND = 3  # one iteration to fill the registers, one by which a copy may lag, and the one that counts
NOTHING: LoopValues = frozenset()
_NO_NAMES: frozenset[str] = frozenset()


def register_of(operand: str) -> str | None:
    """Returns R12 for `-R12.reuse` and `|R12|`; the zero register holds no value."""
    match = _REGISTER.search(operand)
    return match.group() if match and "[" not in operand else None


@lru_cache(maxsize=KEPT)
def is_predicate(operand: str) -> bool:
    """Returns whether an operand is a predicate, such as P0, !UP1 or PT."""
    return _ONLY_PREDICATE.fullmatch(operand) is not None


@lru_cache(maxsize=KEPT)
def opposite_of(predicate: str) -> str:
    """Returns `!P0` for `P0`, and `P0` for `!P0`."""
    return predicate[1:] if predicate.startswith("!") else f"!{predicate}"


class RegisterUse(NamedTuple):
    """Lists the registers and predicates that an instruction reads and writes."""

    written: tuple[str, ...]  # registers
    named_to_write: tuple[str, ...]  # registers that name its results: of a group, only the first
    inputs: frozenset[str]  # registers whose values it takes
    # The predicates that it is under or chooses by. The first two or three operands are results, if they are predicates.
    predicates_read: frozenset[str]
    predicates_written: frozenset[str]
    taken: frozenset[str]  # registers and predicates that it reads
    results: frozenset[str]  # registers and predicates that it writes

    @property
    def named(self) -> frozenset[str]:
        """Returns the registers in the operands; where it reads a pair or a group, of which the first is named, all of them."""
        return self.inputs.union(self.named_to_write)

    @property
    def only_written(self) -> frozenset[str]:
        """Returns the registers that operands name to write them, unless others name them too."""
        return self.named - self.inputs


@lru_cache(maxsize=KEPT)
def use_of(text: str) -> RegisterUse:
    """Returns what the text of an instruction says of registers and predicates; kept, because many analyses ask for it."""
    predicate, opcode, operands = parse_text(text)
    results = {} if predicate == NEVER else _words_written(opcode, operands)
    written = tuple(_registers_at(results, operands))
    if not written:
        results = {}  # such as the address of a store, which is read
    names = _names_in_all(opcode, operands)
    others = [one.registers for place, one in enumerate(names) if place not in results]
    inputs = _NO_NAMES.union(_registers_at(_words_read(opcode, operands), operands), *others)
    first_read = 3 if _TWO_CARRIES.match(opcode) else 2
    predicates_read = _predicates_of([_names_in(predicate or ""), *names[first_read:]])
    predicates_written = _predicates_of(names[:first_read])
    return RegisterUse(
        written=written,
        named_to_write=tuple([register for place in results for register in names[place].registers]),
        inputs=inputs,
        predicates_read=predicates_read,
        predicates_written=predicates_written,
        taken=inputs | predicates_read if predicates_read else inputs,
        results=predicates_written.union(written),
    )


def _predicates_of(names: Iterable[_Names]) -> frozenset[str]:
    some = [one.predicates for one in names if one.predicates]
    return _NO_NAMES.union(*some) if some else _NO_NAMES


def uses_in(code: Sequence[Instruction]) -> list[RegisterUse]:
    """Returns what consecutive instructions say of registers and predicates.

    If a predicate may turn off a load of a half or a byte, compilers first set its result to zero: `PRMT R4, RZ, 0x7610, R4` before
    `@P0 LDG.E.U16 R4, [R2]`. The PRMT keeps the upper half of R4, but nothing needs it, because the load replaces it. Where R4 has two
    values, the same instruction does read one of them.

    A call takes what the called function reads before writing it, and gives all that is written there, if the function computes in
    registers alone, as `pow` does. Calls on a slow path, which jump past the fast one, are left out: they would hide where the
    registers of the fast path come from.
    """
    uses = [use_of(one.text) for one in code]
    for place, one in enumerate(code):
        clears = _CLEARS_LOWER_HALF.fullmatch(one.text) if one.name == "PRMT" else None
        if clears and _is_half_loaded_next(clears[1], _behind(code, place)):
            uses[place] = use_of(f"MOV {clears[1]}, RZ")
    calls = {place: one.called for place, one in enumerate(code) if one.name == "CALL"}
    called = _uses_of_called(code, {target for target in calls.values() if target is not None})
    for place, target in calls.items():
        if target in called and not _jumps_on(_behind(code, place)):
            uses[place] = called[target]
    return uses


def _behind(code: Sequence[Instruction], place: int) -> Iterator[Instruction]:
    """Yields the instructions behind a place one by one, of which few are looked at."""
    return map(code.__getitem__, range(place + 1, len(code)))


def _jumps_on(code: Iterable[Instruction]) -> bool:
    """Returns whether the next jump, or BSYNC, where ways meet, is a jump past other code without a predicate."""
    first = next((one for one in code if one.name in JUMPS or one.name == "BSYNC"), None)
    if first is None or first.name != "BRA" or first.predicate is not None:
        return False
    return (first.target or 0) > first.offset  # back, it ends a turn of a loop


def _uses_of_called(code: Sequence[Instruction], starts: Set[int]) -> dict[int, RegisterUse]:
    """Returns by offset what each function that computes in registers alone takes and gives, as if it were one instruction.

    A function that calls others is left out: its own code does not say what it takes and gives.
    """
    found: dict[int, RegisterUse] = {}
    for start, end in pairwise([*sorted(starts), inf]):
        body = [one for one in code if start <= one.offset < end]
        if not any(one.name == "CALL" or width_bits(one.opcode) for one in body):
            found[int(start)] = _joined(body)
    return found


def _joined(code: Sequence[Instruction]) -> RegisterUse:
    """Returns what consecutive instructions take from those before them, and give to those behind.

    What is written under a predicate is new for reads under the same one. For others, it is new if it is written under the opposite one
    too. Branches are not followed: what one of their sides writes passes for written.
    """
    uses = [use_of(one.text) for one in code]
    taken: set[str] = set()
    replaced: set[str] = set()
    in_some: dict[str, str] = {}  # by register that is new in some lanes, their predicate
    for one, use in zip(code, uses, strict=True):
        guard = one.predicate
        taken |= use.taken - replaced - {name for name, held in in_some.items() if held == guard}
        if guard is None:
            replaced |= use.results
        else:
            replaced |= {name for name in use.results if in_some.get(name) == opposite_of(guard)}
            in_some |= dict.fromkeys(use.results, guard)
        in_some = {name: held for name, held in in_some.items() if held.removeprefix("!") not in use.results}
    results = frozenset[str]().union(*(use.results for use in uses))
    written = tuple(dict.fromkeys(chain.from_iterable(use.written for use in uses)))
    registers = frozenset(filter(REGISTER.fullmatch, taken))
    return RegisterUse(
        written=written,
        named_to_write=written,
        inputs=registers,
        predicates_read=frozenset(taken) - registers,
        predicates_written=results.difference(written),
        taken=frozenset(taken),
        results=results,
    )


def _is_half_loaded_next(register: str, code: Iterable[Instruction]) -> bool:
    """Returns whether the next instruction that names a register loads at most a half to it, with no jump before."""
    for one in code:
        use = use_of(one.text)
        if one.name in JUMPS:
            return False
        if register in use.named or register in use.written:
            return register in use.only_written and 2 * (width_bits(one.opcode) or WORD_BITS) <= WORD_BITS
    return False


class _Names(NamedTuple):
    """The registers and the predicates that an operand names, with both registers of a pair: R4 and R5 for R4.64."""

    registers: tuple[str, ...]
    predicates: frozenset[str]


def _names_in_all(opcode: str, operands: tuple[str, ...]) -> list[_Names]:
    if copies := _OF_TENSORS.match(opcode):
        counts = (1 + (copies[1] == "LD") + int(copies[2]), 2)
        both = [words_from(one.strip("[]"), count) for one, count in zip(operands, counts, strict=False)]
        return [*(_Names(tuple(one), _NO_NAMES) for one in both), *map(_names_in, operands[2:])]
    if not _OF_FOUR_WARPS.match(opcode):
        return [_names_in(one) for one in operands]
    result, *factors = operands
    described = [_described_by(one, place) or _names_in(one) for place, one in enumerate(factors)]
    return [_names_in(result), *described]


@lru_cache(maxsize=KEPT)
def _names_in(text: str) -> _Names:
    seconds = [f"R{int(number) + 1}" for number in _PAIR.findall(text)]
    return _Names((*_NAMED.findall(text), *seconds), frozenset(_PREDICATE.findall(text)))


def _described_by(operand: str, place: int) -> _Names | None:
    """Returns the registers that say where factors of a product lie: of both in the first operand, and of the second alone behind another."""
    first = REGISTER.search(operand)
    if first is None or not operand.startswith(_DESCRIBED):
        return None
    both = words_from(first.group(), 2 * _WORDS_OF_PLACE)
    return _Names(tuple(both[_WORDS_OF_PLACE:] if place else both), _NO_NAMES)


def _registers_at(words: Mapping[int, int], operands: tuple[str, ...]) -> list[str]:
    """Returns all registers of the operands at these places, each of which takes so many `words`."""
    return [
        register
        for place, count in words.items()
        if place < len(operands)
        for register in _words_in(operands[place], count)
    ]


@lru_cache(maxsize=KEPT)
def _words_in(operand: str, words: int) -> list[str]:
    """Returns the registers of a value that takes so many; its operand names the first, perhaps behind a sign. An address has none."""
    first = REGISTER.search(operand)
    return words_from(first.group(), words) if first and "[" not in operand else []


def predicates_in(text: str) -> frozenset[str]:
    """Returns the predicates that a text names: of an operand, or of a whole instruction."""
    return _names_in(text).predicates


def written_registers(instruction: Instruction) -> tuple[str, ...]:
    """Returns the registers that an instruction writes, uniform ones too."""
    return use_of(instruction.text).written


def read_registers(instruction: Instruction) -> frozenset[str]:
    """Returns the registers in the operands, also those that are written too; all of a pair or a group of which the first one is named."""
    return use_of(instruction.text).named


def words_from(register: str, words: int) -> list[str]:
    """Returns R4 and R5 for two words from R4; of uniform registers, UR4 and UR5."""
    file, number = ("UR", register[2:]) if register.startswith("U") else ("R", register[1:])
    return [f"{file}{one}" for one in range(int(number), int(number) + words)]


def _words_read(opcode: str, operands: tuple[str, ...]) -> Mapping[int, int]:
    """Returns by its place how many registers an operand stands for, where it is more than the one that is named."""
    count = len(operands)
    if opcode.partition(".")[0] in _OF_TEXTURES:
        return {max(_words_written(opcode, operands), default=0) + 1: _count_coordinates(operands)}
    if pairs := [place for place, one in enumerate(operands) if _TWO_FLOATS in one]:
        return dict.fromkeys(pairs, 2)
    if not operands or _reads_single_words(opcode):
        return {}
    if _OF_WIDE_INTEGERS.match(opcode):
        return dict.fromkeys(set(range(count)) - set(_words_written(opcode, operands)), 2)
    if width := width_bits(opcode):
        # Only what is stored, or handed to an atomic, follows an address.
        address = next((place for place, one in enumerate(operands) if "[" in one), count)
        return dict.fromkeys(range(address + 1, count), width // WORD_BITS)
    if shape := words_of_product(opcode):
        _, left, right, added = shape
        # A factor in shared memory has a descriptor; if the first one has, it is that of both.
        is_described = count > 1 and operands[1].startswith(_DESCRIBED)
        return {2: added} if is_described else {1: left, 2: right, 3: added}
    if opcode.partition(".")[0] in _OF_DOUBLES:
        return dict.fromkeys(range(1, count), 2)
    # Last is the sum to which a product of 64 bits, or its upper half, is added.
    return {1 if _FROM_PAIRS.match(opcode) else count - 1: 2}


def _count_coordinates(operands: tuple[str, ...]) -> int:
    """Returns how many coordinates a texture has, its layer included."""
    found = next((found for one in operands if (found := _DIMENSIONS.search(one))), None)
    return int(found[2] or _OF_CUBE) + bool(found[1]) if found else 1


@lru_cache(maxsize=KEPT)
def _reads_single_words(opcode: str) -> bool:
    """Returns whether every operand of an opcode stands for the one register that it names."""
    width = width_bits(opcode)
    if _OF_WIDE_INTEGERS.match(opcode) or width is not None:
        return width is not None and width <= WORD_BITS
    return not (
        words_of_product(opcode)
        or opcode.partition(".")[0] in _OF_DOUBLES
        or _FROM_PAIRS.match(opcode)
        or opcode.startswith(_ADDED_TO_PAIRS)
    )


def _words_written(opcode: str, operands: tuple[str, ...]) -> Mapping[int, int]:
    """Returns by its place how many registers an operand stands for, where the instruction writes it.

    The predicates that an instruction writes too, as SHFL, MATCH, LOP3 and ATOMG do, stand before its register.
    """
    words = _words_of_result(opcode)
    place = 0
    while place < len(operands) and is_predicate(operands[place]):
        place += 1
    if not words or place == len(operands):
        return {}
    if opcode.partition(".")[0] in _OF_TEXTURES:
        # The third and the fourth value wanted go to the register that is named first. Without a mask, something else stands last.
        mask = int(operands[-1], 16) if _MASK.fullmatch(operands[-1]) else _WHOLE_TEXEL
        first = min(mask.bit_count(), 2)
        return {place: mask.bit_count() - first, place + 1: first}
    return {place: words}


@lru_cache(maxsize=KEPT)
def _words_of_result(opcode: str) -> int:
    """Returns how many registers the result of an opcode takes; 0 if it writes none."""
    name = opcode.partition(".")[0]
    if name in _WRITE_NO_REGISTER or _WRITE_PREDICATES.fullmatch(name):
        return 0
    width = width_bits(opcode)
    if width is not None:
        return max(1, width // WORD_BITS)
    if shape := words_of_product(opcode):
        return shape[0]
    return 2 if _PAIRS.search(opcode) else 1


def follow_loop(body: Sequence[Instruction]) -> Iterator[tuple[int, Registers]]:
    """Yields each position with the registers before it, in a loop that has been running for a while.

    Past the last position comes the state in which the loop is left. The state is one object, which changes as the loop goes on.
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
