"""Renders documents: a document comes in; terminal text, Markdown, HTML, CSV or JSON goes out.

No renderer knows a finding; `present/documents` decides what an answer says. A renderer loads with the first document
that it renders.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from profiler.present import Format
from profiler.present.document import Document

if TYPE_CHECKING:
    from profiler.present.render.terminal import Window


def render(document: Document, format: Format, window: Window) -> str:
    """Returns a document in one format. `window` is for a terminal only, and programs get the records alone."""
    match format:
        case "table":
            from profiler.present.render.terminal import document_text

            return document_text(document, window)
        case "markdown":
            from profiler.present.render.markdown import document_markdown

            return document_markdown(document)
        case "csv":
            from profiler.present.render.csv import records_csv

            return records_csv(document.records)
        case "json":
            from profiler.present.render.json import records_json

            return records_json(document.records)
    assert_never(format)
