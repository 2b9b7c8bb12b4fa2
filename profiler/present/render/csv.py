"""Records as CSV: values in full, and no cell that a spreadsheet would run as a formula."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from profiler.present.document import Plain, Records
from profiler.text import printable

# A spreadsheet would run a cell that starts with one of these; some are full-width characters.
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def records_csv(records: Records) -> str:
    """Returns one line for each row, even if a name contains a newline; numbers are in full."""
    return csv_lines((records.header, *records.rows)).rstrip("\n")


def csv_lines(rows: Iterable[Sequence[Plain]]) -> str:
    """Returns a line for each row, each with its end."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        writer.writerow([_cell(cell) for cell in row])
    return text.getvalue()


def _cell(cell: Plain) -> Plain:
    if cell is None or isinstance(cell, int | float):
        return cell
    text = printable(str(cell))  # a query's column may hold lists
    return f"'{text}" if text.startswith(_FORMULA) else text
