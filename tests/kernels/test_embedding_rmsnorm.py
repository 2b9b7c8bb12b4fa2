"""The fused ladder in machine code: nothing between the table and the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.kernels.conftest import MachineCode

SHAPE = "ILi256ELi2E"  # threads and vectors a thread of a row of 4096


def test_the_unfused_rung_normalises_with_the_rmsnorm_ladders_best_kernel(machine_code: MachineCode) -> None:
    here = machine_code("embedding-rmsnorm", 1).only(f"{SHAPE}.*__half")
    there = machine_code("rmsnorm", 3).only(f"{SHAPE}.*__half")
    assert here.opcodes == there.opcodes


def test_the_fused_rung_accesses_memory_as_the_rmsnorm_alone_does(machine_code: MachineCode) -> None:
    def rows(number: int, pattern: str) -> list[str]:
        code = machine_code("embedding-rmsnorm", number).only(pattern)
        return [one.opcode for one in code.function if ".EF.128" in one.opcode]

    assert (
        rows(2, f"fused.*{SHAPE}")
        == rows(1, f"{SHAPE}.*__half")
        == ["LDG.E.EF.128"] * 2 + ["STG.E.EF.128"] * 2
    )


def test_the_fused_rung_reads_one_id_a_row(machine_code: MachineCode) -> None:
    code = machine_code("embedding-rmsnorm", 2).only(SHAPE)
    assert code.opcodes["LDG.E"] == 1
