"""The cycles in which instructions read their registers; the figures are those measured on an H200 with register_banks.py."""

import pytest

from profiler.analyse.code.code import Instruction
from profiler.analyse.code.register_banks import count_read_cycles
from profiler.store.tables.instruction_text import opcode_of


def cycles_of(*lines):
    function = [Instruction(16 * index, opcode_of(text), text, 1.0) for index, text in enumerate(lines)]
    return [(one.taken, one.fewest) for one in count_read_cycles(function)]


@pytest.mark.parametrize(
    ("text", "taken", "fewest"),
    [
        ("FFMA R0, R2, R4, R0", 3, 1.5),  # three registers of one bank
        ("FFMA R0, R2, R5, R0", 2, 1.5),
        ("FFMA R0, R2, R2, R0", 2, 1),
        ("FFMA R0, R3, R3, R0", 1, 1),
        ("FFMA R0, R0, R0, R0", 1, 1),
        ("FADD R0, R2, R0", 2, 1),
        ("FADD R0, R3, R0", 1, 1),
        ("FFMA R0, R2, c[0x0][0x160], R0", 2, 1),  # constants are no registers
        ("FFMA R0, -R2, |R4|, RZ", 2, 1),  # nor is the zero
        ("IADD3 R0, P0, R2, R4, R6", 3, 1.5),  # the predicate is written
        ("ISETP.GE.AND P0, PT, R2, R4, PT", 2, 1),
    ],
)
def test_each_bank_delivers_one_register_a_cycle(text, taken, fewest):
    assert cycles_of(text) == [(taken, fewest)]


def test_instructions_that_read_other_banks_make_up_for_each_other():
    assert cycles_of("FADD R0, R2, R0", "FADD R1, R3, R1") == [(1, 1)] * 2


def test_an_operand_that_the_instruction_before_read_in_the_same_place_is_not_read_again():
    assert cycles_of("FFMA R0, R2, R4, R0", "FFMA R6, R2, R8, R6") == [(2.5, 1.25)] * 2
    assert cycles_of("FFMA R0, R2, R4, R0", "FFMA R6, R8, R2, R6") == [(3, 1.5)] * 2  # in another place
