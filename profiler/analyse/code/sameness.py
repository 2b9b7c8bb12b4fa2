"""Says whether a kernel's machine code changed, and where: codes by function in, a `CodeCheck` out.

Registers, predicates and addresses are named anew in the order of their first use, so renamed registers and moved code
are no change. A register that a wide access fills without naming it is named with the access.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from profiler.analyse.code.code import Instruction, without_padding
from profiler.analyse.code.opcodes import JUMPS, WORD_BITS, is_matrix, width_bits
from profiler.analyse.findings import SCHEMA_VERSION

Functions = Mapping[str, Sequence[Instruction]]
FunctionState = Literal["same", "changed", "missing", "new"]

_REGISTER = re.compile(r"(?<![\w.])(UR|UP|R|P|B|SB)(\d+)(?:\.reuse)?\b")
_ADDRESS = re.compile(r"(?<![\w\[+\-])0x([0-9a-f]+)(?!\w|\])")
_OF_A_MATRIX = 4


class FunctionCheck(Struct, frozen=True):
    """The check of one function: if it changed, with the first instruction that differs on each side, empty if that side has ended."""

    function: str
    state: FunctionState
    instructions_before: int
    instructions_after: int
    index: int | None = None
    before: str = ""
    after: str = ""
    place: str | None = None


class CodeCheck(Struct, frozen=True):
    schema_version: int
    changed: bool
    functions: list[FunctionCheck]


def check_code(before: Functions, after: Functions) -> CodeCheck:
    """Compares the functions by name, in the order of the first side and then of the second."""
    checks = [_check(name, before.get(name), after.get(name)) for name in {**before, **after}]
    return CodeCheck(SCHEMA_VERSION, any(one.state != "same" for one in checks), checks)


def _check(
    name: str, before: Sequence[Instruction] | None, after: Sequence[Instruction] | None
) -> FunctionCheck:
    if before is None or after is None:
        state: FunctionState = "new" if before is None else "missing"
        return FunctionCheck(name, state, len(before or ()), len(after or ()))
    sides = [without_padding(side) for side in (before, after)]
    texts = [list(_renamed(side)) for side in sides]
    left, right = map(len, sides)
    if texts[0] == texts[1]:
        return FunctionCheck(name, "same", left, right)
    pairs = enumerate(zip(*texts, strict=False))
    index = next((place for place, (one, other) in pairs if one != other), min(left, right))
    found = [side[index] if index < len(side) else None for side in sides]
    first, second = (one.text if one is not None else "" for one in found)
    place = next((one.place for one in reversed(found) if one is not None), None)
    return FunctionCheck(name, "changed", left, right, index, before=first, after=second, place=place)


def _renamed(code: Sequence[Instruction]) -> Iterator[str]:
    """Yields each instruction with its registers and its target named anew."""
    places = {one.offset: index for index, one in enumerate(code)}
    names: dict[str, dict[int, int]] = {}

    def name(kind: str, number: int) -> str:
        of_kind = names.setdefault(kind, {})
        return f"{kind}#{of_kind.setdefault(number, len(of_kind))}"

    for one in code:
        words = _words(one)

        def register(match: re.Match[str], words: int = words) -> str:
            kind, first = match[1], int(match[2])
            named = name(kind, first)
            for number in range(first + 1, first + words if kind in ("R", "UR") else first):
                name(kind, number)
            return named

        text = one.text
        if one.name in JUMPS:
            text = _ADDRESS.sub(lambda match: f"@{places.get(int(match[1], 16), 'elsewhere')}", text)
        yield _REGISTER.sub(register, text)


def _words(one: Instruction) -> int:
    """Returns how many registers in a row an operand of this instruction may stand for."""
    if is_matrix(one.opcode):
        return _OF_A_MATRIX
    if (bits := width_bits(one.opcode)) is not None:
        return max(1, bits // WORD_BITS)
    return 2 if ".WIDE" in one.opcode or ".64" in one.opcode or one.name.startswith(("D", "CS2R")) else 1
