"""The FP16 ReLU ladder in machine code: 16, 32 and 128 bits an access, two halves an instruction."""

import pytest

EDGES = {16}  # bits: what no vector covers


@pytest.mark.parametrize(("number", "width_bits"), [(1, {16}), (2, {32} | EDGES), (3, {128} | EDGES)])
def test_a_rung_loads_and_stores_with_its_stated_width(machine_code, number, width_bits):
    assert machine_code("relu-fp16", number).moved == width_bits


def test_rung_3_works_on_two_halves_an_instruction(machine_code):
    vectors_and_tail = 8 // 2 + 1
    assert machine_code("relu-fp16", 3).opcodes["HMNMX2"] == vectors_and_tail


@pytest.mark.parametrize(
    ("vector", "width_bits"), [("5uint4", 128), ("5uint2", 64), ("j", 32), ("6__half", 16)]
)
def test_rung_4_has_a_kernel_for_each_width_that_suits_both_arrays(machine_code, vector, width_bits):
    assert machine_code("relu-fp16", 4).only(f"any_alignmentI{vector}").moved == {width_bits} | EDGES
