"""Plain rows as a document, for verbs that print a list and have no finding of their own."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from msgspec.structs import replace

from profiler.present.document import Column, Document, Plain, Records, Row, Table, Tone

_COPIED = "run_id"
_LONGEST_NAME = 120  # that goes on in further lines: about six of a narrow column


def rows_document(
    header: Sequence[str],
    rows: Sequence[Sequence[Plain]],
    columns: Sequence[Column] | None = None,
    tones: Sequence[Tone] = (),
    *,
    grouped: bool = False,
) -> Document:
    """Returns a document with one table and its records.

    Programs get the names and values as they are. People get `columns`, without those that no row fills. If there are no
    columns, each name becomes a plain column, aligned right if it holds figures. Where a window is narrow, a value that all rows share is
    said once, prose in the last column folds, and names go on in a further line. Only the longest, such as a kernel's with its types,
    get shorter, but no run id, which people copy. If the rows are `grouped` by their first value, people see each of these once.
    """
    plain = [
        Column(name, right=_holds_figures(rows, place), stays=0 if _is_alike(rows, place) else None)
        for place, name in enumerate(header)
    ]
    widths = [
        0 if plain[place].right or name == _COPIED else max((len(str(row[place])) for row in rows), default=0)
        for place, name in enumerate(header[:-1])
    ]
    if columns is None and max(widths, default=0) > _LONGEST_NAME:
        longest = widths.index(max(widths))
        plain[longest] = replace(plain[longest], shrinks=True)
    if any(" " in str(row[-1]) for row in rows):
        plain[-1] = replace(plain[-1], folds=True)
    shown = columns or plain
    repeats = [grouped and row[:1] == before[:1] for before, row in pairwise([(), *rows])]
    toned = [
        Row(("", *row[1:]) if again else row, tones[place] if tones else "plain")
        for place, (row, again) in enumerate(zip(rows, repeats, strict=True))
    ]
    table = Table(shown, toned, drops_empty=columns is not None)
    return Document("", [[table]], Records(header, rows))


def _is_alike(rows: Sequence[Sequence[Plain]], place: int) -> bool:
    return len(rows) > 1 and all(row[place] == rows[0][place] for row in rows)


def _holds_figures(rows: Sequence[Sequence[Plain]], place: int) -> bool:
    values = [row[place] for row in rows if row[place] is not None]
    return bool(values) and all(isinstance(value, int | float) for value in values)
