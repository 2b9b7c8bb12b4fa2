"""The LayerNorm ladder in machine code: how wide their accesses are, and how often a row is read."""

import pytest

AT_4096 = "float4Li512ELi2E"  # the variant for the default width: 512 threads with two vectors each


def test_rung_1_moves_32_bits_at_a_time(machine_code):
    assert machine_code("layernorm", 1).moved == {32}


def test_rung_2_moves_128_bits_at_a_time(machine_code):
    assert machine_code("layernorm", 2).moved == {128}


@pytest.mark.parametrize("number", [3, 4])
def test_from_rung_3_on_a_row_is_read_once(machine_code, number):
    code = machine_code("layernorm", number).only(AT_4096)
    assert code.moved == {128}
    assert sum(code.loads().values()) == 2, "the row's two vectors, besides gamma's and beta's"


@pytest.mark.parametrize("number", [3, 4, 8])
def test_elements_move_where_vectors_do_not_suit(machine_code, number):
    assert machine_code("layernorm", number).only("IfLi").moved == {32}


def test_rung_4_is_rung_3_to_the_instruction(machine_code):
    registers, few_rows = (machine_code("layernorm", number).only(AT_4096).opcodes for number in (3, 4))
    assert few_rows == registers


def test_rung_5_reads_one_vector_at_a_time_into_shared_memory(machine_code):
    code = machine_code("layernorm", 5).only("float4")
    assert code.loads() == {"LDG.E.128": 1}, "the loop that reads is unrolled"
    assert code.opcodes["STS.128"] == 1
    assert code.widths("STG") == {128}


def test_rung_8_asks_the_caches_to_keep_all_of_the_row(machine_code):
    code = machine_code("layernorm", 8)
    assert set(code.loads()) == {"LDG.E.EL", "LDG.E.EL.128"}
    assert code.only(AT_4096).opcodes["LDG.E.EL.128"] == 2, "the row's two vectors"
