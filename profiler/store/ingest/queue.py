"""The reports that wait for workers, in batches that are bounded by size and number."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from threading import Condition

from profiler.store.reports.locate import Report, size_bytes

BATCH_BYTES = 32_000_000
BATCH_REPORTS = 64
UNDER_WAY_BYTES = 1_000_000_000  # all batches together, since they are in this process's memory
MOST_LOSSES = 3


@dataclass(eq=False)
class QueuedReport:
    """A report in the queue. `losses` counts the workers that were lost while they read it and nothing else."""

    report: Report
    size_bytes: int
    losses: int = 0
    suspect: bool = False


class ReportQueue:
    """Reports that are not finished yet; several threads may use it at once."""

    def __init__(self, reports: Sequence[Report]) -> None:
        queued = [QueuedReport(report, size_bytes(report)) for report in reports]
        self._fresh = deque(sorted(queued, key=lambda one: one.size_bytes, reverse=True))
        self._suspects: deque[QueuedReport] = deque()
        self._fresh_bytes = sum(one.size_bytes for one in queued)
        self._unfinished = len(queued)
        self._closed = False
        self._changed = Condition()

    def take(self, drivers: int) -> list[QueuedReport]:
        """Takes a batch; empty when all reports are finished.

        Waits while others work, since their reports may come back.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: self._closed or not self._unfinished or self._fresh or self._suspects
            )
            if self._closed or not self._unfinished:
                return []
            if self._fresh:
                return self._batch(max(1, drivers))
            return [self._suspects.popleft()]

    def finish(self) -> None:
        """Counts one report as finished."""
        with self._changed:
            self._unfinished -= 1
            self._changed.notify_all()

    def put_back(self, reports: Iterable[QueuedReport]) -> None:
        """Takes back reports that no worker has begun to read."""
        with self._changed:
            for one in reports:
                if one.suspect:
                    self._suspects.append(one)
                else:
                    self._fresh.append(one)
                    self._fresh_bytes += one.size_bytes
            self._changed.notify_all()

    def lose(self, reports: Sequence[QueuedReport]) -> list[QueuedReport]:
        """Returns reports whose worker was lost. Any may have killed it, so each goes alone from now on, after
        all others.

        Returns those that have lost so many workers that they are given up.
        """
        with self._changed:
            given_up = []
            for one in reports:
                one.losses += len(reports) == 1
                one.suspect = True
                if one.losses >= MOST_LOSSES:
                    given_up.append(one)
                else:
                    self._suspects.append(one)
            self._changed.notify_all()
            return given_up

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _batch(self, drivers: int) -> list[QueuedReport]:
        """Takes a batch that leaves enough for the other drivers, so that all of them end together."""
        most_bytes = min(BATCH_BYTES, UNDER_WAY_BYTES // drivers, self._fresh_bytes // (2 * drivers))
        most_reports = min(BATCH_REPORTS, -(-len(self._fresh) // (2 * drivers)))
        batch = [self._fresh.popleft()]
        size = batch[0].size_bytes
        while self._fresh and len(batch) < most_reports and size + self._fresh[0].size_bytes <= most_bytes:
            batch.append(self._fresh.popleft())
            size += batch[-1].size_bytes
        self._fresh_bytes -= size
        return batch
