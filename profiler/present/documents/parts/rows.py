"""Plain rows as a document, for verbs that print a list and have no finding of their own."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from msgspec.structs import replace

from profiler.present.document import Column, Document, Plain, Records, Row, Table, Tone

_COPIED = "run_id"


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
    `columns`, each name becomes a plain column, aligned right if it holds figures. The last column folds. Of the others, that
    with the longest text, such as a kernel's name, gets shorter where a window is narrow, but no run id, which people copy. If the rows are `grouped` by their
    first value, people see each of these once.
    """
    plain = [Column(name, right=_holds_figures(rows, place)) for place, name in enumerate(header)]
    widths = [
        0 if plain[place].right or name == _COPIED else max((len(str(row[place])) for row in rows), default=0)
        for place, name in enumerate(header[:-1])
    ]
    if columns is None and any(widths):
        longest = widths.index(max(widths))
        plain[longest] = replace(plain[longest], shrinks=True)
    if not plain[-1].right:
        plain[-1] = replace(plain[-1], folds=True)
    shown = columns or plain
    repeats = [grouped and row[:1] == before[:1] for before, row in pairwise([(), *rows])]
    toned = [
        Row(("", *row[1:]) if again else row, tones[place] if tones else "plain")
        for place, (row, again) in enumerate(zip(rows, repeats, strict=True))
    ]
    table = Table(shown, toned, drops_empty=columns is not None)
    return Document("", [[table]], Records(header, rows))


def _holds_figures(rows: Sequence[Sequence[Plain]], place: int) -> bool:
    values = [row[place] for row in rows if row[place] is not None]
    return bool(values) and all(isinstance(value, int | float) for value in values)
