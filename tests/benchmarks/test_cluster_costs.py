"""Measures the parts of a cluster's cost from which `docs/cluster.md` works out that of a large one.

`pytest -m campaign -s tests/benchmarks/test_cluster_costs.py` prints the figures. Workers are processes of this machine,
on loopback: what a network adds is not in them.
"""

import os
import resource
import statistics
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import work
from variants import write_variants

from profiler.cluster.connection import start_local_workers
from profiler.cluster.worker_pool import WorkerPool
from profiler.store.ingest.ingest import IngestOptions, RunCommitter, ingest_reports, request_for
from profiler.store.ingest.on_workers import ingest_on_workers
from profiler.store.ingest.worker import write_files
from profiler.store.reports.locate import size_bytes
from profiler.store.reports.sandbox import Sandbox
from profiler.store.runs.manifest import read_manifest
from profiler.store.runs.run_store import RunStore

pytestmark = pytest.mark.campaign

KINDS = ("gemm_6", "range", "several")  # 365, 46 and 417 KB
EACH = 15
ROUNDS = 6  # at most: the best time of each way counts, in turn


@pytest.fixture(scope="module")
def many(reports, tmp_path_factory):
    folder = tmp_path_factory.mktemp("many")
    found = []
    for kind in KINDS:
        found += write_variants(reports / f"{kind}.ncu-rep", folder, EACH)
    return found


@pytest.fixture(scope="module")
def pool():
    """Two workers, both of which have read before."""
    environment = {"PYTHONPATH": work.PYTHONPATH}
    with start_local_workers({"first": environment, "second": environment}) as made:
        yield made


class First(WorkerPool):
    """The first worker of another pool alone."""

    def __init__(self, pool):
        self._pool, self.coming = pool, pool.coming

    def available(self):
        return self._pool.available()[:1]

    def call(self, *arguments, **words):
        return self._pool.call(*arguments, **words)


def own_cpu_s():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def test_ingest_on_workers_of_this_machine_beside_ingest_without_them(pool, many, tmp_path, monkeypatch):
    sandboxes = Sandbox(workers=2)
    monkeypatch.setattr("profiler.store.ingest.ingest.Sandbox", lambda *_, **__: Kept(sandboxes))
    megabytes = sum(map(size_bytes, many)) / 1e6
    ways = {
        "here, 2 readers": lambda store: list(ingest_reports(many, store, IngestOptions())),
        "1 worker": lambda store: list(ingest_on_workers(many, store, IngestOptions(), First(pool))),
        "2 workers": lambda store: list(ingest_on_workers(many, store, IngestOptions(), pool)),
    }
    took, cpu = dict.fromkeys(ways, float("inf")), dict.fromkeys(ways, float("inf"))
    for number in range(ROUNDS):
        for name, read in ways.items():
            started, used_s = time.perf_counter(), own_cpu_s()
            read(RunStore(tmp_path / f"{number}-{name}"))
            if number:  # in the first round, the readers are started
                took[name] = min(took[name], time.perf_counter() - started)
                cpu[name] = min(cpu[name], own_cpu_s() - used_s)
        if took["2 workers"] < min(1.3 * took["here, 2 readers"], 0.7 * took["1 worker"]):
            break
    sandboxes.stop()
    for name in ways:
        print(
            f"\n{name:<16} {took[name]:6.2f} s  {len(many) / took[name]:5.1f} reports/s  "
            f"{megabytes / took[name]:5.2f} MB/s  here {cpu[name] / len(many) * 1e3:.1f} ms CPU a report"
        )
    assert took["2 workers"] < 1.6 * took["here, 2 readers"]
    assert took["2 workers"] < 0.9 * took["1 worker"]


class Kept:
    """Readers that are there already, as those of the workers are."""

    def __init__(self, sandbox):
        self._sandbox = sandbox

    def __enter__(self):
        return self._sandbox

    def __exit__(self, *_): ...


def test_a_call_there_and_back(pool):
    worker = pool.available()[0]
    times = []
    for _ in range(200):
        started = time.perf_counter()
        pool.call(worker, work.add, 1, 2, timeout_s=10)
        times.append(time.perf_counter() - started)
    print(f"\na call: median {statistics.median(times) * 1e3:.1f} ms, of 200")
    assert statistics.median(times) < 0.1


def test_calls_that_one_client_makes_at_the_same_time(pool):
    workers, made, end = pool.available(), [], time.monotonic() + 5

    def call(number):
        while time.monotonic() < end:
            pool.call(workers[number % len(workers)], work.add, 1, 2, timeout_s=10)
            made.append(number)

    before = own_cpu_s()
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(call, range(8)))
    print(
        f"\n{len(made) / 5:.0f} calls a second, from 8 threads; {(own_cpu_s() - before) / len(made) * 1e3:.1f} ms CPU "
        "each, with the scheduler's"
    )
    assert len(made) / 5 > 20


@pytest.mark.parametrize("megabytes", [1, 32])
def test_bytes_there_and_back(pool, megabytes):
    worker, data = pool.available()[0], bytes(megabytes * 1_000_000)
    times, before = [], own_cpu_s()
    for _ in range(10):
        started = time.perf_counter()
        assert len(pool.call(worker, work.echo, data, timeout_s=60)) == len(data)
        times.append(time.perf_counter() - started)
    one_way_s = min(times) / 2
    print(
        f"\n{megabytes} MB: {megabytes / one_way_s:.0f} MB/s each way, {(own_cpu_s() - before) / 10:.2f} s CPU here"
    )
    assert megabytes / one_way_s > 10


@pytest.mark.parametrize("runs", [0, 10_000, 100_000])
def test_a_result_is_committed_within_a_second_beside_many_runs(many, tmp_path, runs):
    """Times the way from bytes in memory to a run that a crash of the machine would leave whole, beside `runs` others."""
    store = RunStore(tmp_path / "source")
    assert {one.status for one in ingest_reports(many, store, IngestOptions())} == {"stored"}
    target, sizes, writes, commits = RunStore(tmp_path / "target"), [], [], []
    for number in range(runs):
        os.makedirs(target.root / f"20260101t000000z-other-{number:012x}")
    with RunCommitter(target) as settling:
        for run_id in store.ids():
            folder = store.root / str(run_id)
            files = {path.name: path.read_bytes() for path in folder.iterdir()}
            sizes.append(sum(map(len, files.values())))
            request = request_for(
                many[0], settling.staging.folder(), IngestOptions(), frozenset(), copied=True
            )
            started = time.perf_counter()
            write_files(files, request.folder)
            written = time.perf_counter()
            settling.commit(many[0], request, read_manifest(folder))
            writes.append(written - started)
            commits.append(time.perf_counter() - written)
    read_kb = sum(map(size_bytes, many)) / 1e3 / len(many)
    print(
        f"\na run: {statistics.mean(sizes) / 1e3:.0f} KB on the way back, for {read_kb:.0f} KB of report; beside "
        f"{runs} runs: written in {statistics.median(writes) * 1e3:.1f} ms, committed in "
        f"{statistics.median(commits) * 1e3:.1f} ms (medians of {len(commits)})"
    )
    assert len(target.ids()) == len(store.ids()) + runs
    assert statistics.median(commits) < 1
