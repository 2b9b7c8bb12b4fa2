"""`prof tune` as one types it: a compiler, a GPU and a kernel that are scripts, and everything in between as it is.

The compiler copies the source below its macros, which makes it a shell script that knows its point.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from terminal import write_tool

from profiler.store.runs.run_store import RunStore
from profiler.store.sweeps import SweepStore

PROF = [sys.executable, "-c", "from profiler.cli import main; main()"]
FAKE_NCU = Path(__file__).parents[1] / "measuring" / "fake_ncu.py"

NVCC = """#!/bin/sh
for word in "$@"; do
    case "$word" in
        --version) echo "V99.0.1"; exit 0;;
        --dryrun) echo "#\\$ TOP=/nowhere" >&2; exit 0;;
        -D*) macros="$macros ${word#-D}";;
        *.cu) source="$word";;
        *.d) rule="$word";;
    esac
    output="$word"
done
echo "$macros" >> "$TUNE_LOG.built"
case "$macros" in *LOOPS=3) echo 'tile.cu(9): error: static assertion failed with "no threes"' >&2; exit 2;; esac
{ echo "#!/bin/sh"; for macro in $macros; do echo "$macro"; done; cat "$source"; } > "$output"
chmod +x "$output"
echo "x : $source" > "$rule"
case "$macros" in *SIDE=16*) spills=8;; *) spills=0;; esac
echo "ptxas info    : Compiling entry function '_Z4tilev' for 'sm_90'" >&2
echo "    0 bytes stack frame, $spills bytes spill stores, 0 bytes spill loads" >&2
echo "ptxas info    : Used 40 registers, used 1 barriers, 4352 bytes smem" >&2
"""

# SIDE=4 LOOPS=1 is best; SIDE=8 LOOPS=2 is wrong.
SOURCE = """#define TILE_SIDE 2  // rows
#define TILE_LOOPS 1
sleep "${TUNE_PACE:-0}"
echo "$1 $TILE_SIDE $TILE_LOOPS" >> "$TUNE_LOG"
case "$1 $TILE_SIDE-$TILE_LOOPS" in
    "check 8-2") exit 4;;
    check*) exit 0;;
esac
i=0
while [ $i -lt $2 ]; do
    echo "{\\"kernel_ns\\": $((1000 * (5 - TILE_SIDE) * (5 - TILE_SIDE) + 90000 * TILE_LOOPS + i % 4)), \\"reference_ns\\": 90000}"
    i=$((i + 1))
done
"""

LADDER = """
title = "Made up"
command = ["{binary}", "profile", "{launches}"]
time = ["{binary}", "time", "{repeats}"]
check = ["{binary}", "check"]
[workload]
n = 64
[[kernel]]
number = 6
name = "plain"
idea = "no sweep"
regex = "."
source = "tile.cu"
[[kernel]]
number = 7
name = "tile"
idea = "a tile"
regex = "."
source = "tile.cu"
[kernel.tune]
constraints = ["n % TILE_SIDE == 0", "spill_bytes == 0"]
[kernel.tune.parameters]
TILE_SIDE = [2, 4, 8, 16, 48]
TILE_LOOPS = [1, 2, 3]
"""


@dataclass
class Place:
    folder: Path
    environment: dict[str, str]
    run: Any = None
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def log(self):
        return self.folder / "log"

    @property
    def source(self):
        return self.folder / "kernels" / "made" / "tile.cu"

    @property
    def sweeps(self):
        return SweepStore(self.folder / "runs")

    def tune(self, *words):
        """Tunes in this process: every point once, each finalist in one process more."""
        return self.run(*self.words(*words), cwd=self.folder, env=self.environment)

    def start(self, *words, pace=0.0):
        process = subprocess.Popen(
            [*PROF, *self.words(*words)], cwd=self.folder, env={**self.environment, "TUNE_PACE": str(pace)},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        self.started.append(process)
        return process

    def words(self, *words):
        return ["--ladder", "made", "tune", "--kernel", "7", "--seed", "3", "--repeats", "4", "--processes", "1", *map(str, words)]  # fmt: skip

    def timed(self):
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return Counter(line.removeprefix("time ") for line in lines if line.startswith("time "))

    def kept(self):
        """Visits that are stored for a later call, and ended in a time."""
        files = list(self.sweeps.root.glob(".pending/*/*-*-*.json"))
        return sum(json.loads(path.read_bytes())["status"] == "correct" for path in files)


@pytest.fixture
def place(tmp_path, prof_here):
    folder = tmp_path / "kernels" / "made"
    folder.mkdir(parents=True)
    (folder / "ladder.toml").write_text(LADDER)
    (folder / "tile.cu").write_text(SOURCE)
    os.utime(folder / "tile.cu", (1, 1))
    (tmp_path / "runs").mkdir()
    write_tool(tmp_path / "bin" / "nvcc", NVCC)
    write_tool(tmp_path / "bin" / "nvidia-smi", 'echo "NVIDIA H200, 9.0, 580.1, GPU-0"')
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}/bin:/usr/bin:/bin",
        "TUNE_LOG": str(tmp_path / "log"),
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    environment.pop("CUDA_VISIBLE_DEVICES", None)
    made = Place(tmp_path, environment, prof_here)
    yield made
    for process in made.started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def finding_of(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_from_a_declaration_to_the_best_point_and_what_became_of_the_others(place):
    done = place.tune("--format", "json")
    finding = finding_of(done)
    assert finding["points"][0]["settings"] == {"TILE_SIDE": 4, "TILE_LOOPS": 1}
    assert finding["points"][0]["reference_pct"] == pytest.approx(100 * 90000 / 91001.5)
    assert (finding["combinations"], finding["excluded"]) == (15, {"n % TILE_SIDE == 0": 3})
    assert Counter({fate["status"]: fate["points"] for fate in finding["fates"]}) == {
        "uncompiled": 4, "excluded": 2, "wrong": 1,
    }  # fmt: skip
    assert (finding["timed"], finding["stages"]) == (5, {"screen": 5, "full": 2, "final": 2})
    assert finding["current"]["settings"] == {"TILE_SIDE": 2, "TILE_LOOPS": 1}
    assert "best so far SIDE=4 LOOPS=1: 91.00 us (6 of 6, 0:00 left)" in done.stderr
    assert "--apply" in done.stderr
    assert place.source.read_text() == SOURCE
    schema = json.loads(place.run("tune", "--schema").stdout)
    jsonschema.validate(finding, schema)

    stored = place.sweeps.open(finding["run_id"])
    assert len(stored.points) == 12
    assert stored.manifest.provenance.seed == 3
    assert list(stored.manifest.provenance.sources) == ["tile.cu"]
    assert str(place.folder) not in (stored.path / "run.json").read_text()
    assert RunStore(place.folder / "runs").ids() == []
    assert sorted(path.name for path in place.sweeps.root.iterdir()) == [".lock", stored.manifest.run_id]


@pytest.mark.slow
def test_the_same_is_not_measured_again_and_its_best_is_written_on_request(place):
    first = finding_of(place.tune("--format", "json"))
    timed = place.timed()
    place.source.chmod(0o640)
    done = place.tune("--apply")
    assert done.returncode == 0, done.stderr
    assert f"measured before: {first['run_id']}" in done.stderr
    assert place.timed() == timed
    assert "-#define TILE_SIDE 2  // rows" in done.stderr
    assert "+#define TILE_SIDE 4  // rows" in done.stderr
    assert place.source.read_text() == SOURCE.replace("SIDE 2 ", "SIDE 4 ")
    assert place.source.stat().st_mode & 0o777 == 0o640

    again = place.tune("--apply")
    assert "has the best values already" in again.stderr
    assert "It is what the source has now." in again.stdout
    assert place.timed() == timed


def test_a_stored_sweep_is_shown_drawn_and_applied_without_a_gpu(place):
    measured = finding_of(place.tune("--format", "json"))
    for tool in ("nvcc", "nvidia-smi"):
        (place.folder / "bin" / tool).unlink()

    def show(*words):
        words = ("--ladder", "made", "tune", "--kernel", "7", "--stored", *words)
        return place.run(*map(str, words), cwd=place.folder, env=place.environment)

    shown = show("--format", "json", "-o", place.folder / "chart.svg")
    assert finding_of(shown) == measured
    assert measured["run_id"] in shown.stderr
    assert (place.folder / "chart.svg").read_bytes().startswith(b"<svg")
    applied = show("--apply")
    assert applied.returncode == 0, applied.stderr
    assert place.source.read_text() == SOURCE.replace("SIDE 2 ", "SIDE 4 ")
    assert show("--set-param", "n=32").returncode == 21
    assert "--stored measures nothing: leave out --seed, --again" in show("--again", "--seed", 3).stderr


@pytest.mark.slow
def test_a_source_that_changed_is_measured_again(place):
    finding_of(place.tune("--format", "json"))
    timed = place.timed()
    place.source.write_text(SOURCE + "# another\n")
    os.utime(place.source, (1, 1))
    finding_of(place.tune("--format", "json"))
    assert place.timed() == timed + timed


@pytest.mark.slow
def test_a_limit_tries_the_sources_own_point_and_some_others(place):
    done = place.tune("--limit", "4", "-o", place.folder / "chart.svg")
    assert done.returncode == 0, done.stderr
    assert "12 within the constraints, of which 4 were tried" in done.stdout
    assert "the source's" in done.stdout
    assert len((place.folder / "log.built").read_text().splitlines()) == 4
    assert (place.folder / "chart.svg").read_bytes().startswith(b"<svg")


def test_obstacles_are_reported_before_anything_is_compiled(place):
    plain = place.run("--ladder", "made", "tune", "--kernel", "6", cwd=place.folder, env=place.environment)
    assert plain.returncode == 45
    assert "kernel 6 (plain) declares no sweep; those that do: 7" in plain.stderr
    nothing = place.run("--ladder", "made", "tune", cwd=place.folder, env=place.environment)
    assert nothing.returncode == 2
    place.source.write_text(SOURCE.replace("#define TILE_LOOPS 1", "#define TILE_LOOPS (1)"))
    hidden = place.tune("--apply")
    assert hidden.returncode == 90
    assert "the source defines TILE_LOOPS as a whole number nowhere" in hidden.stderr
    path = place.folder / "kernels" / "made" / "ladder.toml"
    path.write_text(LADDER.replace("n % TILE_SIDE == 0", "n % TILE_SIDE == 1"))
    impossible = place.tune()
    assert impossible.returncode == 45
    assert "none of the 15 combinations" in impossible.stderr
    assert not (place.folder / "log.built").exists()
    assert list(place.sweeps.root.glob("*")) == []


def test_no_sweep_is_stored_when_no_point_works(place):
    place.source.write_text(SOURCE.replace("check*) exit 0", "check*) exit 4"))
    os.utime(place.source, (1, 1))
    done = place.tune()
    assert done.returncode == 89
    assert "none of 12 points is correct" in done.stderr
    assert "4 uncompiled: static assertion failed" in done.stderr
    assert RunStore(place.sweeps.root).ids() == []
    assert list(place.sweeps.root.glob(".pending/*")) == []


@pytest.mark.slow
def test_killed_at_any_moment_it_goes_on_and_measures_no_point_twice(place):
    """A call that is killed loses at most the measurement under way."""
    rng, lost = random.Random(5), 0
    for number in range(4):
        before, kept = sum(place.timed().values()), place.kept()
        process = place.start(pace=0.15)
        deadline = time.monotonic() + 30
        while (
            sum(place.timed().values()) == before and process.poll() is None and time.monotonic() < deadline
        ):
            time.sleep(0.01)
        time.sleep(rng.uniform(0.0, 0.4))
        assert process.poll() is None, "it came to its end before it was killed"
        os.killpg(process.pid, signal.SIGKILL) if number % 2 else process.kill()
        process.communicate(timeout=60)
        time.sleep(0.1)  # a program on its leash ends a moment after prof
        now = sum(place.timed().values()) - before - (place.kept() - kept)
        assert 0 <= now <= 1, f"kill {number}: {now} measurements were not kept"
        lost += now
        assert RunStore(place.sweeps.root).ids() == []
    resumed = finding_of(place.tune("--format", "json"))
    whole = resumed["stages"]["screen"] + resumed["stages"]["full"] + resumed["stages"]["final"]
    assert sum(place.timed().values()) == whole + lost
    afresh = finding_of(place.tune("--format", "json", "--again"))
    assert [point["settings"] for point in afresh["points"]] == [point["settings"] for point in resumed["points"]]  # fmt: skip


def test_interrupted_it_keeps_what_is_there_and_says_so(place):
    process = place.start(pace=0.2)
    while not place.kept() and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "the measurements so far are kept: the same command continues from there" in said
    assert "Traceback" not in said
    assert place.kept() >= 1


@pytest.mark.slow
def test_the_extremes_are_profiled_under_names_of_their_own_and_compared(place, monkeypatch):
    monkeypatch.setattr(
        "profiler.commands.measuring.profile_extremes.LAUNCHES", 3
    )  # as many as were recorded
    write_tool(place.folder / "bin" / "ncu", f'exec {sys.executable} -S "{FAKE_NCU}" "$@"')
    place.environment |= {
        "FAKE_NCU": "default",
        "FAKE_NCU_LOG": str(place.folder / "ncu"),
        "FAKE_NCU_PACE": "0",
    }
    (place.folder / "ncu").touch()
    done = place.tune("--profile-extremes")
    assert done.returncode == 0, done.stderr
    store = RunStore(place.folder / "runs")
    assert sorted(run_id.name for run_id in store.ids()) == ["made-tune-best-7", "made-tune-slowest-7"]
    assert all(store.open(run_id).table("instructions").num_rows for run_id in store.ids())
    assert "from the slowest point to the best" in done.stdout
    assert "duration_ns" in done.stdout
