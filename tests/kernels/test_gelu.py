"""The GELU ladder in machine code: how wide its accesses are, and what is saved without erf."""

import pytest

TAIL = {32}  # bits: what no vector covers


@pytest.mark.parametrize(
    ("number", "width_bits"), [(1, {32}), (2, {128} | TAIL), (3, {128} | TAIL), (4, {128} | TAIL)]
)
def test_a_rung_loads_and_stores_with_its_stated_width(machine_code, number, width_bits):
    assert machine_code("gelu", number).moved == width_bits


@pytest.mark.parametrize("number", [3, 4])
def test_without_erf_a_rung_takes_three_quarters_of_the_instructions_at_most(machine_code, number):
    erf, other = (sum(machine_code("gelu", rung).opcodes.values()) for rung in (2, number))
    assert other < erf * 3 / 4
