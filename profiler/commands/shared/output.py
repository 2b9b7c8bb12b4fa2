"""Prints results on standard output, in the format asked for, and progress on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from profiler.commands.shared.options import Format, VerbSettings, terminal_width

if TYPE_CHECKING:
    from profiler.errors import ProfError
    from profiler.present.document import Document
    from profiler.present.render.terminal import Window


def json_answer(finding: Any, full: bool, wanted: Sequence[str] = ()) -> str:
    """Returns a finding as JSON: the `full` one, or its most important 8 KB including the `wanted` metrics."""
    from profiler.present.render.json import to_json

    if full:
        return to_json(finding)
    from profiler.present.brief import brief

    return to_json(brief(finding, wanted))


def print_document(*documents: Document, format: Format) -> None:
    """Prints documents on standard output. Their JSON is a list of rows; a finding is printed by `json_answer`."""
    from profiler.present.render import render

    print(render(documents, format.value, window()))


def window() -> Window:
    """Returns the width of standard output and whether it shows colour."""
    from profiler.present.render.terminal import Window, wants_colour

    return Window(wants_colour(sys.stdout.isatty()), terminal_width())


class Progress:
    """Prints lines on standard error, with a bar below them on a terminal."""

    def __init__(
        self, title: str, total: int, settings: VerbSettings, above: Callable[[], Iterable[str]] = tuple
    ) -> None:
        """`above` returns the lines above the bar, each time that it is drawn."""
        self._quiet = settings.quiet
        self._total = total
        self._bar = None
        if sys.stderr.isatty() and not settings.quiet and total > 1:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn
            from rich.text import Text

            class Bar(Progress):
                def get_renderables(self) -> Iterable[Any]:
                    yield from (Text(line, no_wrap=True, overflow="ellipsis") for line in above())
                    yield from super().get_renderables()

            self._bar = Bar(
                title, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(elapsed_when_finished=True),
                console=Console(stderr=True, highlight=False), transient=True, redirect_stdout=False,
            )  # fmt: skip
            self._task = self._bar.add_task("", total=total)

    def __enter__(self) -> Progress:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()

    def result(self, line: str) -> None:
        """Prints a line of the result at once, on standard output."""
        if self._bar and sys.stdout.isatty():
            self._bar.console.print(line, markup=False)
        else:
            print(line, flush=True)

    def note(self, line: str) -> None:
        """Prints a line about the progress, unless --quiet is given."""
        if self._quiet:
            return
        if self._bar:
            self._bar.console.print(line, markup=False)
        else:
            print(line, file=sys.stderr, flush=True)

    def advance(self, line: str = "", error: ProfError | None = None) -> None:
        """Counts one finished step and prints its line or error. The error of a single step is printed at the end instead."""
        from profiler.text import printable

        lines = [line] if line and not self._quiet else []
        if error is not None:
            lines = [] if self._total == 1 else [f"{line or 'failed':<12}{error.message}", *error.details]
        if self._bar:
            for text in lines:
                self._bar.console.print(printable(text), markup=False)
            self._bar.advance(self._task)
        else:
            for text in lines:
                print(printable(text), file=sys.stderr, flush=True)
