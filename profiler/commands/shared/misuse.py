"""The error of a command line whose words do not go together."""

from __future__ import annotations

import shutil
import sys

import typer

_START = "Error: "  # before the message, on its line


class Misuse(typer.BadParameter):
    """No value is wrong by itself: the message says what to type, or which options do not go together."""

    def format_message(self) -> str:
        if not sys.stderr.isatty():
            return str(self.message)
        from profiler.present.render.terminal_table import folded

        columns = shutil.get_terminal_size().columns
        return folded(f"{_START}{self.message}", columns, " " * len(_START)).removeprefix(_START)
