"""The pytest plugin: a test that measures a function passes, fails with its cause, or says that it cannot decide."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import profiler
from profiler.python.pytest_plugin import judge

# An editable install of an older commit lacks the entry point.
INSTALLED = any(one.name == "prof" for one in entry_points(group="pytest11"))
PLUGIN = () if INSTALLED else ("-p", "profiler.python.pytest_plugin")

pytestmark = pytest.mark.needs("cc")

# NS is the time of the kernel. NOISY lets it differ between the three processes of a measurement that are timed, after
# pytest's own and the one that verifies.
TESTS = """
import os
import ctypes
import numpy as np

library = ctypes.CDLL("libcuda.so.1")
noise = 1
if "NOISY" in os.environ:
    with open("processes", "a") as file:
        file.write(".")
        noise = (1.15, 1, 1, 0.85, 1)[file.tell() % 5]

def double(x):
    library.launch(b"double_kernel", ctypes.c_uint64(int(int(os.environ["NS"]) * noise)), 1)
    return x * 2

def test_double(prof_kernel):
    found = prof_kernel(double, np.ones(8), reference=lambda x: x + x, processes=3, repeats=4, launches=2)
    assert found.ns > 0

def test_without_a_kernel():
    pass
"""


@pytest.fixture
def pytest_run(measuring):
    (measuring.folder / "test_kernels.py").write_text(TESTS)

    def run(*options: str, **environment: str) -> subprocess.CompletedProcess[str]:
        command = [
            sys.executable,
            "-m",
            "pytest",
            *PLUGIN,
            "-p",
            "no:cacheprovider",
        ]
        return subprocess.run(
            [*command, "test_kernels.py", "--prof-times-only", *options],
            cwd=measuring.folder, env=measuring.environment | {"NS": "1000"} | environment,
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip

    return run


@pytest.fixture(scope="module")
def kept(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("kept") / "prof-baseline"


@pytest.fixture
def baseline(pytest_run, measuring, kept) -> Path:
    """The folder that `--prof-update` wrote, of a kernel that takes 1000 ns; measured once for all tests."""
    ours = measuring.folder / "prof-baseline"
    if kept.exists():
        shutil.copytree(kept, ours)
    else:
        assert outcome(pytest_run("--prof-update")) == (0, "2 passed")
        shutil.copytree(ours, kept)
    return ours


def outcome(found: subprocess.CompletedProcess[str]) -> tuple[int, str]:
    return found.returncode, re.sub(r" in .*", "", found.stdout.splitlines()[-1]).strip("= ")


def test_a_baseline_is_measured_and_then_compared_with(baseline, pytest_run):
    assert os.listdir(baseline)
    assert outcome(pytest_run()) == (0, "2 passed")


def test_a_slower_function_fails_its_test_with_the_figures(baseline, pytest_run):
    found = pytest_run(NS="1500")
    assert outcome(found) == (1, "1 failed, 1 passed")
    assert "test_double-double: regression" in found.stdout
    assert "duration_ns +50.0 %" in found.stdout
    assert len(list(baseline.glob("2*"))) == 1  # the baseline stays as it was


def test_a_faster_function_passes(baseline, pytest_run):
    assert outcome(pytest_run(NS="500")) == (0, "2 passed")


def test_what_noise_hides_is_unclear_and_neither_passes_nor_fails(pytest_run):
    pytest_run("--prof-update", NOISY="1")
    found = pytest_run(NOISY="1", NS="1080")
    assert outcome(found) == (0, "1 passed, 1 unclear")
    assert "u." in found.stdout
    assert "duration_ns" in found.stdout.partition("prof: unclear")[2]


def test_without_a_baseline_the_result_is_unclear(pytest_run):
    found = pytest_run("--prof-baseline", "elsewhere")
    assert outcome(found) == (0, "1 passed, 1 unclear")
    assert "pytest --prof-update measures a baseline" in found.stdout


def test_without_a_gpu_the_test_is_skipped_with_the_reason(pytest_run, measuring):
    (measuring.folder / "bin" / "nvidia-smi").write_text("#!/bin/sh\nexit 9\n")
    found = pytest_run("-rs")
    assert outcome(found) == (0, "1 passed, 1 skipped")
    assert "no GPU: nvidia-smi lists none" in found.stdout


def test_a_wrong_result_fails_its_test(pytest_run, measuring):
    path = measuring.folder / "test_kernels.py"
    path.write_text(path.read_text().replace("return x * 2", "return x * 3"))
    found = pytest_run("--prof-update")
    assert outcome(found) == (1, "1 failed, 1 passed")
    assert "double computes a wrong result" in found.stdout
    assert not list((measuring.folder / "prof-baseline").glob("2*"))


def test_workers_of_xdist_report_the_same_outcomes(pytest_run):
    assert outcome(pytest_run("-n", "2", "-p", "xdist", "--prof-baseline", "none")) == (
        0,
        "1 passed, 1 unclear",
    )


def test_a_test_waits_until_no_other_measures_on_the_gpu(measuring, pytest_run):
    import fcntl

    lock = measuring.folder / "tmp" / "prof-gpu-0"
    lock.mkdir(exist_ok=True)
    with open(lock / "measuring", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        waiting = subprocess.Popen(
            [sys.executable, "-m", "pytest", *PLUGIN, "test_kernels.py", "--prof-update"],
            cwd=measuring.folder, env=measuring.environment | {"NS": "1000"}, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.wait(4)
    assert waiting.wait(60) == 0
    assert os.listdir(measuring.folder / "prof-baseline")


def test_a_regression_has_its_cause_in_the_message(tmp_path, reports):
    """Kernel 6 of the GEMM ladder is the baseline of its slower predecessor."""
    for folder, report in (("baseline", "gemm_6"), ("runs", "gemm_5")):
        command = [sys.executable, "-m", "profiler", "ingest", "--runs", tmp_path / folder, "--name", "mine"]
        subprocess.run([*command, reports / f"{report}.ncu-rep"], check=True, capture_output=True)
    with pytest.raises(pytest.fail.Exception) as failed:
        judge(tmp_path / "baseline", tmp_path / "runs")
    message = str(failed.value)
    assert message.startswith("mine: regression\nduration_ns +")
    headline = profiler.compare(reports / "gemm_6.ncu-rep", reports / "gemm_5.ncu-rep").headline
    assert headline.why in message
    assert headline.next in message
