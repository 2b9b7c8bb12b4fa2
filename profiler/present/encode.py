"""Findings as JSON, and rows as CSV or Markdown: well-formed whatever the names hold."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from profiler.present.text import printable

Cell = str | float | int | None


def to_json(finding: Any) -> str:
    """ASCII only, so that nothing in it can act on a terminal; NaN and infinity become null."""
    text = json.dumps(_finite(msgspec.to_builtins(finding)), indent=2)
    return text.replace("\x7f", "\\u007f")  # the one control character that JSON lets through


def json_schema(finding: type, title: str) -> str:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        **msgspec.json.schema(finding),
    }
    return json.dumps(schema, indent=2)


def to_csv(header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """One line a row, also for names with newlines; numbers in full."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in (header, *rows):
        writer.writerow([_csv_cell(cell) for cell in row])
    return text.getvalue().rstrip("\n")


def to_markdown(header: Sequence[str], rows: Iterable[Sequence[Cell]], numeric: Iterable[int] = ()) -> str:
    """A pipe table; columns in `numeric` are aligned to the right."""
    right = set(numeric)
    lines = [
        "| " + " | ".join(markdown_text(name) for name in header) + " |",
        "| " + " | ".join("---:" if index in right else "---" for index in range(len(header))) + " |",
    ]
    lines += ["| " + " | ".join(markdown_text(_plain(cell)) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def markdown_text(text: str) -> str:
    """Any text as literal text in Markdown, inside or outside of a table."""
    safe = printable(text)
    for character in "&\\`*_{}[]<>|#~$!@":
        safe = safe.replace(character, f"\\{character}" if character not in "<>&@" else _ENTITY[character])
    return safe.replace("://", "&#58;//").replace("www.", "www&#46;")  # or GitHub makes links of them


# A spreadsheet would run a cell that starts like a formula, also in full-width characters.
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_ENTITY = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "@": "&#64;"}


def _csv_cell(cell: Cell) -> str | float | int | None:
    if not isinstance(cell, str):
        return cell
    text = printable(cell)
    return f"'{text}" if text.startswith(_FORMULA) else text


def _plain(cell: Cell) -> str:
    return "" if cell is None else str(cell)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(member) for member in value]
    return value
