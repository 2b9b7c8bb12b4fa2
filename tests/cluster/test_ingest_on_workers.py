"""`prof ingest` on a cluster: what one machine makes of the same reports, whatever becomes of the workers."""

import json
import os
import re
import signal
import threading

import pytest
import work
from living import wait_until
from variants import write_variants

from profiler.cluster import worker_pool as pool_module
from profiler.cluster.connection import connect
from profiler.cluster.worker_pool import WorkerPool
from profiler.errors import (
    IngestIncomplete,
    NoWorkerLeft,
    ReaderFailed,
    RemoteFailed,
    RemoteNotInstalled,
    ReportDamaged,
    ReportNotFound,
    SchedulerLost,
)
from profiler.store.ingest import on_workers, queue, worker as reading
from profiler.store.ingest.ingest import IngestOptions, ingest_reports
from profiler.store.ingest.on_workers import ingest_on_workers
from profiler.store.reports.locate import find_reports
from profiler.store.runs.run_store import RunStore
from profiler.store.tables.schema import TABLES

NAMES = ("graph", "range", "hostile")


@pytest.fixture(scope="module")
def pool(cluster):
    """Two workers that nobody kills."""
    for name in ("one", "two"):
        cluster.worker(name)
    with connect(cluster.address) as connected:
        assert wait_until(lambda: len(connected.available()) == 2)
        yield connected


@pytest.fixture
def folder(reports, tmp_path):
    folder = tmp_path / "reports"
    folder.mkdir()
    for name in NAMES:
        (folder / f"{name}.ncu-rep").write_bytes((reports / f"{name}.ncu-rep").read_bytes())
    return folder


@pytest.fixture
def empty(tmp_path):
    return RunStore(tmp_path / "runs")


def ingest(pool, store, *places, **options):
    reports = find_reports([str(place) for place in places])
    return list(ingest_on_workers(reports, store, IngestOptions(**options), pool))


def by_name(outcomes):
    return {outcome.report.name: outcome for outcome in outcomes}


def leftovers(store):
    return set(os.listdir(store.root)) - {str(run_id) for run_id in store.ids()} - {".lock"}


def workers_alone(cluster, count, **words):
    """Starts workers on a cluster of the test's own; their process ids."""
    processes = [cluster.worker(f"own{number}", **words) for number in range(count)]
    with connect(cluster.address) as pool:
        assert wait_until(lambda: len(pool.available()) == count)
    return [process.pid for process in processes]


# The same as on one machine


@pytest.mark.slow
def test_runs_are_those_that_one_machine_makes(pool, folder, empty, tmp_path):
    here = RunStore(tmp_path / "here")
    list(ingest_reports(find_reports([str(folder)]), here, IngestOptions()))

    outcomes = ingest(pool, empty, folder)

    assert [one.status for one in outcomes] == ["stored"] * len(NAMES)
    assert empty.ids() == here.ids()
    for run_id in empty.ids():
        run, other = empty.open(run_id), here.open(run_id)
        run.verify()
        assert run.manifest == other.manifest
        assert all(run.table(name).equals(other.table(name)) for name in TABLES)
    assert leftovers(empty) == set()


@pytest.mark.slow
def test_reports_that_are_stored_are_known_without_a_worker(pool, folder, empty, monkeypatch):
    first = ingest(pool, empty, folder)
    monkeypatch.setattr(WorkerPool, "call", lambda *_, **__: pytest.fail("a worker was asked"))

    second = ingest(pool, empty, folder)

    assert {one.status for one in second} == {"known"}
    assert {one.run_id for one in second} == {one.run_id for one in first}


@pytest.mark.slow
def test_workers_fetch_what_lies_at_a_url_and_know_what_is_stored(pool, folder, empty):
    url = f"file://{folder}"

    first, second = ingest(pool, empty, url), ingest(pool, empty, url)

    assert {one.status for one in first} == {"stored"}
    assert {one.status for one in second} == {"known"}
    assert {str(one.report) for one in first} == {f"{url}/{name}.ncu-rep" for name in NAMES}
    assert sorted(run_id.name for run_id in empty.ids()) == sorted(NAMES)


def test_a_reference_is_to_the_original_and_not_to_the_copy_that_travelled(pool, folder, empty):
    ingest(pool, empty, folder / "graph.ncu-rep", f"file://{folder}/range.ncu-rep", copy=False)

    references = {run_id.name: empty.open(run_id).manifest.reports[0].reference for run_id in empty.ids()}
    assert references == {"graph": str(folder / "graph.ncu-rep"), "range": f"file://{folder}/range.ncu-rep"}


@pytest.mark.slow
def test_bad_reports_fail_alone_and_say_the_same_as_on_one_machine(pool, folder, empty, tmp_path):
    whole = (folder / "range.ncu-rep").read_bytes()
    (folder / "cut.ncu-rep").write_bytes(whole[:20_000])
    (folder / "dangling.ncu-rep").symlink_to("gone")
    places = [folder, f"file://{folder}/nothing.ncu-rep", "nosuch://bucket/x.ncu-rep"]
    here = ingest_reports(
        find_reports([str(place) for place in places]), RunStore(tmp_path / "here"), IngestOptions()
    )

    outcomes = by_name(ingest(pool, empty, *places))

    failed = {name: outcome.error for name, outcome in outcomes.items() if outcome.error}
    assert {name: type(error) for name, error in failed.items()} == {
        "cut.ncu-rep": ReportDamaged,
        "dangling.ncu-rep": ReportNotFound,
        "nothing.ncu-rep": ReportNotFound,
        "x.ncu-rep": RemoteNotInstalled,
    }
    assert {name: str(error) for name, error in failed.items()} == {
        name: str(outcome.error) for name, outcome in by_name(list(here)).items() if outcome.error
    }
    assert len(empty.ids()) == len(NAMES)
    assert leftovers(empty) == set()


def test_a_worker_that_cannot_fetch_says_which_worker_it_is(pool, folder, empty):
    found = find_reports([f"file://{folder}/graph.ncu-rep"])
    (folder / "graph.ncu-rep").write_bytes(b"shorter than it was when it was listed")

    (one,) = ingest_on_workers(found, empty, IngestOptions(), pool)

    assert isinstance(one.error, RemoteFailed)
    assert re.fullmatch(
        r"file://.*: \d+ bytes were announced, and 38 came \(on worker (one|two)\)", str(one.error)
    )


@pytest.mark.slow
def test_many_reports_go_out_in_batches_to_all_workers(pool, reports, tmp_path, empty):
    write_variants(reports / "range.ncu-rep", tmp_path, 30)
    seen = {}

    class Seen(on_workers.IngestObserver):
        def ended(self, worker, reports):
            seen.setdefault(worker.name, []).append(reports)

    found = find_reports([str(tmp_path / "*.ncu-rep")])
    outcomes = list(ingest_on_workers(found, empty, IngestOptions(), pool, Seen()))

    assert [one.status for one in outcomes] == ["stored"] * 30
    assert seen.keys() == {"one", "two"}
    assert sum(map(sum, seen.values())) == 30
    assert max(map(max, seen.values())) > 1


@pytest.mark.slow
def test_the_command_prints_what_became_of_each_report(cluster, pool, folder, tmp_path, prof_here):
    (folder / "cut.ncu-rep").write_bytes((folder / "range.ncu-rep").read_bytes()[:999])
    words = ("--runs", tmp_path / "runs", "ingest", folder, "--scheduler", cluster.address)

    done = prof_here(*words, "--format", "json")

    assert done.returncode == IngestIncomplete.exit_code
    assert sorted(one["status"] for one in json.loads(done.stdout)) == [
        "failed",
        "stored",
        "stored",
        "stored",
    ]
    assert "3 stored, 1 not ingested" in done.stderr
    assert prof_here(*words, "--jobs", 2).returncode == 2


# What becomes of the workers


@pytest.mark.slow
def test_a_worker_that_hangs_is_left_alone_and_its_work_goes_elsewhere(
    own_cluster, folder, empty, reports, tmp_path, monkeypatch
):
    monkeypatch.setattr(pool_module, "GRACE_S", 2.0)
    # private: no option shortens a batch, which lasts ten seconds
    monkeypatch.setattr(reading, "_MOST_S", 1.0)
    own_cluster.start()
    stuck, _ = workers_alone(own_cluster, 2)
    before = write_variants(reports / "range.ncu-rep", tmp_path, 6)  # after these, both have a reader
    lost = []

    class Lost(on_workers.IngestObserver):
        def began(self, worker, reports, size_bytes):
            if worker.name == "own0":
                os.kill(stuck, signal.SIGSTOP)

        def lost(self, worker, reports, error):
            lost.append((worker.name, reports))

    with connect(own_cluster.address) as pool:
        ingest(pool, RunStore(tmp_path / "before"), *before)
        outcomes = list(
            ingest_on_workers(find_reports([str(folder)]), empty, IngestOptions(timeout_s=5), pool, Lost())
        )

    assert {one.status for one in outcomes} == {"stored"}
    assert lost == [("own0", 1)]
    assert len(empty.ids()) == len(NAMES)


@pytest.mark.slow
def test_a_report_that_kills_its_workers_fails_alone_after_three_of_them(own_cluster, folder, empty):
    """Each worker is killed for real as soon as it has this report in hand, and its nanny starts another."""
    (folder / "poison.ncu-rep").write_bytes((folder / "graph.ncu-rep").read_bytes() + b"\0")
    own_cluster.environment = {"PYTHONPATH": work.PYTHONPATH}
    own_cluster.start()
    daemon = {
        "DASK_DISTRIBUTED__WORKER__DAEMON": "True"
    }  # as Dask has it: such a process may have no children
    for name in ("own0", "own1"):
        own_cluster.worker(name, "--preload", "poison", nanny=True, environment=daemon)

    with connect(own_cluster.address) as pool:
        assert wait_until(lambda: len(pool.available()) == 2)
        outcomes = by_name(ingest(pool, empty, folder))

    assert {name for name, one in outcomes.items() if one.status == "stored"} == {
        f"{name}.ncu-rep" for name in NAMES
    }
    error = outcomes["poison.ncu-rep"].error
    assert isinstance(error, ReaderFailed)
    assert f"poison.ncu-rep: each of {queue.MOST_LOSSES} workers that read it was lost" in str(error)
    assert leftovers(empty) == set()


@pytest.mark.slow
def test_the_scheduler_killed_ends_it_and_what_was_committed_stays(own_cluster, reports, tmp_path, empty):
    (tmp_path / "many").mkdir()
    found = find_reports(
        [str(path) for path in write_variants(reports / "range.ncu-rep", tmp_path / "many", 24)]
    )
    own_cluster.start()
    workers_alone(own_cluster, 2)
    outcomes = []

    def ingest_and_kill(pool):
        for outcome in ingest_on_workers(found, empty, IngestOptions(), pool):
            outcomes.append(outcome)
            if len(outcomes) == 3:
                os.kill(own_cluster.scheduler.pid, signal.SIGKILL)

    with connect(own_cluster.address) as pool, pytest.raises(SchedulerLost) as caught:
        ingest_and_kill(pool)

    assert "run the same command" in caught.value.remedy
    committed = empty.ids()
    assert {one.run_id for one in outcomes} <= {str(run_id) for run_id in committed}
    assert len(committed) < 24
    again = list(ingest_reports(found, empty, IngestOptions()))
    assert sorted(one.status for one in again) == ["known"] * len(committed) + ["stored"] * (
        24 - len(committed)
    )
    assert leftovers(empty) == set()


def test_without_workers_it_waits_a_while_and_says_so(own_cluster, folder, empty, monkeypatch):
    monkeypatch.setattr("profiler.store.ingest.on_workers.ALONE_S", 0.5)
    own_cluster.start()

    with connect(own_cluster.address) as pool, pytest.raises(NoWorkerLeft, match="3 reports are left"):
        list(ingest_on_workers(find_reports([str(folder)]), empty, IngestOptions(), pool))


def test_a_worker_that_comes_late_takes_part(own_cluster, folder, empty):
    own_cluster.start()
    starter = threading.Timer(0.5, own_cluster.worker, ("late",))
    starter.start()

    with connect(own_cluster.address) as pool:
        outcomes = ingest(pool, empty, folder)

    assert {one.status for one in outcomes} == {"stored"}


@pytest.mark.slow
def test_a_worker_that_cannot_write_is_not_asked_again(own_cluster, folder, empty):
    """All it is given fails at once: it would be given all."""
    own_cluster.environment = {"PYTHONPATH": work.PYTHONPATH}
    own_cluster.start()
    own_cluster.worker("homeless", "--preload", "homeless")
    with connect(own_cluster.address) as pool:
        assert wait_until(pool.available)
        with pytest.raises(NoWorkerLeft, match="3 reports are left") as caught:
            ingest(pool, empty, folder)
        assert "homeless: " in caught.value.details[0]
        assert "/nowhere: cannot be written: No such file" in caught.value.details[0]

        own_cluster.worker("able")
        assert wait_until(lambda: len(pool.available()) == 2)
        outcomes = ingest(pool, empty, folder)

    assert {one.status for one in outcomes} == {"stored"}


@pytest.mark.slow
def test_a_worker_with_another_prof_is_not_used(pool, folder, empty, monkeypatch):
    """Its runs would differ from those of the others, and nobody would see why."""
    monkeypatch.setattr(on_workers, "prof_version", lambda: "9.9")

    with pytest.raises(NoWorkerLeft, match="no worker can read") as caught:
        ingest(pool, empty, folder)

    assert "has prof 0." in caught.value.details[0]
    assert "and this is 9.9" in caught.value.details[0]
    assert empty.ids() == []
