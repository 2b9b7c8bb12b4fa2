"""What must hold for each rung of each ladder that ships, on every architecture it is compiled for."""

from __future__ import annotations


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
