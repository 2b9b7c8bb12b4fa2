"""A worker's tasks, run in this process: it measures, reports what it lacks, and waits for others on its GPU."""

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from profiler.errors import WorkerLacks
from profiler.measuring.collect.device import Order, device_for_gpu
from profiler.measuring.fleet.worker_tasks import (
    GpuOccupied,
    ReportBytes,
    WorkerTask,
    decode_transcript,
    encode_transcript,
    run_task,
)
from profiler.measuring.tools.transcript import Transcript
from profiler.store.reports.identity import identify_report


@pytest.fixture
def task(collecting, tmp_path, monkeypatch):
    """A task to record one kernel of `collecting`."""
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    target = collecting.rung(1)
    order = Order(replace(target, job=None), collecting.plan.recording, 30.0)
    return WorkerTask("record", target.job, None, 30.0, order)


@pytest.fixture
def answer(collecting):
    """`answer(task)`: the answer of a worker with the GPU and the ncu of `collecting`."""
    return lambda task: run_task(
        task, None, device_for_gpu(collecting.plan.device.gpu, collecting.plan.device.ncu)
    )


def test_a_report_comes_back_as_bytes_and_nothing_stays(task, answer, tmp_path):
    brought = answer(task)
    assert isinstance(brought, ReportBytes)
    assert (brought.launches, brought.passes) == (2, 3)
    report = tmp_path / "brought.ncu-rep"
    report.write_bytes(brought.report)
    assert identify_report(report, tmp_path).envelope.results == 2
    assert [path.name for path in (tmp_path / "tmp").iterdir()] == ["prof-gpu-0"]


def test_a_folder_that_is_not_here_is_named(task, answer):
    elsewhere = replace(task, order=replace(task.order, cwd=Path("/not/here")))
    with pytest.raises(WorkerLacks, match="there is no folder /not/here on this worker"):
        answer(elsewhere)
    job = replace(task.job, ladder=replace(task.job.ladder, path=Path("/not/there/ladder.toml")))
    with pytest.raises(WorkerLacks, match=r"kernel 1 .* there is no folder /not/there") as caught:
        answer(replace(task, job=job))
    assert "`sources`" in caught.value.remedy


def test_while_another_process_measures_on_the_gpu_it_says_so(task, answer, collecting, another_prof):
    with another_prof(collecting.plan.device.gpu) as other:
        assert other.stdout.readline() == "mine\n"
        assert isinstance(answer(task), GpuOccupied)
        assert collecting.calls == []
    assert isinstance(answer(task), ReportBytes)


def test_the_progress_of_ncu_arrives_as_it_was_sent():
    transcript = Transcript()
    transcript.feed('==PROF== Profiling "k": 0%....50%....100% - 14 passes\n==PROF== Profiling "k": 0%..')
    told = decode_transcript(encode_transcript(transcript))
    assert (told.launches, told.finished, told.passes, told.steps) == (2, 1, 14, 2)
    assert told.fraction == transcript.fraction
