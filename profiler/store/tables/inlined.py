"""Writes as a label, and reads, which calls the compiler replaced by an instruction and its like."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple


class CalledAt(NamedTuple):
    """A call in the source, with the text of its line where it is recorded."""

    file: str
    line: int
    source: str | None = None


def inlined_text(calls: Sequence[CalledAt]) -> str | None:
    """Returns the calls as one text, the innermost first; None if there are none.

    A name with a tab or a new line, which stand between the parts, is in a damaged report alone: its call is left out.
    """
    named = [one for one in calls if not {"\t", "\n"} & {*one.file}]
    return "\n".join(f"{one.file}\t{one.line}\t{one.source or ''}" for one in named) or None


@lru_cache(maxsize=4096)
def calls_in(text: str | None) -> tuple[CalledAt, ...]:
    """Returns the calls that `inlined_text` has written."""
    parts = (line.split("\t", 2) for line in (text or "").split("\n") if line)
    return tuple(CalledAt(file, int(line), source or None) for file, line, source in parts)
