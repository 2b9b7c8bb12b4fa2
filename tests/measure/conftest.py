"""A ladder whose program is a Python script, and a GPU that is a script too: no CUDA anywhere."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from profiler.catalog.ladder import Ladder
from profiler.catalog.ladder_file import read_ladder
from profiler.measure.health import Machine
from profiler.measure.program import Job

# What it does is said by its first argument; the rest is what the ladder passes on.
PROGRAM = """
import json, os, sys, time
what, mode, size, repeats, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
if what == "refuses":
    print("error: this kernel takes multiples of 128", file=sys.stderr); sys.exit(3)
if what == "memory":
    print("error: no room for 64 GB more", file=sys.stderr); sys.exit(6)
if what == "torch_memory":
    print("torch.OutOfMemoryError: CUDA out of memory.", file=sys.stderr); sys.exit(1)
if what == "no_gpu":
    print("error: no CUDA device: the driver lists none", file=sys.stderr); sys.exit(5)
if what == "fails":
    print("\\n".join(f"line {i}" for i in range(50)), file=sys.stderr); sys.exit(9)
if what.startswith("dies"):
    os.kill(os.getpid(), 11)
if what == "hangs":
    print("started", flush=True); time.sleep(600)
if what == "silent":
    sys.exit(0)
if what == "garbage":
    print("{kernel_ns: 12"); sys.exit(0)
if what == "nonsense":
    print(json.dumps({"kernel_ns": -1.0})); sys.exit(0)
if what == "mixed":
    print('{"kernel_ns": 1, "reference_ns": 2}'); print('{"kernel_ns": 1}'); sys.exit(0)
print("a log line")
if mode == "time":
    for i in range(repeats):
        print(json.dumps({"repeat": i, "kernel_ns": size * (10 + i), "reference_ns": size * 9}))
    print(json.dumps({"summary": True, "reference": "the best"}))
if mode == "check":
    error = 1.0 if what == "wrong" else 1e-7
    ok = what not in ("wrong", "contradicts")
    print(json.dumps({"relative_error": error, "threshold": 1e-5, "ok": ok}))
    sys.exit(0 if ok or what == "contradicts" else 4)
"""

LADDER = """
title = "Scripts"
command = ["{python}", "{folder}/program.py", "WHAT", "profile", "{size}", "1", "{seed}"]
time = ["{python}", "{folder}/program.py", "WHAT", "time", "{size}", "{repeats}", "{seed}"]
check = ["{python}", "{folder}/program.py", "WHAT", "check", "{size}", "1", "{seed}"]
flops = "1000 * size"
[workload]
size = 100
"""

KERNEL = """
[[kernel]]
number = {number}
name = "{what}"
idea = "a program that {what}"
regex = "."
"""


def write_ladder(folder: Path, *whats: str) -> Path:
    """A ladder with one kernel for each of these behaviours, numbered from 1."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "program.py").write_text(PROGRAM)
    shared = LADDER.replace("{python}", sys.executable)
    top, workload = shared.split("[workload]")
    commands = [line for line in top.splitlines() if "WHAT" in line]
    head = "\n".join(line for line in top.splitlines() if "WHAT" not in line)
    text = f"{head}\n[workload]{workload}"
    for number, what in enumerate(whats, start=1):
        text += KERNEL.format(number=number, what=what)
        text += "\n".join(command.replace("WHAT", what) for command in commands) + "\n"
    (folder / "ladder.toml").write_text(text)
    return folder / "ladder.toml"


def job_of(ladder: Ladder, number: int = 1, **changes: object) -> Job:
    return Job(ladder, ladder.kernel(number), ladder.workload.values(), seed=7, **changes)  # type: ignore[arg-type]


@pytest.fixture
def job(tmp_path: Path):
    """`job("fails")`: one kernel that behaves so."""

    def make(what: str, **changes: object) -> Job:
        return job_of(read_ladder(write_ladder(tmp_path / "kernels" / "scripts", what)), **changes)

    return make


@pytest.fixture
def script(tmp_path: Path):
    """`script("nvcc", "exit 3")`: an executable of that name; its folder is returned."""

    def make(name: str, body: str) -> Path:
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        path = folder / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return folder

    return make


@pytest.fixture
def gpu_environment(script) -> dict[str, str]:
    """An environment in which nvidia-smi lists one GPU."""
    folder = script("nvidia-smi", 'echo "NVIDIA H200, 9.0, 580.159.03, GPU-0"')
    environment = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
    return {**environment, "PATH": f"{folder}:{os.environ['PATH']}"}


@pytest.fixture
def make_ladder():
    """`make_ladder(folder, "works", "fails")` writes a ladder and returns its file."""
    return write_ladder


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Nothing is installed on it but the scripts that a test makes, no driver is loaded, and nothing runs."""
    folder = tmp_path / "bin"
    for place in (folder, tmp_path / "tmp", tmp_path / "proc"):
        place.mkdir(exist_ok=True)

    def installed(tool: str):
        return lambda environment: iter([folder / tool] if (folder / tool).exists() else [])

    monkeypatch.setattr("profiler.measure.ncu._candidates", installed("ncu"))
    monkeypatch.setattr("profiler.measure.toolchain._nvcc_candidates", installed("nvcc"))
    environment = {"PATH": str(folder), "TMPDIR": str(tmp_path / "tmp")}
    return Machine(environment, tmp_path / "proc")


@pytest.fixture
def replay_ncu(script, tmp_path: Path):
    """`replay_ncu("probe")`: an ncu that says and leaves what the real one did; the file logs its calls."""

    def make(transcript: str) -> Path:
        log, program = tmp_path / "calls", Path(__file__).with_name("fake_ncu.py")
        log.touch()
        variables = f'FAKE_NCU={transcript} FAKE_NCU_LOG="{log}"'
        script("ncu", f'{variables} exec {sys.executable} "{program}" "$@"')
        return log

    return make
