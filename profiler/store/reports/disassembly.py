"""Disassembles the functions of a report: their instructions with their source lines.

`action` is a launch as NVIDIA's reader returns it. Its addresses are absolute; here they become offsets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from profiler.store.tables.instruction_text import opcode_of, rebase

LARGEST_FUNCTION_BYTES = 1 << 26
_INSTRUCTION_BYTES = 16  # on every architecture since Volta
# NVIDIA's reader answers so for code that it cannot disassemble, such as all of Volta since CUDA 13.
_UNDECODED = ("???", "N/A")


@dataclass
class Function:
    """The machine code of one function."""

    offsets: list[int]
    rows: list[tuple[str, str, str | None, int | None, str | None]]  # opcode, text, file, line, source


class Disassembler:
    """Disassembles each function once, even when it is launched often: it takes a millisecond for each instruction."""

    def __init__(self) -> None:
        self._functions: dict[tuple[str, int, int], Function] = {}

    def forget(self) -> None:
        self._functions.clear()

    def function(self, action: Any, starts: Sequence[int], start: int, known: Sequence[int]) -> Function:
        """Returns the code of the function at `start`: the instructions at the `known` addresses, or all if none is known."""
        key = (action.name(action.NameBase_MANGLED), start, len(known))
        function = self._functions.get(key)
        if function is None or not _is_still_the_same(action, starts, start, function):
            function = self._functions[key] = _disassemble(action, starts, start, known)
        return function


def _walk(action: Any, start: int) -> Iterator[tuple[int, str]]:
    """Yields the instructions of a function that the report did not count, found one after the other."""
    for address in range(start, start + LARGEST_FUNCTION_BYTES, _INSTRUCTION_BYTES):
        if not (sass := _text(action, address)):
            return
        yield address, sass


def _disassemble(action: Any, starts: Sequence[int], start: int, known: Sequence[int]) -> Function:
    """Returns the code of a function, anew.

    The texts are empty if NVIDIA's reader cannot disassemble them; counts and source lines still hold.
    """
    sources = {name: text.splitlines() for name, text in action.source_files().items() if text}
    found = {address: _text(action, address) for address in sorted(known)} or dict(_walk(action, start))
    last = max(found, default=start)
    rows = []
    for address, text in found.items():
        sass = rebase(text, starts, start, last)
        info = action.source_info(address)
        file, line = (info.file_name(), info.line()) if info else (None, None)
        lines = sources.get(file or "", [])
        source = lines[line - 1] if line and 0 < line <= len(lines) else None
        rows.append((opcode_of(sass), sass, file, line, source))
    return Function([address - start for address in found], rows)


def _is_still_the_same(action: Any, starts: Sequence[int], start: int, function: Function) -> bool:
    """Returns whether the same code is at that address, judged by five instructions: another process may load
    other code there.
    """
    last = len(function.offsets) - 1
    if last < 0:
        return True
    end = start + function.offsets[last]
    return all(
        rebase(_text(action, start + function.offsets[i]), starts, start, end) == function.rows[i][1]
        for i in sorted({last * step // 4 for step in range(5)})
    )


def _text(action: Any, address: int) -> str:
    sass: str = action.sass_by_pc(address)
    return "" if sass.strip() in _UNDECODED else sass
