"""Tables for a terminal: aligned, coloured, and no wider than the window.

A narrow window first folds and shortens texts of a table, then leaves out columns in a given order, and breaks every
text and title between its words. At last it writes what still has no room below each row. No figure is ever cut.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import takewhile, zip_longest
from typing import NamedTuple

from rich.cells import cell_len, chop_cells
from rich.color import ColorSystem
from rich.style import Style

from profiler.present.document import Column
from profiler.text import printable, shortened

_GAP = 2
_FOLDED_WIDTH = 20
_MOST_LINES = 3  # of what folds, in a column of this width; a longer text is easier to read below its row
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
_LONGEST_QUOTE = 62  # that stays on one line, with its quotes
_COMMAND = "`prof "  # starts one, which stays whole in prose at any length: on two lines, a shell would run half of it
# A text is broken after a space, and a name inside. Words joined by hyphens stay whole, since people copy the names of runs and
# causes.
_BREAK = re.compile(r"(?<=[ _])(?=[^ _])|(?<=[^0-9]/)(?=[^/])|(?<=\.)(?=[A-Z])|(?<=::)(?=[^:])")
# A place of the code stays whole, since people search for it and click on it: `kernel.cu:66`, or the opcode in `offset 0x1b0 (LDG.E)`.
_PLACE = re.compile(r"(?<!\S)(\S+:\d+\b[,.]?|\([A-Z][A-Z0-9_.]*\))(?!\S)")
_NAME_GOES_ON = "  "
BELOW = " " * 4  # in front of what stands below its row


class DrawnTable(NamedTuple):
    """A table's header and rows, notes on what had no room in a row, and the titles of the columns that are shown."""

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

    In a narrow window, the columns give way as `Column` says. What has no room is said once if all rows share it, and
    stands below its row if the column is not optional, or the row is the only one. A note below the table names the
    columns that are left out.
    No figure is ever cut, because half a number is another number.
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

    shared, below, left_out = _without_room(columns, texts, widths, len(cells))

    def drawn(row: Sequence[str], style: str) -> str:
        return _styled_lines(_row_lines(row, widths, columns), style, colour=colour)

    def drawn_with_below(row: Sequence[str], style: str) -> str:
        said = "; ".join(f"{header[place]}: {row[place]}" for place in below if row[place])
        lines = wrapped(BELOW + said, width, BELOW).split("\n") if said else []
        return "\n".join(filter(None, (drawn(row, style), _styled_lines(lines, style, colour=colour))))

    notes = (
        _note_on_shared({header[place]: cells[0][place] for place in shared if cells[0][place]}),
        note_on([header[place] for place in left_out], wide_enough),
    )
    return DrawnTable(
        drawn(header, "dim"),
        [drawn_with_below(row, style) for row, style in zip(cells, styles, strict=True)],
        "\n".join(wrapped(note, width) for note in notes if note),
        [name for place, name in enumerate(header) if place not in left_out],
    )


def _without_room(
    columns: Sequence[Column], texts: Sequence[_Texts], widths: Mapping[int, int], rows: int
) -> tuple[list[int], list[int], list[int]]:
    """Returns the columns that have no width: those that all rows share, those to write below each row, and those left out."""
    hidden = [place for place, one in enumerate(texts) if one.title and place not in widths]
    wanted = [place for place in hidden if not columns[place].spare]
    shared = [place for place in wanted if texts[place].is_alike]
    others = [place for place in wanted if not texts[place].is_alike]
    below = [place for place in others if columns[place].stays is None or rows == 1]
    return shared, below, [place for place in hidden if place not in {*shared, *below}]


def _row_lines(row: Sequence[str], widths: Mapping[int, int], columns: Sequence[Column]) -> Iterator[str]:
    """Yields the lines of a row, of which each column takes as many as it needs."""
    sides = [_cell_lines(row[place], width) for place, width in widths.items()]
    for parts in zip_longest(*sides, fillvalue=""):
        placed = zip(parts, widths.items(), strict=True)
        shown = [padded(part, width, columns[place].is_right) for part, (place, width) in placed]
        yield (" " * _GAP).join(shown).rstrip()


def _styled_lines(lines: Iterable[str], style: str, *, colour: bool) -> str:
    return "\n".join(styled(line, style, colour=colour) for line in lines)


def _note_on_shared(shared: Mapping[str, str]) -> str:
    """Returns the values that all rows share, by the titles of their columns; "" if there are none."""
    return f"in every row: {', '.join(map(' '.join, shared.items()))}" if shared else ""


def note_on(hidden: Sequence[str], wide_enough: int) -> str:
    """Returns which columns had no room, and how wide a window shows them; "" if all had."""
    which = "the column" if len(hidden) == 1 else "the columns"
    note = f"no room for {which} {', '.join(hidden)}: widen the window to {wide_enough} characters, or --format markdown"
    return note if hidden else ""


class _Texts:
    """The title and the cells of a column, and how narrow they may become."""

    def __init__(self, title: str, cells: Sequence[str], is_figures: bool) -> None:
        self.title, self._cells, self._is_figures = title, cells, is_figures
        self.natural = max(map(cell_len, (title, *cells)))

    @property
    def is_alike(self) -> bool:
        return len(set(self._cells)) == 1 < len(self._cells)

    @property
    def narrowest(self) -> int:
        """Returns the width of the longest part that is never broken: a figure, or a word of a text or of the title."""
        least = _longest_part(self.title)
        for cell in self._cells:
            if (whole := cell_len(cell)) > least:
                least = whole if self._is_figures else max(least, _longest_part(cell))
        return min(self.natural, least)

    @property
    def readable(self) -> int:
        """Returns the width at which most names still take one line."""
        return max(self.narrowest, round(self.natural * (1 - _GIVEN_BY_NAMES)))


class _Concession(NamedTuple):
    """One step by which a table gets narrower: a column shrinks to `floor`, or is left out if that is None."""

    place: int
    floor: int | None = None


def _fitting(
    columns: Sequence[Column], texts: Sequence[_Texts], shrink: int | None, width: int
) -> tuple[dict[int, int], int]:
    """Returns the columns to show with their widths, and how wide a window shows all columns.

    Each concession is made only if those before it are not enough. The widths exceed the window only if what is kept does.
    """
    concessions = _concessions(columns, texts, shrink)
    for made in range(len(concessions) + 1):
        widths, lack = _conceded(texts, concessions[:made], width)
        if not lack:
            break
    before_any_leaves = list(takewhile(lambda one: one.floor is not None, concessions))
    return widths, _conceded(texts, before_any_leaves, 0)[1]


def _concessions(columns: Sequence[Column], texts: Sequence[_Texts], shrink: int | None) -> list[_Concession]:
    """Returns every concession that the table can make, the first one first."""
    places = range(len(texts))
    folding = [place for place in places if columns[place].folds][:1]
    shrinking = [place for place in places if place == shrink]
    whole = sorted({*places} - {*folding, *shrinking}, key=lambda place: -texts[place].natural)
    # A value that all rows share stands below the table, so that its column is the least to lose.
    optional = [place for place in places if columns[place].stays is not None]
    optional.sort(key=lambda place: (not texts[place].is_alike, columns[place].stays))
    kept = [place for place in places if place == 0 or columns[place].judges or columns[place].kept]
    # What folds over too many lines is left out rather than broken further.
    most = _MOST_LINES * _FOLDED_WIDTH
    long = [place for place in folding if texts[place].natural > most and place not in optional + kept]
    others = [place for place in reversed(places) if place in whole and place not in optional + kept]
    broken = [place for place in folding if place not in long]
    first = [place for place in whole if place == 0]

    fold_names = [_Concession(place, min(_FOLDED_WIDTH, texts[place].natural)) for place in folding]
    shrink_text = [_Concession(place, _SHRUNK_WIDTH) for place in shrinking]
    narrow_first = [_Concession(place, texts[place].readable) for place in first]
    leave_out_optional = [_Concession(place) for place in optional]
    restore_first = [_Concession(place, texts[place].natural) for place in first]
    break_widest_first = [_Concession(place, texts[place].narrowest) for place in whole]
    break_names = [_Concession(place, min(_FOLDED_WIDTH, texts[place].narrowest)) for place in broken]
    shrink_more = [_Concession(place, _LEAST_WIDTH) for place in shrinking]
    leave_out_others = [_Concession(place) for place in long + others]
    shrink_to_the_last = [_Concession(place, _LAST_WIDTH) for place in shrinking]
    leave_out_kept = [_Concession(place) for place in kept if place and columns[place].kept]
    return [
        *fold_names,
        *shrink_text,
        *narrow_first,
        *leave_out_optional,
        *restore_first,  # from here on, the widest text gives first
        *break_widest_first,
        *break_names,
        *shrink_more,
        *leave_out_others,
        *shrink_to_the_last,
        *leave_out_kept,
    ]


def _conceded(
    texts: Sequence[_Texts], concessions: Sequence[_Concession], width: int
) -> tuple[dict[int, int], int]:
    """Returns the widths of the columns that stay, each as much narrower as is needed, and what is still lacking."""
    gone = {one.place for one in concessions if one.floor is None}
    widths = {place: one.natural for place, one in enumerate(texts) if place not in gone}
    lack = max(0, sum(widths.values()) + _GAP * (len(widths) - 1) - width)
    for place, floor in concessions:
        if floor is not None and place in widths:
            was = widths[place]
            widths[place] = max(was - lack, floor)
            lack -= was - widths[place]
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
    whole = _kept_together(cell.strip(), _LONGEST_QUOTE)
    between = _PLACE.split(whole)  # at odd numbers, the places
    parts = [""]
    for n, text in enumerate(between):
        for part in [text] if n % 2 else _BREAK.split(text):
            if part.strip(" ") and parts[-1]:
                parts.append(part)
            else:
                parts[-1] += part
    return [part.replace(NO_BREAK, " ") for part in parts]


def wrapped(sentence: str, width: int | None, indent: str = "  ") -> str:
    """Returns the text no wider than the window, and no wider than a person can read in one line."""
    return folded(sentence, min(width or _READABLE_WIDTH, _READABLE_WIDTH), indent)


def folded(sentence: str, width: int, indent: str) -> str:
    """Returns the text on several lines, broken between words; `indent` starts all lines but the first.

    A number stays with its unit, a command of `prof` on one line, and so does another quotation of moderate length.
    """
    room = width - len(indent)
    bare = sentence.lstrip(" ")
    lines = textwrap.wrap(
        _kept_together(bare, min(room, _LONGEST_QUOTE), in_prose=True),
        width,
        initial_indent=" " * (len(sentence) - len(bare)),
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines).replace(NO_BREAK, " ")


def _kept_together(text: str, longest: int, *, in_prose: bool = False) -> str:
    """Returns the text with spaces that do not break in figures with their units, and in what is quoted, unless it is longer."""

    def kept(match: re.Match[str]) -> str:
        breaks = len(match[0]) > longest and not (in_prose and match[0].startswith(_COMMAND))
        return match[0] if breaks else match[0].replace(" ", NO_BREAK)

    return _UNBREAKABLE.sub(kept, text)


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


def padded(text: str, width: int, is_right: bool, style: str = "", *, colour: bool = False) -> str:
    """Returns the text with space on one side, and in a style, which the space does not have."""
    space = " " * (width - cell_len(text))
    painted = styled(text, style, colour=colour)
    return space + painted if is_right else painted + space
