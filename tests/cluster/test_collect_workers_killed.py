"""Workers killed at any moment while they measure: every run once, none lost, none doubled, a size on one GPU.

The client, the scheduler and the hosts live through all of it. What is killed is a worker's process, which its host
starts again, or a host with all that runs there, which comes back as one that was never there before: with other GPUs.
"""

import os
import random
import signal
import time
from collections import Counter
from contextlib import nullcontext, suppress
from threading import Event, Thread

import pytest
from farm import Farm, check_runs, programs_of, worker_pids


class Field:
    """Two hosts of a scheduler; `kill` ends one process, or one host."""

    def __init__(self, farm, address):
        self.farm, self.address = farm, address
        self.hosts = []
        self.count = 0
        for _ in range(2):
            self.add_host()

    def add_host(self):
        number = self.count % 10
        self.count += 1
        self.hosts.append(self.farm.host(f"host-{self.count}", self.address, (number,)))

    def kill(self, rng, how):
        host = rng.choice(self.hosts)
        if how == "worker":
            for pid in worker_pids(host):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        else:
            os.killpg(host.pid, signal.SIGKILL)
            for pid in worker_pids(host):
                os.kill(pid, signal.SIGKILL)
            host.wait()
            self.hosts.remove(host)
            self.add_host()


@pytest.fixture
def field(tmp_path_factory, own_cluster):
    farm = Farm(tmp_path_factory.mktemp("farm"), pace=0.15)
    own_cluster.start()
    yield Field(farm, own_cluster.address)
    farm.stop()


@pytest.fixture
def trial(field, prof_here, reader_without_code, monkeypatch, tmp_path):
    """`trial(rng)`: one collection with a kill or two at random moments; what was seen of it is counted."""
    monkeypatch.setattr(
        "profiler.measuring.fleet.assign.Sandbox", lambda workers: nullcontext(reader_without_code)
    )
    before = signal.getsignal(signal.SIGTERM)
    farm = field.farm

    def run(number, rng, host_share):
        farm.log.write_text("")
        kinds = ["host" if rng.random() < host_share else "worker" for _ in range(rng.choice((1, 1, 2)))]
        # Most moments count from the first call of ncu, however long a loaded machine takes to come to it.
        measures = rng.random() < 0.75
        moments_s = sorted(rng.uniform(0.0, 1.2) for _ in kinds)
        over = Event()

        def kill():
            while measures and not farm.calls and not over.is_set():
                time.sleep(0.01)
            started = time.monotonic()
            for kind, moment_s in zip(kinds, moments_s, strict=True):
                time.sleep(max(0.0, started + moment_s - time.monotonic()))
                field.kill(rng, kind)

        killing = Thread(target=kill)
        killing.start()
        runs = tmp_path / f"runs-{number}"
        done = prof_here(
            *farm.words(runs, "--no-verify", "--scheduler", field.address), cwd=farm.client,
            env=farm.environment(farm.client),
        )  # fmt: skip
        over.set()
        killing.join()
        assert done.returncode == 0, f"trial {number}: {kinds} at {moments_s}: {done.stderr}"
        check_runs(runs)
        lost = done.stderr.count("\nlost        ")
        seen = Counter(f"killed: {kind}" for kind in kinds)
        return seen + Counter({"lost": lost > 0, "measured again": len(farm.calls) > 8})

    yield run
    signal.signal(signal.SIGTERM, before)


@pytest.mark.slow
def test_workers_killed_at_random_moments(field, trial):
    """Kills until a kill has met a measurement, which the first one usually does."""
    rng = random.Random(17)
    seen = Counter()
    for number in range(3):
        seen += trial(number, rng, host_share=0.15)
        if seen["lost"]:
            break
    assert seen["lost"], f"the kills came too late: {dict(seen)}"
    assert not programs_of(field.farm.log)


@pytest.mark.campaign
def test_workers_killed_a_hundred_times(field, trial):
    rng = random.Random(88)
    seen = Counter()
    for number in range(110):
        seen += trial(number, rng, host_share=0.3)
    print(dict(seen))
    assert seen["lost"] >= 60, f"the kills came too late: {dict(seen)}"
    assert min(seen["killed: worker"], seen["killed: host"], seen["measured again"]) >= 20
