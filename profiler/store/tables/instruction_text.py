"""Reads the text of a SASS instruction: its opcode, and its addresses, which it makes comparable."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

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
