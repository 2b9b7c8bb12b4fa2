"""The error of a command line whose words do not go together."""

from __future__ import annotations

import shutil
import sys
from typing import Any

import typer

_START = "Error: "  # before the message, on its line


class Misuse(typer.BadParameter):
    """No value is wrong by itself: the message says what to type, or which options do not go together."""

    def format_message(self) -> str:
        return str(self.message)

    def show(self, file: Any = None) -> None:
        """Prints the usage and the message, within the window of a terminal."""
        self.message = within_window(self.message)
        super().show(file)


def within_window(message: str) -> str:
    """Returns the message as it is, or folded as it stands below the usage in a terminal."""
    if not sys.stderr.isatty():
        return message
    from profiler.present.render.terminal_table import folded

    lines = folded(f"{_START}{message}", shutil.get_terminal_size().columns, " " * len(_START))
    return lines.removeprefix(_START)


def show_within_window(error: Any) -> None:
    """Lets an error of Typer's own print its message within the window; its JSON has the message as it is."""
    shown, message = error.show, error.format_message

    def show(file: Any = None) -> None:
        error.format_message = lambda: within_window(message())
        shown(file)

    if not isinstance(error, Misuse):
        error.show = show
