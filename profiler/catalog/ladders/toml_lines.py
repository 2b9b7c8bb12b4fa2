"""Where in a TOML file a value stands: the parser of the standard library does not tell.

The text of a valid file and the way to a value in it in; the number of a line out.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_left
from collections.abc import Iterable

# Strings and comments whole, so that the brackets and line ends left are those of the file itself.
_TOML_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'|#[^\n]*|[\[\]{}\n]",
    re.DOTALL,
)
Place = tuple[str | int, ...]


def line_of(text: str, place: Place) -> int:
    """The line that brings `place` into the file: where the first statement starts that makes a parser see it.

    tomllib tells no positions. But the lines up to the end of any statement are a valid
    file, and what one such part of the file holds, every longer one does too.
    """
    ends = _statement_ends(text)
    seen = bisect_left(ends, True, key=lambda end: _reaches(tomllib.loads(text[:end]), place))
    if not place or seen == len(ends):
        return 0
    return 1 + text.count("\n", 0, ends[seen - 1] if seen else 0)


def _statement_ends(text: str) -> list[int]:
    """Of a valid file: the place after each line that no bracket and no string carries on."""
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


def _reaches(value: object, place: Iterable[str | int]) -> bool:
    for step in place:
        if isinstance(step, int):
            if not isinstance(value, list) or step >= len(value):
                return False
            value = value[step]
        elif isinstance(value, dict) and step in value:
            value = value[step]
        else:
            return False
    return True
