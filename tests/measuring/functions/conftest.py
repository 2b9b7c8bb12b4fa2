"""A machine that measures functions without a GPU: a library stands for the driver and CUPTI, a script for ncu."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from profiler.store.runs.run_store import RunStore

HERE = Path(__file__).parent

# What users write, but for `launch`: it stands for the launch of a kernel.
SCRIPT = '''
import ctypes
import os
import time
import numpy as np
import profiler as prof

print("the whole script runs")
library = ctypes.CDLL("libcuda.so.1")

def launch(name, ns, grid=1):
    library.launch(name.encode(), ctypes.c_uint64(ns), grid)

tuned = []

def double(x):
    """Tries 100 configurations, one in each of the first calls, as lazy autotuners do."""
    if len(tuned) < 100:
        tuned.append(None)
        launch("double_kernel", 1_000_000, 1000 + len(tuned))
    launch("fill_kernel", 100)
    launch("double_kernel", 2000)
    return x * 2

def fast(x):
    launch("double_kernel", 1000)
    return x + x

def into(x, y):
    launch("into_kernel", 500)
    y[:] = x * 2

def forgets(x, y):
    launch("into_kernel", 500)
    y[:-1] = x[:-1] * 2

def wrong(x):
    launch("double_kernel", 1000)
    return x * 2 + (x > 0.9)

def shorter(x):
    launch("double_kernel", 1000)
    return x[:3] * 2

def nothing(x):
    return x * 2

def raises(x):
    raise ValueError("no such thing")

def exits(x):
    raise SystemExit("enough")

def crashes(x):
    os.abort()

def chatty(x):
    print("{not JSON")
    print('{"kernel_ns": 5}')
    launch("double_kernel", 1000)
    return x * 2

def hangs(x):
    time.sleep(600)

def restless(x, seen=[]):
    seen.append(None)
    launch("kernel", 100, len(seen))
    return x * 2

def kept(x):
    launch("double_kernel", 1000)
    return x * 2

x = np.linspace(0, 1, 1000, dtype=np.float32)
'''


class Machine:
    """Runs scripts that measure; `runs` is the store that they commit to."""

    def __init__(self, folder, environment):
        self.folder, self.environment = folder, environment

    functions = SCRIPT

    @property
    def runs(self):
        return RunStore(self.folder / "runs")

    @property
    def calls(self):
        """The calls of ncu."""
        return (self.folder / "calls").read_text().splitlines()

    def run(self, text, name="script.py", **environment):
        """Runs the functions above, followed by `text`, as a script."""
        (self.folder / name).write_text(SCRIPT + text)
        return subprocess.run(
            [sys.executable, name],
            cwd=self.folder,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def error(self, text, before=""):
        """Returns the failure of a measurement, after which nothing is stored."""
        (error,) = self.errors(text, before=before)
        return error

    def errors(self, *texts, before=""):
        """Returns the failures of measurements of one script, after which nothing is stored; "" where one succeeds."""
        tries = "".join(
            f"said = ''\ntry:\n    {text}\nexcept Exception as error:\n"
            "    said = f'{type(error).__name__}: {getattr(error, \"message\", error)}'\n"
            "print('\\0' + said)\n"
            for text in texts
        )
        found = self.run(before + tries)
        assert found.returncode == 0, found.stderr
        assert not self.runs.ids()
        assert not list(self.folder.glob("runs/.pending/*"))
        return [error.strip() for error in found.stdout.split("\0")[1:]]


@pytest.fixture(scope="session")
def fake_cuda(tmp_path_factory, needs):
    """A folder with the library, under the names of the driver and of CUPTI."""
    folder = tmp_path_factory.mktemp("cuda")
    library = folder / "libcuda.so.1"
    subprocess.run(
        [needs("cc"), "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", library, HERE / "fake_cuda.c"],
        check=True,
        capture_output=True,
    )
    places = folder / "home" / "lib64"
    places.mkdir(parents=True)
    (places / "libcupti.so.13").symlink_to(library)
    return folder


@pytest.fixture
def measuring(tmp_path, fake_cuda, replay_ncu, gpu_environment):
    """A machine whose ncu records two launches in each process."""
    replay_ncu("four-way")
    root = Path(__file__).parents[3]
    environment = gpu_environment | {
        "LD_LIBRARY_PATH": str(fake_cuda),
        "CUDA_HOME": str(fake_cuda / "home"),
        "PYTHONPATH": str(root),
        "TMPDIR": str(tmp_path / "tmp"),
        "HOME": str(tmp_path / "elsewhere"),
    }
    (tmp_path / "tmp").mkdir()
    assert shutil.which("ncu", path=environment["PATH"])
    return Machine(tmp_path, {**os.environ, **environment})
