"""Collecting into runs at a URL: unfinished work stays on this machine, and each run is committed once."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import count

import pytest

from profiler.store.process_timings import Timing
from profiler.store.runs.manifest import Provenance
from profiler.store.runs.run_store import RunStore
from profiler.store.runs.timed_run import TimedRun, commit_timings
from profiler.store.runs.unfinished import UNFINISHED_FOLDER

NAMES = count()


@pytest.fixture
def far(collecting, tmp_path, monkeypatch):
    """`collecting` with its runs at a URL."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    collecting.store = RunStore(f"memory://collected-{next(NAMES)}")
    collecting.plan = replace(collecting.plan, resume=True)
    return collecting


def collected(far, *targets):
    return far.collect(targets)


def test_a_kernel_is_collected_once(far):
    (first,) = collected(far, far.rung(1))
    (second,) = collected(far, far.rung(1))
    assert (first.status, second.status) == ("collected", "known")
    (run_id,) = far.store.ids()
    run = far.store.open(run_id)
    run.verify()
    assert (str(run_id), run.manifest.origin) == (first.run_id, "collected")
    assert not (far.store.local / UNFINISHED_FOLDER).exists()


def test_reports_recorded_before_a_failure_are_kept_on_this_machine(far):
    far.replay("four-way", "unknown-section")
    far.plan = replace(far.plan, processes=2)
    (failed,) = collected(far, far.rung(1))
    assert failed.status == "failed"
    assert far.store.ids() == []
    assert list((far.store.local / UNFINISHED_FOLDER).rglob("process-0-*.ncu-rep"))
    far.replay("four-way")
    (outcome,) = collected(far, far.rung(1))
    assert outcome.status == "collected"
    assert len(far.profiled) == 1


def test_timings_are_committed_too(far):
    timed = TimedRun(
        "gemm", 5, {"m": 64}, datetime(2026, 1, 1, tzinfo=UTC), "NVIDIA H200", "a command", Provenance(),
        timings=[Timing(0, 0, 10.0, 12.0)],
    )  # fmt: skip
    ids = commit_timings(far.store, [timed])
    assert ids == commit_timings(far.store, [timed])
    run = RunStore(far.store.root).find("5", "gemm")
    assert [run.manifest.run_id] == ids
    assert run.table("timings").column("kernel_ns").to_pylist() == [10.0]
