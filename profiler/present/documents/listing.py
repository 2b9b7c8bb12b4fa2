"""Documents that list what is stored: the runs, the ladders that have runs, and the kernels of a ladder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from profiler.analyse.listing import LADDER_HEADER, NAMES_HEADER, OVERVIEW_HEADER, StoreOverview
from profiler.present.document import Column, Document, Plain, Row, Section, Table, Text
from profiler.present.documents.parts.rows import rows_document

_FIGURES = ("runs", "launches")
# A narrow window leaves them out in this order: when a run was recorded stands in its id too.
_NARROW = ("ncu", "recorded", "origin", "launches", "gpu")
# Names of no ladder in the overview: with a row for each of a dozen ladders, they fill a screen.
_MOST_OTHERS = 12
_LADDER_FIGURES = ("kernel", "profiled", "timed", "tuned")
_Rows = Sequence[Mapping[str, str | int]]


def runs_document(header: Sequence[str], runs: _Rows) -> Document:
    """Returns a row for each run, or for the newest of each name, with the columns of this header.

    No column folds, because people copy run ids.
    """
    stays = {name: place for place, name in enumerate(_NARROW)}
    columns = [
        Column(name.replace("_", " "), stays=stays.get(name), right=name in _FIGURES, kept=name == "run_id")
        for name in header
    ]
    return rows_document(header, _cells(runs), columns)


def store_overview_document(overview: StoreOverview) -> Document:
    """Returns a row for each ladder that has runs, then the newest other names, and how to see the rest."""
    shown = {
        "kernels": Column("kernels", stays=0, right=True),
        "runs": Column("runs", right=True),
        "newest": Column("newest", stays=1),
        "gpu": Column("gpu", folds=True),
        "title": Column("title", stays=2, shrinks=True),
    }
    columns = [shown.get(name, Column(name)) for name in OVERVIEW_HEADER]
    rows = list(map(Row, _cells(overview.ladders)))
    sections: list[Section] = [[Table(columns, rows, drops_empty=True)]] if rows else []
    others = overview.others[:_MOST_OTHERS]
    if others:
        sections += runs_document(NAMES_HEADER, others).sections
    notes = []
    if rows:
        newest = overview.ladders[0]["ladder"]
        notes.append(
            f"`prof list {newest}` lists the kernels and runs of a ladder, and `prof ladder {newest}` says how fast each is."
        )
    more = len(overview.others) - len(others)
    notes.append(
        f"`prof list --full` lists every name{f', also the other {more:,} that belong to no ladder' if more > 0 else ''}."
    )
    return Document("", [*sections, [Text(note) for note in notes]])


def kernels_document(kernels: _Rows) -> Document:
    """Returns a row for each kernel of a ladder, with the number of its stored runs."""
    columns = [Column(name, right=name in _LADDER_FIGURES, folds=name == "idea") for name in LADDER_HEADER]
    return rows_document(LADDER_HEADER, _cells(kernels), columns)


def _cells(rows: _Rows) -> list[tuple[Plain, ...]]:
    return [tuple(row.values()) for row in rows]
