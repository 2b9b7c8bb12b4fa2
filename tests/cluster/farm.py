"""A client with a ladder that it compiles, and hosts that lend GPUs: each with folders of its own, and an ncu that replays.

Every GPU has a driver version of its own: a run records it, and so it tells where the run was measured.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from living import living, spawned_by
from terminal import write_tool

from profiler.store.runs.commit import STAGING_FOLDER
from profiler.store.runs.run_store import RunStore
from profiler.store.runs.unfinished import UNFINISHED_FOLDER

FAKE_NCU = Path(__file__).parents[1] / "measuring" / "fake_ncu.py"
FOUR_WAY = Path(__file__).parents[1] / "data" / "transcripts" / "four-way.json"
PROF = "from profiler.cli import main; main()"

LADDER = """
title = "Compiled"
command = ["{binary}", "{kernel}", "profile", "{size}", "--seed", "{seed}"]
time = ["{binary}", "{kernel}", "time", "{size}", "{seed}"]
check = ["{binary}", "{kernel}", "check", "{size}", "{seed}"]
[workload]
size = 100
"""
RUNG = '[[kernel]]\nnumber = {0}\nname = "rung{0}"\nidea = "an idea"\nregex = "."\nsource = "{0}.cu"\n'
PROGRAM = """#!/bin/sh
echo "$2 $PWD $CUDA_VISIBLE_DEVICES" >> "$FAKE_NCU_LOG.programs"
test "$2" != time || echo '{"kernel_ns": 2000.0}'
"""

NVCC = (Path(__file__).parents[1] / "measuring" / "fake_nvcc.sh").read_text()


def gpu_uuid(number):
    return f"GPU-{number}2345678-9"


@dataclass
class Farm:
    folder: Path
    pace: float = 0.0  # of ncu, as a share of the time that the real one took
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __post_init__(self):
        ladder = self.client / "kernels" / "compiled"
        ladder.mkdir(parents=True)
        (self.client / "tmp").mkdir()
        (ladder / "ladder.toml").write_text(LADDER + "".join(map(RUNG.format, (1, 2))))
        for number in (1, 2):
            (ladder / f"{number}.cu").write_text(f"{PROGRAM}# {number}\n")
        write_tool(self.client / "bin" / "nvcc", NVCC)
        self.log.touch()

    @property
    def client(self):
        return self.folder / "client"

    @property
    def log(self):
        return self.folder / "log"

    def environment(self, place):
        found = {
            **os.environ, "PATH": f"{place}/bin:/usr/bin:/bin", "TMPDIR": f"{place}/tmp", "FAKE_NCU": "four-way",
            "FAKE_NCU_LOG": str(self.log), "FAKE_NCU_PACE": str(self.pace),
        }  # fmt: skip
        found.pop("CUDA_VISIBLE_DEVICES", None)
        return found

    def furnish_host(self, name, gpus, model="NVIDIA H200", ncu_version=""):
        place = self.folder / name
        (place / "tmp").mkdir(parents=True, exist_ok=True)
        lines = [
            f'case "$*" in *noheader|*--id={index}|*{gpu_uuid(number)}*) '
            f'echo "{model}, 9.0, 580.{number}, {gpu_uuid(number)}";; esac'
            for index, number in enumerate(gpus)
        ]
        write_tool(place / "bin" / "nvidia-smi", "\n".join(lines))
        version = (
            f'test "$1" != --version || {{ echo "Version {ncu_version}"; exit; }}\n' if ncu_version else ""
        )
        write_tool(place / "bin" / "ncu", f'{version}exec {sys.executable} -S "{FAKE_NCU}" "$@"')
        return place

    def host(self, name, address, gpus, *words, environment=None):
        """`prof worker` there; returns when its workers are at work."""
        place = self.folder / name
        if not place.exists():
            self.furnish_host(name, gpus)
        log = self.folder / f"{name}.log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, "-c", PROF, "worker", address, "--name", name, *words], cwd=place, stdout=out, stderr=out,
                env={**self.environment(place), **(environment or {})}, start_new_session=True,
            )  # fmt: skip
        self.processes.append(process)
        deadline = time.monotonic() + 60
        while b"Ctrl-C ends it" not in log.read_bytes():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        return process

    def words(self, runs, *more, sizes=(10, 20)):
        """Two kernels at two sizes, two processes each."""
        chosen = [word for size in sizes for word in ("--size", size)]
        common = ("--launches", 2, "--processes", 2, "--repeats", 1)
        return ["--runs", runs, "collect", "--ladder", "compiled", "--all", *chosen, *common, *more]

    def start(self, runs, *more, sizes=(10, 20)):
        """A client in a process of its own."""
        words = [str(word) for word in self.words(runs, *more, sizes=sizes)]
        process = subprocess.Popen(
            [sys.executable, "-c", PROF, *words], cwd=self.client, env=self.environment(self.client),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        self.processes.append(process)
        return process

    @property
    def calls(self):
        """Returns the calls of ncu in their order; a kill may have cut off the last line."""
        return [
            json.loads(line) for line in self.log.read_text().splitlines(keepends=True) if line[-1] == "\n"
        ]

    @property
    def ncu_seconds(self):
        """How long each of them takes at least."""
        return self.pace * json.loads(FOUR_WAY.read_text())["events"][-1][0]

    def stop(self):
        for process in self.processes:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        end_all_of(self.log)


def worker_pids(host):
    """The processes in which a host's workers measure: not the one that starts them again."""
    return sorted(spawned_by(host.pid))


def programs_of(log):
    """Returns the processes that live of an ncu with this log and of all that it started."""
    ours = living(f"FAKE_NCU_LOG={log}\0")
    return [one.pid for one in ours if "fake_ncu" in one.words or one.words.startswith("sleep ")]


def end_all_of(log):
    for pid in programs_of(log):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def check_runs(runs):
    """Every run once and whole, a size measured on one GPU alone, and nothing left beside them."""
    store = RunStore(runs)
    found = [store.open(run_id) for run_id in store.ids()]
    for run in found:
        run.verify()
        assert len(run.manifest.reports) == 2
    facts = [(run.manifest.kernel, (run.manifest.workload or {})["size"]) for run in found]
    assert Counter(facts) == {(kernel, size): 1 for kernel in (1, 2) for size in (10, 20)}
    places = {}
    for run in found:
        places.setdefault((run.manifest.workload or {})["size"], set()).add(
            run.manifest.provenance.driver_version
        )
    assert all(len(drivers) == 1 for drivers in places.values()), places
    assert not {STAGING_FOLDER, UNFINISHED_FOLDER} & set(os.listdir(runs))
    return found
