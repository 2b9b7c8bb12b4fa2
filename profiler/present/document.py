"""What every answer of prof is made of: a document of sections, which are made of blocks.

A finding becomes a document once, in `present/documents`; a document becomes terminal text, Markdown, HTML or CSV
by one renderer each, in `present/render`. Blocks hold values and not texts: the kind of a column says how people
read its values, so that they get rounded figures, and CSV gets the `records` in full.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Literal

DocumentFormat = Literal["table", "markdown", "csv", "json"]
Tone = Literal["plain", "good", "bad", "warn", "quiet"]
Kind = Literal[
    "text", "number", "change", "relative", "spread", "duration", "tenths", "hundredths", "thousandths", "giga",
    "percent", "scientific", "ratio",
]  # fmt: skip


@dataclass(frozen=True)
class Nested:
    """A text at a depth of a tree; each renderer indents in its own way."""

    text: str
    depth: int


@dataclass(frozen=True)
class Marked:
    """A figure, and what stands right behind it, such as an arrow that says where it went."""

    value: float
    mark: str


# A pair is an interval, or in a "relative" column the figures before and after. None is a value that is not there.
Value = str | float | int | None | tuple[float, float] | Nested | Marked


@dataclass(frozen=True)
class Column:
    """Where a window is narrow, the column that `folds` gives way first, then those of the lowest `stays` go.

    A column without `stays` always stays. `prose` is too long for a column: a terminal writes it below its row.
    `missing` stands where there is no value.
    """

    title: str
    kind: Kind = "text"
    stays: int | None = None
    folds: bool = False
    prose: bool = False
    missing: str = ""
    right: bool | None = None  # None: figures are aligned right, text is not

    @property
    def is_right(self) -> bool:
        return self.kind != "text" if self.right is None else self.right


@dataclass(frozen=True)
class Row:
    """`anchors` are what cells lead to on a page, by their place."""

    values: Sequence[Value]
    tone: Tone = "plain"


@dataclass(frozen=True)
class Heading:
    text: str


@dataclass(frozen=True)
class Text:
    """A sentence or a few. A line that does not wrap stays whole in a file, for those who search it."""

    text: str
    tone: Tone = "plain"
    strong: bool = False
    wraps: bool = True


@dataclass(frozen=True)
class Caution:
    text: str


@dataclass(frozen=True)
class Facts:
    """Names, and what is known under each: a value that stays whole, or lines of text."""

    rows: Sequence[tuple[str, str | Sequence[str]]]


@dataclass(frozen=True)
class Table:
    """`more` is a line below it, on the rows that are left out; `note` is what the first column is about."""

    columns: Sequence[Column]
    rows: Sequence[Row]
    more: str = ""
    drops_empty: bool = False  # leaves out the columns that no row fills


@dataclass(frozen=True)
class Meaning:
    """What titles of columns mean together; `text` names them itself where they are not `named`."""

    titles: Sequence[str]
    text: str
    named: bool = True

    def shown(self, hidden: Set[str] = frozenset()) -> str:
        """The meaning of those titles that are not `hidden`; empty where all are."""
        here = [title for title in self.titles if title not in hidden]
        return f"{', '.join(here)}: {self.text}" if here and self.named else self.text if here else ""


@dataclass(frozen=True)
class Legend:
    """What titles of the table above it mean; a renderer leaves out those that it did not show."""

    entries: Sequence[Meaning]


@dataclass(frozen=True)
class Holds:
    """One expectation: None where it is unclear or was not recorded."""

    ok: bool | None
    subject: str
    expected: str


@dataclass(frozen=True)
class Checks:
    title: str
    tone: Tone
    rows: Sequence[Holds]


@dataclass(frozen=True)
class Item:
    """`weight_pct` is its share; None where nobody can say."""

    weight_pct: float | None
    name: str
    sentence: str


@dataclass(frozen=True)
class Items:
    """A list by weight, the heaviest first. `titles` name its three parts."""

    title: str
    rows: Sequence[Item]
    titles: tuple[str, str, str]


@dataclass(frozen=True)
class Accesses:
    """A sentence on loads, and a block for each access as long as it is wide, in bits; one side, or before and after."""

    sentence: str
    sides: Sequence[Sequence[int]] = ()


@dataclass(frozen=True)
class CodeColumn:
    """`gives_way`: where the window is narrow, the lowest goes first; None stays."""

    title: str
    is_right: bool = False
    gives_way: int | None = None


@dataclass(frozen=True)
class CodeCell:
    """`width_bits` is how wide the access is, where it is one; `quiet` is what only helps the rest along."""

    text: str
    width_bits: int | None = None
    quiet: bool = False


CodeSide = Sequence[CodeCell] | None  # None where the other side stands alone
CodeRow = Sequence[CodeSide]  # one for each side


@dataclass(frozen=True)
class CodeBlock:
    """Machine code of one kernel, or of two beside each other, in stretches that barriers and branches divide."""

    titles: Sequence[str]
    columns: Sequence[CodeColumn]
    stretches: Sequence[Sequence[CodeRow]]


Block = Heading | Text | Caution | Facts | Table | Legend | Checks | Items | Accesses | CodeBlock
Section = Sequence[Block]  # blocks that belong together: no space between them on a terminal
Plain = str | float | int | None


@dataclass(frozen=True)
class Records:
    """The one table that programs get: values in full, in base units."""

    header: Sequence[str]
    rows: Sequence[Sequence[Plain]]


@dataclass(frozen=True)
class Document:
    """`title` heads it where it stands among others, as in Markdown; on a terminal the command stands above it.

    `closing` is the title once more, for a terminal, where people read the last line first.
    """

    title: str
    sections: Sequence[Section]
    records: Records
    closing: Text | None = None
