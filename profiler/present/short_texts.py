"""Texts of so many bytes in JSON, and numbers of six digits.

Names come from anybody's program, so the short form of a finding shortens texts too. Whole numbers are counts and
keep all their digits.
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
    """How long a name and a sentence may be in JSON, and how many entries a list or an object of texts may have."""

    name: int
    sentence: int
    entries: int


# The first leaves what prof itself writes whole; the last fits whatever the names hold.
WIDTHS = (
    Widths(160, 600, 16),
    Widths(120, 400, 16),
    Widths(60, 200, 8),
    Widths(40, 120, 4),
    Widths(32, 60, 1),
)


def rounded(value: float) -> float:
    """Rounds to six significant digits; a whole number keeps all of its own, and prints as one."""
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


@lru_cache(maxsize=10_000)  # names come again and again, and of long ones each character
def _width_in_json(text: str) -> int:
    return len(to_json(text)) - len('""')
