"""What moves on a terminal while something is measured: one line, or one for each worker and one for all of them."""

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
_OTHER_LINES = 3  # of the terminal: for all of them, for those that have no room, and the cursor's
_GPU_CHARACTERS = 12  # of a UUID: what tells it from others, as its first group does


class Display:
    """Nothing moves until one of the two has been started; what is printed stays above it."""

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
        """`total` is what the line of all says, given how many are at work."""
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
        """A worker's line is cut at the end of the terminal, never wrapped; the line of all is the last."""
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
    """4:07, or 1:04:07."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"
