"""Matches the regular expressions that users and strangers write, in time that grows with the text alone.

Python's own engine takes exponential time for a pattern such as `(.*)*(.*)*Q`, so nothing else in this project may
match a foreign pattern. RE2, which pyarrow holds, has no such patterns: in exchange it has no lookaround and no
back-references.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from profiler.errors import KernelNotFound

MOST_CHARACTERS = 500
_SPECIAL = frozenset(r"\.^$*+?{}[]|()")
# Valid in every engine, so that most ladders are read without pyarrow, which takes a while to import.
_SURELY_VALID = re.compile(r"(?:[^\\.*+?{}\[\]()]|\.[*+?]?)*")
_CAPITAL = re.compile(r"(?<!\\)[A-Z]")  # `\D` is a class and no letter
_SHOWN = 60
_ELLIPSIS = "…"


def check_pattern(pattern: str) -> None:
    """Raises ValueError, with a message for the user, when a pattern cannot be matched here."""
    if len(pattern) > MOST_CHARACTERS:
        raise ValueError(
            f"'{pattern[:_SHOWN]}…' is too long for a regular expression: {len(pattern)} characters, "
            f"where {MOST_CHARACTERS} are allowed"
        )
    if not (pattern.isascii() and _SURELY_VALID.fullmatch(pattern)):
        _search(pattern, [""])


def search_names(pattern: str, names: Sequence[str]) -> list[bool]:
    """Returns for each name if the pattern is found in it; raises ValueError as `check_pattern` does."""
    check_pattern(pattern)
    if _SPECIAL.isdisjoint(pattern):
        return [pattern in name for name in names]
    return _search(pattern, names)


def search_as_ncu(pattern: str, names: Sequence[str]) -> list[bool]:
    """Returns what `search_names` does for a pattern that a person typed for ncu, to which case counts.

    KernelNotFound says why it cannot be matched.
    """
    try:
        return search_names(pattern, names)
    except ValueError as error:
        raise KernelNotFound(str(error)) from None


def search_typed(pattern: str, names: Sequence[str]) -> list[bool]:
    """Returns what `search_names` does for a pattern that a person typed to choose kernels.

    It ignores case unless it holds a capital; KernelNotFound says why it cannot be matched. A name that an answer cut,
    with an ellipsis for what it left out, finds the names that it may be.
    """
    try:
        if _ELLIPSIS in pattern and len(pattern) <= MOST_CHARACTERS:
            return _search("(?s)" + ".*".join(map(re.escape, pattern.split(_ELLIPSIS))), names)
        if _CAPITAL.search(pattern):
            return search_names(pattern, names)
        check_pattern(pattern)
        if _SPECIAL.isdisjoint(pattern):
            return [pattern.casefold() in name.casefold() for name in names]
        return _search(f"(?i){pattern}", names)
    except ValueError as error:
        raise KernelNotFound(str(error)) from None


def _search(pattern: str, names: Sequence[str]) -> list[bool]:
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pa.array([name.encode(errors="replace").decode() for name in names], pa.string())
    try:
        found: list[bool] = pc.match_substring_regex(texts, pattern=pattern).to_pylist()
    except UnicodeEncodeError:
        raise ValueError(f"{pattern!r} is not a regular expression: it is not Unicode text") from None
    except pa.ArrowInvalid as error:
        raise ValueError(f"'{pattern}' is not a regular expression: {_reason(str(error))}") from None
    return found


def _reason(message: str) -> str:
    """Returns RE2's message, with the limits of its language if the pattern may have met one."""
    reason = message.removeprefix("Invalid regular expression: ")
    met_a_limit = reason.startswith(("invalid perl operator", "invalid escape", "bad repetition operator"))
    return (
        f"{reason} (lookaround, back-references and possessive repeats are not supported)"
        if met_a_limit
        else reason
    )
