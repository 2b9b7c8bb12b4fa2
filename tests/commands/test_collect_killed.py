"""Killed at any moment, `prof collect` leaves whole runs and no process, and the next call continues from there.

The real command is ended at seeded random times: by SIGKILL, alone or with its process group, by SIGINT and by
SIGTERM. The ncu that it runs replays a recorded call, and starts a program that would sleep for a day.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from living import living, wait_until
from terminal import write_tool

from profiler.store.reports.identity import sha256_of_report
from profiler.store.runs.commit import STAGING_FOLDER
from profiler.store.runs.run_store import RunStore
from profiler.store.runs.unfinished import UNFINISHED_FOLDER

FAKE_NCU = Path(__file__).parents[1] / "measuring" / "fake_ncu.py"
PROF = [sys.executable, "-c", "from profiler.cli import main; main()"]
KERNELS, PROCESSES = ("1", "2"), 2
ENDS = ("kill", "kill the group", "interrupt", "terminate")

LADDER = f"""
title = "Scripts"
command = ["./mine", "{{kernel}}", "profile", "{{size}}", "{{seed}}"]
time = ["{sys.executable}", "-ISc", "print('{{{{\\"kernel_ns\\": 10}}}}')"]
check = ["{sys.executable}", "-ISc", "pass"]
[workload]
size = 100
""" + "".join(
    f'[[kernel]]\nnumber = {number}\nname = "rung{number}"\nidea = "an idea"\nregex = "."\n'
    for number in KERNELS
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")


@dataclass
class Place:
    """A ladder, tools, and a log of the calls of ncu; every process of a test carries the log's name."""

    folder: Path
    gpus: int = 1
    pace: float = 0.15

    @property
    def log(self):
        return self.folder / "log"

    def start(self, runs, *more):
        command = [*PROF, "--runs", str(runs), "collect", "--ladder", "scripts", "--all", "--launches", "2",
                   "--processes", str(PROCESSES), "--repeats", "1", "--resume", *more]  # fmt: skip
        if self.gpus > 1:
            command += ["--gpus", "all", "--spread", "kernels"]
        environment = {
            **os.environ, "PATH": f"{self.folder}/bin:/usr/bin:/bin", "FAKE_NCU": "four-way",
            "FAKE_NCU_LOG": str(self.log), "FAKE_NCU_PACE": str(self.pace), "TMPDIR": str(self.folder / "tmp"),
        }  # fmt: skip
        environment.pop("CUDA_VISIBLE_DEVICES", None)
        return subprocess.Popen(
            command, cwd=self.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, start_new_session=True,
        )  # fmt: skip

    def start_until_ncu_runs(self, runs):
        process = self.start(runs)
        while not self.log.read_text():
            assert process.poll() is None, process.communicate()[1]
            time.sleep(0.01)
        return process

    def finish(self, runs):
        """An undisturbed call ends well, and leaves a run of each kernel and nothing else."""
        before, started = kept(runs), time.monotonic()
        self.log.write_text("")
        process = self.start(runs)
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said
        assert Counter(run.manifest.kernel for run in whole_runs(runs)) == {1: 1, 2: 1}
        assert set(os.listdir(runs)) == {".lock", *(str(run_id) for run_id in RunStore(runs).ids())}
        assert self.calls() == Counter({kernel: PROCESSES - before[kernel] for kernel in KERNELS})
        return time.monotonic() - started

    def calls(self):
        """How often each kernel was profiled, the last line perhaps cut off by a kill."""
        found = Counter(dict.fromkeys(KERNELS, 0))
        for line in self.log.read_text().splitlines(keepends=True):
            if line.endswith("\n"):
                words = json.loads(line)["words"]
                found[words[words.index("profile") - 1]] += 1
        return found

    @property
    def mark(self):
        return f"FAKE_NCU_LOG={self.log}\0"

    def left_behind(self):
        """All that live and stem from this test, by their command lines, after some time to end."""
        wait_until(lambda: not living(self.mark), 10)
        return [one.words[:200] for one in living(self.mark)]


def whole_runs(runs):
    """Every run, verified to the last byte; nothing but runs and what is prepared may lie beside them."""
    store = RunStore(runs)
    found = [store.open(run_id) for run_id in store.ids()]
    for run in found:
        run.verify()
        assert len(run.manifest.reports) == PROCESSES
    if runs.exists():
        others = set(os.listdir(runs)) - {run.path.name for run in found}
        assert others <= {".lock", STAGING_FOLDER, UNFINISHED_FOLDER}
    return found


def kept(runs):
    """How many processes of each kernel are measured for good, each of them whole."""
    found = Counter(dict.fromkeys(KERNELS, 0))
    for plan in runs.glob(f"{UNFINISHED_FOLDER}/*/plan.json"):
        kernel = json.loads(plan.read_text())["name"].rpartition("-")[2]
        for report in plan.parent.glob("process-*.ncu-rep"):
            assert sha256_of_report(report) in report.name
            found[kernel] += 1
    for run in whole_runs(runs):
        found[str(run.manifest.kernel)] = PROCESSES  # perhaps a kill came before its parts were discarded
    return found


@pytest.fixture
def place(tmp_path):
    (tmp_path / "tmp").mkdir()
    (tmp_path / "kernels" / "scripts").mkdir(parents=True)
    (tmp_path / "kernels" / "scripts" / "ladder.toml").write_text(LADDER)
    two = (
        'for n in 0 1; do case "$*" in *noheader|*--id=$n|*--id=GPU-$n*)\n'
        'echo "NVIDIA H200, 9.0, 580.1, GPU-${n}2345678";; esac; done'
    )
    write_tool(tmp_path / "bin" / "nvidia-smi", two)
    write_tool(tmp_path / "bin" / "ncu", f'exec {sys.executable} -S "{FAKE_NCU}" "$@"')
    made = Place(tmp_path)
    made.log.touch()
    yield made
    for one in living(made.mark):  # a test that fails leaves no process behind either
        if one.pid != os.getpid():
            with suppress(OSError):
                os.kill(one.pid, signal.SIGKILL)


def end(process, how):
    if how == "kill the group":
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.send_signal(
            {"kill": signal.SIGKILL, "interrupt": signal.SIGINT, "terminate": signal.SIGTERM}[how]
        )


def end_at_random(place, kills, seed, seconds):
    """Into the same folder again and again; once it is complete, into a new one."""
    rng = random.Random(seed)
    seen = Counter()
    runs = place.folder / "runs-0"
    for number in range(kills):
        before, how = kept(runs), rng.choice(ENDS)
        place.log.write_text("")
        process = place.start(runs)
        time.sleep(rng.uniform(0.1, seconds))
        if process.poll() is None:
            end(process, how)
        else:
            seen["ended before"] += 1
        _, said = process.communicate(timeout=30)
        where = f"{how}, number {number} of seed {seed}"
        assert place.left_behind() == [], where
        assert process.returncode in (0, -9, 130, 143, -2, -15), f"{where}: {said}"
        # A reader that was just being started when prof was killed says so, in multiprocessing's words.
        orphans = said.count("in spawn_main") if how == "kill" else 0
        assert said.count("Traceback") == orphans or how == "interrupt", f"{where}: {said}"
        now, calls = kept(runs), place.calls()
        in_flight = {kernel: calls[kernel] - (now[kernel] - before[kernel]) for kernel in KERNELS}
        assert min(in_flight.values()) >= 0, where
        assert sum(in_flight.values()) <= place.gpus, f"{where}: measured again: {in_flight}"
        seen[how] += 1
        seen["while ncu was at work"] += sum(in_flight.values()) > 0
        seen["some kept"] += sum(now.values()) > 0
        if len(whole_runs(runs)) == len(KERNELS) or rng.random() < 0.1:
            place.finish(runs)
            runs = place.folder / f"runs-{number + 1}"
    place.finish(runs)
    return seen


@pytest.mark.slow
def test_ended_at_random_moments_it_goes_on_where_it_stopped(place):
    seen = end_at_random(place, kills=3, seed=3, seconds=1.5)
    assert seen["ended before"] < 3, f"the kills came too late: {dict(seen)}"


@pytest.mark.campaign
@pytest.mark.parametrize("gpus", [1, 2])
def test_ended_a_hundred_times(place, gpus):
    place.gpus, place.pace = gpus, 0.5
    seconds = place.finish(place.folder / "timing")
    seen = end_at_random(place, kills=100, seed=10 + gpus, seconds=0.8 * seconds)
    print(dict(seen))
    assert seen["ended before"] < 50, f"the kills came too late: {dict(seen)}"
    assert seen["while ncu was at work"] > 10
    assert seen["some kept"] > 10
    assert min(seen[how] for how in ENDS) > 10


@pytest.mark.slow
@pytest.mark.parametrize(("how", "code"), [("interrupt", 130), ("terminate", 143)])
def test_asked_to_end_while_ncu_is_at_work_it_ends_at_once_and_leaves_no_temporary_file(place, how, code):
    place.pace = 20.0
    runs = place.folder / "runs"
    process = place.start_until_ncu_runs(runs)
    end(process, how)
    started = time.monotonic()
    _, said = process.communicate(timeout=60)

    assert process.returncode == code, said
    assert time.monotonic() - started < 25  # ncu would take 30
    assert place.left_behind() == []
    assert not [path for path in (place.folder / "tmp").iterdir() if path.is_dir()]
    assert whole_runs(runs) == []


@pytest.mark.slow
def test_two_at_once_do_not_collect_the_very_same(place):
    place.pace = 20.0
    runs = place.folder / "runs"
    first = place.start_until_ncu_runs(runs)
    second = place.start(runs)
    _, said = second.communicate(timeout=60)

    assert second.returncode == 69
    assert "another prof is collecting the same" in said
    assert "its run will be there then" in said
    assert sum(place.calls().values()) == 1
    end(first, "kill")
    first.communicate(timeout=60)
    assert place.left_behind() == []
