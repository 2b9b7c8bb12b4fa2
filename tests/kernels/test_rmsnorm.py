"""The RMSNorm ladder in machine code: how wide rows are read, and where they are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.kernels.conftest import MachineCode

each_precision = pytest.mark.parametrize("precision", ["__half", "__nv_bfloat16"])


@each_precision
def test_rung_1_moves_one_element_at_a_time(machine_code: MachineCode, precision: str) -> None:
    code = machine_code("rmsnorm", 1).only(precision)
    assert code.widths("LDG") == code.widths("STG") == {16}


@each_precision
def test_rung_2_moves_pairs_and_keeps_them_in_shared_memory(
    machine_code: MachineCode, precision: str
) -> None:
    code = machine_code("rmsnorm", 2).only(precision)
    assert code.widths("LDG") == code.widths("STG") == {32}
    assert code.widths("LDS") == code.widths("STS") == {32}


@each_precision
@pytest.mark.parametrize("vectors", [1, 2, 4])
def test_rung_3_reads_a_row_once_by_128_bits(machine_code: MachineCode, precision: str, vectors: int) -> None:
    code = machine_code("rmsnorm", 3).only(f"ILi{vectors}E.*{precision}")
    assert code.widths("LDG") == code.widths("STG") == {128}
    assert (code.opcodes["LDG.E.128"], code.opcodes["STG.E.128"]) == (vectors, vectors)
    assert code.opcodes["LDG.E.128.CONSTANT"] == vectors, "gamma"


@each_precision
def test_two_blocks_of_rung_3_fit_an_sm_however_wide_the_row(
    machine_code: MachineCode, precision: str
) -> None:
    for vectors in (1, 2):
        (found,) = machine_code("rmsnorm", 3).only(f"ILi{vectors}E.*{precision}").resources
        assert found.registers * 2 * 1024 <= 65536
