"""Rules for every rung of every ladder that ships, on each architecture it is compiled for."""

import pytest
from msgspec.structs import replace

from profiler.catalog.ladders.ladder_file import read_ladder
from tests.kernels.compiled import RECORDINGS, alone, together
from tests.kernels.conftest import (
    HOW_TO_RECORD,
    KERNELS,
    PTX_OF_GEMM_8,
    SUITE_ARCHITECTURE,
    bounds_program,
)


def test_a_rung_holds_the_kernel_that_its_ladder_promises(any_codes):
    own = [
        code for code in any_codes if not code.kernel.needs
    ]  # the libraries that hold the kernels of others
    lacking = [code for code in own if not code.resources]
    assert [f"{code.kernel}: no kernel is called {code.kernel.regex}" for code in lacking] == []
    unread = [code for code in own if not {one.function for one in code.resources} <= set(code.functions)]
    assert [str(code.kernel) for code in unread] == []


SPILLS = "tile_16x16"  # of gemm-variants: test_variants.py shows that it does


def test_no_rung_spills_but_the_one_that_is_there_to_show_it(any_codes):
    any_codes = [code for code in any_codes if code.kernel.name != SPILLS]
    spilled = [code for code in any_codes if any(one.spills or one.stack_bytes for one in code.resources)]
    assert [f"{code.kernel} spills registers" for code in spilled] == []
    local = [code for code in any_codes if {"LDL", "STL"} & code.names]
    assert [f"{code.kernel} uses local memory" for code in local] == []


def test_the_recorded_machine_code_was_compiled_from_these_sources(compiler):
    """A rung that has changed is compiled as long as this test fails, so that nothing is said of code that is no more."""
    ladders = {path.parent.name: read_ladder(path) for path in KERNELS.glob("*/ladder.toml")}
    by_itself = alone(ladders["gemm"], ladders["gemm"].kernel(9), SUITE_ARCHITECTURE)
    sources = {one.name: one for one in (PTX_OF_GEMM_8, bounds_program(4096), by_itself)}
    for ladder in ladders.values():
        for kernel in ladder.kernels:
            if kernel.is_compiled and kernel.is_profiled:
                one = together(ladder, kernel, SUITE_ARCHITECTURE)
                sources[one.name] = one
    recorded = {path.name.partition(".")[0] for path in RECORDINGS.iterdir()}
    assert recorded - sources.keys() == set(), "nothing is made under these names: remove them"
    changed = [name for name, one in sources.items() if compiler.recorded(one) is None]
    assert changed == [], HOW_TO_RECORD


def test_compiled_with_the_others_a_rung_is_the_same_machine_code(machine_code):
    """Rung 9 shares the names of its macros with three others."""
    assert_the_same_alone_and_together(machine_code, "gemm", 9, "sm_90")


@pytest.mark.campaign
def test_compiled_with_others_every_rung_is_the_same_code(machine_code, any_codes, any_ladder, any_arch):
    # The kernels of other libraries are in those.
    for kernel in [code.kernel for code in any_codes if not code.kernel.needs]:
        assert_the_same_alone_and_together(machine_code, any_ladder, kernel.number, any_arch)


def assert_the_same_alone_and_together(machine_code, ladder, number, arch):
    alone, with_others = (machine_code(ladder, number, arch, alone=alone) for alone in (True, False))
    assert alone.functions
    assert without_names(alone) == without_names(with_others)


def without_names(code):
    """Each function's instructions, and what each takes, whatever namespace its name holds.

    The compiler orders the variables of shared memory by their names, too, so that the padding between them differs by namespace.
    """
    bodies = [repr(body) for body in code.functions.values()]
    return sorted(bodies), sorted(
        repr(replace(one, function="", shared_bytes=_rounded_up(one.shared_bytes, 16)))
        for one in code.resources
    )


def _rounded_up(size, step):
    return -(-size // step) * step
