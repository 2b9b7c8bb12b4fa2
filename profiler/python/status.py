"""Shows in one line what a measurement does now: on a terminal, or below the cell of a notebook. In the end it is gone."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

_CLEAR_LINE = "\r\x1b[K"
_labels: list[str] = []  # of the measurements under way, such as a sweep and its point
_cell: Any = None  # what a notebook shows


@contextmanager
def status(label: str) -> Iterator[Callable[[str], None]]:
    """Yields a function that shows what is done now, behind the label; a status inside of another one continues its line."""
    _labels.append(label)
    try:
        yield lambda text: _show(": ".join([*_labels, text])) if text else None
    finally:
        _labels.pop()
        if not _labels:
            _show("")


def _show(text: str) -> None:
    global _cell  # noqa: PLW0603  # a process has one line
    if _is_notebook():
        shown = import_module("IPython.display")
        if _cell is None and text:
            _cell = shown.display(shown.Pretty(text), display_id=True)
        elif _cell is not None:
            _cell.update(shown.Pretty(text))
        _cell = _cell if text else None
    elif sys.stderr.isatty():
        # A text wider than the window would go on in a second line, which nothing clears.
        room = shutil.get_terminal_size().columns - 1
        print(_CLEAR_LINE, text[:room], sep="", end="", file=sys.stderr, flush=True)


def _is_notebook() -> bool:
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return hasattr(shell, "kernel")
