"""Shows the progress of `prof ingest` on a cluster: a terminal gets a line for each worker, and lost workers are always reported."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from profiler.cluster.watch import Worker
from profiler.commands.shared.live_display import clock
from profiler.errors import ProfError
from profiler.store.ingest.on_workers import IngestObserver
from profiler.text import printable

_ROWS_BELOW = 4  # rows kept free for the bar and the last printed lines


@dataclass
class _State:
    text: str = "waiting"
    since: float = 0.0
    reports: int = 0


class IngestProgress(IngestObserver):
    """Keeps one line for each worker. The threads that drive the workers update it, and the drawing thread calls `lines`."""

    def __init__(self, say: Callable[[str], None] = lambda _: None) -> None:
        self.say = say
        self._states: dict[Worker, _State] = {}
        self._lock = Lock()

    def began(self, worker: Worker, reports: int, size_bytes: int) -> None:
        with self._lock:
            state = self._states.setdefault(worker, _State())
            state.text = f"reading {_reports(reports)}, {size_bytes / 1e6:.1f} MB"
            state.since = time.monotonic()

    def said(self, worker: Worker, text: str) -> None:
        with self._lock:
            state = self._states[worker]
            state.text = f"{state.text.partition(':')[0]}: {text}"

    def ended(self, worker: Worker, reports: int) -> None:
        with self._lock:
            state = self._states[worker]
            state.text, state.since = "waiting", 0.0
            state.reports += reports

    def lost(self, worker: Worker, reports: int, error: ProfError) -> None:
        with self._lock:
            self._states.pop(worker, None)
        who = f"worker {worker.name}"
        what = error.message if error.message.startswith(who) else f"{who}: {error.message}"
        self.say(printable(f"{'lost':<12}{what}; {_reports(reports)} left to the others"))

    def lines(self) -> list[str]:
        """Returns at most as many lines as the window has rows, the longest-running workers first."""
        rows = max(1, shutil.get_terminal_size().lines - _ROWS_BELOW)
        now = time.monotonic()
        with self._lock:
            states = sorted(self._states.items(), key=lambda one: one[1].since or now)
            width = max((len(worker.name) for worker, _ in states), default=0)
            lines = [_line(worker, state, width, now) for worker, state in states]
        if len(lines) > rows:
            lines = [*lines[: rows - 1], f"and {len(lines) - rows + 1} more workers"]
        return [printable(line) for line in lines]


def _line(worker: Worker, state: _State, width: int, now: float) -> str:
    since = clock(now - state.since) if state.since else ""
    return f"{worker.name:<{width}}  {since:>5}  {state.text}; {state.reports} read"


def _reports(count: int) -> str:
    return "1 report" if count == 1 else f"{count} reports"
