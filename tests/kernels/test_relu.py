"""The ReLU ladder in machine code: one maximum an element, and how wide the accesses around it are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.kernels.conftest import MachineCode


@pytest.mark.parametrize(("number", "width_bits"), [(1, {32}), (2, {128, 32})])
def test_how_wide_a_rung_reads_and_writes(
    machine_code: MachineCode, number: int, width_bits: set[int]
) -> None:
    code = machine_code("relu", number)
    assert code.widths("LDG") == code.widths("STG") == width_bits


def test_a_maximum_is_one_instruction(machine_code: MachineCode) -> None:
    assert machine_code("relu", 1).opcodes["FMNMX"] == 1


def test_rung_3_asks_for_four_vectors_before_it_stores_the_first(machine_code: MachineCode) -> None:
    code = machine_code("relu", 3).only("float4")
    assert [one.name for one in code.function if ".128" in one.opcode] == ["LDG"] * 4 + ["STG"] * 4
