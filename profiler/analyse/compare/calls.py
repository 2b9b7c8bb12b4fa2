"""Says whether two programs were called alike.

Two manifests in; the arguments in which their commands differ out. ncu keeps the command in each report, and prof that of
a program whose launches it only timed.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from profiler.store.runs.manifest import Manifest
from profiler.text import common_start, shortened

_WIDTH = 60


def unlike_arguments(before: Manifest, after: Manifest) -> str | None:
    """Returns in which arguments the programs' commands differ, and "" if all are the same.

    The result is None where nobody can tell: a command was not recorded, two names are of two programs, or two paths
    differ in their folders alone. It is None, too, for a program with a workload, and for a function, which prof calls by
    the same words whatever its arguments are.
    """
    if any(one.workload is not None or one.is_of_function for one in (before, after)):
        return None
    left, right = before.program_words, after.program_words
    if not (left and right):
        return None
    if left[1:] == right[1:]:
        return "" if _name(left[0]) == _name(right[0]) else None
    one, other = (list(map(_name, words[1:])) for words in (left, right))
    return " against ".join(_apart(one, other)) if one != other else None


def _name(word: str) -> str:
    """Returns a word without the folders of a path."""
    return word.rstrip("/").rpartition("/")[2]


def _apart(one: Sequence[str], other: Sequence[str]) -> Iterable[str]:
    """Yields the words of each side from the first that differs to the last, with the option before them, whose value may differ."""
    start = common_start(one, other)
    end = common_start(one[start:][::-1], other[start:][::-1])
    if start and one[start - 1].startswith("-"):
        start -= 1
    for words in (one, other):
        yield shortened(shlex.join(words[start : len(words) - end]), _WIDTH) or "none"
