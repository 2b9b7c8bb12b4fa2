"""Shows on standard error how far a verb is: lines that stay, and on a terminal a bar with a line for each worker."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Self

from profiler.commands.shared.options import VerbSettings
from profiler.errors import ProfError
from profiler.text import clock, printable

_ROWS_BELOW = 4  # rows kept free for the bar and the last printed lines


class Progress:
    """Prints lines, and draws a bar below them on a terminal. Several threads may call it.

    `left_s` returns the time left in seconds, or None; by default, the bar judges it by the steps so far.
    """

    def __init__(
        self, title: str, total: int, settings: VerbSettings, left_s: Callable[[], float | None] | None = None
    ) -> None:
        self._is_quiet = settings.quiet
        self._has_one_step = total == 1
        self._workers: dict[str, tuple[float | None, str]] = {}
        self._lock = RLock()  # the drawing thread needs it: nothing may be printed while it is held
        self._bar = None  # rich is slow to import, so it is imported only when a bar is drawn
        if sys.stderr.isatty() and not settings.quiet and (total > 1 or left_s):
            from profiler.commands.shared.bar import Bar

            self._bar = Bar(title, total, self.worker_lines, left_s)

    def __enter__(self) -> Self:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar:
            self._bar.stop()

    def show(self, worker: str, text: str, since_s: float | None = None) -> None:
        """Sets the line of a worker, and when it began what it does now; None if it waits."""
        with self._lock:
            self._workers[worker] = (since_s, text)

    def drop(self, worker: str) -> None:
        """Removes the line of a worker that is gone."""
        with self._lock:
            self._workers.pop(worker, None)

    def worker_lines(self) -> list[str]:
        """Returns the workers' lines by name. If the window has too few rows, those at work for the longest remain."""
        now = time.monotonic()
        with self._lock:
            workers = [(name, since or now, since, text) for name, (since, text) in self._workers.items()]
        rows = max(1, shutil.get_terminal_size().lines - _ROWS_BELOW)
        shown = workers
        if len(workers) > rows:
            shown = sorted(workers, key=lambda worker: worker[1])[: rows - 1]
        width = max((len(name) for name, *_ in shown), default=0)
        lines = [
            f"{name:<{width}}  {clock(now - since) if since else '':>5}  {text}".lstrip()
            for name, _, since, text in sorted(shown)
        ]
        more = len(workers) - len(shown)
        return [*map(printable, lines), *([f"and {more} more workers"] if more else [])]

    def result(self, line: str) -> None:
        """Prints a line of the result at once, on standard output."""
        if self._bar and sys.stdout.isatty():
            self._bar.console.print(line, markup=False, soft_wrap=True)
        else:
            print(line, flush=True)

    def note(self, line: str) -> None:
        """Prints a line about the progress, unless --quiet is given."""
        if line and not self._is_quiet:
            self._print(line)

    def advance(self, line: str = "", error: ProfError | None = None) -> None:
        """Counts one finished step and prints its line or error. The error of a single step is printed at the end instead."""
        if error is None:
            self.note(line)
        elif not self._has_one_step:
            self.fail(error, line or "failed")
        if self._bar:
            self._bar.advance(self._bar.step)

    def count(self, done: int) -> None:
        """Sets the number of finished steps."""
        if self._bar:
            self._bar.update(self._bar.step, completed=done)

    def fail(self, error: ProfError, status: str = "failed", *more: str) -> None:
        """Prints an error that does not end the verb, also with --quiet."""
        for line in (f"{status:<12}{error.message}", *error.details, *more):
            self._print(line)

    def _print(self, line: str) -> None:
        if self._bar:
            self._bar.console.print(printable(line), markup=False, soft_wrap=True)
        else:
            print(printable(line), file=sys.stderr, flush=True)


@contextmanager
def continuable(results: str) -> Iterator[None]:
    """Prints, when Ctrl-C ends the block, that the results so far are kept."""
    try:
        yield
    except KeyboardInterrupt:
        print(f"the {results} so far are kept: the same command continues from there", file=sys.stderr)
        raise
