"""The source of hot loops as rows beside their machine code: of two kernels, equal lines stand beside each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from profiler.analyse.causes.cause import Cause, has_place
from profiler.analyse.code.opcodes import is_plumbing
from profiler.analyse.code.regions import Region
from profiler.analyse.recording.source_lines import SourceLine, SourceLines
from profiler.catalog.metrics import READY
from profiler.present.document import CodeBlock, CodeCell, CodeColumn
from profiler.text import cut, short_place, shortened

_WORTH_A_REASON = 1.0  # percent of the samples
# Characters of a source line and opcodes of it, of one kernel and of each of two.
_ROOMS = {1: (72, 4), 2: (48, 2)}
_COLUMNS = (
    CodeColumn("samples", is_right=True, gives_way=1),
    CodeColumn("line", is_right=True),
    CodeColumn("source"),
    CodeColumn("waits for", gives_way=0),
    CodeColumn("cause"),
    CodeColumn("machine code"),
)
_Place = tuple[str, int]


class LoopSource(NamedTuple):
    """The hot loop of one kernel, its source, and the causes that were found in it."""

    title: str
    region: Region
    lines: SourceLines
    causes: Sequence[Cause]


class _Line(NamedTuple):
    text: str
    cells: Sequence[CodeCell]


def source_code(sides: Sequence[LoopSource]) -> CodeBlock | None:
    """Returns the lines of the hot loops. Equal lines of two kernels stand beside each other.

    The result is None where a report holds no source text.
    """
    loops = [_lines(side, *_ROOMS[len(sides)]) for side in sides]
    if not all(loops):
        return None
    rows = [[one.cells] for one in loops[0]] if len(loops) == 1 else _beside(*loops)
    return CodeBlock([side.title for side in sides], _COLUMNS, [rows])


def _beside(before: Sequence[_Line], after: Sequence[_Line]) -> list[list[Sequence[CodeCell] | None]]:
    rows: list[list[Sequence[CodeCell] | None]] = []
    matcher = SequenceMatcher(None, [one.text for one in before], [one.text for one in after], autojunk=False)
    for _, start, end, other_start, other_end in matcher.get_opcodes():
        left = [one.cells for one in before[start:end]]
        right = [one.cells for one in after[other_start:other_end]]
        for place in range(max(len(left), len(right))):
            rows.append([side[place] if place < len(side) else None for side in (left, right)])
    return rows


def _lines(side: LoopSource, width: int, most: int) -> list[_Line]:
    """Returns the lines with their instructions, in the order of the source."""
    opcodes: dict[_Place, Counter[str]] = {}
    for one in side.region.body:
        if one.executed and one.file and one.line:
            place = (one.file.replace("\\", "/").rpartition("/")[2], one.line)
            opcodes.setdefault(place, Counter())[one.opcode] += 1
    known = {(one.file, one.line): one for one in side.lines.lines if one.text}
    several = len({file for file, _ in opcodes}) > 1
    return [
        _line(known[place], _opcodes_text(opcodes[place], most), side, width, several=several)
        for place in sorted(opcodes)
        if place in known
    ]


def _line(line: SourceLine, opcodes: str, side: LoopSource, width: int, *, several: bool) -> _Line:
    text = (line.text or "").strip()
    share = 100 * line.samples / side.lines.samples if side.lines.samples else 0.0
    longest = next((reason for reason in line.stalls if reason not in READY), "")
    causes = [
        one.cause
        for one in side.causes
        if has_place(one) and any((place.file, place.line) == (line.file, line.line) for place in one.where)
    ]
    where = f"{shortened(short_place(line.file), 20)}:{line.line}" if several else str(line.line)
    cells = (
        CodeCell(f"{share:.1f} %" if share else ""),
        CodeCell(where, quiet=True),
        CodeCell(cut(text, width)),
        CodeCell(longest if share >= _WORTH_A_REASON else ""),
        CodeCell(", ".join(causes)),
        CodeCell(opcodes, quiet=True),
    )
    return _Line(text, cells)


def _opcodes_text(opcodes: Counter[str], most: int) -> str:
    """Returns the instructions that characterise a line, and how many others it has."""
    telling = {name: count for name, count in opcodes.items() if not is_plumbing(name)}
    shown = list(telling or opcodes)[:most]
    rest = sum(opcodes.values()) - sum(opcodes[name] for name in shown)
    texts = [f"{opcodes[name]} {name}" for name in shown]
    return " + ".join([*texts, *([f"{rest} more"] if rest else [])])
