"""Fixtures that measure without CUDA: a ladder whose programs are Python scripts, and an ncu that is a script too."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from terminal import write_tool

from profiler.catalog.ladders.ladder import Ladder
from profiler.catalog.ladders.ladder_file import read_ladder
from profiler.catalog.presets import find_preset
from profiler.measuring.collect.collection import CollectObserver, CollectPlan, CollectStep
from profiler.measuring.collect.device import LocalDevice
from profiler.measuring.collect.target import Target, rung_target
from profiler.measuring.collect.turns import collect_here
from profiler.measuring.doctor.checks import Machine
from profiler.measuring.rungs.program import RungJob
from profiler.measuring.tools.gpus import Gpu
from profiler.measuring.tools.ncu import Ncu, NcuOptions, Selection
from profiler.store.runs.run_store import RunStore

# The first argument chooses the behaviour; the ladder passes the others.
PROGRAM = """
import json, os, sys, time
what, mode, size, repeats, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
if log := os.environ.get("PROGRAM_LOG"):
    print(what, size, file=open(log, "a"))
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
    print(json.dumps({"summary": True, "reference": "the best", "runtime": "Script 1"}))
if mode == "check":
    error = 1.0 if what == "wrong" else 1e-7
    ok = what not in ("wrong", "contradicts")
    print(json.dumps({"relative_error": error, "threshold": 1e-5, "ok": ok}))
    sys.exit(0 if ok or what == "contradicts" else 4)
"""

LADDER = """
title = "Scripts"
command = ["{python}", "-S", "{folder}/program.py", "WHAT", "profile", "{size}", "1", "{seed}"]
time = ["{python}", "-S", "{folder}/program.py", "WHAT", "time", "{size}", "{repeats}", "{seed}"]
check = ["{python}", "-S", "{folder}/program.py", "WHAT", "check", "{size}", "1", "{seed}"]
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


def write_ladder(folder, *whats):
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


def job_of(ladder, number=1, **changes):
    return RungJob(ladder, ladder.kernel(number), ladder.workload.values(), seed=7, **changes)


@pytest.fixture
def job(tmp_path):
    """`job("fails")`: a job for one kernel with that behaviour."""

    def make(what, **changes):
        return job_of(read_ladder(write_ladder(tmp_path / "kernels" / "scripts", what)), **changes)

    return make


@pytest.fixture
def script(tmp_path):
    """`script("nvcc", "exit 3")`: an executable of that name; its folder is returned."""

    def make(name, body):
        return write_tool(tmp_path / "bin" / name, body).parent

    return make


@pytest.fixture
def gpu_environment(script):
    """An environment in which nvidia-smi lists one GPU."""
    folder = script("nvidia-smi", 'echo "NVIDIA H200, 9.0, 580.159.03, GPU-0"')
    environment = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
    return {**environment, "PATH": f"{folder}:{os.environ['PATH']}"}


@pytest.fixture(scope="session")
def make_ladder():
    """`make_ladder(folder, "works", "fails")` writes a ladder and returns its file."""
    return write_ladder


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine without a driver or other processes, where only the scripts that a test makes are installed."""
    folder = tmp_path / "bin"
    for place in (folder, tmp_path / "tmp", tmp_path / "proc"):
        place.mkdir(exist_ok=True)

    def installed(tool):
        return lambda environment: iter([folder / tool] if (folder / tool).exists() else [])

    # Both look in fixed folders too, where this machine may have the real tools.
    monkeypatch.setattr("profiler.measuring.tools.ncu.ncu_candidates", installed("ncu"))
    monkeypatch.setattr("profiler.measuring.tools.toolchain.nvcc_candidates", installed("nvcc"))
    environment = {"PATH": str(folder), "TMPDIR": str(tmp_path / "tmp")}
    return Machine(environment, tmp_path / "proc")


@pytest.fixture
def replay_ncu(script, tmp_path):
    """`replay_ncu("probe")`: installs an ncu that replays a transcript; returns the log of its calls."""

    def make(transcript):
        log, program = tmp_path / "calls", Path(__file__).with_name("fake_ncu.py")
        log.touch()
        variables = f'FAKE_NCU={transcript} FAKE_NCU_LOG="{log}"'
        script("ncu", f'{variables} exec {sys.executable} -S "{program}" "$@"')
        return log

    return make


GPU = Gpu("NVIDIA H200", "sm_90", "580.1", "GPU-0")


# Takes the turn on the GPU that an argument names, says so, and keeps it until its standard input ends.
HOLDER = """
import sys
from profiler.measuring.collect.gpu_turn import gpu_turn
from profiler.measuring.tools.gpus import Gpu
with gpu_turn(Gpu("NVIDIA H200", "sm_90", "580.1", sys.argv[1]), lambda line: print(line, flush=True)):
    print("mine", flush=True)
    sys.stdin.read()
"""


@contextmanager
def _another_prof(gpu=GPU, environment=None, *, shell=False):
    """Another process that measures on the GPU, or waits for it; through a `shell` if asked."""
    command = [sys.executable, "-c", HOLDER, gpu.uuid]
    if shell:
        command = ["sh", "-c", '"$@"; :', "sh", *command]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        yield process
        process.stdin.close()


@pytest.fixture
def another_prof():
    """`with another_prof(gpu)`: another process that measures on the GPU, or waits for it, and prints `mine` when it has it."""
    return _another_prof


@dataclass
class Collecting:
    """Collects kernels of a ladder of scripts with an ncu that replays transcripts.

    `plan` is the plan that a test may change; `told` lists what the observer received.
    """

    ladder: Ladder
    store: RunStore
    log: Path
    plan: CollectPlan
    told: list[tuple[str, CollectStep, object]] = field(default_factory=list)
    note: Callable[[str], None] = print

    def rung(self, number, launches=2, **values):
        job = RungJob(self.ladder, self.ladder.kernel(number), {**self.ladder.workload.values(), **values})
        return rung_target(job, None, launches, self.plan.recording)

    def program(self, *words, launches=2):
        return Target("mine", Selection(None, 0, launches), launches, program=words)

    def collect(self, targets, **changes):
        plan = replace(self.plan, **changes)
        return list(collect_here(plan, targets, self.store, self.observer()))

    def error(self, *targets, **changes):
        """Returns the error of one target, of which no run is committed."""
        (outcome,) = self.collect(targets, **changes)
        assert (outcome.status, outcome.run_id) == ("failed", "")
        assert outcome.error is not None
        assert self.store.ids() == []
        return outcome.error

    def observer(self):
        return CollectObserver(
            lambda step: self.told.append(("begin", step, None)),
            lambda step, transcript: self.told.append(("at", step, transcript.launches)),
            lambda step, line, error: self.told.append(("end", step, error or line)),
            self.note,
        )

    @property
    def calls(self):
        """All calls of ncu, in their order."""
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    @property
    def profiled(self):
        """The behaviour of the program that each call profiled."""
        return [call["words"][call["words"].index("profile") - 1] for call in self.calls]

    def replay(self, *names, pace=0.0):
        """Sets the transcripts of the next calls, one for each call; the last one serves all later calls."""
        self.log.write_text("")
        os.environ.update(FAKE_NCU=",".join(names), FAKE_NCU_PACE=str(pace))


@pytest.fixture
def collecting(tmp_path, script, reader_without_code, monkeypatch):
    """Kernel 1 works, 2 works2, 3 is wrong, 4 fails, 5 refuses its shape, 6 has no memory, 7 hangs."""
    behaviours = ("works", "works2", "wrong", "fails", "refuses", "memory", "hangs")
    path = write_ladder(tmp_path / "kernels" / "scripts", *behaviours)
    fake = Path(__file__).with_name("fake_ncu.py")
    ncu = script("ncu", f'exec {sys.executable} -S "{fake}" "$@"') / "ncu"
    log = tmp_path / "ncu.log"
    for name, value in (("FAKE_NCU", "four-way"), ("FAKE_NCU_PACE", "0"), ("FAKE_NCU_LOG", str(log))):
        monkeypatch.setenv(name, value)
    log.touch()
    recording = NcuOptions(find_preset("default"))
    plan = CollectPlan(
        LocalDevice(GPU, Ncu(ncu, "2025.3.1.0")),
        recording,
        processes=1,
        repeats=0,
        verify=False,
        timeout_s=60,
    )
    return Collecting(read_ladder(path), RunStore(tmp_path / "runs"), log, plan)
