"""Puts statements of several lines together: a compiler gives an instruction only one of them, such as an argument without its call.

The known lines of a file in; the text of the statement around one of them out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from typing import NamedTuple

_MOST_LINES = 12  # of a statement: more is a table, or a bracket in a text that was not seen as one
# Brackets in texts and comments say nothing.
_TEXT = r"""r?"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'"""
_NO_CODE, _NO_SCRIPT = re.compile(rf"{_TEXT}|//.*|/\*.*?(?:\*/|$)"), re.compile(rf"{_TEXT}|#.*")
_SCRIPTS = (".py", ".jl")  # in which // divides
_STEP = {"(": 1, "[": 1, ")": -1, "]": -1}


class Statement(NamedTuple):
    """Its first line that is known, and the text of all of them without indentation."""

    first: int
    text: str


def whole_statement(file: str, lines: Mapping[int, str], line: int) -> Statement:
    """Returns the statement that holds this line of a file, as far as its lines are known without a gap; without a text if this one is not."""
    if line not in lines:
        return Statement(line, "")
    is_script = file.endswith(_SCRIPTS)
    no_code = _NO_SCRIPT if is_script else _NO_CODE
    near = range(line - 2 * _MOST_LINES, line + 2 * _MOST_LINES)
    code = {one: no_code.sub("", lines[one]) for one in near if one in lines}
    # In C++, a brace that is left open begins statements of their own, such as those of a lambda between the brackets of a call.
    bodies = {one for one, text in code.items() if not is_script and text.count("{") > text.count("}")}
    first = last = line
    while (before := _opened_by(code, bodies, first)) is not None and line - before < _MOST_LINES:
        first = before
    while (
        _left_open(code, first, last) > 0
        and last not in bodies
        and last + 1 in code
        and last - line < _MOST_LINES
    ):
        last += 1
    if _left_open(code, first, last) != 0:  # a part of it is not known
        last = line
    return Statement(first, " ".join(lines[one].strip() for one in range(first, last + 1)).strip())


def _opened_by(code: Mapping[int, str], bodies: Set[int], line: int) -> int | None:
    """Returns the nearest known line above in which a bracket opens that is still open at the beginning of this one."""
    depth = 0
    for above in range(line - 1, line - 1 - _MOST_LINES, -1):
        if above not in code or above in bodies:
            return None
        depth += _left_open(code, above, above)
        if depth > 0:
            return above
    return None


def _left_open(code: Mapping[int, str], first: int, last: int) -> int:
    """Returns how many brackets these lines open more than they close."""
    written = "".join(code[one] for one in range(first, last + 1))
    return sum(_STEP.get(character, 0) for character in written)
