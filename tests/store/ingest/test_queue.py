"""How reports are shared among the workers of a cluster."""

import threading
from pathlib import Path

import pytest

from profiler.store.ingest import queue as module
from profiler.store.ingest.queue import MOST_LOSSES, ReportQueue
from profiler.store.reports.locate import RemoteReport


def reports_of(*sizes):
    return [RemoteReport(f"s3://bucket/{number}", size) for number, size in enumerate(sizes)]


def sizes(reports):
    return [report.size_bytes for report in reports]


def take_all(queue, drivers):
    """As one worker alone would take them."""
    batches = []
    while reports := queue.take(drivers):
        batches.append(sizes(reports))
        for _ in reports:
            queue.finish()
    return batches


def test_the_largest_go_first_and_the_last_are_small_enough_to_end_together():
    batches = take_all(ReportQueue(reports_of(*range(1, 101))), drivers=4)

    flat = [size for batch in batches for size in batch]
    assert flat == list(range(100, 0, -1))
    totals = [sum(batch) for batch in batches]
    assert max(totals[:4]) <= sum(range(101)) / 8
    assert [len(batch) for batch in batches[-4:]] == [1, 1, 1, 1]


def test_a_batch_is_bounded_in_bytes_and_in_reports():
    many = take_all(ReportQueue(reports_of(*[1] * 1000)), drivers=1)
    large = take_all(ReportQueue(reports_of(*[10_000_000] * 50)), drivers=1)
    huge = take_all(ReportQueue(reports_of(90_000_000, 5, 5, 5)), drivers=1)

    assert max(map(len, many)) == module.BATCH_REPORTS
    assert max(map(sum, large)) <= module.BATCH_BYTES
    assert huge[0] == [90_000_000]


def test_all_batches_together_are_bounded_however_many_workers_there_are():
    queue = ReportQueue(reports_of(*[1_000_000] * 100_000))

    assert sum(sizes(queue.take(drivers=1000))) <= module.UNDER_WAY_BYTES / 1000


def test_reports_of_unknown_size_are_shared_out_by_their_number():
    batches = take_all(
        ReportQueue([RemoteReport(f"s3://bucket/{number}") for number in range(100)]), drivers=2
    )

    assert sum(map(len, batches)) == 100
    assert len(batches[0]) == 25


def test_the_reports_of_a_lost_worker_go_alone_and_after_all_others():
    queue = ReportQueue(reports_of(*[5, 5], *[1] * 20))
    lost = queue.take(drivers=1)
    assert len(lost) > 1
    assert queue.lose(lost) == []

    batches = []
    while sum(map(len, batches)) < 22:
        batches.append(queue.take(drivers=1))
        for _ in batches[-1]:
            queue.finish()

    alone = batches[-len(lost) :]
    assert [batch[0] for batch in alone] == lost
    assert {len(batch) for batch in alone} == {1}


def test_a_report_is_given_up_after_it_was_lost_alone_often_enough():
    queue = ReportQueue(reports_of(1))
    for _ in range(MOST_LOSSES - 1):
        assert queue.lose(queue.take(drivers=1)) == []

    (report,) = queue.lose(queue.take(drivers=1))
    queue.finish()

    assert report.losses == MOST_LOSSES
    assert queue.take(drivers=1) == []


def test_reports_that_nobody_looked_at_are_as_before():
    queue = ReportQueue(reports_of(1, 1))
    first = queue.take(drivers=1)
    queue.put_back(first)

    assert [report.losses for report in first] == [0]
    assert sum(map(len, take_all(queue, drivers=1))) == 2


@pytest.mark.parametrize("how", ["lost", "finished", "closed"])
def test_who_finds_nothing_waits_for_what_others_have_in_hand(how):
    queue = ReportQueue([Path("a.ncu-rep")])
    reports = queue.take(drivers=1)
    taken = []
    waiting = threading.Thread(target=lambda: taken.append(queue.take(drivers=2)))
    waiting.start()
    waiting.join(0.05)
    assert waiting.is_alive()

    {"lost": lambda: queue.lose(reports), "finished": queue.finish, "closed": queue.close}[how]()
    waiting.join(10)

    assert taken == [reports if how == "lost" else []]
