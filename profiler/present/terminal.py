"""Tables for a terminal: aligned, coloured by verdict, no wider than the window."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from profiler.present.text import printable

VERDICT_STYLE = {"better": "green", "worse": "red", "changed": "", "unclear": "yellow", "same": "dim"}
_UNLIMITED_WIDTH = 2000  # into a file or a pipe: never fold


def render_table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Iterable[int] = (),
    styles: Sequence[str] = (),
    fold: int | None = None,
    colour: bool = False,
    width: int | None = None,
) -> str:
    """Columns in `right` are aligned right; column `fold` gives way when space is short."""
    aligned = set(right)
    table = Table(box=None, pad_edge=False, show_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for index, name in enumerate(header):
        table.add_column(
            name,
            justify="right" if index in aligned else "left",
            no_wrap=index != fold,
            overflow="fold",
        )
    for position, row in enumerate(rows):
        style = styles[position] if position < len(styles) else ""
        table.add_row(*[Text(printable(cell)) for cell in row], style=style)
    return _render(table, colour, width)


def styled(text: str, style: str, *, colour: bool) -> str:
    return _render(Text(text, style=style), colour, len(text) + 1) if colour else text


def wants_colour(is_terminal: bool) -> bool:
    """NO_COLOR forbids it, FORCE_COLOR asks for it, otherwise a terminal gets it."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (is_terminal and os.environ.get("TERM") != "dumb")


def _render(renderable: object, colour: bool, width: int | None) -> str:
    text = io.StringIO()
    console = Console(
        file=text,
        force_terminal=colour,
        no_color=not colour,
        color_system="standard" if colour else None,
        width=width or _UNLIMITED_WIDTH,
        highlight=False,
        legacy_windows=False,
    )
    console.print(renderable, end="")
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())
