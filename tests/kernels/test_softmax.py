"""The softmax ladder in machine code: how often a row is read, how wide, and how many exponentials an element takes."""

import pytest


def loads_and_exponentials(code):
    return (
        sum(count for opcode, count in code.opcodes.items() if opcode.startswith("LDG")),
        code.opcodes["MUFU.EX2"],
    )


@pytest.mark.parametrize("number", [1, 2])
def test_rungs_1_and_2_move_one_element_at_a_time(machine_code, number):
    assert machine_code("softmax", number).moved == {32}


def test_from_rung_3_on_a_row_is_read_once_and_each_element_takes_one_exponential(machine_code):
    code = machine_code("softmax", 3).only("ILi8E")
    loads, exponentials = loads_and_exponentials(code)
    assert (loads, code.widths("LDG")) == (8, {32})
    merging = exponentials - 8
    assert merging > 0, "pairs are scaled where they are merged"
    loads, exponentials = loads_and_exponentials(machine_code("softmax", 4).only("ILi2E"))
    assert loads == 2
    assert exponentials == 8 + merging


def test_rung_4_moves_128_bits_at_a_time(machine_code):
    assert machine_code("softmax", 4).moved == {128}


def test_a_narrow_row_meets_no_barrier_in_rung_5(machine_code):
    for_a_warp = machine_code("softmax", 5).only("by_sizeI6float4Li32E")
    assert "BAR" not in for_a_warp.names
    assert "BAR" in machine_code("softmax", 5).only("by_sizeI6float4Li512E").names
