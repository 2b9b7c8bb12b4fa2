"""Records as CSV: values in full, and nothing that a spreadsheet would run."""

from __future__ import annotations

import csv
import io

from profiler.present.document import Plain, Records
from profiler.text import printable

# A spreadsheet would run a cell that starts like a formula, also in full-width characters.
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def records_csv(records: Records) -> str:
    """One line a row, also for names with newlines; numbers in full."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in (records.header, *records.rows):
        writer.writerow([_cell(cell) for cell in row])
    return text.getvalue().rstrip("\n")


def _cell(cell: Plain) -> Plain:
    if not isinstance(cell, str):
        return cell
    text = printable(cell)
    return f"'{text}" if text.startswith(_FORMULA) else text
