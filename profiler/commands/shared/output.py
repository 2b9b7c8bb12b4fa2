"""How verbs print: rows in the format asked for on standard output, progress on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from profiler.commands.shared.options import Format, VerbSettings, terminal_width

if TYPE_CHECKING:
    from profiler.errors import ProfError

Row = tuple[Any, ...]


def json_answer(finding: Any, full: bool, wanted: Sequence[str] = ()) -> str:
    """Returns a finding as JSON: all of it, or what matters most in 8 KB, the `wanted` metrics among it."""
    from profiler.present.encode import to_json

    if full:
        return to_json(finding)
    from profiler.present.brief import brief

    return to_json(brief(finding, wanted))


def print_rows(
    header: Sequence[str],
    rows: Sequence[Row],
    settings: VerbSettings,
    *,
    right: Iterable[int] = (),
    cells: Callable[[Row], Sequence[str]] | None = None,
    titles: Sequence[str] | None = None,
    optional: Sequence[int] = (),
    folds: bool = True,
    styles: Sequence[str] = (),
) -> None:
    """Programs get names and values as they are, people `titles` and what `cells` makes of a row.

    Where the window is narrow, the last column is written over several lines if it `folds`, then `optional` columns
    go. Columns with `titles` of their own go where no row fills them; `right` ones are aligned right.
    """
    from profiler.present.encode import to_csv, to_json, to_markdown
    from profiler.present.terminal import render_table, wants_colour

    if settings.format is Format.json:
        print(to_json([dict(zip(header, row, strict=True)) for row in rows]))
        return
    if settings.format is Format.csv:
        print(to_csv(header, rows))
        return
    written = [cells(row) if cells else ["" if cell is None else str(cell) for cell in row] for row in rows]
    shown = list(range(len(header)))
    if titles is not None and rows:
        shown = [index for index in shown if any(row[index] for row in written)]
    written = [[row[index] for index in shown] for row in written]
    names = [(titles or header)[index] for index in shown]
    aligned = [shown.index(index) for index in right if index in shown]
    if settings.format is Format.markdown:
        print(to_markdown(names, written, numeric=aligned))
        return
    print(
        render_table(
            names,
            written,
            right=aligned,
            optional=[shown.index(index) for index in optional if index in shown],
            styles=styles,
            fold=len(shown) - 1 if folds else None,
            colour=wants_colour(sys.stdout.isatty()),
            width=terminal_width(),
        )
    )


class Progress:
    """On standard error: a bar below the lines on a terminal, the lines alone elsewhere."""

    def __init__(
        self, title: str, total: int, settings: VerbSettings, above: Callable[[], Iterable[str]] = tuple
    ) -> None:
        """`above` is asked for the lines above the bar whenever it is drawn."""
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
        """A line of the result, as it comes: on standard output, also where that is a file."""
        if self._bar and sys.stdout.isatty():
            self._bar.console.print(line, markup=False)
        else:
            print(line, flush=True)

    def note(self, line: str) -> None:
        """What somebody who waits wants to know."""
        if self._quiet:
            return
        if self._bar:
            self._bar.console.print(line, markup=False)
        else:
            print(line, file=sys.stderr, flush=True)

    def advance(self, line: str = "", error: ProfError | None = None) -> None:
        """One step done. Of a single step the error itself is what is printed, at the end."""
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
