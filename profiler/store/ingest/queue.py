"""Reports that wait to be read, shared by the threads that hand them out: the largest first, in batches by size."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from threading import Condition

from profiler.store.reports.locate import Report, size_bytes

BATCH_BYTES = 32_000_000
BATCH_REPORTS = 64
UNDER_WAY_BYTES = 1_000_000_000  # of all batches together: they are in this process's memory
MOST_LOSSES = 3


@dataclass(eq=False)
class Job:
    """`losses` counts the workers that were lost while they had this report alone."""

    report: Report
    size_bytes: int
    losses: int = 0
    suspect: bool = False


class Pile:
    def __init__(self, reports: Sequence[Report]) -> None:
        jobs = [Job(report, size_bytes(report)) for report in reports]
        self._fresh = deque(sorted(jobs, key=lambda job: job.size_bytes, reverse=True))
        self._suspects: deque[Job] = deque()
        self._fresh_bytes = sum(job.size_bytes for job in jobs)
        self._unfinished = len(jobs)
        self._closed = False
        self._changed = Condition()

    def take(self, hands: int) -> list[Job]:
        """Empty when all is finished. While others are at work it waits: what they have may come back."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._closed or not self._unfinished or self._fresh or self._suspects
            )
            if self._closed or not self._unfinished:
                return []
            if self._fresh:
                return self._batch(max(1, hands))
            return [self._suspects.popleft()]

    def finish(self) -> None:
        """One report is done for good."""
        with self._changed:
            self._unfinished -= 1
            self._changed.notify_all()

    def put_back(self, jobs: Iterable[Job]) -> None:
        """Nobody has looked at them."""
        with self._changed:
            for job in jobs:
                if job.suspect:
                    self._suspects.append(job)
                else:
                    self._fresh.append(job)
                    self._fresh_bytes += job.size_bytes
            self._changed.notify_all()

    def lose(self, jobs: Sequence[Job]) -> list[Job]:
        """One of them may have killed its worker: from now on each goes alone, after all others.

        Returns those that have been tried often enough.
        """
        with self._changed:
            given_up = []
            for job in jobs:
                job.losses += len(jobs) == 1
                job.suspect = True
                if job.losses >= MOST_LOSSES:
                    given_up.append(job)
                else:
                    self._suspects.append(job)
            self._changed.notify_all()
            return given_up

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _batch(self, hands: int) -> list[Job]:
        """Never so much that the others would have nothing to do at the end."""
        most_bytes = min(BATCH_BYTES, UNDER_WAY_BYTES // hands, self._fresh_bytes // (2 * hands))
        most_reports = min(BATCH_REPORTS, -(-len(self._fresh) // (2 * hands)))
        batch = [self._fresh.popleft()]
        size = batch[0].size_bytes
        while self._fresh and len(batch) < most_reports and size + self._fresh[0].size_bytes <= most_bytes:
            batch.append(self._fresh.popleft())
            size += batch[-1].size_bytes
        self._fresh_bytes -= size
        return batch
