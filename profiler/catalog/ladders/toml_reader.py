"""Takes typed values out of a TOML file. A missing key or a value of another type is an error with its line.

In: the text of a valid file, and what each key must hold. Out: the values.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn, TypeVar, cast

from profiler.catalog.ladders.toml_lines import KeyPath, line_of
from profiler.errors import LadderInvalid

_MOST_CHARACTERS = 1 << 20
_MOST_PARTS = 50
_PART = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
_LONG_KEY = re.compile(rf"(?<![A-Za-z0-9_-]){_PART}(?:[ \t]*\.[ \t]*{_PART}){{{_MOST_PARTS},}}")
Value = TypeVar("Value")
_KINDS: dict[type, str] = {
    str: "text in quotes",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "a table",
}


class TomlReader:
    """Takes values by table, the keys that lead to it, and key; fails with path, line and reason."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._text = text

    def _take(
        self, table: dict[str, Any], place: KeyPath, key: str, kind: type[Value], *default: Any
    ) -> Value:
        """Returns the value of this type; a whole number is also a float. Without a default the key must be there."""
        if key not in table:
            if default:
                return cast(Value, default[0])
            self._fail(place, f"'{key}' is missing")
        value = table[key]
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, kind) or isinstance(value, bool):
            self._fail((*place, key), f"{key} must be {_KINDS[kind]}, not {_shown(value)}")
        if isinstance(value, str) and not value.strip():
            self._fail((*place, key), f"{key} is empty")
        return value

    def _flag(self, table: dict[str, Any], place: KeyPath, key: str, default: bool) -> bool:
        value = table.get(key, default)
        if not isinstance(value, bool):
            self._fail((*place, key), f"{key} must be true or false, not {_shown(value)}")
        return value

    def _words(self, table: dict[str, Any], place: KeyPath, key: str) -> tuple[str, ...]:
        words = self._take(table, place, key, list)
        for word in words:
            if not isinstance(word, str) or "\0" in word:
                self._fail((*place, key), f"{key} must be a list of words in quotes, not {_shown(word)}")
        return tuple(words)

    def _known_keys(self, table: dict[str, Any], known: set[str], place: KeyPath) -> None:
        for key in table:
            if key not in known:
                self._fail((*place, key), f"unknown key '{key}'{nearest(key, known)}")

    def _fail(self, place: KeyPath, reason: str) -> NoReturn:
        line = line_of(self._text, place)
        raise LadderInvalid(f"{self._path}:{line}: {reason}" if line else f"{self._path}: {reason}")


def parse_toml(text: str) -> dict[str, Any]:
    """Returns what a TOML file holds; ValueError for one that is not valid, or so large or deep that it is hostile."""
    if len(text) > _MOST_CHARACTERS:
        raise ValueError(f"more than {_MOST_CHARACTERS:,} characters")
    if _LONG_KEY.search(text):
        raise ValueError(f"a dotted key of more than {_MOST_PARTS} parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def syntax_error(path: Path, message: str) -> LadderInvalid:
    """Returns the error for a file that is not TOML; its line is taken out of tomllib's message."""
    place = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", message)
    where = f"{path}:{place[1]}" if place and place[1] else str(path)
    reason = message[: place.start()] if place and place[1] else message
    return LadderInvalid(f"{where}: not TOML: {reason}")


def nearest(name: str, known: Iterable[str]) -> str:
    """Returns an ending for an error message: the name most like the wrong one, or all that are known."""
    near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.6)
    return f"; did you mean '{near[0]}'?" if near else f"; known: {', '.join(sorted(known))}"


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if len(repr(value)) <= 60 else f"{repr(value)[:57]}..."
