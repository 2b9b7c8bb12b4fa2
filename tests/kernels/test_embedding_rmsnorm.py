"""The fused ladder in machine code: nothing between the table and the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.kernels.conftest import MachineCode

WIDE = ("LDG.E.128", "LDG.E.128.CONSTANT", "STG.E.128")  # the row, gamma, the result


def test_the_unfused_rung_normalises_with_the_rmsnorm_ladders_best_kernel(machine_code: MachineCode) -> None:
    here = machine_code("embedding-rmsnorm", 1).only("ILi1E.*__half")
    there = machine_code("rmsnorm", 3).only("ILi1E.*__half")
    assert here.opcodes == there.opcodes


def test_the_fused_rung_accesses_memory_as_the_rmsnorm_alone_does(machine_code: MachineCode) -> None:
    fused = machine_code("embedding-rmsnorm", 2).only("ILi1E").opcodes
    unfused = machine_code("embedding-rmsnorm", 1).only("ILi1E.*__half").opcodes
    assert [fused[one] for one in WIDE] == [unfused[one] for one in WIDE] == [1, 1, 1]


def test_the_fused_rung_reads_one_id_a_row(machine_code: MachineCode) -> None:
    code = machine_code("embedding-rmsnorm", 2).only("ILi1E")
    assert code.opcodes["LDG.E"] == 1
