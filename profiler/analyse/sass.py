"""Machine code as evidence: what was executed, by opcode and by access width."""

from __future__ import annotations

import re
from collections.abc import Mapping

from profiler.analyse.findings import Opcode

_MEMORY = re.compile(r"(LD[GLS]?|LDCU?|LDGSTS|ST[GLS]?|STAS|ATOM[GS]?|RED(G|AS)?|SULD|SUST)(\.|$)")
_MATRIX = re.compile(r"(LDSM|STSM)\.16\.MT?88(?:\.([24]))?$")
_WIDTH = re.compile(r"\.[USF]?(8|16|32|64|128|256)(?![0-9x])")


def width_bits(opcode: str) -> int | None:
    """The width of one thread's memory access: 128 for LDS.128, 32 for LDS; None otherwise."""
    if matrix := _MATRIX.match(opcode):  # each 8 x 8 matrix gives a thread one register
        return 32 * int(matrix.group(2) or 1)
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
