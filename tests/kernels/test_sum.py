"""The sum ladder in machine code: the width of their loads, how many are under way, how their blocks' sums meet."""

import re

import pytest


def test_rung_1_reads_32_bits_at_a_time(machine_code):
    assert machine_code("sum", 1).widths("LDG") == {32}


def test_rung_2_reads_128_bits_at_a_time_and_single_floats_at_the_ends(machine_code):
    code = machine_code("sum", 2)
    assert code.widths("LDG") == {128, 32}
    (body,) = (one for one in code.opcodes if one.startswith("LDG.E.128"))
    assert code.opcodes[body] == 1, "the loop is unrolled, which is rung 4's idea"


@pytest.mark.parametrize("number", [1, 2])
def test_blocks_meet_in_one_atomic_addition(machine_code, number):
    assert [one for one in machine_code("sum", number).opcodes if re.match(r"RED.*ADD\.F32", one)]


@pytest.mark.parametrize("number", [3, 4])
def test_from_rung_3_on_blocks_are_counted_and_nothing_is_added_atomically(machine_code, number):
    opcodes = machine_code("sum", number).opcodes
    assert [one for one in opcodes if re.match(r"ATOMG.*\.INC", one)]
    assert not [one for one in opcodes if re.match(r"(RED|ATOM).*ADD", one)]


def test_rung_4_asks_for_four_vectors_before_it_adds_one(machine_code):
    code = machine_code("sum", 4)
    order = [one.name for one in code.function if one.name == "FADD" or one.opcode.startswith("LDG.E.EF.128")]
    first = order.index("LDG")
    assert order[first : first + 4] == ["LDG"] * 4


def test_cub_reads_128_bits_at_a_time(machine_code):
    assert 128 in machine_code("sum", 5).widths("LDG")


def test_rung_9_adds_a_share_and_ends_and_its_second_kernel_starts_early(machine_code):
    code = machine_code("sum", 9)
    loads = [one for one in code.function if one.opcode.startswith("LDG.E.EF.128")]
    assert len(loads) == 4, "one turn of the loop, which asks for four vectors"
    assert not [one for one in code.opcodes if re.match(r"(RED|ATOM)", one)], "blocks do not count each other"
    assert [one for one in code.opcodes if one.startswith("PREEXIT")]
