"""Renders documents: a document comes in; terminal text, Markdown, HTML, CSV or JSON goes out.

No renderer knows a finding; `present/documents` decides what an answer says. A renderer loads with the first document
that it renders.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, assert_never

from profiler.present.document import Document, DocumentFormat, Records

if TYPE_CHECKING:
    from profiler.present.render.terminal import Window


def render(documents: Sequence[Document], format: DocumentFormat, window: Window) -> str:
    """Returns all documents in one format. `window` is for a terminal only.

    Programs get the records of all documents together.
    """
    match format:
        case "table":
            from profiler.present.render.terminal import document_text

            return "\n\n\n".join(document_text(one, window) for one in documents)
        case "markdown":
            from profiler.present.render.markdown import document_markdown

            return "\n\n".join(map(document_markdown, documents))
        case "csv":
            from profiler.present.render.csv import records_csv

            return records_csv(_records(documents))
        case "json":
            from profiler.present.render.json import records_json

            return records_json(_records(documents))
    assert_never(format)


def _records(documents: Sequence[Document]) -> Records:
    rows = [row for one in documents for row in one.records.rows]
    return Records(documents[0].records.header, rows)
