"""The error of a command line whose words do not go together."""

from __future__ import annotations

from typing import Any

import typer

from profiler.commands.shared.window import folded_for_terminal

_START = "Error: "  # before the message, on its line


class Misuse(typer.BadParameter):
    """No value is wrong by itself: the message says what to type, or which options do not go together."""

    def format_message(self) -> str:
        return str(self.message)


def show_within_window(error: Any) -> None:
    """Lets an error of Typer print its message, below the usage, within the window of a terminal.

    A message of several lines is the help that `prof` alone prints. It is laid out already.
    """
    if "\n" in error.format_message():
        return
    message = folded_for_terminal(f"{_START}{error.format_message()}", " " * len(_START))
    error.format_message = lambda: message.removeprefix(_START)
