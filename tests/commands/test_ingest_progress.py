"""The lines of the workers while they read reports."""

from __future__ import annotations

import os

import pytest

from profiler.cluster.watch import Worker
from profiler.commands.storing.ingest_progress import IngestProgress
from profiler.errors import StoreNotWritable, WorkerLost


def member(name: str) -> Worker:
    return Worker(name, f"tcp://{name}:1", name, gpus=0, threads=1, memory_bytes=0)


def test_each_worker_has_a_line_with_what_it_is_at() -> None:
    workers = IngestProgress()
    for name in ("a", "bcd"):
        workers.began(member(name), 12, 3_310_000)
    workers.said(member("a"), "report 3 of 12")
    workers.said(member("a"), "report 7 of 12")
    workers.ended(member("bcd"), 12)

    assert sorted(workers.lines()) == [
        "a     0:00  reading 12 reports, 3.3 MB: report 7 of 12; 0 read",
        "bcd         waiting; 12 read",
    ]


def test_a_lost_worker_is_told_once_by_its_name_and_has_no_line_any_more() -> None:
    said: list[str] = []
    workers = IngestProgress(said.append)
    for name in ("a", "b"):
        workers.began(member(name), 1, 0)

    workers.lost(member("a"), 12, WorkerLost("worker a died or left"))
    workers.lost(member("b"), 1, StoreNotWritable("/tmp: cannot be written"))

    assert workers.lines() == []
    assert said == [
        "lost        worker a died or left; 12 reports left to the others",
        "lost        worker b: /tmp: cannot be written; 1 report left to the others",
    ]


def test_more_workers_than_the_window_has_rows_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.get_terminal_size", lambda: os.terminal_size((80, 10)))
    workers = IngestProgress()
    for number in range(30):
        workers.began(member(str(number)), 1, 0)

    lines = workers.lines()

    assert len(lines) == 6
    assert lines[-1] == "and 25 more workers"


def test_a_worker_cannot_name_itself_so_that_the_terminal_obeys() -> None:
    workers = IngestProgress()
    workers.began(member("\x1b[31mred"), 1, 0)

    assert "\x1b" not in workers.lines()[0]
