"""Makes the tables of the page's templates from a document's tables, with links, sorting and search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from profiler.present.document import Column, Marked, Table, Tone, Value
from profiler.present.render.cells import table_texts

_INDENT = 3 * "\N{NO-BREAK SPACE}"  # no line breaks there
_CLASSES: dict[Tone, str] = {
    "plain": "",
    "good": "better",
    "bad": "worse",
    "warn": "unclear",
    "quiet": "same",
}
Anchors = Mapping[tuple[int, int], str]  # by row and column: where a cell links to


@dataclass(frozen=True)
class PageCell:
    """A cell. `value` sorts it if its text does not start with that number; `anchor` is where it links to."""

    text: str
    value: float | None = None
    anchor: str = ""
    style: str = ""


@dataclass(frozen=True)
class PageTable:
    """A table. The class of a row is drawn as a mark in its column `marked`.

    The first `pinned` columns, one or two, stay in view when the table is wider than its box.
    """

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[PageCell]]
    styles: Sequence[str]
    marked: str = ""
    pinned: int = 1
    sortable: bool = False
    searchable: bool = False

    @property
    def titles(self) -> list[tuple[str, str]]:
        """Returns each title with the classes of its column."""
        return [(kind, one.title) for kind, one in zip(self._classes, self.columns, strict=True)]

    @property
    def laid_out(self) -> Iterator[tuple[str, list[tuple[str, PageCell]], list[tuple[str, PageCell]]]]:
        """Yields the style of each row, the cells that stay in view, and the others."""
        classes = self._classes
        for style, row in zip(self.styles, self.rows, strict=True):
            cells = list(zip(classes, row, strict=True))
            yield style, cells[: self.pinned], cells[self.pinned :]

    @property
    def _classes(self) -> list[str]:
        return [
            " ".join(
                name
                for name, holds in (("r", one.is_right), ("mark", self.marked == one.title != ""))
                if holds
            )
            for one in self.columns
        ]


def page_table(
    caption: str,
    made: Table,
    *,
    anchors: Anchors | None = None,
    marked: str = "",
    pinned: int = 1,
    sortable: bool = False,
    searchable: bool = False,
) -> PageTable | None:
    """Returns the table for a template; None if it has no rows."""
    if not made.rows:
        return None
    columns, texts, places = table_texts(made, _INDENT)
    leads = anchors or {}
    rows = [
        [
            PageCell(
                text.strip(" "),
                _sorted_by(made.columns[place], values.values[place]),
                leads.get((number, place), ""),
            )
            for place, text in zip(places, row, strict=True)
        ]
        for number, (row, values) in enumerate(zip(texts, made.rows, strict=True))
    ]
    styles = [_CLASSES[row.tone] if marked else "" for row in made.rows]
    return PageTable(caption, columns, rows, styles, marked, pinned, sortable, searchable)


def _sorted_by(column: Column, value: Value) -> float | None:
    """Returns the number that sorts a cell whose unit varies, or that is in percent or a factor."""
    if isinstance(value, Marked):
        return _sorted_by(column, value.value)
    if column.kind == "duration" and isinstance(value, float | int):
        return value
    if column.kind == "relative" and isinstance(value, tuple):
        before, after = value
        return float(f"{(after - before) / abs(before):.6g}") if before else None
    return None
