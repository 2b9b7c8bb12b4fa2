"""Machine code in a terminal, one side or two side by side.

A narrow window leaves out columns in a given order. If even that is too wide, the sides are printed one below
the other. No cell is ever cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from rich.cells import cell_len

from profiler.present.document import CodeBlock, CodeCell, CodeColumn, CodeRow, CodeSide
from profiler.present.render.terminal_table import styled
from profiler.text import printable

_GAP = "  "
_BETWEEN = "  │  "
_RULE: CodeRow = ()  # a line across, between two stretches


def render_sides(code: CodeBlock, colour: bool, width: int | None) -> str:
    """Returns the sides next to each other if they fit, otherwise below each other.

    Columns that no row fills are left out.
    """
    rows: list[CodeRow] = []
    for stretch in code.stretches:
        rows += [*([_RULE] if rows else []), *stretch]
    return _render(code.titles, code.columns, rows, colour, width)


def width_style(bits: int | None) -> str:
    """Returns the colour of an access; the wider the access, the cooler the colour."""
    if bits is None:
        return ""
    return "bold green" if bits >= 128 else "cyan" if bits == 64 else "bold yellow" if bits == 32 else "red"


def _render(
    titles: Sequence[str],
    columns: Sequence[CodeColumn],
    rows: Sequence[CodeRow],
    colour: bool,
    width: int | None,
) -> str:
    filled = [index for index in range(len(columns)) if _any_text(rows, index)]
    for shown in _choices(columns, filled):
        widths = [_widths(columns, rows, side, shown) for side in range(len(titles))]
        total = sum(sum(side) + len(_GAP) * (len(side) - 1) for side in widths)
        if width is None or total + len(_BETWEEN) * (len(titles) - 1) <= width:
            return _beside(titles, columns, rows, shown, widths, colour)
    if len(titles) == 1:  # wider than the window, but whole
        return _beside(titles, columns, rows, shown, widths, colour)
    return "\n\n".join(
        _render([title], columns, _one_side(rows, side), colour, width) for side, title in enumerate(titles)
    )


def _any_text(rows: Sequence[CodeRow], index: int) -> bool:
    return any(side[index].text for row in rows for side in row if side is not None)


def _one_side(rows: Sequence[CodeRow], side: int) -> list[CodeRow]:
    """Returns the rows of one side, without the gaps for the other side and without rules around nothing."""
    kept: list[CodeRow] = []
    for row in rows:
        if row == _RULE:
            if kept and kept[-1] != _RULE:
                kept.append(_RULE)
        elif row[side] is not None:
            kept.append([row[side]])
    return kept[:-1] if kept and kept[-1] == _RULE else kept


def _choices(columns: Sequence[CodeColumn], filled: Sequence[int]) -> list[list[int]]:
    """Returns the sets of columns to try: all of them, then fewer and fewer."""
    choices = [list(filled)]
    giving = sorted((order, index) for index in filled if (order := columns[index].gives_way) is not None)
    for _, index in giving:
        choices.append([other for other in choices[-1] if other != index])
    return choices


def _widths(
    columns: Sequence[CodeColumn], rows: Sequence[CodeRow], side: int, shown: Sequence[int]
) -> list[int]:
    cells = [row[side] for row in rows if row != _RULE]
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
    columns: Sequence[CodeColumn],
    rows: Sequence[CodeRow],
    shown: Sequence[int],
    widths: Sequence[Sequence[int]],
    colour: bool,
) -> str:
    spans = [sum(side) + len(_GAP) * (len(side) - 1) for side in widths]
    heads = [[CodeCell(columns[index].title, quiet=True) for index in range(len(columns))]] * len(titles)
    lines = [
        _BETWEEN.join(
            _painted(title, "bold", colour) + " " * (span - cell_len(title))
            for title, span in zip(map(printable, titles), spans, strict=True)
        )
    ]
    for row in (heads, *rows):
        if row == _RULE:
            lines.append(_painted("──┼──".join("─" * span for span in spans), "dim", colour))
            continue
        parts = [
            _line(side, columns, shown, side_widths, colour)
            for side, side_widths in zip(row, widths, strict=True)
        ]
        lines.append(_BETWEEN.join(parts))
    return "\n".join(line.rstrip() for line in lines)


def _line(
    cells: CodeSide, columns: Sequence[CodeColumn], shown: Sequence[int], widths: Sequence[int], colour: bool
) -> str:
    if cells is None:
        return " " * (sum(widths) + len(_GAP) * (len(widths) - 1))
    parts = []
    for index, width in zip(shown, widths, strict=True):
        text = printable(cells[index].text)
        space = " " * (width - cell_len(text))
        painted = _painted(text, _style(cells[index]), colour)
        parts.append(space + painted if columns[index].is_right else painted + space)
    return _GAP.join(parts)


def _style(cell: CodeCell) -> str:
    return "dim" if cell.quiet else width_style(cell.width_bits)


def _painted(text: str, style: str, colour: bool) -> str:
    if not (colour and style and text):
        return text
    start, end = _codes(style)
    return f"{start}{text}{end}"


@cache
def _codes(style: str) -> tuple[str, str]:
    """Returns the control codes before and after a text of this style.

    They are cached, because to render each cell would take seconds.
    """
    start, _, end = styled("x", style, colour=True).partition("x")
    return start, end
