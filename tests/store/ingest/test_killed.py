"""Killed at any moment, `prof ingest` leaves whole runs only, and the next one finishes the job.

The real command is killed with SIGKILL at seeded random times: alone, so that its reader
processes are left behind, or with its whole process group.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest
from living import living, wait_until

from profiler.store.runs.commit import STAGING_FOLDER
from profiler.store.runs.run_store import RunStore

PROF = [sys.executable, "-c", "from profiler.cli import main; main()"]


@pytest.fixture(scope="module")
def folder(reports, tmp_path_factory):
    """Ten different reports: two small ones, and one cut after each of its eight launches."""
    folder = tmp_path_factory.mktemp("reports")
    for name in ("graph", "range"):
        (folder / f"{name}.ncu-rep").write_bytes((reports / f"{name}.ncu-rep").read_bytes())
    hostile = (reports / "hostile.ncu-rep").read_bytes()
    for length in (50511, 64532, 78557, 92578, 106608, 120633, 134645, 151563):
        (folder / f"hostile-{length}.ncu-rep").write_bytes(hostile[:length])
    return folder


@pytest.fixture(scope="module")
def seconds(folder, tmp_path_factory):
    """How long one undisturbed ingest takes here, so that kills fall all over it."""
    start = time.monotonic()
    assert start_ingest(folder, tmp_path_factory.mktemp("timing") / "runs").wait(timeout=120) == 0
    return time.monotonic() - start


@pytest.fixture
def finish(prof_here):
    """An undisturbed ingest ends well and leaves each report exactly once and nothing else."""

    def finish(folder, runs):
        done = prof_here("--runs", runs, "ingest", folder)
        assert done.returncode == 0, done.stderr
        hashes = Counter(run.manifest.reports[0].sha256 for run in whole_runs(runs))
        assert len(hashes) == len(list(folder.iterdir()))
        assert set(hashes.values()) == {1}
        assert not (runs / STAGING_FOLDER).exists()

    return finish


STARTED = []


@pytest.fixture(autouse=True)
def nothing_is_left_running():
    """A test that fails half way leaves no process behind."""
    yield
    for process in STARTED:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    STARTED.clear()


def start_ingest(folder, runs, *options):
    command = [*PROF, "--runs", runs, "ingest", folder, *options]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    STARTED.append(process)
    return process


def whole_runs(runs):
    """Every run, each verified to the last byte; nothing else may lie in the folder."""
    store = RunStore(runs)
    found = [store.open(run_id) for run_id in store.ids()]
    for run in found:
        run.verify()
        for table in run.manifest.tables:
            assert run.table(table).num_rows == run.manifest.tables[table].rows
    if runs.exists():
        others = set(os.listdir(runs)) - {run.path.name for run in found}
        assert others <= {".lock", STAGING_FOLDER}
    return found


def workers_of(process):
    """The living processes of a prof's session: itself, and every process that it started."""
    return [one.pid for one in living() if one.session == process.pid]


def kill_campaign(folder, root, seconds, finish, kills, seed):
    """Kill ingests into the same folder again and again; a complete folder is begun anew."""
    rng = random.Random(seed)
    seen = Counter()
    runs = root / "0"
    for number in range(kills):
        process = start_ingest(folder, runs)
        try:
            started = time.monotonic()
            process.wait(rng.uniform(0.05, seconds))
            seen["ended before"] += 1
            seconds = min(seconds, time.monotonic() - started)  # the machine does less than it did
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL) if rng.random() < 0.5 else process.kill()
        process.wait()
        assert wait_until(lambda p=process: not workers_of(p)), "a worker outlived prof"
        stored = len(whole_runs(runs))
        seen["left staging"] += (runs / STAGING_FOLDER).exists()
        seen["nothing stored" if stored == 0 else "some stored"] += 1
        if stored == len(list(folder.iterdir())) or rng.random() < 0.2:
            finish(folder, runs)
            runs = root / str(number + 1)
    finish(folder, runs)
    return seen


@pytest.mark.campaign  # the suite kills one that is staging, below
def test_killed_a_hundred_and_twenty_times(folder, seconds, finish, tmp_path):
    seen = kill_campaign(folder, tmp_path, seconds, finish, kills=120, seed=21)
    print(dict(seen))

    assert seen["ended before"] < 40, f"the kills came too late: {seen}"
    assert seen["left staging"] > 10
    assert seen["some stored"] > 10


@pytest.mark.slow
def test_killed_while_staging_the_next_ingest_sweeps(folder, finish, tmp_path):
    """The parent alone is killed as soon as a worker has begun to write."""
    runs = tmp_path / "runs"
    process = start_ingest(folder, runs)
    assert wait_until(lambda: any(runs.glob(f"{STAGING_FOLDER}/*/*/*.parquet")))
    os.kill(process.pid, signal.SIGKILL)
    process.wait()

    assert (runs / STAGING_FOLDER).exists()
    assert wait_until(lambda: not workers_of(process)), "a worker outlived prof"
    finish(folder, runs)


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_politely_nothing_but_whole_runs_is_left(folder, finish, tmp_path, sent):
    runs = tmp_path / "runs"
    process = start_ingest(folder, runs)
    assert wait_until(lambda: any(runs.glob(f"{STAGING_FOLDER}/*/*")))
    os.killpg(process.pid, sent)

    assert process.wait(timeout=60) != 0
    assert wait_until(lambda: not workers_of(process)), "a worker outlived prof"
    whole_runs(runs)
    finish(folder, runs)


@pytest.mark.parametrize(
    ("together", "jobs"),
    [(2, 1), *(pytest.param(*more, marks=pytest.mark.campaign) for more in ((2, 2), (4, 1)))],
)
def test_ingests_at_the_same_time_lose_nothing_and_double_nothing(folder, tmp_path, together, jobs):
    """Each takes an overlapping part of the reports, all into one folder of runs."""
    reports = sorted(folder.iterdir())
    runs = tmp_path / "runs"
    parts = []
    for index in range(together):
        part = tmp_path / f"part{index}"
        part.mkdir()
        for report in reports[index : len(reports) - together + 1 + index]:
            (part / report.name).symlink_to(report)
        parts.append(part)

    processes = [start_ingest(part, runs, "--jobs", str(jobs)) for part in parts]

    assert [process.wait(timeout=120) for process in processes] == [0] * together
    names = Counter(run.manifest.reports[0].sha256 for run in whole_runs(runs))
    assert len(names) == len(reports)
    assert set(names.values()) == {1}
    assert not (runs / STAGING_FOLDER).exists()
