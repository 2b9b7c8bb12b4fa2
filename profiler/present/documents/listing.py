"""Stored runs, and a ladder's kernels, as documents."""

from __future__ import annotations

from collections.abc import Sequence

from profiler.present.document import Column, Document, Plain
from profiler.present.documents.parts.rows import rows_document

_FIGURES = ("runs", "launches")
_NARROW = ("ncu", "gpu", "recorded", "origin", "launches")  # they go in this order where the window is narrow
_LADDER_FIGURES = ("kernel", "profiled", "timed", "tuned")


def runs_document(header: Sequence[str], rows: Sequence[Sequence[Plain]]) -> Document:
    """A row for each run, or for the newest of each name. No column folds: a run id is there to be copied."""
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
    """A row for each kernel of a ladder, with how many runs are stored of it."""
    columns = [Column(name, right=name in _LADDER_FIGURES, folds=name == header[-1]) for name in header]
    return rows_document(header, rows, columns)
