"""Claim G13: the PTX of a rung reads shared memory by other widths than its machine code."""

import json

import widths

from tests.kernels.conftest import PTX_OF_GEMM_8


def test_the_stored_widths_are_those_of_the_compiler_and_not_of_the_machine_code(compiler, machine_code):
    in_ptx = json.loads(widths.STORED.read_text())["8"]
    source, nvcc = PTX_OF_GEMM_8.paths[0], compiler.toolchain.nvcc
    assert in_ptx == compiler.result(PTX_OF_GEMM_8, dict[str, int], lambda: widths.count_widths(source, nvcc))
    assert set(in_ptx) == {"32", "64", "128"}
    assert machine_code("gemm", 8).only("^(?!.*ILb0E)").widths("LDS") == {128}
