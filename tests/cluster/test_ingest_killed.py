"""Workers killed at any moment: every report becomes one run, none is lost and none is doubled.

Real workers of a real scheduler are killed with SIGKILL at seeded random times while they read, and others are started
in their place. One scheduler serves all trials.
"""

import os
import random
import signal
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from threading import Event, Thread

import pytest
from living import living, wait_until
from variants import write_variants

from profiler.cluster.connection import connect
from profiler.store.ingest.ingest import IngestOptions
from profiler.store.ingest.on_workers import IngestObserver, ingest_on_workers
from profiler.store.reports.locate import find_reports
from profiler.store.runs.run_store import RunStore

WORKERS = 3


@pytest.fixture(scope="module")
def folder(reports, tmp_path_factory):
    """Different reports: one cut after each of its first launches, and small ones, so that they travel together."""
    folder = tmp_path_factory.mktemp("reports")
    write_variants(reports / "range.ncu-rep", folder, 8)
    hostile = (reports / "hostile.ncu-rep").read_bytes()
    for length in (50511, 64532, 78557, 92578):
        (folder / f"hostile-{length}.ncu-rep").write_bytes(hostile[:length])
    return folder


@dataclass
class Gang:
    """Workers of which there are always as many: who is killed gets a successor at once."""

    cluster: object
    alive: list[subprocess.Popen[bytes]] = field(default_factory=list)
    killed: list[int] = field(default_factory=list)
    count: int = 0

    def fill(self):
        while len(self.alive) < WORKERS:
            self.count += 1
            self.alive.append(self.cluster.worker(f"worker{self.count}"))

    def kill(self, rng):
        victim = self.alive.pop(rng.randrange(len(self.alive)))
        os.kill(victim.pid, signal.SIGKILL)  # alone: its reader is left behind and has to notice
        victim.wait()
        self.killed.append(victim.pid)
        self.fill()

    def left_behind(self):
        """Processes that outlived the worker that had started them."""
        return [one.pid for one in living() if one.session in self.killed]


@pytest.fixture(scope="module")
def gang(cluster):
    made = Gang(cluster)
    made.fill()
    with connect(cluster.address) as pool:
        assert wait_until(lambda: len(pool.available()) == WORKERS)
    return made


class Losses(IngestObserver):
    def __init__(self):
        self.reports = []
        self.at_work = Event()

    def began(self, worker, reports, size_bytes):
        self.at_work.set()

    def lost(self, worker, reports, error):
        self.reports.append(reports)


def trial(gang, pool, folder, runs, rng):
    """One ingest of all reports while one or two workers are killed."""
    losses, over = Losses(), Event()

    def kill():
        losses.at_work.wait(60)
        for _ in range(rng.choice((1, 1, 2))):
            if not over.wait(rng.uniform(0.0, 0.8)):
                gang.kill(rng)

    killer = Thread(target=kill)
    killer.start()
    store = RunStore(runs)
    try:
        outcomes = list(ingest_on_workers(find_reports([str(folder)]), store, IngestOptions(), pool, losses))
    finally:
        over.set()
        killer.join()
    count = len(list(folder.iterdir()))
    assert [one.status for one in outcomes] == ["stored"] * count, [str(one.error) for one in outcomes]
    found = [store.open(run_id) for run_id in store.ids()]
    for run in found:
        run.verify()
    assert len({run.manifest.sha256 for run in found}) == len(found) == count
    assert set(os.listdir(runs)) == {".lock", *(str(run_id) for run_id in store.ids())}
    return Counter(trials=1, workers_lost=len(losses.reports), reports_again=sum(losses.reports))


def campaign(gang, folder, root, trials, seed):
    rng = random.Random(seed)
    seen = Counter()
    with connect(gang.cluster.address) as pool:
        for number in range(trials):
            seen += trial(gang, pool, folder, root / str(number), rng)
    return seen


@pytest.mark.slow
def test_killed_at_random_moments_every_report_becomes_one_run(gang, folder, tmp_path):
    seen = campaign(gang, folder, tmp_path, trials=1, seed=30)
    print(dict(seen))

    assert wait_until(lambda: not gang.left_behind())
    assert seen["workers_lost"] >= 1, f"the kills met nobody at work: {seen}"


@pytest.mark.campaign
def test_killed_over_a_hundred_and_twenty_ingests(gang, folder, tmp_path):
    seen = campaign(gang, folder, tmp_path, trials=120, seed=31)
    print(dict(seen))

    assert seen["workers_lost"] >= 40, f"the kills met nobody at work: {seen}"
