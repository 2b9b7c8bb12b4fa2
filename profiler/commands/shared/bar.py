"""The bar that `progress.py` draws on a terminal. This module imports rich, which takes longer than most verbs."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task
from rich.table import Column
from rich.text import Text

from profiler.text import clock

_PER_SECOND = 8


class Bar(Progress):
    """A bar with the time that passed and the time that is left, below the lines that `above` returns."""

    def __init__(
        self,
        title: str,
        total: int,
        above: Callable[[], list[str]],
        left_s: Callable[[], float | None] | None,
    ) -> None:
        self._above = above
        super().__init__(
            title, BarColumn(), MofNCompleteColumn(), _Clocks(left_s), console=Console(stderr=True, highlight=False),
            transient=True, redirect_stdout=False, refresh_per_second=_PER_SECOND,
        )  # fmt: skip
        self.step = self.add_task("", total=total)

    def get_renderables(self) -> Iterable[RenderableType]:
        """Yields the lines, each cut at the edge of the terminal, and the bar."""
        yield from (Text(line, no_wrap=True, overflow="ellipsis") for line in self._above())
        yield from super().get_renderables()


class _Clocks(ProgressColumn):
    def __init__(self, left_s: Callable[[], float | None] | None) -> None:
        super().__init__(Column(no_wrap=True))  # in a narrow window, the bar gets shorter
        self._left_s = left_s

    def render(self, task: Task) -> Text:
        left_s = self._left_s() if self._left_s else task.time_remaining
        left = f", {clock(left_s)} left" if left_s is not None and not task.finished else ""
        return Text(f"{clock(task.elapsed or 0)} elapsed{left}")
