"""Takes typed values out of a TOML file. A missing key or a value of another type is an error with its line.

In: the text of a valid file, and what each key must hold. Out: the values. The parser of the standard library
reports no positions, so `line_of` finds the line of a value.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar, cast

from profiler.errors import LadderInvalid
from profiler.text import names_like

_MOST_CHARACTERS = 1 << 20
_MOST_PARTS = 50
# TOML's own whole numbers have 64 bits. No float may hold a far longer one, and Python takes long to read it.
_ENDLESS = re.compile(r"[0-9](?:_?[0-9]){80}|0x[0-9A-Fa-f](?:_?[0-9A-Fa-f]){80}")
_PART = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
_LONG_KEY = re.compile(rf"(?<![A-Za-z0-9_-]){_PART}(?:[ \t]*\.[ \t]*{_PART}){{{_MOST_PARTS},}}")
# Strings and comments match whole, so that only the file's own brackets and line ends are left. One that never ends matches up to
# where it must have ended: otherwise each quote behind it would be tried in turn.
_TOML_TOKEN = re.compile(
    r'"""(?:\\.|[^\\]|\\\Z)*?(?:"{3,5}|\Z)'
    r"|'''.*?(?:'{3,5}|\Z)"
    r'|"(?:\\.|[^"\\\n]|\\\Z)*(?:"|(?=\n)|\Z)'
    r"|'[^'\n]*(?:'|(?=\n)|\Z)|#[^\n]*|[\[\]{}\n]",
    re.DOTALL,
)
KeyPath = tuple[str | int, ...]
TomlValue = TypeVar("TomlValue")
_KINDS: dict[type, str] = {
    str: "text in quotes",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "a table",
    bool: "true or false",
}


@dataclass(frozen=True)
class TomlTable:
    """A table of a file, and the `keys` that lead to it. Takes values by key; fails with path, line and reason."""

    path: Path
    text: str
    values: dict[str, Any]
    keys: KeyPath = ()

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def inner(self, values: dict[str, Any], *keys: str | int) -> TomlTable:
        """Returns a table within this one, to which these keys lead."""
        return TomlTable(self.path, self.text, values, (*self.keys, *keys))

    def take(self, key: str, kind: type[TomlValue], *default: Any) -> TomlValue:
        """Returns the value of this type; a whole number is also a float. Without a default the key must be there."""
        if key not in self.values:
            if default:
                return cast(TomlValue, default[0])
            self.fail(f"'{key}' is missing")
        value = self.values[key]
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            self.fail(f"{key} must be {_KINDS[kind]}, not {_shown(value)}", key)
        if isinstance(value, str) and not value.strip():
            self.fail(f"{key} is empty", key)
        return value

    def words(self, key: str) -> tuple[str, ...]:
        """Returns a list of words; an empty one if the key is not there."""
        words = self.take(key, list, [])
        for word in words:
            if not isinstance(word, str) or "\0" in word:
                self.fail(f"{key} must be a list of words in quotes, not {_shown(word)}", key)
        return tuple(words)

    def require_known(self, known: set[str]) -> None:
        for key in self.values:
            if key not in known:
                self.fail(f"unknown key '{key}'{nearest(key, known)}", key)

    def fail(self, reason: str, *keys: str | int) -> NoReturn:
        line = line_of(self.text, (*self.keys, *keys))
        raise LadderInvalid(f"{self.path}:{line}: {reason}" if line else f"{self.path}: {reason}")


def read_text(path: Path) -> str:
    """Returns the text of a TOML file, cut where `parse_toml` will find it too long."""
    with path.open(encoding="utf-8") as file:
        return file.read(_MOST_CHARACTERS + 1)


def parse_toml(text: str) -> dict[str, Any]:
    """Returns what a TOML file holds; ValueError for one that is not valid, or so large or deep that it is hostile."""
    if len(text) > _MOST_CHARACTERS:
        raise ValueError(f"more than {_MOST_CHARACTERS:,} characters")
    bare = _TOML_TOKEN.sub(_emptied, text)
    if _LONG_KEY.search(bare):
        raise ValueError(f"a dotted key of more than {_MOST_PARTS} parts")
    if _ENDLESS.search(bare):
        raise ValueError("a number of more than 80 digits")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _emptied(token: re.Match[str]) -> str:
    """Returns a string without what it holds, nothing for a comment, and any other token as it is."""
    first = token.group()[0]
    if first in "\"'":
        return first * 2
    return "" if first == "#" else token.group()


def syntax_error(path: Path, message: str) -> LadderInvalid:
    """Returns the error for a file that is not TOML; its line is taken out of tomllib's message."""
    place = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", message)
    where = f"{path}:{place[1]}" if place and place[1] else str(path)
    reason = message[: place.start()] if place and place[1] else message
    return LadderInvalid(f"{where}: not TOML: {reason}")


def nearest(name: str, known: Iterable[str]) -> str:
    """Returns an ending for an error message: the name most like the wrong one, or all that are known."""
    near = names_like(name, known)
    return f"; did you mean '{near[0]}'?" if near else f"; known: {', '.join(sorted(known))}"


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if len(repr(value)) <= 60 else f"{repr(value)[:57]}..."


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
