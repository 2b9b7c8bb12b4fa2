"""Shows the progress of `prof ingest` on a cluster: a line for each worker, and a message for each that is lost."""

from __future__ import annotations

import time
from collections import Counter

from profiler.cluster.watch import Worker
from profiler.commands.shared.options import VerbSettings
from profiler.commands.shared.progress import Progress
from profiler.errors import ProfError
from profiler.store.ingest.on_workers import IngestObserver
from profiler.text import counted


class IngestProgress(Progress, IngestObserver):
    """The progress of workers that read reports. The threads that drive the workers call it."""

    def __init__(self, total: int, settings: VerbSettings) -> None:
        super().__init__("reading", total, settings)
        self._read = Counter[Worker]()
        self._batches: dict[Worker, tuple[str, float]] = {}

    def began(self, worker: Worker, reports: int, size_bytes: int) -> None:
        batch = f"reading {_reports(reports)}, {size_bytes / 1e6:.1f} MB"
        self._batches[worker] = (batch, time.monotonic())
        self.said(worker, "")

    def said(self, worker: Worker, text: str) -> None:
        batch, since_s = self._batches[worker]
        self.show(worker.name, f"{batch}{text and ': '}{text}; {self._read[worker]} read", since_s)

    def ended(self, worker: Worker, reports: int) -> None:
        self._read[worker] += reports
        self.show(worker.name, f"waiting; {self._read[worker]} read")

    def lost(self, worker: Worker, reports: int, error: ProfError) -> None:
        self.drop(worker.name)
        who = f"worker {worker.name}"
        what = error.message if error.message.startswith(who) else f"{who}: {error.message}"
        self.note(f"{'lost':<12}{what}; {_reports(reports)} left to the others")


def _reports(count: int) -> str:
    return counted(count, "report", "reports")
