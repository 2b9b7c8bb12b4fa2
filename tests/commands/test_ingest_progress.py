"""The lines of the workers while they read reports."""

import os

import pytest

from profiler.cluster.watch import Worker
from profiler.commands.shared.options import VerbSettings
from profiler.commands.storing.ingest import IngestProgress
from profiler.errors import StoreNotWritable, WorkerLost


def member(name):
    return Worker(name, f"tcp://{name}:1", name, gpus=0, threads=1, memory_bytes=0)


@pytest.fixture
def workers():
    return IngestProgress(100, VerbSettings())


def test_each_worker_has_a_line_with_what_it_does(workers):
    for name in ("a", "bcd"):
        workers.began(member(name), 12, 3_310_000)
    workers.said(member("a"), "report 3 of 12")
    workers.said(member("a"), "report 7 of 12")
    workers.ended(member("bcd"), 12)

    assert workers.worker_lines() == [
        "a     0:00  reading 12 reports, 3.3 MB: report 7 of 12; 0 read",
        "bcd         waiting; 12 read",
    ]


def test_a_lost_worker_is_reported_once_by_its_name_and_loses_its_line(workers, capsys):
    for name in ("a", "b"):
        workers.began(member(name), 1, 0)

    workers.lost(member("a"), 12, WorkerLost("worker a died or left"))
    workers.lost(member("b"), 1, StoreNotWritable("/tmp: cannot be written"))

    assert workers.worker_lines() == []
    assert capsys.readouterr().err.splitlines() == [
        "lost        worker a died or left; 12 reports left to the others",
        "lost        worker b: /tmp: cannot be written; 1 report left to the others",
    ]


def test_when_the_window_has_too_few_rows_those_at_work_for_the_longest_stay(workers, monkeypatch):
    monkeypatch.setattr("shutil.get_terminal_size", lambda: os.terminal_size((80, 10)))
    for number in range(30, 0, -1):
        workers.began(member(f"{number:02}"), 1, 0)
    workers.ended(member("30"), 1)

    lines = workers.worker_lines()

    assert [line[:2] for line in lines[:-1]] == ["25", "26", "27", "28", "29"]
    assert lines[-1] == "and 25 more workers"


def test_a_worker_s_name_cannot_control_the_terminal(workers):
    workers.began(member("\x1b[31mred"), 1, 0)

    assert "\x1b" not in workers.worker_lines()[0]
