"""Prints results on standard output, in the format asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from profiler.commands.shared.options import Format, terminal_width

if TYPE_CHECKING:
    from profiler.present.document import Document
    from profiler.present.render.terminal import Window


def json_answer(finding: Any, full: bool, wanted: Sequence[str] = ()) -> str:
    """Returns a finding as JSON: the `full` one, or its most important 8 KB including the `wanted` metrics."""
    from profiler.present.render.json import to_json

    if full:
        return to_json(finding)
    from profiler.present.brief import brief

    return to_json(brief(finding, wanted))


def print_answer(
    finding: Any,
    documents: Callable[[], Sequence[Document]],
    format: Format,
    *,
    full: bool = True,
    wanted: Sequence[str] = (),
) -> None:
    """Prints a finding as JSON (see `json_answer`), or the documents made of it in any other format."""
    if format is Format.json:
        print(json_answer(finding, full, wanted))
    else:
        print_document(*documents(), format=format)


def print_document(*documents: Document, format: Format) -> None:
    """Prints documents on standard output. Their JSON is a list of rows; a finding is printed by `json_answer`."""
    from profiler.present.render import render

    print(render(documents, format.value, window()))


def window() -> Window:
    """Returns the width of standard output and whether it shows colour."""
    from profiler.present.render.terminal import Window, wants_colour

    return Window(wants_colour(sys.stdout.isatty()), terminal_width())
