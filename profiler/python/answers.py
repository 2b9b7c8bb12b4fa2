"""The findings that the Python interface returns: those of the commands, which also show themselves in a notebook."""

from __future__ import annotations

from typing import Any, Self

from msgspec import Struct

from profiler.analyse.findings import ComparisonFinding
from profiler.analyse.ladder.climb import LadderSheet
from profiler.analyse.recording.overview import SheetFinding
from profiler.present.document import Document


class Comparison(ComparisonFinding, frozen=True):
    """A comparison: `.speedup.ratio` and its `.ci`, `.headline.why`, `.causes`, `.metrics`, `.to_pandas()`."""

    @classmethod
    def of(cls, finding: ComparisonFinding) -> Self:
        return cls(**_fields(finding))

    def _document(self) -> Document:
        from profiler.present.documents.comparison import comparison_document

        return comparison_document(self)

    def __repr__(self) -> str:
        return brief_text(self._document())

    def _repr_html_(self) -> str:
        return document_text(self._document())


class Sheet(SheetFinding, frozen=True):
    """One kernel: `.headline.why` and `.next`, `.causes`, `.metrics`, `.rules`."""

    @classmethod
    def of(cls, finding: SheetFinding) -> Self:
        return cls(**_fields(finding))

    def _document(self) -> Document:
        from profiler.present.documents.recording import kernel_sections

        return Document(self.kernel, kernel_sections(self), opening=3)

    def __repr__(self) -> str:
        return brief_text(self._document())

    def _repr_html_(self) -> str:
        return document_text(self._document())


class ShownLadder(LadderSheet, frozen=True):
    """A ladder: `.to_pandas()` has a row a rung, `.steps_to_pandas()` one a step and metric, `.stalls_to_pandas()` the stalls."""

    @classmethod
    def of(cls, sheet: LadderSheet) -> Self:
        return cls(**_fields(sheet))

    def _document(self) -> Document:
        from profiler.present.documents.ladder import ladder_document

        return ladder_document(self.ladder, ())

    def __repr__(self) -> str:
        from profiler.present.render import terminal

        return terminal.document_text(self._document(), terminal.Window())

    def _repr_html_(self) -> str:
        return document_text(self._document())


def _fields(finding: Struct) -> dict[str, Any]:
    return {name: getattr(finding, name) for name in finding.__struct_fields__}


def brief_text(document: Document) -> str:
    """Returns the answer alone, as a terminal shows it."""
    from profiler.present.render import terminal

    return terminal.document_text(document.brief, terminal.Window())


def document_text(document: Document) -> str:
    """Returns a document as the page shows it, without its charts, with the style that a cell needs."""
    from profiler.present.page.cell import cell_html

    return cell_html(document)
