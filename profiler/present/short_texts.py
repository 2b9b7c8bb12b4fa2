"""Shortens the texts of a finding to a number of bytes in JSON, and rounds its figures to six digits.

Kernel names come from anybody's program and can be very long. Whole numbers are counts and keep all their
digits.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from profiler.present.render.json import to_json

_LARGEST_WHOLE = 1e15
_ELLIPSIS = "…"


@dataclass(frozen=True)
class Widths:
    """The longest name and sentence in JSON, in bytes, and the most entries of a list or object of texts."""

    name: int
    sentence: int
    entries: int


# The first leaves the texts of prof itself whole; the last fits whatever the names are.
WIDTHS = (
    Widths(160, 600, 16),
    Widths(120, 400, 16),
    Widths(60, 200, 8),
    Widths(40, 120, 4),
    Widths(32, 60, 1),
)


def rounded(value: float) -> float:
    """Rounds to six significant digits; a whole number keeps all its digits and prints as one."""
    if not value.is_integer():
        value = float(f"{value:.6g}")
    return int(value) if value.is_integer() and abs(value) < _LARGEST_WHOLE else value


def shortened_in_json(text: str, width: int) -> str:
    """Keeps the start and the end of a text that takes more than `width` bytes in JSON."""
    if _width_in_json(text) <= width:
        return text
    left = width - _width_in_json(_ELLIPSIS)
    tail = _fitting(reversed(text[-width:]), left // 3)[::-1]
    head = _fitting(text[:width], left - _width_in_json(tail))
    return f"{head}{_ELLIPSIS}{tail}"


def _fitting(characters: Iterable[str], width: int) -> str:
    taken = ""
    for character in characters:
        width -= _width_in_json(character)
        if width < 0:
            break
        taken += character
    return taken


@lru_cache(maxsize=10_000)  # the same names, and the same characters of long ones, come often
def _width_in_json(text: str) -> int:
    return len(to_json(text)) - len('""')
