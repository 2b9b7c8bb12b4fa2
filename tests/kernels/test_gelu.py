"""The GELU ladder in machine code: how wide its accesses are, and what the form with tanh saves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.kernels.conftest import MachineCode


@pytest.mark.parametrize(("number", "width_bits"), [(1, {32}), (2, {128, 32})])
def test_how_wide_a_rung_reads_and_writes(
    machine_code: MachineCode, number: int, width_bits: set[int]
) -> None:
    code = machine_code("gelu", number)
    assert code.widths("LDG") == code.widths("STG") == width_bits


@pytest.mark.parametrize("number", [3, 4])
def test_all_loads_are_asked_for_before_the_first_store(machine_code: MachineCode, number: int) -> None:
    code = machine_code("gelu", number).only("float4")
    assert [one.name for one in code.function if ".128" in one.opcode] == ["LDG"] * 4 + ["STG"] * 4


def test_the_form_with_tanh_takes_two_thirds_of_the_instructions_at_most(machine_code: MachineCode) -> None:
    exact, tanh = (sum(machine_code("gelu", number).only("float4").opcodes.values()) for number in (3, 4))
    assert tanh < exact * 2 / 3
