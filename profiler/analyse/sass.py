"""Machine code as evidence: what was executed, by opcode and by access width."""

from __future__ import annotations

import re
from collections.abc import Mapping

from profiler.analyse.findings import Opcode

_MEMORY = re.compile(r"(LD|ST|ATOM|RED|SULD|SUST|UBLKCP|UTMA)")
_WIDTH = re.compile(r"\.[US]?(8|16|32|64|128|256)(?![0-9])")


def width_bits(opcode: str) -> int | None:
    """The width of one thread's memory access: 128 for LDS.128, 32 for LDS; None otherwise."""
    if not _MEMORY.match(opcode):
        return None
    widths = _WIDTH.findall(opcode)
    return int(widths[-1]) if widths else 32


def compare_opcodes(before: Mapping[str, float], after: Mapping[str, float]) -> list[Opcode]:
    """Every opcode that either side executed, the largest change first."""
    opcodes = [
        Opcode(name, before.get(name, 0.0), after.get(name, 0.0), width_bits(name))
        for name in {**before, **after}
    ]
    return sorted(
        opcodes,
        key=lambda opcode: (
            -abs(opcode.after - opcode.before),
            -(opcode.before + opcode.after),
            opcode.opcode,
        ),
    )
