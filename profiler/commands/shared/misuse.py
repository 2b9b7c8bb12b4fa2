"""The error of a command line whose words do not go together."""

from __future__ import annotations

import typer


class Misuse(typer.BadParameter):
    """No value is wrong by itself: the message says what to type, or which options do not go together."""

    def format_message(self) -> str:
        return str(self.message)
