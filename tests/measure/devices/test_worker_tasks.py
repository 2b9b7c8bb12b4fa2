"""What a worker is asked, done in this process: what it lacks it says, and who else measures on its GPU it lets be."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from profiler.errors import WorkerLacks
from profiler.measure.devices import worker_tasks as bench_errand
from profiler.measure.devices.bench import Order, bound_bench, lock_folder
from profiler.measure.devices.worker_tasks import Brought, Errand, Occupied, run_errand
from profiler.store.reports.identity import identify_report
from profiler.store.runs.commit import try_lock


@pytest.fixture
def errand(collecting, tmp_path: Path, monkeypatch):
    """A worker with the GPU and the ncu of `collecting`; an errand is to record one of its kernels."""
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    bench = bound_bench(collecting.plan.gpu, collecting.plan.ncu)
    monkeypatch.setattr(bench_errand, "_bench_here", lambda: bench)
    target = collecting.rung(1)
    order = Order(replace(target, job=None), collecting.plan.recording, 30.0)
    return Errand("record", target.job, None, 30.0, order)


def test_a_report_comes_back_as_bytes_and_nothing_stays(errand, tmp_path: Path) -> None:
    brought = run_errand(errand, None)
    assert isinstance(brought, Brought)
    assert (brought.launches, brought.passes) == (2, 3)
    report = tmp_path / "brought.ncu-rep"
    report.write_bytes(brought.report)
    assert identify_report(report, tmp_path).envelope.results == 2
    assert [path.name for path in (tmp_path / "tmp").iterdir()] == ["prof-gpu-0"]


def test_a_folder_that_is_not_here_is_named(errand) -> None:
    elsewhere = replace(errand, order=replace(errand.order, cwd=Path("/not/here")))
    with pytest.raises(WorkerLacks, match="there is no folder /not/here on this worker"):
        run_errand(elsewhere, None)
    job = replace(errand.job, ladder=replace(errand.job.ladder, path=Path("/not/there/ladder.toml")))
    with pytest.raises(WorkerLacks, match=r"kernel 1 .* there is no folder /not/there") as caught:
        run_errand(replace(errand, job=job), None)
    assert "`sources`" in caught.value.remedy


def test_while_another_process_measures_on_the_gpu_it_says_so(errand, collecting) -> None:
    lock = try_lock(lock_folder(collecting.plan.gpu) / "prof.lock")
    assert lock is not None
    try:
        assert isinstance(run_errand(errand, None), Occupied)
        assert collecting.calls == []
    finally:
        os.close(lock)
    assert isinstance(run_errand(errand, None), Brought)
