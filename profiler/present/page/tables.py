"""Tables and lists as templates take them: cells are texts as every output of prof formats them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Cell:
    """`value` is what it is sorted by where its text does not start with that number; `anchor` is what it leads to."""

    text: str
    value: float | None = None
    anchor: str = ""
    style: str = ""


@dataclass(frozen=True)
class Table:
    """Columns in `right` are numbers; `styles` are of rows, and drawn as a mark in the column that they judge.

    The first columns stay in view where a table is wider than its box: `pinned`, one or two.
    """

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    right: Collection[int] = ()
    styles: Sequence[str] = ()
    marked: int | None = None
    pinned: int = 1
    sortable: bool = False
    searchable: bool = False

    @property
    def titles(self) -> list[tuple[str, str]]:
        """With the classes of their columns."""
        return list(zip(self._classes, self.header, strict=True))

    @property
    def laid_out(self) -> Iterator[tuple[str, list[tuple[str, Cell]], list[tuple[str, Cell]]]]:
        """Of each row its style, the cells that stay in view, and the others."""
        classes = self._classes
        for style, row in zip(self.styles or [""] * len(self.rows), self.rows, strict=True):
            cells = list(zip(classes, row, strict=True))
            yield style, cells[: self.pinned], cells[self.pinned :]

    @property
    def _classes(self) -> list[str]:
        return [
            " ".join(
                name for name, holds in (("r", place in self.right), ("mark", place == self.marked)) if holds
            )
            for place in range(len(self.header))
        ]


def table(
    caption: str,
    header: Sequence[str],
    rows: Sequence[Sequence[object]],
    right: Collection[int] = (),
    styles: Sequence[str] = (),
    *,
    marked: int | None = None,
    pinned: int = 1,
    sortable: bool = False,
    searchable: bool = False,
) -> Table | None:
    """Of plain texts or cells; None where there is no row."""
    if not rows:
        return None
    cells = [[one if isinstance(one, Cell) else Cell(str(one)) for one in row] for row in rows]
    return Table(caption, header, cells, frozenset(right), styles, marked, pinned, sortable, searchable)


def without_empty_columns(made: Table | None) -> Table | None:
    """Such as the unit where no metric has one."""
    if made is None:
        return None
    kept = [place for place in range(len(made.header)) if any(row[place].text for row in made.rows)]
    return replace(
        made,
        header=[made.header[place] for place in kept],
        rows=[[row[place] for place in kept] for row in made.rows],
        right=frozenset(kept.index(place) for place in made.right if place in kept),
        marked=kept.index(made.marked) if made.marked in kept else None,
    )
