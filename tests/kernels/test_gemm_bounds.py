"""The GEMM ladder's bounds of single elements, on a CPU: right products pass, and each planted error is caught.

`bounds.cu` multiplies as FMAs and as tensor cores do, and judges with the bounds that the programs use on a GPU.
"""

import json
from typing import Any

import pytest

from profiler.measuring.tools.process import run
from tests.kernels.conftest import bounds_program

PRECISIONS = ("fp32", "bf16", "tf32", "bf16 to bf16", "e4m3 to bf16")
ROW, TILE = 72, 16 * 16  # elements of the planted row and tile
LARGEST_K_OF_FP8 = 333  # of those tried, at which one lost product shows


@pytest.fixture(scope="module", params=[4096, pytest.param(16384, marks=pytest.mark.campaign)])
def judged(request, compiler):
    """Returns what the program found: a row for each precision, k up to the largest, and error. Campaigns go further."""
    program = bounds_program(request.param)

    def run_it():
        compiler.needs("g++")
        tools, binary = compiler.toolchain, compiler.cache / "bounds"
        link = [f"-L{tools.link_folder}"] if tools.link_folder else []
        command = [str(tools.nvcc), *program.flags, *link, str(program.paths[0]), "-o", str(binary)]
        built = run(command, timeout_s=300)
        assert built.exit_code == 0, built.stderr
        found = run([str(binary), str(request.param)], timeout_s=120).stdout
        return [json.loads(line) for line in found.splitlines()]

    return compiler.result(program, list[dict[str, Any]], run_it)


def of(judged, precision, error):
    rows = [row for row in judged if (row["precision"], row["error"]) == (precision, error)]
    assert [row["k"] for row in rows][:4] == [1, 16, 333, 4096]
    yield from rows


@pytest.mark.parametrize("precision", PRECISIONS)
def test_right_products_pass(judged, precision):
    for row in of(judged, precision, "none"):
        assert row["wrong"] == 0
        assert row["worst_element"] <= 1


@pytest.mark.parametrize("precision", ["fp32", "bf16", "tf32"])
def test_right_products_stay_far_below_the_bound_where_k_is_large(judged, precision):
    """The inputs of a GPU are other ones, and more: a bound that these nearly reach would refuse right results."""
    assert all(row["worst_element"] < 0.2 for row in of(judged, precision, "none") if row["k"] > 1)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("error", ["element", "product"])
def test_one_wrong_element_is_caught(judged, precision, error):
    """It is another column's, or lacks one of its products, unless FP8's sums are further off than a product is large."""
    for row in of(judged, precision, error):
        if (precision, error) != ("e4m3 to bf16", "product") or row["k"] <= LARGEST_K_OF_FP8:
            assert row["wrong"] == 1


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_wrong_row_and_a_wrong_tile_are_caught_element_by_element(judged, precision):
    """An element of the wrong row may happen to be nearly the right one; in FP8, one of the wrong tile may be nearly zero."""
    in_fp8 = precision == "e4m3 to bf16"
    assert all(row["wrong"] >= (0.9 if in_fp8 else 0.95) * ROW for row in of(judged, precision, "row"))
    assert all(row["wrong"] >= (0.85 if in_fp8 else 1) * TILE for row in of(judged, precision, "tile"))
