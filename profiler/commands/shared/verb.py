"""The class of every verb: its errors about options name what helps."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

# The similarity from which an existing option is suggested for a typed one: they differ by a slip of the finger.
_NEAR = 0.6


class Verb(TyperCommand):
    """A verb whose errors say what an option takes that was given no value, and suggest only near options for an unknown one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except Exception as raised:
            error: Any = raised  # of classes that Typer keeps to itself
            name = str(getattr(error, "option_name", ""))
            if possible := getattr(error, "possibilities", None):
                error.possibilities = [one for one in possible if _is_near(one.lstrip("-"), name.lstrip("-"))]
            elif option := next((one for one in self.params if name in one.opts), None):
                takes = f"{option.make_metavar(ctx)}. {getattr(option, 'help', '')}"
                error.message, error.ctx = f"{error.message.rstrip('.')}: {takes}", ctx
            raise


def _is_near(name: str, typed: str) -> bool:
    from difflib import SequenceMatcher

    return name.startswith(typed) or SequenceMatcher(None, name, typed).ratio() >= _NEAR
