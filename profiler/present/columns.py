"""Two lists side by side in a terminal: cells with styles of their own, and none ever cut.

Rows of cells in, text out. Columns give way in a given order where the window is narrow;
where even that is too wide, the sides are printed one below the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from rich.cells import cell_len

from profiler.present.terminal import styled
from profiler.text import printable

_GAP = "  "
_BETWEEN = "  │  "


@dataclass(frozen=True)
class Layout:
    """How to print: in colour or not, and how wide; no width is as wide as it takes."""

    colour: bool = False
    width: int | None = None


@dataclass(frozen=True)
class Cell:
    text: str
    style: str = ""


@dataclass(frozen=True)
class Column:
    title: str
    is_right: bool = False
    gives_way: int | None = None  # the lowest goes first; None stays


SideRow = Sequence[Cell] | None  # None where the other side stands alone
Row = Sequence[SideRow]  # one for each side
Rows = Sequence[Row]
RULE: Row = ()  # a line across


def render_sides(titles: Sequence[str], columns: Sequence[Column], rows: Rows, layout: Layout) -> str:
    """Beside each other where they fit, else below; columns that no row fills are left out."""
    filled = [index for index in range(len(columns)) if _any_text(rows, index)]
    for shown in _choices(columns, filled):
        widths = [_widths(columns, rows, side, shown) for side in range(len(titles))]
        total = sum(sum(side) + len(_GAP) * (len(side) - 1) for side in widths)
        if layout.width is None or total + len(_BETWEEN) * (len(titles) - 1) <= layout.width:
            return _beside(titles, columns, rows, shown, widths, layout.colour)
    if len(titles) == 1:  # wider than the window, and still whole
        return _beside(titles, columns, rows, shown, widths, layout.colour)
    return "\n\n".join(
        render_sides([title], columns, _one_side(rows, side), layout) for side, title in enumerate(titles)
    )


def _any_text(rows: Rows, index: int) -> bool:
    return any(side[index].text for row in rows for side in row if side is not None)


def _one_side(rows: Rows, side: int) -> list[Row]:
    """Without the gaps that the other side left, and without rules around nothing."""
    kept: list[Row] = []
    for row in rows:
        if row == RULE:
            if kept and kept[-1] != RULE:
                kept.append(RULE)
        elif row[side] is not None:
            kept.append([row[side]])
    return kept[:-1] if kept and kept[-1] == RULE else kept


def _choices(columns: Sequence[Column], filled: Sequence[int]) -> list[list[int]]:
    """All columns, then fewer and fewer."""
    choices = [list(filled)]
    giving = sorted((order, index) for index in filled if (order := columns[index].gives_way) is not None)
    for _, index in giving:
        choices.append([other for other in choices[-1] if other != index])
    return choices


def _widths(columns: Sequence[Column], rows: Rows, side: int, shown: Sequence[int]) -> list[int]:
    cells = [row[side] for row in rows if row != RULE]
    return [
        max(
            cell_len(columns[index].title),
            *(cell_len(printable(cell[index].text)) for cell in cells if cell is not None),
            0,
        )
        for index in shown
    ]


def _beside(
    titles: Sequence[str],
    columns: Sequence[Column],
    rows: Rows,
    shown: Sequence[int],
    widths: Sequence[Sequence[int]],
    colour: bool,
) -> str:
    spans = [sum(side) + len(_GAP) * (len(side) - 1) for side in widths]
    heads = [[Cell(columns[index].title, "dim") for index in range(len(columns))]] * len(titles)
    lines = [
        _BETWEEN.join(
            _painted(title, "bold", colour) + " " * (span - cell_len(title))
            for title, span in zip(map(printable, titles), spans, strict=True)
        )
    ]
    for row in (heads, *rows):
        if row == RULE:
            lines.append(_painted("──┼──".join("─" * span for span in spans), "dim", colour))
            continue
        parts = [
            _line(side, columns, shown, side_widths, colour)
            for side, side_widths in zip(row, widths, strict=True)
        ]
        lines.append(_BETWEEN.join(parts))
    return "\n".join(line.rstrip() for line in lines)


def _line(
    cells: SideRow, columns: Sequence[Column], shown: Sequence[int], widths: Sequence[int], colour: bool
) -> str:
    if cells is None:
        return " " * (sum(widths) + len(_GAP) * (len(widths) - 1))
    parts = []
    for index, width in zip(shown, widths, strict=True):
        text = printable(cells[index].text)
        space = " " * (width - cell_len(text))
        painted = _painted(text, cells[index].style, colour)
        parts.append(space + painted if columns[index].is_right else painted + space)
    return _GAP.join(parts)


def _painted(text: str, style: str, colour: bool) -> str:
    if not (colour and style and text):
        return text
    start, end = _codes(style)
    return f"{start}{text}{end}"


@cache
def _codes(style: str) -> tuple[str, str]:
    """What a terminal needs before and after text of this style: rendering each cell would take seconds."""
    start, _, end = styled("x", style, colour=True).partition("x")
    return start, end
