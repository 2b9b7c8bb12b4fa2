"""The findings that the Python interface returns: those of the commands, which also show themselves in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from msgspec import Struct

from profiler.analyse.findings import Comparison as ComparisonFinding
from profiler.analyse.recording.overview import Sheet as SheetFinding
from profiler.present.document import Document, Section


class Comparison(ComparisonFinding, frozen=True):
    """A comparison: `.speedup.ratio` and its `.ci`, `.headline.why`, `.causes`, `.metrics`, `.to_pandas()`."""

    @classmethod
    def of(cls, finding: ComparisonFinding) -> Self:
        return cls(**_fields(finding))

    def _repr_html_(self) -> str:
        from profiler.present.documents.comparison import comparison_document

        return document_text(comparison_document(self))


class Sheet(SheetFinding, frozen=True):
    """One kernel: `.headline.why` and `.next`, `.causes`, `.metrics`, `.rules`."""

    @classmethod
    def of(cls, finding: SheetFinding) -> Self:
        return cls(**_fields(finding))

    def _repr_html_(self) -> str:
        from profiler.present.documents.recording import kernel_sections

        return sections_text(self.kernel, kernel_sections(self))


def _fields(finding: Struct) -> dict[str, Any]:
    return {name: getattr(finding, name) for name in finding.__struct_fields__}


def document_text(document: Document) -> str:
    """Returns a document as the page shows it, without its charts."""
    return sections_text(document.title, document.sections)


def sections_text(title: str, sections: Sequence[Section]) -> str:
    from profiler.present.render.html import document_html

    body = document_html(Document(title, sections), "", (), lambda _: None)
    return f'<div class="prof">{body}</div>'
