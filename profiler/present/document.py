"""The document: the one form that every answer of prof has before it is printed.

A document has sections, and sections have blocks. `present/documents` makes a document of each finding, and
`present/render` turns it into terminal text, Markdown, HTML or CSV. Blocks hold values, not texts. The kind of
a column says how people read its values, so people get rounded figures while CSV gets the `records` in full.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from profiler.text import Spoken, counted

_MOST_CAUTIONS = 3  # beside an answer alone, which a screen of 24 lines holds
Tone = Literal["plain", "good", "bad", "warn", "quiet"]
ValueKind = Literal[
    "text", "number", "count", "change", "relative", "spread", "duration", "tenths", "hundredths", "thousandths", "giga",
    "percent", "share", "scientific", "ratio",
]  # fmt: skip


class Nested(Struct, frozen=True):
    """A text at a depth of a tree. Each renderer indents it in its own way."""

    text: str
    depth: int


class Marked(Struct, frozen=True):
    """A figure with a mark right behind it, such as an arrow that shows its direction."""

    value: float
    mark: str


# A pair is an interval, or in a "relative" column the figures before and after. None is a missing value.
Plain = str | float | int | None
Value = Plain | tuple[float, float] | Nested | Marked


class Linked(Struct, frozen=True):
    """A value that another view of the same page explains. Only a page that has this view makes a link."""

    value: Value
    view: str


Cell = Value | Linked


class Column(Struct, frozen=True):
    """A column of a table: its title, the kind of its values, and how it behaves in a narrow window.

    A narrow window first folds the column that `folds`, then leaves out the columns with the lowest `stays`. If
    that is not enough, it breaks all texts between their words. At last it leaves out those that are `spare`, and writes
    others below each row: first those on the right, then those that are `kept`, but never the leftmost and the one that
    `judges`. A `prose` column is too long for a table, so a terminal writes it below its row; a `wide` one is left to the formats that have
    room for it. `missing` stands for a value
    that is not there. A terminal shortens the texts of the column that `shrinks`. A page draws the figures that
    are `bars`, of 100. A page marks rows that are good or bad in the column that `judges`.
    """

    title: str
    kind: ValueKind = "text"
    stays: int | None = None
    spare: bool = False
    folds: bool = False
    prose: bool = False
    wide: bool = False
    bars: bool = False
    missing: str = ""
    right: bool | None = None  # None: figures are aligned right, text is not
    judges: bool = False
    kept: bool = False
    shrinks: bool = False

    @property
    def is_right(self) -> bool:
        return self.kind != "text" if self.right is None else self.right


class Row(Struct, frozen=True):
    """A row of a table, with one value for each column."""

    values: Sequence[Cell]
    tone: Tone = "plain"


class Heading(Struct, frozen=True):
    """The name of a part of the answer. A terminal leaves it out, because its tables name what they list."""

    text: str


class KernelName(Struct, frozen=True):
    """A kernel's name, which each renderer shortens to its room, and a word `about` it."""

    name: str
    about: str


class Text(Struct, frozen=True):
    """One sentence or more. A text that does not wrap stays on one line, so that a search finds it."""

    text: str
    tone: Tone = "plain"
    strong: bool = False
    wraps: bool = True


class Caution(Struct, frozen=True):
    text: str


class Facts(Struct, frozen=True):
    """Names with what is known about each: one line, or several."""

    rows: Sequence[tuple[str, str | Sequence[str]]]


class Table(Struct, frozen=True):
    columns: Sequence[Column]
    rows: Sequence[Row]
    drops_empty: bool = False  # leave out the columns that no row fills, and that do not judge


class Meaning(Struct, frozen=True):
    """The meaning that some column titles share. Unless `named`, the text names the titles itself."""

    titles: Sequence[str]
    text: str
    named: bool = True

    def shown(self, hidden: Set[str] = frozenset()) -> str:
        """Returns the meaning of the titles that are not `hidden`; empty if all are hidden."""
        here = [title for title in self.titles if title not in hidden]
        if not here:
            return ""
        return f"{', '.join(here)}: {self.text}" if self.named else self.text


class Legend(Struct, frozen=True):
    """Explains column titles of the table above it. A renderer leaves out the titles that it did not show."""

    entries: Sequence[Meaning]


class Holds(Struct, frozen=True):
    """One expectation. `ok` is None if the outcome is unclear or was not recorded."""

    ok: bool | None
    subject: str
    expected: str


class Checks(Struct, frozen=True):
    title: str
    tone: Tone
    rows: Sequence[Holds]


class Item(Struct, frozen=True):
    """One entry of a list by weight. `weight_pct` is its share, or None of what limits the others.

    `with_above_pct` is its share together with the entries above it, where it has one.
    """

    weight_pct: float | None
    name: str
    sentence: str
    with_above_pct: float | None = None


class Items(Struct, frozen=True):
    """A list by weight, the heaviest entry first. `titles` name the parts of an entry: both weights, the name and the sentence."""

    title: str
    rows: Sequence[Item]
    titles: tuple[str, str, str, str]


class Accesses(Struct, frozen=True):
    """A sentence on loads, and the width in bits of each access, which renderers draw as blocks.

    There is one side, or one before and one after.
    """

    sentence: str
    sides: Sequence[Sequence[int]] = ()


class CodeColumn(Struct, frozen=True):
    """A column of machine code. A narrow window leaves out the lowest `gives_way` first; None always stays."""

    title: str
    is_right: bool = False
    gives_way: int | None = None


class CodeCell(Struct, frozen=True):
    """A cell of machine code. `width_bits` is the width of a memory access; `quiet` marks minor content."""

    text: str
    width_bits: int | None = None
    quiet: bool = False


CodeSide = Sequence[CodeCell] | None  # None if only the other side has this row
CodeRow = Sequence[CodeSide]  # one for each side


class CodeBlock(Struct, frozen=True):
    """Machine code of one kernel, or of two side by side, cut into stretches at barriers and branches."""

    titles: Sequence[str]
    columns: Sequence[CodeColumn]
    stretches: Sequence[Sequence[CodeRow]]

    @property
    def filled(self) -> list[int]:
        """Returns the positions of the columns that some row fills."""
        sides = [side for rows in self.stretches for row in rows for side in row if side]
        return [place for place in range(len(self.columns)) if any(side[place].text for side in sides)]


class Chart(Struct, frozen=True, eq=False):
    """A chart of `present/charts`, by its name and what it is drawn from. Only a page shows it.

    `otherwise` names the function there that returns a sentence if there is nothing to draw.
    """

    name: str
    finding: Any
    options: Mapping[str, Any] = {}
    otherwise: str = ""


class Folded(Struct, frozen=True):
    """Blocks that most readers skip. A page folds them away under the `summary`.

    Other formats print the line `instead`; if there is none, they print the blocks.
    """

    summary: str
    blocks: Sequence[Block]
    instead: str | None = None


Block = (
    Heading | KernelName | Text | Caution | Facts | Table | Legend | Checks | Items | Accesses | CodeBlock | Chart | Folded
)  # fmt: skip
Section = Sequence[Block]  # blocks that belong together; a terminal puts no space between them


class Records(Struct, frozen=True):
    """The one table that programs read: values in full, in base units."""

    header: Sequence[str]
    rows: Sequence[Sequence[Plain]]


class Document(Struct, frozen=True):
    """An answer. Markdown prints the `title` as a heading, and a terminal and a notebook do if the document is `titled`.

    The first `opening` sections are the answer; the others are evidence for it. Paper gets the first
    `on_paper` sections of a page with many kernels, or all if it is None.
    """

    title: str
    sections: Sequence[Section]
    records: Records = Records((), ())
    titled: bool = False
    opening: int = 1
    on_paper: int | None = None

    @property
    def brief(self) -> Document:
        """Returns the document's answer alone, without the evidence, and what to doubt in it wherever that stands."""
        opening, evidence = self.sections[: self.opening], self.sections[self.opening :]
        cautions = [block for section in evidence for block in section if isinstance(block, Caution)]
        # To count a single one would take the line that it needs.
        most = _MOST_CAUTIONS + (len(cautions) == _MOST_CAUTIONS + 1)
        doubts: list[Block] = [*cautions[:most]]
        if more := len(cautions) - len(doubts):
            doubts.append(Text(counted(more, "more caution") + Spoken(" without --brief", " in `.text()`")))
        if opening and all(isinstance(block, Caution) for block in opening[-1]):
            *opening, first = opening
            doubts = [*first, *doubts]
        return replace(self, sections=[*opening, doubts])


def under(heading: str, sections: Sequence[Section]) -> list[Section]:
    """Returns the sections that hold anything, with the heading above the first."""
    first, *others = [section for section in sections if section] or [[]]
    return [[Heading(heading), *first], *others] if first else []


def charts_of(blocks: Sequence[Block]) -> Iterator[Chart]:
    """Yields the charts among the blocks, those that are folded too."""
    for block in blocks:
        if isinstance(block, Chart):
            yield block
        elif isinstance(block, Folded):
            yield from charts_of(block.blocks)
