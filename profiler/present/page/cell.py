"""Writes a document for a cell of a notebook: the same HTML as on the page, without charts, and a style of its own."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from profiler.present.document import Document, Text
from profiler.present.render.html import document_html

_STYLE = Path(__file__).parent / "templates" / "cell.css"


def cell_html(document: Document) -> str:
    title = [Text(document.title, strong=True)] if document.titled else []
    body = document_html(replace(document, sections=[title, *document.sections]), "", (), lambda _: None)
    return f'<div class="prof"><style>{_STYLE.read_text()}</style>{body}</div>'
