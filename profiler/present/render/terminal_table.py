"""Tables and machine code for a terminal: aligned, coloured, and no wider than the window.

A narrow window first folds and shortens texts of a table, then leaves out columns in a given order, and at last
breaks every text and title between its words. For machine code it also leaves out columns, and then prints the sides
one below the other. No figure is ever cut.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import zip_longest
from typing import NamedTuple

from rich.cells import cell_len, chop_cells
from rich.color import ColorSystem
from rich.style import Style

from profiler.present.document import CodeBlock, CodeCell, CodeRow, CodeSide, Column
from profiler.text import printable, shortened

_GAP = 2
_FOLDED_WIDTH = 20
_SHRUNK_WIDTH = 24
_LEAST_WIDTH = 20  # of what shrinks, before a column is left out that the others need
_LAST_WIDTH = 12  # of what shrinks, where all that is kept is still wider than the window
# Before a column is left out, the first one gives this part of its width: then only its longest names take two lines.
_GIVEN_BY_NAMES = 0.25
_READABLE_WIDTH = 100
NO_BREAK = "\u00a0"
_UNBREAKABLE = re.compile(
    r"(?:± )?\d (?:%|[mun]?s|[kMGT]?B(?:/s)?|[GT]FLOP/s|[kMG]?Hz|million|x)(?!\w)|± (?:< )?\d|`[^`]+`"
)
_LONGEST_COMMAND = 62  # that stays on one line, with its quotes
# A text is broken after a space, and a name inside. Words joined by hyphens stay whole, since people copy the names of runs and
# causes.
_BREAK = re.compile(r"(?<=[ _])(?=[^ _])|(?<=[^0-9]/)(?=[^/])|(?<=::)(?=[^:])")
_NAME_GOES_ON = "  "


class DrawnTable(NamedTuple):
    """A table's header and rows, a note on what had no room, and the titles of the columns that had."""

    header: str
    rows: list[str]
    note: str
    titles: list[str]

    @property
    def text(self) -> str:
        return "\n".join([self.header, *self.rows, *filter(None, [self.note])])


def render_table(
    columns: Sequence[Column],
    rows: Iterable[Sequence[str]],
    styles: Sequence[str],
    colour: bool,
    width: int | None,
) -> DrawnTable:
    """Returns the table, with a style for each row.

    In a narrow window, the columns give way as `Column` says, and a line below names what was left out. No figure is
    ever cut, because half a number is another number.
    """
    header = [printable(column.title) for column in columns]
    cells = [[printable(cell).rstrip() for cell in row] for row in rows]
    texts = [
        _Texts(name, [row[place] for row in cells], column.is_right)
        for place, (name, column) in enumerate(zip(header, columns, strict=True))
    ]
    shrink = next((place for place, column in enumerate(columns) if column.shrinks), None)
    if shrink is not None and texts[shrink].natural <= _SHRUNK_WIDTH:
        shrink = None  # too short to get shorter, so it folds as other names do
    widths, wide_enough = {place: one.natural for place, one in enumerate(texts)}, 0
    if width is not None and texts:
        widths, wide_enough = _fitting(columns, texts, shrink, width)
    if shrink in widths:
        for row in cells:
            row[shrink] = shortened(row[shrink], widths[shrink])

    def drawn(row: Sequence[str], style: str) -> str:
        sides = [_cell_lines(row[place], needed) for place, needed in widths.items()]
        lines = (
            (" " * _GAP).join(
                _padded(part, needed, columns[place].is_right)
                for part, (place, needed) in zip(parts, widths.items(), strict=True)
            )
            for parts in zip_longest(*sides, fillvalue="")
        )
        return "\n".join(styled(line.rstrip(), style, colour=colour) for line in lines)

    return DrawnTable(
        drawn(header, "dim"),
        [drawn(row, style) for row, style in zip(cells, styles, strict=True)],
        _note_on(
            [name for place, name in enumerate(header) if name and place not in widths], width, wide_enough
        ),
        [header[place] for place in widths],
    )


def _note_on(hidden: Sequence[str], width: int | None, wide_enough: int) -> str:
    """Returns which columns had no room, and how wide a window shows them; "" if all had."""
    which = "the column" if len(hidden) == 1 else "the columns"
    note = f"no room for {which} {', '.join(hidden)}: widen the window to {wide_enough} characters, or --format markdown"
    return wrapped(note, width) if hidden else ""


class _Texts:
    """The title and the cells of a column, and how narrow they may become."""

    def __init__(self, title: str, cells: Sequence[str], is_figures: bool) -> None:
        self._title, self._cells, self._is_figures = title, cells, is_figures
        self.natural = max(map(cell_len, (title, *cells)))

    @property
    def narrowest(self) -> int:
        """Returns the width of the longest part that is never broken: a figure, or a word of a text or of the title."""
        least = _longest_part(self._title)
        for cell in self._cells:
            if (whole := cell_len(cell)) > least:
                least = whole if self._is_figures else max(least, _longest_part(cell))
        return min(self.natural, least)

    @property
    def readable(self) -> int:
        """Returns the width at which most names still take one line."""
        return max(self.narrowest, round(self.natural * (1 - _GIVEN_BY_NAMES)))


def _fitting(
    columns: Sequence[Column], texts: Sequence[_Texts], shrink: int | None, width: int
) -> tuple[dict[int, int], int]:
    """Returns the columns to show with their widths, and how wide a window shows all columns.

    The widths exceed the window only if what is kept does.
    """
    fold = next((place for place, one in enumerate(columns) if one.folds), None)
    stays = {place: one.stays for place, one in enumerate(columns) if one.stays is not None}
    optional = sorted(stays, key=lambda place: stays[place])
    kept = {0, *(place for place, one in enumerate(columns) if one.judges or one.kept)}
    first = [
        (place, least)
        for place, least in ((fold, _FOLDED_WIDTH), (shrink, _SHRUNK_WIDTH))
        if place is not None
    ]
    shown = list(range(len(texts)))
    widths, lack = _given_way(texts, shown, first, width)
    if lack <= 0:
        return widths, width
    names = [] if 0 in (fold, shrink) else [(0, texts[0].readable)]
    by_width = sorted(set(shown) - {fold, shrink}, key=lambda place: -texts[place].natural)
    broken = [(place, texts[place].narrowest) for place in by_width]
    broken += [(fold, texts[fold].narrowest)] if fold is not None else []
    broken += [(shrink, _LEAST_WIDTH)] if shrink is not None else []
    others = [place for place in reversed(shown) if place not in {fold, shrink, *optional, *kept}]
    # The column that is left out before each attempt, and the columns that then give way.
    attempts: list[tuple[int | None, list[tuple[int, int]]]] = [(None, first + names)]
    attempts += [(place, first + names) for place in optional]
    attempts += [(place, first + broken) for place in (None, *others)]
    attempts += [(None, [*first, *broken, (shrink, _LAST_WIDTH)])] if shrink is not None else []
    _, wide_enough = _given_way(texts, shown, first + (names if optional else broken), 0)
    for gone, giving in attempts:
        if gone is not None:
            shown.remove(gone)
        widths, lack = _given_way(texts, shown, giving, width)
        if lack <= 0:
            break
    return widths, wide_enough


def _given_way(
    texts: Sequence[_Texts], shown: Sequence[int], giving: Sequence[tuple[int, int]], width: int
) -> tuple[dict[int, int], int]:
    """Returns the widths of the columns shown, each in its turn given down to its floor, and what is still lacking."""
    widths = {place: texts[place].natural for place in shown}
    lack = sum(widths.values()) + _GAP * (len(shown) - 1) - width
    for place, floor in giving:
        if place in widths:
            given = max(0, min(lack, widths[place] - floor))
            widths[place] -= given
            lack -= given
    return widths, lack


def _cell_lines(cell: str, width: int) -> list[str]:
    """Returns the lines of a cell. Where a name goes on, its line is indented, so that it does not look like another row."""
    if cell_len(cell) <= width:
        return [cell]
    start, indent = _indents(cell)
    lines = [start]
    for part in _parts(cell):
        if lines[-1].strip() and cell_len(lines[-1] + part.rstrip()) > width:
            lines.append(indent)
        room = max(1, width - cell_len(lines[-1]))
        first = chop_cells(part, room)[0] if cell_len(part.rstrip()) > room else part
        lines[-1] += first
        rest = part[len(first) :]
        lines += [indent + other for other in chop_cells(rest, max(1, width - len(indent)))] if rest else []
    return [line.rstrip() for line in lines]


def _longest_part(cell: str) -> int:
    """Returns the width of the longest part of a text, with the space in front of it."""
    start, indent = _indents(cell)
    first, *others = _parts(cell)
    return max(cell_len(one.rstrip()) for one in (start + first, *(indent + part for part in others)))


def _indents(cell: str) -> tuple[str, str]:
    """Returns the space in front of a cell's first line, and of the others."""
    start = " " * (len(cell) - len(cell.lstrip()))
    return start, start if " " in cell.strip() else start + _NAME_GOES_ON


def _parts(cell: str) -> list[str]:
    """Returns the parts between which a text may be broken; a figure stays with its unit."""
    whole = _kept_together(cell.strip(), _LONGEST_COMMAND)
    return [part.replace(NO_BREAK, " ") for part in _BREAK.split(whole)]


def wrapped(sentence: str, width: int | None, indent: str = "  ") -> str:
    """Returns the text no wider than the window, and no wider than a person can read in one line."""
    return folded(sentence, min(width or _READABLE_WIDTH, _READABLE_WIDTH), indent)


def folded(sentence: str, width: int, indent: str) -> str:
    """Returns the text on several lines, broken between words; `indent` starts all lines but the first.

    A number stays with its unit, and a command of moderate length on one line.
    """
    room = width - len(indent)
    bare = sentence.lstrip(" ")
    lines = textwrap.wrap(
        _kept_together(bare, min(room, _LONGEST_COMMAND)),
        width,
        initial_indent=" " * (len(sentence) - len(bare)),
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines).replace(NO_BREAK, " ")


def _kept_together(text: str, longest: int) -> str:
    """Returns the text with spaces that do not break in figures with their units, and in what is quoted, unless it is longer."""
    return _UNBREAKABLE.sub(
        lambda match: match[0] if len(match[0]) > longest else match[0].replace(" ", NO_BREAK), text
    )


def styled(text: str, style: str, *, colour: bool) -> str:
    if not (colour and style.strip() and text):
        return text
    start, end = _codes(style)
    return f"{start}{text}{end}"


@cache
def _codes(style: str) -> tuple[str, str]:
    """Returns the control codes before and after a text of this style."""
    start, _, end = Style.parse(style).render("x", color_system=ColorSystem.STANDARD).partition("x")
    return start, end


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
    note = _note_on(
        [code.columns[place].title for place in sorted(hidden)], width, _code_span(code, code.filled)
    )
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
            parts.append(_padded(text, cell_width, code.columns[index].is_right, style, colour=colour))
        return _CODE_GAP.join(parts)

    titles = (
        _padded(printable(title), span, is_right=False, style="bold", colour=colour)
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


def _padded(text: str, width: int, is_right: bool, style: str = "", *, colour: bool = False) -> str:
    """Returns the text with space on one side, and in a style, which the space does not have."""
    space = " " * (width - cell_len(text))
    painted = styled(text, style, colour=colour)
    return space + painted if is_right else painted + space


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
