"""Reads and changes the defaults of a sweep's parameters in a kernel's source.

    #define GEMM_BM 64

In: the text of the source. Out: the values, or the same text with other values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from profiler.errors import DefaultsNotFound


def read_defaults(text: str, names: Iterable[str]) -> dict[str, int]:
    """Returns the default of every parameter; raises DefaultsNotFound if one is not defined exactly once."""
    return {name: int(_definition(text, name)[2]) for name in names}


def with_defaults(text: str, settings: Mapping[str, int]) -> str:
    """Returns the text with these defaults and nothing else changed."""
    for name, value in settings.items():
        start, end = _definition(text, name).span(2)
        text = f"{text[:start]}{value}{text[end:]}"
    return text


def without_defaults(text: str, names: Iterable[str]) -> str:
    """Returns the text without the defaults, which do not matter to a program that is given every value."""
    for name in names:
        text = _pattern(name).sub(r"\1", text)
    return text


def _definition(text: str, name: str) -> re.Match[str]:
    found = list(_pattern(name).finditer(text))
    if len(found) != 1:
        times = f"{len(found)} times" if found else "nowhere"
        raise DefaultsNotFound(
            f"the source defines {name} as a whole number {times}; it must do so exactly once"
        )
    return found[0]


def _pattern(name: str) -> re.Pattern[str]:
    line_end = r"(?=[ \t\r]*(?://.*|/\*.*)?$)"
    return re.compile(rf"^([ \t]*#[ \t]*define[ \t]+{name}[ \t]+)(-?\d+){line_end}", re.MULTILINE)
