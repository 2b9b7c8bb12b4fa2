"""The empty kernel that `prof doctor` profiles: it needs the driver's library and nothing else."""

import os
import subprocess
import sys

import pytest

from profiler.measuring.tools import probe
from profiler.measuring.tools.process import run

# A driver whose calls all succeed, but the one that FAILS names.
DRIVER = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define CALL(name) int name() { \
    fprintf(stderr, #name "\n"); \
    return getenv("FAILS") && !strcmp(getenv("FAILS"), #name) ? 100 : 0; }
CALL(cuInit) CALL(cuDeviceGet) CALL(cuDevicePrimaryCtxRetain) CALL(cuCtxSetCurrent) CALL(cuModuleLoadData)
CALL(cuModuleGetFunction) CALL(cuLaunchKernel) CALL(cuCtxSynchronize)
int cuGetErrorName(int code, const char** name) { *name = "CUDA_ERROR_NO_DEVICE"; return 0; }
"""


@pytest.fixture
def driver(tmp_path, needs):
    """An environment in which the stand-in above is the driver's library."""
    (tmp_path / "driver.c").write_text(DRIVER)
    library = tmp_path / "libcuda.so.1"
    subprocess.run([needs("cc"), "-shared", "-fPIC", tmp_path / "driver.c", "-o", library], check=True)
    return {"LD_LIBRARY_PATH": str(tmp_path)}


def run_probe(environment):
    return run([sys.executable, "-I", probe.__file__], timeout_s=60, environment=environment)


def test_it_launches_one_kernel_and_waits_for_it(driver):
    done = run_probe(driver)

    assert done.exit_code == 0
    assert done.stdout == ""
    calls = done.stderr.split()
    assert calls[0] == "cuInit"
    assert calls[-2:] == ["cuLaunchKernel", "cuCtxSynchronize"]
    assert len(calls) == len(set(calls))


@pytest.mark.parametrize("call", ["cuInit", "cuModuleLoadData", "cuCtxSynchronize"])
def test_a_call_that_fails_is_named_with_its_error(driver, call):
    done = run_probe({**driver, "FAILS": call})

    assert done.exit_code == 1
    assert done.stderr.splitlines()[-1] == f"error: {call}: CUDA_ERROR_NO_DEVICE"


def test_without_a_driver_it_says_so(tmp_path):
    (tmp_path / "libcuda.so.1").write_text("no library")

    done = run_probe({"LD_LIBRARY_PATH": str(tmp_path)})

    assert done.exit_code == 1
    assert done.stderr.startswith("error: ")
    assert "libcuda.so.1" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_assembler_takes_its_kernel(tmp_path, needs):
    (tmp_path / "probe.ptx").write_bytes(probe.PTX)

    command = [str(needs("ptxas")), "--gpu-name", "sm_90", str(tmp_path / "probe.ptx"), "-o", os.devnull]
    done = run(command, timeout_s=60)

    assert done.exit_code == 0, done.stderr
    assert f".entry {probe.KERNEL_NAME}()" in probe.PTX.decode()
