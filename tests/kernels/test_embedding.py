"""The embedding ladder in machine code: how wide rows are read and written, and the way they take."""

import pytest

ID = {32}  # bits: of the token's id


def test_rung_1_moves_one_float_at_a_time(machine_code):
    code = machine_code("embedding", 1)
    assert code.moved == {32}
    loop = code.hot_loop({"LDG"})
    assert (loop["LDG.E"], loop["STG.E"]) == (1, 1)


@pytest.mark.parametrize("number", [2, 3, 4, 5])
def test_rungs_2_to_5_move_rows_128_bits_at_a_time(machine_code, number):
    code = machine_code("embedding", number)
    assert code.widths("LDG") == {128} | ID
    assert code.widths("STG") == {128}


def test_rung_2_asks_for_both_float4s_before_it_stores_the_first(machine_code):
    loads_and_stores = [one.name for one in machine_code("embedding", 2).function if ".128" in one.opcode]
    assert loads_and_stores[:4] == ["LDG", "LDG", "STG", "STG"]


def test_float4_parameters_change_no_access(machine_code):
    by_cast, by_type = (
        [one.opcode for one in machine_code("embedding", number).function if one.name in {"LDG", "STG"}]
        for number in (2, 3)
    )
    assert by_cast == by_type


def test_rung_4_asks_for_four_vectors_at_once(machine_code):
    wide = [one.name for one in machine_code("embedding", 4).function if ".128" in one.opcode]
    assert wide[:8] == ["LDG"] * 4 + ["STG"] * 4


def test_rung_5_takes_the_way_through_shared_memory(machine_code):
    code = machine_code("embedding", 5)
    assert code.widths("STS") == code.widths("LDS") == {128}
    assert {"LDS", "STS"}.isdisjoint(machine_code("embedding", 4).names)


def test_rung_6_copies_to_shared_memory_past_registers_and_l1(machine_code):
    code = machine_code("embedding", 6)
    assert {opcode for opcode in code.opcodes if "LDGSTS" in opcode} == {"LDGSTS.E.BYPASS.128"}
    assert code.widths("LDG") == ID
    assert "STS" not in code.names


@pytest.mark.parametrize(
    ("vector", "copy", "width_bits"),
    [("uint4", "LDGSTS.E.BYPASS.128", 128), ("uint2", "LDGSTS.E.64", 64), ("Ij", "LDGSTS.E", 32)],
)
def test_rung_7_copies_two_vectors_a_thread_as_wide_as_rows_allow(machine_code, vector, copy, width_bits):
    code = machine_code("embedding", 7).only(vector)
    assert {opcode: count for opcode, count in code.opcodes.items() if "LDGSTS" in opcode} == {copy: 2}
    assert code.widths("STG") == {width_bits}
    assert "BAR" not in code.names
