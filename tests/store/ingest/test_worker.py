"""Reads batches as a worker does, here in this process; `tests/cluster` has real workers."""

from pathlib import Path

import pytest

from profiler.errors import ReportDamaged, ReportNotFound
from profiler.store.ingest import worker as reading
from profiler.store.ingest.ingest import IngestOptions, request_for
from profiler.store.ingest.worker import Batch, ReadTask, read_batch, write_files
from profiler.store.reports.locate import RemoteReport
from profiler.store.reports.request import AlreadyStored
from profiler.store.runs.manifest import Manifest
from profiler.store.runs.run_id import RunId
from profiler.store.runs.run_store import RunStore


@pytest.fixture(autouse=True)
def one_reader(reader, monkeypatch):
    # private: one reader for all of these tests
    monkeypatch.setattr(reading, "_sandbox", lambda *_: reader)


def task(report, stored=frozenset()):
    request = request_for(report, Path(), IngestOptions(), stored, copied=True)
    if isinstance(report, RemoteReport):
        return ReadTask(request, 60, remote=report)
    return ReadTask(request, 60, data=report.read_bytes())


def batch(*tasks):
    return Batch(tasks, readers=1, memory_bytes=0)


def test_the_files_of_a_run_come_back_and_make_the_run(reports, tmp_path):
    (read,) = read_batch(batch(task(reports / "graph.ncu-rep")))

    assert isinstance(read.extracted, Manifest)
    write_files(read.files, tmp_path / read.extracted.run_id)
    run = RunStore(tmp_path).open(RunId.parse(read.extracted.run_id))
    run.verify()
    assert run.manifest == read.extracted


def test_each_report_has_its_answer_in_its_place(reports, tmp_path):
    cut = tmp_path / "cut.ncu-rep"
    cut.write_bytes((reports / "range.ncu-rep").read_bytes()[:20_000])
    known = frozenset({"b5c4656e1750"})

    reads = read_batch(
        batch(
            task(cut),
            task(reports / "range.ncu-rep", known),
            task(RemoteReport(f"file://{tmp_path}/gone.ncu-rep")),
            task(RemoteReport(f"file://{reports}/graph.ncu-rep")),
        )
    )

    assert [type(read.error or read.extracted) for read in reads] == [
        ReportDamaged, AlreadyStored, ReportNotFound, Manifest,
    ]  # fmt: skip
    assert str(reads[0].error).startswith(f"{cut}: damaged")
    assert "report.ncu-rep.zst" in reads[3].files


@pytest.mark.parametrize("bound", ["_MOST_S", "_MOST_RESULT_BYTES"])
def test_it_ends_early_but_never_empty_handed(reports, monkeypatch, bound):
    monkeypatch.setattr(reading, bound, 0)

    reads = read_batch(batch(*[task(reports / "graph.ncu-rep")] * 3))

    assert len(reads) == 1


def test_nothing_is_left_in_the_temporary_folder(reports, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    read_batch(batch(task(reports / "graph.ncu-rep"), task(RemoteReport("memory://none/x.ncu-rep"))))

    assert list(tmp_path.iterdir()) == []


def test_a_file_cannot_leave_the_folder_of_its_run(tmp_path):
    write_files({"../../run.json": b"{}"}, tmp_path / "run")

    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.json")] == ["run/run.json"]
