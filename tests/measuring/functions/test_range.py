"""A range is named through the NVTX that the program's Python has, whichever library launches its kernels."""

import os
import subprocess
import sys
from pathlib import Path

NVTX = """
#include <stdio.h>
int nvtxRangePushA(const char *name) { printf("push %s\\n", name); fflush(stdout); return 0; }
int nvtxRangePop(void) { printf("pop\\n"); fflush(stdout); return 0; }
"""
PROGRAM = """
import profiler as prof
with prof.range("forward"):
    print("inside", flush=True)
"""


def run(folder, path):
    (folder / "program.py").write_text(PROGRAM)
    command = [sys.executable, folder / "program.py"]
    return subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True
    ).stdout


def test_the_nvtx_beside_the_packages_of_python_is_found(tmp_path, needs):
    library = tmp_path / "nvidia" / "cu13" / "lib" / "libnvtx3interop.so.1"
    library.parent.mkdir(parents=True)
    (tmp_path / "nvtx.c").write_text(NVTX)
    subprocess.run([needs("cc"), "-shared", "-fPIC", "-o", library, tmp_path / "nvtx.c"], check=True)
    root = str(Path(__file__).parents[3])
    assert run(tmp_path, f"{tmp_path}:{root}").splitlines() == ["push forward", "inside", "pop"]


def test_without_nvtx_a_range_does_nothing(tmp_path):
    assert run(tmp_path, str(Path(__file__).parents[3])) == "inside\n"
