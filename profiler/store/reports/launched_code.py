"""The machine code of launches: its functions, how often each instruction ran, where warps waited, and the instructions themselves.

`action` is a launch as NVIDIA's reader returns it. Its addresses are absolute; a disassembled function has offsets.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from profiler.store.reports.inlined_calls import LineTable
from profiler.store.tables.instruction_text import inlined_text, opcode_of, rebase

_EXECUTED, _SAMPLES = "inst_executed", "smsp__pcsamp_warps_issue_stalled_"
LARGEST_FUNCTION_BYTES = 1 << 26
_NEW_LINE = re.compile(r"\r\n?|\n")  # which compilers count; `splitlines` takes a form feed for one, too
_INSTRUCTION_BYTES = 16  # on every architecture since Volta
# NVIDIA's reader answers so for code that it cannot disassemble, such as all of Volta since CUDA 13.
_UNDECODED = ("???", "N/A")


def is_of_code(metric: str) -> bool:
    """Returns whether the instances of the metric are counts of instructions that the table of the code holds."""
    return metric == _EXECUTED or (metric.startswith(_SAMPLES) and not metric.endswith("_not_issued"))


@dataclass
class LaunchedCode:
    """The functions of a launch by the addresses at which they `start`, and what was counted at each instruction."""

    starts: list[int]
    executed: dict[int, int | None] | None = None
    samples: dict[int, dict[str, int]] | None = None

    @classmethod
    def of(cls, action: Any) -> Self:
        metric = action.metric_by_name("launch__function_pcs")
        if metric is None:
            return cls([])
        return cls(sorted({metric.as_uint64(i) for i in range(metric.num_instances())} - {0}))

    def function_of(self, address: int) -> tuple[int, int] | None:
        """Returns the function that an address is in, and the offset from its start."""
        index = bisect_right(self.starts, address) - 1
        if index < 0 or address - self.starts[index] > LARGEST_FUNCTION_BYTES:
            return None
        return index, address - self.starts[index]

    def note(self, metric: str, addresses: Sequence[int], counts: Sequence[float | None]) -> None:
        """Keeps what a metric counted at these addresses, if it is one of the code."""
        if metric == _EXECUTED:
            whole = (None if count is None else int(count) for count in counts)
            self.executed = dict(zip(addresses, whole, strict=True))
        elif is_of_code(metric):
            reason = metric.removeprefix(_SAMPLES)
            self.samples = self.samples or {}
            for address, count in zip(addresses, counts, strict=True):
                if count:
                    self.samples.setdefault(address, {})[reason] = int(count)

    def counted_in(self, index: int) -> list[int]:
        """Returns the addresses of a function at which anything was counted; none if nothing counted how often they ran."""
        # Samples also show warps on the branch behind the last counted instruction.
        seen = {*self.executed, *(self.samples or ())} if self.executed else ()
        return [one for one in seen if self.function_of(one) == (index, one - self.starts[index])]


@dataclass
class Function:
    """The machine code of one function."""

    offsets: list[int]
    # opcode, text, file, line, source, inlined_at
    rows: list[tuple[str, str, str | None, int | None, str | None, str | None]]


class Disassembler:
    """Disassembles each function once, even when it is launched often: it takes a millisecond for each instruction."""

    def __init__(self) -> None:
        self._functions: dict[tuple[str, int, int], Function] = {}
        self._lines: Mapping[int, LineTable] = {}

    def begin(self, lines: Mapping[int, LineTable]) -> None:
        """Forgets the functions of the report before this one, another process of which loads others at the same addresses."""
        self._functions.clear()
        self._lines = lines

    def function(self, action: Any, starts: Sequence[int], start: int, known: Sequence[int]) -> Function:
        """Returns the code of the function at `start`: the instructions at the `known` addresses, or all if none is known."""
        key = (action.name(action.NameBase_MANGLED), start, len(known))
        function = self._functions.get(key)
        if function is None or not _is_still_the_same(action, starts, start, function):
            function = self._functions[key] = _disassemble(
                action, starts, start, known, self._lines.get(start)
            )
        return function


def _walk(action: Any, start: int) -> Iterator[tuple[int, str]]:
    """Yields the instructions of a function that the report did not count, found one after the other."""
    for address in range(start, start + LARGEST_FUNCTION_BYTES, _INSTRUCTION_BYTES):
        if not (sass := _text(action, address)):
            return
        yield address, sass


def _disassemble(
    action: Any, starts: Sequence[int], start: int, known: Sequence[int], lines: LineTable | None
) -> Function:
    """Returns the code of a function, anew.

    The texts are empty if NVIDIA's reader cannot disassemble them; counts and source lines still hold.
    """
    sources = {name: _NEW_LINE.split(text) for name, text in action.source_files().items() if text}

    def source_of(file: str | None, line: int | None) -> str | None:
        text = sources.get(file or "", [])
        return text[line - 1] if line and 0 < line <= len(text) else None

    found = {address: _text(action, address) for address in sorted(known)} or dict(_walk(action, start))
    last = max(found, default=start)
    rows = []
    for address, text in found.items():
        sass = rebase(text, starts, start, last)
        info = action.source_info(address)
        file, line = (info.file_name(), info.line()) if info else (None, None)
        calls = lines.calls(address - start, file, line) if lines and file and line else ()
        inlined_at = inlined_text([call._replace(source=source_of(call.file, call.line)) for call in calls])
        rows.append((opcode_of(sass), sass, file, line, source_of(file, line), inlined_at))
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
