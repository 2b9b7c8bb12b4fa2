"""The RMSNorm ladder in machine code: how wide rows are read, and where they are kept."""

import pytest

each_precision = pytest.mark.parametrize("precision", ["__half", "__nv_bfloat16"])


@each_precision
def test_rung_1_moves_one_element_at_a_time(machine_code, precision):
    assert machine_code("rmsnorm", 1).only(precision).moved == {16}


@each_precision
def test_rung_2_moves_pairs_and_keeps_them_in_shared_memory(machine_code, precision):
    code = machine_code("rmsnorm", 2).only(precision)
    assert code.moved == {32}
    assert code.widths("LDS") == code.widths("STS") == {32}


@each_precision
@pytest.mark.parametrize("vectors", [2, 4])
def test_rung_3_fetches_a_row_by_one_bulk_copy_and_writes_it_by_128_bits(machine_code, precision, vectors):
    code = machine_code("rmsnorm", 3).only(f"bulk_rowILi{vectors}E.*{precision}")
    assert [one for one in code.names if "BLKCP" in one] == ["UBLKCP"]
    loads = {opcode: count for opcode, count in code.opcodes.items() if opcode.startswith("LDG")}
    assert loads == {"LDG.E.128.CONSTANT": vectors}, "gamma alone"
    assert (code.opcodes["LDS.128"], code.opcodes["STG.E.128"]) == (vectors, vectors)


@each_precision
def test_registers_let_six_blocks_of_256_threads_share_an_sm(machine_code, precision):
    (found,) = machine_code("rmsnorm", 3).only(f"bulk_rowILi2E.*{precision}").resources
    allocated = (found.registers + 7) // 8 * 8
    assert 65536 // (256 * allocated) == 6
