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
        if sys.stderr.isatty():
            from profiler.present.render.terminal_table import folded

            lines = folded(f"{_START}{self.message}", shutil.get_terminal_size().columns, " " * len(_START))
            self.message = lines.removeprefix(_START)
        super().show(file)
