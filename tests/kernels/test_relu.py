"""The ReLU ladder in machine code: one maximum an element, and how wide the accesses around it are."""

import pytest

EDGES = {32}  # bits: what no vector covers


@pytest.mark.parametrize(("number", "width_bits"), [(1, {32}), (2, {128} | EDGES)])
def test_a_rung_loads_and_stores_with_its_stated_width(machine_code, number, width_bits):
    assert machine_code("relu", number).moved == width_bits


def test_a_maximum_is_one_instruction(machine_code):
    assert machine_code("relu", 1).opcodes["FMNMX"] == 1


@pytest.mark.parametrize(("vector", "width_bits"), [("6float4", 128), ("6float2", 64), ("f", 32)])
def test_rung_3_has_a_kernel_for_each_width_that_suits_both_arrays(machine_code, vector, width_bits):
    assert machine_code("relu", 3).only(f"any_alignmentI{vector}").moved == {width_bits} | EDGES
