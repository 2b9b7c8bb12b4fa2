"""Disassembles one function of a report: its instructions with their source lines.

`action` is a launch as NVIDIA's reader returns it. Its addresses are absolute; here they become offsets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from profiler.store.tables.instruction_text import opcode_of, rebase

LARGEST_FUNCTION_BYTES = 1 << 26
_INSTRUCTION_BYTES = 16  # on every architecture since Volta


@dataclass
class Function:
    """The machine code of one function, disassembled once even when it is launched often."""

    offsets: list[int]
    rows: list[tuple[str, str, str | None, int | None, str | None]]  # opcode, text, file, line, source


def walk(action: Any, start: int) -> list[int]:
    """Return the addresses of a function whose instructions the report did not count, found one after the other."""
    address = start
    while action.sass_by_pc(address) and address - start < LARGEST_FUNCTION_BYTES:
        address += _INSTRUCTION_BYTES
    return list(range(start, address, _INSTRUCTION_BYTES))


def disassemble(action: Any, starts: Sequence[int], start: int, addresses: Sequence[int]) -> Function:
    sources = {name: text.splitlines() for name, text in action.source_files().items() if text}
    rows = []
    for address in addresses:
        sass = rebase(action.sass_by_pc(address), starts, start, addresses[-1])
        info = action.source_info(address)
        file, line = (info.file_name(), info.line()) if info else (None, None)
        lines = sources.get(file or "", [])
        source = lines[line - 1] if line and 0 < line <= len(lines) else None
        rows.append((opcode_of(sass), sass, file, line, source))
    return Function([address - start for address in addresses], rows)


def still_the_same(action: Any, starts: Sequence[int], start: int, function: Function) -> bool:
    """Return whether the same code is at that address, judged by five instructions: another process may load
    other code there.
    """
    last = len(function.offsets) - 1
    if last < 0:
        return True
    end = start + function.offsets[last]
    return all(
        rebase(action.sass_by_pc(start + function.offsets[i]), starts, start, end) == function.rows[i][1]
        for i in sorted({last * step // 4 for step in range(5)})
    )
