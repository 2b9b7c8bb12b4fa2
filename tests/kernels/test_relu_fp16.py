"""The FP16 ReLU ladder in machine code: 16, 32 and 128 bits an access, two halves an instruction."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.kernels.conftest import MachineCode

TAIL = {16}  # bits: what no vector covers


@pytest.mark.parametrize(("number", "width_bits"), [(1, {16}), (2, {32} | TAIL), (3, {128} | TAIL)])
def test_how_wide_a_rung_reads_and_writes(
    machine_code: MachineCode, number: int, width_bits: set[int]
) -> None:
    code = machine_code("relu-fp16", number)
    assert code.widths("LDG") == code.widths("STG") == width_bits


def test_rung_3_works_on_two_halves_an_instruction(machine_code: MachineCode) -> None:
    vectors_and_tail = 8 // 2 + 1
    assert machine_code("relu-fp16", 3).opcodes["HMNMX2"] == vectors_and_tail


def test_rung_4_asks_for_four_vectors_before_it_stores_the_first(machine_code: MachineCode) -> None:
    code = machine_code("relu-fp16", 4).only("uint4")
    assert [one.name for one in code.function if ".128" in one.opcode] == ["LDG"] * 4 + ["STG"] * 4
