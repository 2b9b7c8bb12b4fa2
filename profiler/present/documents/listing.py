"""Stored runs, and the kernels of a ladder, as documents."""

from __future__ import annotations

from collections.abc import Sequence

from profiler.present.document import Column, Document, Plain
from profiler.present.documents.parts.rows import rows_document

_FIGURES = ("runs", "launches")
_NARROW = ("ncu", "gpu", "recorded", "origin", "launches")  # a narrow window leaves them out in this order
_LADDER_FIGURES = ("kernel", "profiled", "timed", "tuned")


def runs_document(header: Sequence[str], rows: Sequence[Sequence[Plain]]) -> Document:
    """Returns a row for each run, or for the newest of each name.

    No column folds, because people copy run ids.
    """
    columns = [
        Column(
            name.replace("_", " "),
            stays=_NARROW.index(name) if name in _NARROW else None,
            right=name in _FIGURES,
        )
        for name in header
    ]
    return rows_document(header, rows, columns)


def kernels_document(header: Sequence[str], rows: Sequence[Sequence[Plain]]) -> Document:
    """Returns a row for each kernel of a ladder, with the number of its stored runs."""
    columns = [Column(name, right=name in _LADDER_FIGURES, folds=name == header[-1]) for name in header]
    return rows_document(header, rows, columns)
