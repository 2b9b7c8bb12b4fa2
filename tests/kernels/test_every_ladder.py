"""What must hold for each rung of each ladder that ships, on every architecture it is compiled for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

if TYPE_CHECKING:
    from tests.kernels.conftest import Code


def test_a_rung_holds_the_kernel_that_its_ladder_promises(
    machine_code, any_ladder: str, any_number: int, any_arch: str
) -> None:
    code = machine_code(any_ladder, any_number, any_arch)
    if code.kernel.needs:  # the libraries that hold its kernel
        return
    assert code.resources, f"no kernel is called {code.kernel.regex}"
    assert {one.function for one in code.resources} <= set(code.functions)


def test_no_rung_spills(machine_code, any_ladder: str, any_number: int, any_arch: str) -> None:
    code = machine_code(any_ladder, any_number, any_arch)
    assert not [one for one in code.resources if one.spills or one.stack_bytes]
    assert not {"LDL", "STL"} & code.names, "it uses local memory"


@pytest.mark.parametrize("arch", ["sm_80", "sm_100"])
@pytest.mark.parametrize(
    "numbers",
    [
        pytest.param((9,), id="one of four with the same macros"),
        pytest.param(range(1, 15), id="all", marks=pytest.mark.campaign),
    ],
)
def test_compiled_with_the_others_a_rung_is_the_same_machine_code(machine_code, numbers, arch: str) -> None:
    for number in numbers:
        alone, with_others = (
            without_names(machine_code("gemm", number, arch, alone=alone)) for alone in (True, False)
        )
        assert any(alone)
        assert alone == with_others, f"rung {number}"


def without_names(code: Code) -> tuple[list[str], list[str]]:
    """Each function's instructions, and what each takes; the names hold a namespace where all are compiled together."""
    bodies = [repr(body) for body in code.functions.values()]
    return sorted(bodies), sorted(repr(replace(one, function="")) for one in code.resources)
