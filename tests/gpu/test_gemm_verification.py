"""The GEMM ladder's verification on a GPU: planted errors are caught, and what was timed is right.

`pytest -m gpu tests/gpu/test_gemm_verification.py`; `planted.cu` says what is planted.
"""

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from profiler.catalog.ladders.ladder_file import read_ladder
from profiler.measuring.rungs.build import build_kernels
from profiler.measuring.tools.gpus import find_gpu
from profiler.measuring.tools.toolchain import find_toolchain

ROOT = Path(__file__).resolve().parents[2]
TYPES = {
    "fp32": ("float", "float"),
    "bf16": ("bf16", "float"),
    "tf32": ("tf32", "float"),
    "bf16_out": ("bf16", "bf16"),
    "fp8": ("e4m3", "bf16"),
}
LAYER = "layer"  # bf16_out, with bias and GELU
LADDER = """
title = "Products with planted errors"
uses = ["cublas"]
command = ["{binary}"]
"""
KERNEL = """
[[kernel]]
number = {number}
name = "{name}"
idea = "a right product, with an error where one is asked for"
source = "{source}"
regex = "plant"
flags = ["-std=c++17", "-O3", "-DELEMENT={element}", "-DRESULT={result}", "-DLAYER={layer}"]
"""
DONE, WRONG = 0, 4

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """`planted("bf16", "row", "check", size=1024)`: a program's answer; from launch `since` on, the error is there."""
    folder = tmp_path_factory.mktemp("planted")
    source = os.path.relpath(ROOT / "tests/gpu/planted.cu", folder)
    kernels = [
        KERNEL.format(
            number=number, name=name, source=source, element=element, result=result, layer=int(name == LAYER)
        )
        for number, (name, (element, result)) in enumerate([*TYPES.items(), (LAYER, TYPES["bf16_out"])])
    ]
    (folder / "ladder.toml").write_text("\n".join([LADDER, *kernels]))
    ladder = read_ladder(folder / "ladder.toml")
    built = list(build_kernels(ladder, ladder.kernels, find_gpu().arch, find_toolchain()))
    assert {one.status for one in built} == {"built"}, [one.error for one in built]
    binaries = {one.kernel.name: one.binary for one in built}

    def run(name, error, mode, *words, size=1024, since=1):
        shape = [word for axis in "mnk" for word in (f"--{axis}", str(size))]
        return subprocess.run(
            [binaries[name], "--mode", mode, "--json", *shape, *words],
            env={**os.environ, "PLANT": error, "FROM": str(since)},
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip

    return run


@pytest.mark.parametrize("size", [1024, 8192])
@pytest.mark.parametrize("name", [*TYPES, LAYER])
def test_each_planted_error_is_caught(planted, name, size):
    errors = ("none", "element", "product", "row", "tile")
    if (name, size) == ("fp8", 8192):
        # Its sums may be off by 2, which is more than the largest product, 1.
        errors = ("none", "element", "row", "tile")
    with ThreadPoolExecutor(len(errors)) as pool:
        done = list(pool.map(lambda error: planted(name, error, "check", size=size), errors))
    right, *wrong = done
    assert right.returncode == DONE, right.stderr
    assert json.loads(right.stdout)["worst_element"] <= 1
    for one in wrong:
        assert one.returncode == WRONG
        assert json.loads(one.stdout)["worst_element"] > 1


@pytest.mark.parametrize("name", [*TYPES, LAYER])
def test_an_error_in_the_last_timed_launch_is_caught(planted, name):
    words = ("--warmup", "2", "--repeats", "3")
    assert (
        planted(name, "element", "time", *words, since=6).returncode == DONE
    )  # it would be in the launch after
    done = planted(name, "element", "time", *words, since=5)
    assert (done.returncode, "after the last timed launch" in done.stderr) == (WRONG, True)


def test_one_launch_of_many_with_other_bits_is_caught(planted):
    assert planted("fp32", "none", "repeat", "--launches", "20").returncode == DONE
    done = planted("fp32", "element", "repeat", "--launches", "20", since=20)
    assert (done.returncode, json.loads(done.stdout)["different_bytes"] > 0) == (WRONG, True)


@pytest.mark.parametrize("number", [14, 20])
@pytest.mark.parametrize("shape", [(4096, 4096, 4096), (3000, 2000, 1500), (128, 128, 65536)])
def test_a_thousand_launches_leave_the_same_bits(number, shape):
    """The blocks of these rungs hand partial sums to each other by flags in memory."""
    assert run_rung(number, shape, "repeat", "--launches", "1000")["different_bytes"] == 0


@pytest.mark.parametrize(
    ("number", "shape"),
    [(12, (4081, 4100, 72)), (23, (4081, 4100, 72)), (21, (5120, 5120, 64)), (22, (5120, 5120, 64))],
)
def test_tiles_of_an_odd_number_of_boxes_are_right_where_k_is_short(number, shape):
    """Boxes of C take turns at two places: the last of a tile and the first of the next go through the same one."""
    run_rung(number, shape, "check")
    assert run_rung(number, shape, "repeat", "--launches", "300")["different_bytes"] == 0


def run_rung(number, shape, mode, *words):
    """Builds a rung and returns what its program says, once it ended well."""
    ladder = read_ladder(ROOT / "kernels/gemm/ladder.toml")
    (built,) = build_kernels(ladder, [ladder.kernel(number)], find_gpu().arch, find_toolchain())
    extents = [word for axis, extent in zip("mnk", shape, strict=True) for word in (f"--{axis}", str(extent))]
    command = [built.binary, "--mode", mode, "--json", *extents, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == DONE, done.stderr
    return json.loads(done.stdout)
