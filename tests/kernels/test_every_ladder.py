"""Rules for every rung of every ladder that ships, on each architecture it is compiled for."""

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
    if (any_ladder, any_number) == ("gemm-variants", 6):
        return  # test_variants.py: it is there to spill
    code = machine_code(any_ladder, any_number, any_arch)
    assert not [one for one in code.resources if one.spills or one.stack_bytes]
    assert not {"LDL", "STL"} & code.names, "it uses local memory"


def test_compiled_with_the_others_a_rung_is_the_same_machine_code(machine_code) -> None:
    """Rung 9 shares the names of its macros with three others."""
    assert_the_same_alone_and_together(machine_code, "gemm", 9, "sm_90")


@pytest.mark.campaign
def test_compiled_with_the_others_every_rung_is_the_same_machine_code(
    machine_code, any_ladder: str, any_number: int, any_arch: str
) -> None:
    assert_the_same_alone_and_together(machine_code, any_ladder, any_number, any_arch)


def assert_the_same_alone_and_together(machine_code, ladder: str, number: int, arch: str) -> None:
    alone, with_others = (machine_code(ladder, number, arch, alone=alone) for alone in (True, False))
    assert alone.functions or alone.kernel.needs  # the libraries that hold its kernel
    assert without_names(alone) == without_names(with_others)


def without_names(code: Code) -> tuple[list[str], list[str]]:
    """Each function's instructions, and what each takes; the names hold a namespace where all are compiled together."""
    bodies = [repr(body) for body in code.functions.values()]
    return sorted(bodies), sorted(repr(replace(one, function="")) for one in code.resources)
