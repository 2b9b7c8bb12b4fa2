"""The scaling ladder in machine code: one kernel for each width that the host may choose."""

import pytest

EDGES = {32}  # bits: what no vector covers


def test_rung_1_reads_and_writes_32_bits_at_a_time(machine_code):
    assert machine_code("scale", 1).moved == {32}


@pytest.mark.parametrize(
    ("kernel", "width_bits"), [("chosenI6float4", 128), ("chosenI6float2", 64), ("chosenIf", 32)]
)
def test_rung_2_has_a_kernel_without_a_tail_for_each_width(machine_code, kernel, width_bits):
    assert machine_code("scale", 2).only(kernel).moved == {width_bits}


@pytest.mark.parametrize(("vector", "width_bits"), [("6float4", 128), ("6float2", 64), ("f", 32)])
def test_rung_3_has_a_kernel_for_each_width_that_suits_both_arrays(machine_code, vector, width_bits):
    assert machine_code("scale", 3).only(f"any_alignmentI{vector}").moved == {width_bits} | EDGES
