"""The texts of an instruction: its SASS, with the opcode and with addresses that compare, and the calls that it was inlined from."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

_ADDRESS = re.compile(r"0x[0-9a-f]{6,16}\b")
_OPCODE = re.compile(r"^\s*(?:@!?U?P\w+\s+)?([A-Z][\w.]*)")


def opcode_of(sass: str) -> str:
    """Returns the opcode with its modifiers: 'LDS.128' for '@!P0 LDS.128 R4, [R2]'."""
    match = _OPCODE.match(sass)
    return match.group(1) if match else ""


def rebase(sass: str, starts: Sequence[int], start: int, last: int) -> str:
    """Replaces absolute code addresses by offsets, so that two recordings compare equal.

    `start` and `last` bound the function the instruction is in; an address in another of
    the launch's functions is written as `f1+0x40`. Surplus white space is removed.
    """

    def offset(match: re.Match[str]) -> str:
        address = int(match.group(), 16)
        if start <= address <= last + 16:
            return f"{address - start:#x}"
        index = bisect_right(starts, address) - 1
        if index >= 0 and starts[0] > 1 << 32 and address - starts[index] < 1 << 26:
            return f"f{index}+{address - starts[index]:#x}"
        return match.group()

    return " ".join(_ADDRESS.sub(offset, sass).split())


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
