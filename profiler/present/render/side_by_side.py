"""Machine code in a terminal, one side or two side by side.

A narrow window leaves out columns in a given order. If even that is too wide, the sides are printed one below
the other. No cell is ever cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from rich.cells import cell_len

from profiler.present.document import CodeBlock, CodeCell, CodeRow, CodeSide
from profiler.present.render.terminal_table import styled
from profiler.text import printable

_GAP = "  "
_BETWEEN = "  │  "


def render_sides(code: CodeBlock, colour: bool, width: int | None) -> str:
    """Returns the sides next to each other if they fit, otherwise below each other.

    Columns that no row fills are left out.
    """
    shown = code.filled
    giving = sorted((order, index) for index in shown if (order := code.columns[index].gives_way) is not None)
    while True:
        widths = [[_width(code, side, index) for index in shown] for side in range(len(code.titles))]
        spans = [sum(side) + len(_GAP) * (len(side) - 1) for side in widths]
        if width is None or sum(spans) + len(_BETWEEN) * (len(spans) - 1) <= width:
            break
        if giving:
            shown.remove(giving.pop(0)[1])
        elif len(spans) == 1:  # wider than the window, but whole
            break
        else:
            sides = (_one_side(code, side) for side in range(len(spans)))
            return "\n\n".join(render_sides(side, colour, width) for side in sides)

    def line(row: CodeRow) -> str:
        return _BETWEEN.join(map(beside, row, widths, spans))

    def beside(cells: CodeSide, side_widths: Sequence[int], span: int) -> str:
        if cells is None:
            return " " * span
        parts = []
        for index, cell_width in zip(shown, side_widths, strict=True):
            text = printable(cells[index].text)
            space = " " * (cell_width - cell_len(text))
            style = "dim" if cells[index].quiet else width_style(cells[index].width_bits)
            painted = _painted(text, style, colour)
            parts.append(space + painted if code.columns[index].is_right else painted + space)
        return _GAP.join(parts)

    titles = map(printable, code.titles)
    lines = [
        _BETWEEN.join(
            _painted(title, "bold", colour) + " " * (span - cell_len(title))
            for title, span in zip(titles, spans, strict=True)
        ),
        line([[CodeCell(column.title, quiet=True) for column in code.columns]] * len(spans)),
    ]
    for place, stretch in enumerate(code.stretches):
        rule = _painted("──┼──".join("─" * span for span in spans), "dim", colour)
        lines += [*([rule] if place else []), *map(line, stretch)]
    return "\n".join(one.rstrip() for one in lines)


def width_style(bits: int | None) -> str:
    """Returns the colour of an access; the wider the access, the cooler the colour."""
    if bits is None:
        return ""
    return "bold green" if bits >= 128 else "cyan" if bits == 64 else "bold yellow" if bits == 32 else "red"


def _one_side(code: CodeBlock, side: int) -> CodeBlock:
    """Returns one side alone, without the gaps for the other side."""
    stretches = [[[row[side]] for row in rows if row[side] is not None] for rows in code.stretches]
    return CodeBlock([code.titles[side]], code.columns, [rows for rows in stretches if rows])


def _width(code: CodeBlock, side: int, index: int) -> int:
    cells = (row[side] for rows in code.stretches for row in rows)
    texts = [code.columns[index].title, *(printable(cell[index].text) for cell in cells if cell is not None)]
    return max(map(cell_len, texts))


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
