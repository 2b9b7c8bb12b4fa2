"""Tables and machine code for a terminal: aligned, coloured, and no wider than the window.

Of machine code, a narrow window leaves out columns in a given order. If even that is too wide, the sides are printed one
below the other. No cell is ever cut.
"""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from profiler.present.document import CodeBlock, CodeCell, CodeRow, CodeSide
from profiler.text import printable, shortened

_GAP = 2
_FOLDED_WIDTH = 20
_SHRUNK_WIDTH = 26
_READABLE_WIDTH = 100
_NO_BREAK = "\u00a0"
_UNBREAKABLE = re.compile(
    r"±? ?\d (?:%|[mun]?s|[kMGT]?B(?:/s)?|[GT]FLOP/s|[kMG]?Hz|million|x)(?!\w)|± \d|`[^`]{1,60}`"
)


class DrawnTable(NamedTuple):
    """A table's text, and the titles of the columns that had room."""

    text: str
    titles: list[str]


def render_table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Iterable[int] = (),
    styles: Sequence[str] = (),
    fold: int | None = None,
    optional: Sequence[int] = (),
    shrink: int | None = None,
    colour: bool = False,
    width: int | None = None,
) -> DrawnTable:
    """Returns the table; columns in `right` are aligned right.

    In a narrow window, column `fold` folds first, and the names in column `shrink` get shorter. Then the columns in `optional` are left out in that order,
    and a line below names them. No other cell is ever cut: half a number is another number.
    """
    aligned = set(right)
    header = [printable(name) for name in header]
    cells = [[printable(cell) for cell in row] for row in rows]
    if width is None and not colour:
        return DrawnTable(_in_a_file([header, *cells], aligned), header)
    window = width
    columns, width = _fitting(header, cells, {fold: _FOLDED_WIDTH, shrink: _SHRUNK_WIDTH}, optional, width)
    if shrink is not None:
        others = sum(_width(header, cells, column) for column in columns if column != shrink)
        for row in cells:
            row[shrink] = shortened(row[shrink], max(width - others - _GAP, _SHRUNK_WIDTH - _GAP))
    table = Table(box=None, pad_edge=False, show_edge=False, header_style="dim", padding=(0, _GAP, 0, 0))
    for index in columns:
        table.add_column(
            Text(header[index]),
            justify="right" if index in aligned else "left",
            no_wrap=index != fold,
            overflow="fold",
        )
    for position, row in enumerate(cells):
        style = styles[position] if position < len(styles) else ""
        table.add_row(*[Text(row[index]) for index in columns], style=style)
    hidden = [name for index, name in enumerate(header) if index not in columns]
    note = f"no room for {', '.join(hidden)}: widen the window, or --format markdown"
    text = _render(table, colour, width) + (f"\n{wrapped(note, window)}" if hidden else "")
    return DrawnTable(text, [header[index] for index in columns])


def _in_a_file(rows: Sequence[Sequence[str]], right: Collection[int]) -> str:
    """Returns the rows as a file gets them: no colour, no width. Rich takes a hundred times as long for it."""
    rows = [[cell.rstrip() for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        gaps = [" " * (width - cell_len(cell)) for width, cell in zip(widths, row, strict=True)]
        cells = [
            gap + cell if place in right else cell + gap
            for place, (cell, gap) in enumerate(zip(row, gaps, strict=True))
        ]
        lines.append((" " * _GAP).join(cells).rstrip())
    return "\n".join(lines)


def wrapped(sentence: str, width: int | None, indent: str = "  ") -> str:
    """Returns the text no wider than the window, and no wider than a person can read in one line."""
    return folded(sentence, min(width or _READABLE_WIDTH, _READABLE_WIDTH), indent)


def folded(sentence: str, width: int, indent: str) -> str:
    """Returns the text on several lines, broken between words; `indent` starts all lines but the first.

    A number stays with its unit, and a command of moderate length on one line.
    """
    lines = textwrap.wrap(
        _UNBREAKABLE.sub(lambda match: match[0].replace(" ", _NO_BREAK), sentence),
        width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return "\n".join(lines).replace(_NO_BREAK, " ")


def _fitting(
    header: Sequence[str],
    cells: Sequence[Sequence[str]],
    narrowest: Mapping[int | None, int],
    optional: Sequence[int],
    width: int | None,
) -> tuple[list[int], int]:
    """Returns the columns to show and the width they need, which may exceed the window."""
    widths = [_width(header, cells, column) for column in range(len(header))]
    if width is None:
        return list(range(len(header))), sum(widths)
    width += _GAP  # none follows the last column
    widths = [min(needed, narrowest.get(column, needed)) for column, needed in enumerate(widths)]
    columns = list(range(len(header)))
    for index in optional:
        if sum(widths[column] for column in columns) <= width:
            break
        columns.remove(index)
    needed = sum(widths[column] for column in columns)
    return columns, max(width, needed) - _GAP


def _width(header: Sequence[str], cells: Sequence[Sequence[str]], column: int) -> int:
    return max(map(cell_len, (header[column], *(row[column] for row in cells)))) + _GAP


def styled(text: str, style: str, *, colour: bool) -> str:
    return _render(Text(text, style=style), colour, cell_len(text) + 1) if colour else text


def _render(renderable: object, colour: bool, width: int) -> str:
    text = io.StringIO()
    console = Console(
        file=text,
        force_terminal=colour,
        no_color=not colour,
        color_system="standard" if colour else None,
        width=width,
        highlight=False,
        legacy_windows=False,
    )
    console.print(renderable, end="")
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


_CODE_GAP = "  "
_BETWEEN = "  │  "


def render_sides(code: CodeBlock, colour: bool, width: int | None) -> str:
    """Returns the sides next to each other if they fit, otherwise below each other.

    Columns that no row fills are left out.
    """
    shown = code.filled
    giving = sorted((order, index) for index in shown if (order := code.columns[index].gives_way) is not None)
    while True:
        widths = [[_code_width(code, side, index) for index in shown] for side in range(len(code.titles))]
        spans = [sum(side) + len(_CODE_GAP) * (len(side) - 1) for side in widths]
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
        return _CODE_GAP.join(parts)

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


def _code_width(code: CodeBlock, side: int, index: int) -> int:
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
