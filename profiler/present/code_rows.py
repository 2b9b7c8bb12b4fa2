"""Machine code as rows of a page: counts by opcode, or instruction by instruction.

Stretches of a `MachineCode` in; text side by side, or plain rows for CSV and Markdown out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from profiler.analyse.code.code import Instruction
from profiler.analyse.code.hot_loop import LoopSheet, OpcodeCount
from profiler.analyse.code.machine_code import UNIT_TEXT, MachineCode, Stretch
from profiler.analyse.code.opcodes import is_plumbing, width_bits
from profiler.present import encode
from profiler.present.columns import RULE, Cell, Column, Layout, Row, SideRow, render_sides
from profiler.text import number

Entry = TypeVar("Entry")
Counts = tuple[OpcodeCount | None, ...]

_PLACES = 2
_OTHER = "integer, moves, branches"


def width_style(bits: int | None) -> str:
    """The wider an access, the cooler its colour."""
    if bits is None:
        return ""
    return "bold green" if bits >= 128 else "cyan" if bits == 64 else "bold yellow" if bits == 32 else "red"


def counts_text(code: MachineCode, stretches: Sequence[Stretch[OpcodeCount]], layout: Layout) -> str:
    """Addresses, counters and moves are added up: a loop is known by the rest."""
    return render_sides(_titles(code), *count_sides(code, stretches), layout)


def count_sides(
    code: MachineCode, stretches: Sequence[Stretch[OpcodeCount]]
) -> tuple[Sequence[Column], list[Row]]:
    """The columns of a side, and rows with an entry for each side."""
    by_step = code.per == "step"
    columns = (
        Column("per warp" if code.per == "warp" else "iteration", True, gives_way=2 if by_step else None),
        Column(UNIT_TEXT["step"] if by_step else "", True),
        Column("opcode"),
        Column("source", gives_way=1),
        Column("samples", True, gives_way=0),
    )
    rows: list[Row] = []
    for stretch in _with_plumbing_last(stretches):
        rows += [RULE] if rows else []
        rows += [
            [_count_cells(one, sheet, code) for one, sheet in zip(row, code.kernels, strict=True)]
            for row in stretch
        ]
    return columns, rows


def _titles(code: MachineCode) -> list[str]:
    return [sheet.label for sheet in code.kernels]


def _with_plumbing_last(stretches: Sequence[Stretch[OpcodeCount]]) -> list[list[Counts]]:
    """The rows that tell something, and one for all the others; a stretch of others alone joins the one before."""
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
    return OpcodeCount(_OTHER, total, None, [], sum(samples) if samples else None) if there else None


def _count_cells(one: OpcodeCount | None, sheet: LoopSheet, code: MachineCode) -> SideRow:
    if one is None:
        return None
    style = "dim" if one.opcode == _OTHER else width_style(one.width_bits)
    per_step = one.count / sheet.steps if code.per == "step" and sheet.steps else None
    is_repeated = code.per == "step" and all(kernel.steps == 1 for kernel in code.kernels)
    return (
        Cell("" if is_repeated else number(one.count)),
        Cell("" if per_step is None else number(per_step), style),
        Cell(one.opcode, style),
        Cell(_short_places(one.places, sheet), "dim"),
        Cell("" if one.samples_pct is None else f"{one.samples_pct:.1f} %"),
    )


def _short_places(places: Sequence[str], sheet: LoopSheet) -> str:
    """Without the file where it is the loop's own, which the heading names."""
    own = (sheet.place or "").rpartition(":")[0]
    shown = [place.removeprefix(f"{own}:") if own else place for place in places[:_PLACES]]
    return ", ".join(shown) + (", …" if len(places) > _PLACES else "")


def instructions_text(code: MachineCode, stretches: Sequence[Stretch[Instruction]], layout: Layout) -> str:
    columns = (
        Column("executed", is_right=True, gives_way=1),
        Column("offset", is_right=True, gives_way=2),
        Column("instruction"),
        Column("source", gives_way=3),
        Column("samples", is_right=True, gives_way=0),
    )
    rows: list[Row] = []
    for stretch in stretches:
        rows += [RULE] if rows else []
        rows += [
            [_instruction_cells(one, sheet) for one, sheet in zip(row, code.kernels, strict=True)]
            for row in stretch.rows
        ]
    return render_sides(_titles(code), columns, rows, layout)


def _instruction_cells(one: Instruction | None, sheet: LoopSheet) -> SideRow:
    if one is None:
        return None
    style = "dim" if is_plumbing(one.opcode) else width_style(width_bits(one.opcode))
    return (
        Cell(number(one.executed)),
        Cell(f"{one.offset:x}", "dim"),
        Cell(one.text, style),
        Cell(_short_places([one.place] if one.place else [], sheet), "dim"),
        Cell("" if one.samples is None else number(one.samples)),
    )


def count_rows(
    code: MachineCode, stretches: Sequence[Stretch[OpcodeCount]]
) -> tuple[list[str], list[list[encode.Cell]]]:
    """Header and rows with values in full; `stretch` numbers what barriers and branches divide."""
    names = ("opcode", "bits", "count", "per_step", "samples_pct", "source")

    def cells(one: OpcodeCount, sheet: LoopSheet) -> list[encode.Cell]:
        per_step = one.count / sheet.steps if sheet.steps else None
        return [one.opcode, one.width_bits, one.count, per_step, one.samples_pct, " ".join(one.places)]

    return _rows(code, stretches, names, cells)


def instruction_rows(
    code: MachineCode, stretches: Sequence[Stretch[Instruction]]
) -> tuple[list[str], list[list[encode.Cell]]]:
    names = ("offset", "instruction", "bits", "executed", "samples", "source")

    def cells(one: Instruction, _: LoopSheet) -> list[encode.Cell]:
        return [one.offset, one.text, width_bits(one.opcode), one.executed, one.samples, one.place]

    return _rows(code, stretches, names, cells)


def _rows(
    code: MachineCode,
    stretches: Sequence[Stretch[Entry]],
    names: Sequence[str],
    cells: Callable[[Entry, LoopSheet], list[encode.Cell]],
) -> tuple[list[str], list[list[encode.Cell]]]:
    prefixes = ("before_", "after_") if len(code.kernels) > 1 else ("",)
    header = ["stretch", *(f"{prefix}{name}" for prefix in prefixes for name in names)]
    empty: list[encode.Cell] = [None] * len(names)
    rows: list[list[encode.Cell]] = []
    for position, stretch in enumerate(stretches):
        for row in stretch.rows:
            sides = [
                empty if one is None else cells(one, sheet)
                for one, sheet in zip(row, code.kernels, strict=True)
            ]
            rows.append([position, *(cell for side in sides for cell in side)])
    return header, rows
