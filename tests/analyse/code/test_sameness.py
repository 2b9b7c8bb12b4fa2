"""Other names of registers, addresses or an order of functions do not change machine code; all else does."""

import re

import pytest

import profiler
from profiler.analyse.code.code import Instruction, read_code
from profiler.analyse.code.sameness import check_code


def code(text):
    instructions = []
    for index, line in enumerate(filter(None, map(str.strip, text.splitlines()))):
        words = line.split(" ")
        instructions.append(Instruction(16 * index, words[1] if line.startswith("@") else words[0], line))
    return instructions


LOOP = code("""
    LDC R1, c[0x0][0x28]
    S2R R3, SR_TID.X
    LDG.E.64 R4, [R2]
    FFMA R6, R4, R5, R6
    IADD3 R3, R3, 0x1, RZ
    ISETP.GE.AND P0, PT, R3, UR4, PT
    @!P0 BRA 0x20
    STG.E [R2], R6
    EXIT
    BRA 0x90
    NOP
""")


def changed(instructions, old, new):
    return [Instruction(one.offset, one.opcode, re.sub(old, new, one.text)) for one in instructions]


def state(before, after):
    (found,) = check_code({"k": before}, {"k": after}).functions
    return found.state, found.index


@pytest.fixture(scope="module")
def recorded_code(reports):
    run = profiler.read(reports / "gemm_6.ncu-rep")
    return read_code(run, run.kernels[0]).instructions


def test_renamed_registers_are_no_change(recorded_code):
    def other(match):
        return f"{match[1]}{int(match[2]) ^ 128}"

    renamed = changed(recorded_code, r"\b(R)(\d+)\b", other)
    assert renamed != recorded_code
    assert state(recorded_code, renamed) == ("same", None)


def test_moved_code_is_no_change():
    moved = [Instruction(0x100, "NOP", "NOP")][:0]
    for one in LOOP:
        text = re.sub(r"BRA 0x(\w+)", lambda match: f"BRA {int(match[1], 16) + 0x400:#x}", one.text)
        moved.append(Instruction(one.offset + 0x400, one.opcode, text))
    assert state(LOOP, moved) == ("same", None)


def test_padding_and_cached_operands_are_no_change():
    assert state(LOOP, [*LOOP[:-1], Instruction(0xA0, "NOP", "NOP"), LOOP[-1]]) == ("same", None)
    assert state(LOOP, changed(LOOP, "FFMA R6, R4,", "FFMA R6, R4.reuse,")) == ("same", None)


@pytest.mark.parametrize(
    ("old", "new", "index"),
    [
        ("0x1,", "0x2,", 4),  # a constant
        (r"\[0x28\]", "[0x30]", 0),  # a constant of the launch
        (r"LDG.E.64 R4", "LDG.E.64 R8", 3),  # what is loaded is not what is used
        ("R4, R5", "R5, R4", 3),  # the halves of a wide load the other way round
        ("BRA 0x20", "BRA 0x30", 6),  # another target
        ("@!P0", "@P0", 6),
        (r"FFMA R6, R4, R5, R6", "FFMA R6, R4, -R5, R6", 3),
    ],
)
def test_everything_else_is_a_change_and_says_where_it_begins(old, new, index):
    assert state(LOOP, changed(LOOP, old, new)) == ("changed", index)


def test_an_instruction_more_is_a_change():
    assert state(LOOP, [*LOOP[:8], *LOOP[7:]]) == ("changed", 8)


def test_functions_are_found_by_name_whatever_their_order():
    found = check_code({"a": LOOP, "b": LOOP[:3]}, {"b": LOOP[:3], "c": LOOP, "a": LOOP})
    assert [(one.function, one.state) for one in found.functions] == [("a", "same"), ("b", "same"), ("c", "new")]  # fmt: skip
    assert found.changed
