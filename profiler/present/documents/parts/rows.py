"""Rows of anything as a document: what verbs print that have no finding of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from profiler.present.document import Column, Document, Plain, Records, Row, Section, Table, Tone


def rows_document(
    header: Sequence[str],
    rows: Sequence[Sequence[Plain]],
    columns: Sequence[Column] | None = None,
    tones: Sequence[Tone] = (),
    below: Sequence[Section] = (),
) -> Document:
    """Programs get names and values as they are; people get `columns`, or a plain one for each name.

    Columns of their own are left out where no row fills them. Plain ones all stay, and the last of them folds.
    """
    plain = [Column(name) for name in header]
    shown = columns or [*plain[:-1], replace(plain[-1], folds=True)]
    toned = [Row(row, tones[place] if tones else "plain") for place, row in enumerate(rows)]
    table = Table(shown, toned, drops_empty=columns is not None)
    return Document("", [[table], *below], Records(header, rows))
