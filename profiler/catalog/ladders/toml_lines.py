"""Finds the line of a value in a TOML file, since the parser of the standard library reports no positions.

In: the text of a valid file and the keys that lead to a value. Out: the number of a line.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_left
from collections.abc import Iterable

# Strings and comments match whole, so that only the file's own brackets and line ends are left.
_TOML_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'|#[^\n]*|[\[\]{}\n]",
    re.DOTALL,
)
KeyPath = tuple[str | int, ...]


def line_of(text: str, keys: KeyPath) -> int:
    """Returns the line of the statement that defines `keys`, or 0 if none does.

    The lines up to the end of any statement are a valid file, and a longer such part holds everything
    that a shorter one does. So a binary search finds the first part in which a parser sees the keys.
    """
    ends = _statement_ends(text)
    seen = bisect_left(ends, True, key=lambda end: _has(tomllib.loads(text[:end]), keys))
    if not keys or seen == len(ends):
        return 0
    return 1 + text.count("\n", 0, ends[seen - 1] if seen else 0)


def _statement_ends(text: str) -> list[int]:
    """Returns where the statements of a valid file end: after each line that no bracket and no string continues."""
    ends = []
    depth = 0
    for token in _TOML_TOKEN.finditer(text):
        if token.group() in ("[", "{"):
            depth += 1
        elif token.group() in ("]", "}"):
            depth -= 1
        elif token.group() == "\n" and depth == 0:
            ends.append(token.end())
    return [*ends, len(text)]


def _has(value: object, keys: Iterable[str | int]) -> bool:
    for key in keys:
        if isinstance(key, int):
            if not isinstance(value, list) or key >= len(value):
                return False
            value = value[key]
        elif isinstance(value, dict) and key in value:
            value = value[key]
        else:
            return False
    return True
