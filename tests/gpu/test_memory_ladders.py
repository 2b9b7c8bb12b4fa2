"""The ladders that are measured by the device's own copy, on a GPU: right at every size, and never faulting off their alignment.

`pytest -m gpu tests/gpu/test_memory_ladders.py`; half an hour, 35 s a ladder and test.
"""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from profiler.catalog.ladders.ladder_file import read_ladder
from profiler.measuring.rungs.build import build_kernels
from profiler.measuring.tools.gpus import find_gpu
from profiler.measuring.tools.toolchain import find_toolchain

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"}
SMALL = {"n": 70_001, "rows": 37, "columns": 100, "tokens": 37, "hidden": 1000, "vocab": 500}
DONE, UNSUPPORTED, WRONG = 0, 3, 4
REJECTED = (
    "rmsnorm-variants",
    "half_arithmetic",
)  # its sums in half precision are wrong, and verification must say so

Finished = subprocess.CompletedProcess[str]

pytestmark = pytest.mark.gpu


def memory_ladders():
    """Their reference is a rung that is timed and not profiled: the copy."""
    paths = sorted((ROOT / "kernels").glob("*/ladder.toml"))
    return [path.parent.name for path in paths if is_memory_ladder(tomllib.loads(path.read_text()))]


def is_memory_ladder(table):
    timed_alone = [row["number"] for row in table["kernel"] if not row.get("profile", True)]
    return table.get("reference") in timed_alone


each_ladder = pytest.mark.parametrize("name", memory_ladders())


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder of its own to build in."""
    folder = tmp_path_factory.mktemp("memory")
    shutil.copytree(ROOT / "kernels", folder / "kernels")
    return folder


@pytest.fixture(scope="module")
def binaries(place):
    """`binaries("copy")`: the compiled rungs of a ladder, by their names, without the one that is to be rejected."""
    toolchain, arch = find_toolchain(), find_gpu().arch

    def build(name):
        ladder = ladder_in(place, name)
        compiled = [one for one in ladder.kernels if one.is_compiled and (name, one.name) != REJECTED]
        built = list(build_kernels(ladder, compiled, arch, toolchain))
        assert [one.error for one in built if one.status == "failed"] == []
        return {one.kernel.name: one.binary for one in built if one.status != "unavailable"}

    return build


def ladder_in(place, name):
    return read_ladder(place / "kernels" / name / "ladder.toml")


def small_workload(ladder):
    return {name: SMALL.get(name, default) for name, default in ladder.workload.parameters.items()}


def run_each(binaries, *words, under=()):
    """Several at a time: what is asked here is not how fast they are."""

    def run(binary):
        return subprocess.run(
            [*under, binary, *words], capture_output=True, text=True, timeout=300, check=False
        )

    with ThreadPoolExecutor(8) as pool:
        return dict(zip(binaries, pool.map(run, binaries.values()), strict=True))


def flags(workload):
    return [word for name, value in workload.items() for word in (f"--{name}", str(value))]


def verify(place, ladder, names):
    numbers = [f"--kernel={kernel.number}" for kernel in ladder.kernels if kernel.name in names]
    shape = [f"--set-param={key}={value}" for key, value in small_workload(ladder).items()]
    return subprocess.run(
        [sys.executable, "-c", "from profiler.cli import main; main()", "verify", "--ladder", ladder.name, *numbers, *shape],
        cwd=place, env=ENVIRONMENT, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


@each_ladder
def test_every_rung_is_right(place, binaries, name):
    done = verify(place, ladder_in(place, name), binaries(name))
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_sum_in_half_precision_is_rejected(place):
    ladder, rung = REJECTED
    done = verify(place, ladder_in(place, ladder), [rung])
    assert (done.returncode, "computes a wrong result" in done.stderr) == (60, True), done.stderr


def test_one_wrong_element_is_caught_also_after_the_last_timed_launch(tmp_path):
    toolchain = find_toolchain()
    program = tmp_path / "planted"
    source = ROOT / "tests/gpu/planted_map.cu"
    flags = ["-std=c++17", "-O3", f"-arch={find_gpu().arch}"]
    subprocess.run([toolchain.nvcc, *flags, "-o", program, source], check=True, timeout=300)

    def run(mode, since, *words):
        environment = {**os.environ, "FROM": str(since)}
        command = [program, "--mode", mode, "--json", *words]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=300, check=False
        )

    assert run("check", 1000).returncode == DONE
    found = run("check", 1)
    assert (found.returncode, json.loads(found.stdout)["worst_element"] > 1) == (WRONG, True)
    words = ("--warmup", "2", "--repeats", "3")
    assert run("time", 6, *words).returncode == DONE  # it would be in the launch after
    found = run("time", 5, *words)
    assert (found.returncode, "after the last timed launch" in found.stderr) == (WRONG, True)
    found = run("repeat", 20, "--launches", "20")
    assert (found.returncode, json.loads(found.stdout)["different_bytes"] > 0) == (WRONG, True)


@each_ladder
def test_off_its_alignment_a_rung_runs_or_refuses(place, binaries, name):
    shape = flags(small_workload(ladder_in(place, name)))
    for rung, done in run_each(
        binaries(name), "--mode", "time", "--repeats", "1", "--offset", "1", *shape
    ).items():
        assert done.returncode in {DONE, UNSUPPORTED}, f"{rung}: {done.stderr}"


@each_ladder
def test_memcheck_finds_nothing(place, binaries, needs, name):
    under = (str(needs("compute-sanitizer")), "--tool", "memcheck", "--error-exitcode", "99")
    shape = flags(small_workload(ladder_in(place, name)))
    for rung, done in run_each(binaries(name), "--mode", "check", *shape, under=under).items():
        assert done.returncode == 0, f"{rung}: {done.stdout[-2000:]}{done.stderr}"
