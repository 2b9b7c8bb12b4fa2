"""Machine code for a terminal: two sides next to each other, coloured, and no wider than the window.

A narrow window first leaves out columns, and then shows the sides one below the other. No figure is ever cut.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from profiler.present.document import CodeBlock, CodeCell, CodeRow, CodeSide
from profiler.present.render.terminal_table import note_on, padded, styled, wrapped
from profiler.text import printable

_CODE_GAP = "  "
_BETWEEN = "  │  "


def render_sides(code: CodeBlock, colour: bool, width: int | None) -> str:
    """Returns the sides next to each other if they fit, otherwise below each other.

    Columns that no row fills are left out, and a line below names those that had no room.
    """
    shown = _columns_that_fit(code, width)
    if shown is not None:
        sides, fits = [code], [shown]
    else:
        sides = [_one_side(code, side) for side in range(len(code.titles))]
        fits = [_columns_that_fit(side, width) or side.filled for side in sides]
    hidden = {place for side, fit in zip(sides, fits, strict=True) for place in set(side.filled) - set(fit)}
    titles = [code.columns[place].title for place in sorted(hidden)]
    note = wrapped(note_on(titles, _code_span(code, code.filled)), width)
    text = "\n\n".join(_beside_each_other(*side, colour) for side in zip(sides, fits, strict=True))
    return f"{text}\n{note}" if note else text


def _beside_each_other(code: CodeBlock, shown: Sequence[int], colour: bool) -> str:
    """Returns these columns of all sides, next to each other."""
    widths = _code_widths(code, shown)
    spans = [_span(side) for side in widths]

    def line(row: CodeRow) -> str:
        return _BETWEEN.join(map(beside, row, widths, spans))

    def beside(cells: CodeSide, side_widths: Sequence[int], span: int) -> str:
        if cells is None:
            return " " * span
        parts = []
        for index, cell_width in zip(shown, side_widths, strict=True):
            style = "dim" if cells[index].quiet else width_style(cells[index].width_bits)
            text = printable(cells[index].text)
            parts.append(padded(text, cell_width, code.columns[index].is_right, style, colour=colour))
        return _CODE_GAP.join(parts)

    titles = (
        padded(printable(title), span, is_right=False, style="bold", colour=colour)
        for title, span in zip(code.titles, spans, strict=True)
    )
    header: CodeRow = [[CodeCell(column.title, quiet=True) for column in code.columns]] * len(spans)
    lines = [_BETWEEN.join(titles), line(header)]
    for place, stretch in enumerate(code.stretches):
        rule = styled("──┼──".join("─" * span for span in spans), "dim", colour=colour)
        lines += [*([rule] if place else []), *map(line, stretch)]
    return "\n".join(one.rstrip() for one in lines)


def _columns_that_fit(code: CodeBlock, width: int | None) -> list[int] | None:
    """Returns the columns to show; None if two sides do not fit next to each other, whichever columns give way."""
    shown = code.filled
    giving = sorted((order, index) for index in shown if (order := code.columns[index].gives_way) is not None)
    while width is not None:
        if _code_span(code, shown) <= width:
            break
        if not giving:
            return shown if len(code.titles) == 1 else None  # one side is wider than the window, but whole
        shown.remove(giving.pop(0)[1])
    return shown


def _code_widths(code: CodeBlock, shown: Sequence[int]) -> list[list[int]]:
    """Returns how wide the columns of each side are."""
    return [[_code_width(code, side, index) for index in shown] for side in range(len(code.titles))]


def _code_span(code: CodeBlock, shown: Sequence[int]) -> int:
    """Returns how wide all sides are, next to each other."""
    spans = [_span(side) for side in _code_widths(code, shown)]
    return sum(spans) + len(_BETWEEN) * (len(spans) - 1)


def _span(widths: Sequence[int]) -> int:
    return sum(widths) + len(_CODE_GAP) * (len(widths) - 1)


def width_style(bits: int | None) -> str:
    """Returns the colour of an access; the wider the access, the cooler the colour."""
    if bits is None:
        return ""
    if bits >= 128:
        return "bold green"
    return {64: "cyan", 32: "bold yellow"}.get(bits, "red")


def _one_side(code: CodeBlock, side: int) -> CodeBlock:
    """Returns one side alone, without the gaps for the other side."""
    stretches = [[[row[side]] for row in rows if row[side] is not None] for rows in code.stretches]
    return CodeBlock([code.titles[side]], code.columns, [rows for rows in stretches if rows])


def _code_width(code: CodeBlock, side: int, index: int) -> int:
    cells = (row[side] for rows in code.stretches for row in rows)
    texts = [code.columns[index].title, *(printable(cell[index].text) for cell in cells if cell is not None)]
    return max(map(cell_len, texts))
