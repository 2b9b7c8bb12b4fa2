"""Formats one value of a table for people, by the kind of its column, the same in every format."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from profiler.present.document import Cell, Column, Item, KernelName, Linked, Marked, Nested, Table, ValueKind
from profiler.text import (
    duration,
    half_width,
    mean_count,
    number,
    percent,
    relative,
    saving,
    share_of_whole,
    shortened,
    signed,
)

_KERNEL_WIDTH, _LEAST_KERNEL_WIDTH = 110, 20

# How a check of an expectation ended, as a mark and in words.
CHECK_MARKS = {True: "✓", False: "✗", None: "?"}
CHECK_WORDS = {True: "yes", False: "no", None: "unclear or not recorded"}
_WORD_BITS = 32
_FIGURES: dict[ValueKind, Callable[[float], str]] = {
    "number": number,
    "count": mean_count,
    "change": signed,
    "duration": duration,
    "tenths": lambda value: f"{value:.1f}",
    "hundredths": lambda value: f"{value:.2f}",
    "thousandths": lambda value: f"{value:.3f}" if value < 100 else number(value),
    "giga": lambda value: number(value / 1e9),
    "percent": percent,
    "share": share_of_whole,
    "scientific": lambda value: f"{value:.2e}",
    "ratio": lambda value: f"{number(value)}x",
}
_PAIRS: dict[ValueKind, Callable[[tuple[float, float]], str]] = {
    "spread": half_width,
    "relative": lambda pair: relative(*pair),
}


def value_text(value: Cell, column: Column, indent: str) -> str:
    """Returns the text of a cell; nested text starts with one `indent` for each level."""
    if value is None:
        return column.missing
    if isinstance(value, str):
        return value
    if isinstance(value, Linked):
        return value_text(value.value, column, indent)
    if isinstance(value, Nested):
        return indent * value.depth + value.text
    if isinstance(value, Marked):
        return f"{value_text(value.value, column, indent)}{value.mark}"
    if isinstance(value, tuple):
        return _PAIRS[column.kind](value)
    return _FIGURES[column.kind](value) if column.kind in _FIGURES else str(value)


class TableTexts(NamedTuple):
    """The columns shown, with their texts; `places` are their positions in the table."""

    columns: list[Column]
    rows: list[list[str]]
    places: list[int]


def table_texts(table: Table, indent: str) -> TableTexts:
    """Returns the texts of each row; leaves out empty columns if the table drops them."""
    rows = [
        [value_text(value, column, indent) for value, column in zip(row.values, table.columns, strict=True)]
        for row in table.rows
    ]
    places = list(range(len(table.columns)))
    if table.drops_empty and rows:
        places = [place for place in places if table.columns[place].judges or any(row[place] for row in rows)]
    columns = [table.columns[place] for place in places]
    return TableTexts(columns, [[row[place] for place in places] for row in rows], places)


def kernel_text(kernel: KernelName, width: int | None = None) -> str:
    """Returns a kernel's name in one line, no wider than `width`."""
    room = _KERNEL_WIDTH if width is None else min(_KERNEL_WIDTH, width - len(kernel.about) - len(", "))
    return f"{shortened(kernel.name, max(room, _LEAST_KERNEL_WIDTH))}, {kernel.about}"


def weight_text(weight_pct: float | None) -> str:
    """Returns the share of an entry in a list by weight; an entry without one is what limits the others."""
    return "limit" if weight_pct is None else f"{saving(weight_pct)} %"


def with_above_text(item: Item) -> str:
    """Returns the share of an entry together with those above it; nothing for the first."""
    return "" if item.with_above_pct is None else weight_text(item.with_above_pct)


def access_text(bits: int) -> str:
    """Returns an access as a bar, as long as it is wide."""
    return "█" * (bits // _WORD_BITS)


def capital(text: str) -> str:
    """Returns the text with a capital at its start."""
    return text[:1].upper() + text[1:]
