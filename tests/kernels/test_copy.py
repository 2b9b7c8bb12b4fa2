"""The copy ladder in machine code: how wide its accesses are, and how many are under way."""

import pytest

TAIL = {32}  # bits: what no vector covers is copied element by element


@pytest.mark.parametrize(
    ("number", "width_bits"), [(1, {32}), (2, {64} | TAIL), (3, {128} | TAIL), (4, {128} | TAIL)]
)
def test_a_rung_loads_and_stores_with_its_stated_width(machine_code, number, width_bits):
    assert machine_code("copy", number).moved == width_bits


def test_rung_4_waits_for_each_vector_before_it_asks_for_the_next(machine_code):
    loop = machine_code("copy", 4).hot_loop({"LDG"})
    assert (loop["LDG.E.128"], loop["STG.E.128"]) == (1, 1)


def test_rung_5_asks_for_four_vectors_before_it_stores_the_first(machine_code):
    code = machine_code("copy", 5).only("float4")
    assert [one.name for one in code.function if ".128" in one.opcode] == ["LDG"] * 4 + ["STG"] * 4
