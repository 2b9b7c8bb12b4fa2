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
@pytest.mark.parametrize("vectors", [2, 4])
def test_rung_3_reads_a_row_once_by_128_bits(machine_code: MachineCode, precision: str, vectors: int) -> None:
    code = machine_code("rmsnorm", 3).only(f"ILi512ELi{vectors}E.*{precision}")
    assert code.widths("LDG") == code.widths("STG") == {128}
    streamed = [one.name for one in code.function if ".EF.128" in one.opcode]
    assert streamed == ["LDG"] * vectors + ["STG"] * vectors
    gamma = [one for one in code.function if one.opcode == "LDG.E.128.CONSTANT"]
    assert len(gamma) == vectors
