"""The moving lines on a terminal during a measurement: one line, or one for each worker and a total."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import RLock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live
    from rich.status import Status

_PER_SECOND = 8
_BOARD_PER_SECOND = 4
_OTHER_LINES = 3  # rows for the total, for "and N more workers", and for the cursor
_GPU_CHARACTERS = 12  # the first group of a UUID, which is enough to distinguish GPUs


class LiveDisplay:
    """Draws a line or a board once one of them is started; printed lines stay above it."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console: Console = Console(stderr=True, highlight=False)
        self._status: Status | None = None
        self._live: Live | None = None
        self._workers: dict[str, tuple[str, str, float]] = {}
        self._lock = RLock()

    def start_line(self) -> None:
        if self._status is None:
            self._status = self._console.status("", spinner="line", refresh_per_second=_PER_SECOND)
            self._status.start()

    def start_board(self, total: Callable[[int], str]) -> None:
        """Starts the board of workers; `total` returns its last line for the number of workers that are busy."""
        from rich.live import Live

        self._live = Live(
            get_renderable=lambda: self._board(total),
            console=self._console,
            refresh_per_second=_BOARD_PER_SECOND,
            transient=True,
        )
        self._live.start()

    def stop(self) -> None:
        for moving in (self._status, self._live):
            if moving is not None:
                moving.stop()

    def show(self, text: str) -> None:
        from rich.markup import escape

        from profiler.text import printable

        if self._status is not None:
            self._status.update(escape(printable(text)))

    def show_worker(self, name: str, gpu: str, text: str, since_s: float) -> None:
        with self._lock:
            self._workers[name] = (gpu[:_GPU_CHARACTERS], text, since_s)

    def drop(self, name: str) -> None:
        with self._lock:
            self._workers.pop(name, None)

    def print(self, line: str) -> None:
        self._console.print(line, markup=False)

    def _board(self, total: Callable[[int], str]) -> RenderableType:
        """Returns a line for each worker, cut at the edge of the terminal, and the total as the last line."""
        from rich.console import Group
        from rich.text import Text

        from profiler.text import printable

        with self._lock:
            workers = sorted(self._workers.items())
        room = max(1, self._console.height - _OTHER_LINES)
        now = time.monotonic()
        width = max((len(name) for name, _ in workers[:room]), default=0)
        lines = [
            f"{name:<{width}}  {gpu}  {clock(now - since_s):>5}  {text}"
            for name, (gpu, text, since_s) in workers[:room]
        ]
        if len(workers) > room:
            lines.append(f"and {len(workers) - room} more workers")
        lines.append(total(len(workers)))
        return Group(*(Text(printable(line), no_wrap=True, overflow="ellipsis") for line in lines))


def clock(seconds: float) -> str:
    """Returns a duration such as 4:07 or 1:04:07."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"
