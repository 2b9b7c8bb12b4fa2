"""Lets every answer of the Python interface show itself, and say in `help(answer)` what it has.

A document in, which the class of an answer makes; text and HTML out.
"""

from __future__ import annotations

import re
from inspect import cleandoc
from typing import TYPE_CHECKING, Any

from profiler.present.document import Document
from profiler.python.did_you_mean import lacking
from profiler.python.words import in_python

# For the commands, not for users.
_INNER = ("finding", "of", "of_origin", "of_several", "run", "schema_version", "left_out", "view")


class Documentation:
    """A class's docstring. That of an instance also lists what there is to use besides, as `dir` has it.

    Of an object with a docstring of its own, `help` prints that alone. Otherwise it would print every method of the class, after a
    signature with all that the commands declare of its fields.
    """

    def __init__(self, text: str) -> None:
        self.text = cleandoc(text)

    def __get__(self, instance: object | None, owner: type | None = None) -> str:
        if instance is None:
            return self.text
        said = set(re.findall(r"\w+", self.text))
        others = [f".{name}" for name in dir(instance) if name not in said]
        return f"{self.text}\n\nBesides: {', '.join(others)}\n" if others else f"{self.text}\n"


class ShowsItself:
    """A finding that shows the answer alone in an interpreter, and all of its document in a notebook."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.__doc__ = Documentation(cls.__doc__ or "")  # type: ignore[assignment]

    def _document(self, *, full: bool = False) -> Document:
        """Returns the document; if `full`, with nothing folded away, where anything is."""
        raise NotImplementedError

    def __repr__(self) -> str:
        from profiler.present.render import terminal

        return terminal.document_text(in_python(self._document().brief), terminal.Window())

    def text(self) -> str:
        """Returns all of the document as a terminal shows it, with every table: `print(sheet.text())`."""
        from profiler.present.render import terminal

        return terminal.document_text(in_python(self._document(full=True)), terminal.Window())

    def _repr_html_(self) -> str:
        """Returns the document as the page shows it, without its charts, with the style that a cell needs."""
        from profiler.present.page.cell import cell_html

        return cell_html(in_python(self._document()))

    def __dir__(self) -> list[str]:
        """Returns what there is to use, for tab completion; the rest serves the commands."""
        return [name for name in super().__dir__() if not name.startswith("_") and name not in _INNER]

    if not TYPE_CHECKING:  # so that a checker refuses both, too

        def __getattr__(self, name):
            hint = "" if name.startswith("_") else lacking(self, name)
            raise AttributeError(f"{type(self).__name__} has no {name!r}{hint}")

        def __getitem__(self, name):
            raise TypeError(f"{type(self).__name__} has no [{name!r}]{lacking(self, name)}")
