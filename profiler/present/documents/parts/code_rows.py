"""Machine code as the rows of a document: counts by opcode or single instructions, for people and programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from profiler.analyse.code.code import Instruction
from profiler.analyse.code.hot_loop import LoopSheet, OpcodeCount
from profiler.analyse.code.machine_code import UNIT_TEXT, MachineCode, Stretch
from profiler.analyse.code.opcodes import is_plumbing, width_bits
from profiler.analyse.compare.headline import names_of_sides
from profiler.present.document import CodeBlock, CodeCell, CodeColumn, CodeSide, Plain, Records
from profiler.text import number, report_name, short_place

Entry = TypeVar("Entry")
Counts = tuple[OpcodeCount | None, ...]

_PLACES = 2
PLUMBING = "integer, moves, branches"
SAMPLES_MEANING = "A sample falls on the instruction that waits, not on the load that it waits for."


def count_code(code: MachineCode, stretches: Sequence[Stretch[OpcodeCount]]) -> CodeBlock:
    """Returns the counts by opcode.

    Address arithmetic, counters and moves are added up in one row, because the other instructions
    characterise a loop.
    """
    by_step = code.per == "step"
    columns = (
        CodeColumn("per warp" if code.per == "warp" else "iteration", True, gives_way=2 if by_step else None),
        CodeColumn(UNIT_TEXT["step"] if by_step else "", True),
        CodeColumn("opcode"),
        CodeColumn("source", gives_way=1),
        CodeColumn("samples", True, gives_way=0),
    )
    rows = [
        [
            [_count_cells(one, sheet, code) for one, sheet in zip(row, code.kernels, strict=True)]
            for row in stretch
        ]
        for stretch in _with_plumbing_last(stretches)
    ]
    return CodeBlock(_titles(code), columns, rows)


def _titles(code: MachineCode) -> list[str]:
    labels = [sheet.label for sheet in code.kernels]
    return list(names_of_sides((labels[0], labels[1]))) if len(labels) > 1 else [report_name(labels[0])]


def _with_plumbing_last(stretches: Sequence[Stretch[OpcodeCount]]) -> list[list[Counts]]:
    """Returns the rows that matter, then one row that adds up the others.

    A stretch that holds only others joins the stretch before it.
    """
    shown: list[tuple[list[Counts], list[Counts]]] = []
    for stretch in stretches:
        telling = [
            row for row in stretch.rows if not all(one is None or is_plumbing(one.opcode) for one in row)
        ]
        if telling or not shown:
            shown.append((telling, []))
        shown[-1][1].extend(row for row in stretch.rows if row not in telling)
    return [
        [*telling, *([tuple(_sum(side) for side in zip(*rest, strict=True))] if rest else [])]
        for telling, rest in shown
    ]


def _sum(counts: Sequence[OpcodeCount | None]) -> OpcodeCount | None:
    there = [one for one in counts if one is not None]
    samples = [one.samples_pct for one in there if one.samples_pct is not None]
    total = sum(one.count for one in there)
    return OpcodeCount(PLUMBING, total, None, [], sum(samples) if samples else None) if there else None


def _count_cells(one: OpcodeCount | None, sheet: LoopSheet, code: MachineCode) -> CodeSide:
    if one is None:
        return None
    quiet = one.opcode == PLUMBING
    per_step = one.count / sheet.steps if code.per == "step" and sheet.steps else None
    is_repeated = code.per == "step" and all(kernel.steps == 1 for kernel in code.kernels)
    return (
        CodeCell("" if is_repeated else number(one.count)),
        CodeCell("" if per_step is None else number(per_step), one.width_bits, quiet),
        CodeCell(one.opcode, one.width_bits, quiet),
        CodeCell(_short_places(one.places, sheet), quiet=True),
        CodeCell("" if one.samples_pct is None else f"{one.samples_pct:.1f} %"),
    )


def _short_places(places: Sequence[str], sheet: LoopSheet) -> str:
    """Returns the places without the file if it is the loop's own, which the heading names."""
    own = (sheet.place or "").rpartition(":")[0]
    shown = [place.removeprefix(f"{own}:") if own else place for place in places[:_PLACES]]
    return ", ".join(map(short_place, shown)) + (", …" if len(places) > _PLACES else "")


def instruction_code(code: MachineCode, stretches: Sequence[Stretch[Instruction]]) -> CodeBlock:
    """Returns every instruction, in the order of the code."""
    columns = (
        CodeColumn("executed", is_right=True, gives_way=2),
        CodeColumn("offset", is_right=True, gives_way=3),
        CodeColumn("instruction"),
        CodeColumn("source", gives_way=4),
        CodeColumn("samples", is_right=True, gives_way=1),
        CodeColumn("waits for", gives_way=0),
    )
    rows = [
        [
            [_instruction_cells(one, sheet) for one, sheet in zip(row, code.kernels, strict=True)]
            for row in stretch.rows
        ]
        for stretch in stretches
    ]
    return CodeBlock(_titles(code), columns, rows)


def _instruction_cells(one: Instruction | None, sheet: LoopSheet) -> CodeSide:
    if one is None:
        return None
    return (
        CodeCell(number(one.executed)),
        CodeCell(f"{one.offset:x}", quiet=True),
        CodeCell(one.text, width_bits(one.opcode), is_plumbing(one.opcode)),
        CodeCell(_short_places([one.place] if one.place else [], sheet), quiet=True),
        CodeCell("" if one.samples is None else number(one.samples)),
        CodeCell(one.main_stall or "", quiet=True),
    )


# Records


def count_records(code: MachineCode, stretches: Sequence[Stretch[OpcodeCount]]) -> Records:
    """Returns a record for each count, with values in full.

    `stretch` numbers the stretches that barriers and branches divide.
    """
    names = ("opcode", "bits", "count", "per_step", "samples_pct", "source")

    def cells(one: OpcodeCount, sheet: LoopSheet) -> list[Plain]:
        per_step = one.count / sheet.steps if sheet.steps else None
        return [one.opcode, one.width_bits, one.count, per_step, one.samples_pct, " ".join(one.places)]

    return _records(code, stretches, names, cells)


def instruction_records(code: MachineCode, stretches: Sequence[Stretch[Instruction]]) -> Records:
    """Returns a record for each instruction, with values in full."""
    names = ("offset", "instruction", "bits", "executed", "samples", "waits_for", "source")

    def cells(one: Instruction, _: LoopSheet) -> list[Plain]:
        bits = width_bits(one.opcode)
        return [one.offset, one.text, bits, one.executed, one.samples, one.main_stall, one.place]

    return _records(code, stretches, names, cells)


def _records(
    code: MachineCode,
    stretches: Sequence[Stretch[Entry]],
    names: Sequence[str],
    cells: Callable[[Entry, LoopSheet], list[Plain]],
) -> Records:
    prefixes = ("before_", "after_") if len(code.kernels) > 1 else ("",)
    header = ["stretch", *(f"{prefix}{name}" for prefix in prefixes for name in names)]
    empty: list[Plain] = [None] * len(names)
    rows: list[list[Plain]] = []
    for position, stretch in enumerate(stretches):
        for row in stretch.rows:
            sides = [
                empty if one is None else cells(one, sheet)
                for one, sheet in zip(row, code.kernels, strict=True)
            ]
            rows.append([position, *(cell for side in sides for cell in side)])
    return Records(header, rows)
