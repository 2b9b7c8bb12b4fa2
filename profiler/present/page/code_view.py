"""The machine code of one hot loop, or of two side by side, as a page shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from profiler.analyse.code.machine_code import View, count_side_by_side, list_loads
from profiler.analyse.code.opcodes import width_bits
from profiler.analyse.findings import LoopInstruction
from profiler.present import sass
from profiler.present.code_rows import count_sides
from profiler.present.columns import RULE, Cell as SideCell, Column, Rows
from profiler.present.page.tables import Cell, Table, table
from profiler.text import number

_MOST_BLOCKS = 32


@dataclass(frozen=True)
class Loads:
    """What is said of an operand's loads, and the width in bits of each access, before and after."""

    sentence: str
    sides: list[list[int]]


@dataclass(frozen=True)
class SideBySide:
    """A table with the same columns for each side; a row's `sides` are None where the other stands alone."""

    caption: str
    titles: list[str]
    columns: list[Column]
    stretches: list[list[list[list[Cell] | None]]]


@dataclass(frozen=True)
class CodeView:
    scopes: list[tuple[str, str]]
    cautions: list[str]
    loads: list[Loads]
    figures: Table | None
    sides: SideBySide


def code_view(view: View) -> CodeView:
    code = view.finding
    labels = [sheet.label for sheet in code.kernels]
    columns, rows = count_sides(code, count_side_by_side(view.regions))
    return CodeView(
        scopes=[(sheet.label, sass.scope_text(sheet)) for sheet in code.kernels],
        cautions=sass.caution_lines(code),
        loads=_loads(view),
        figures=table(
            "Figures of the hot loop",
            (sass.figures_title(code), *labels),
            [(name, *map(number, values)) for name, values in sass.figures(code)],
            right=range(1, 1 + len(labels)),
        ),
        sides=_side_by_side("What the hot loop executes, by opcode", labels, columns, rows),
    )


def _loads(view: View) -> list[Loads]:
    code = view.finding
    if len(code.kernels) == 1:
        return [Loads(sentence, _pictures([one])) for sentence, one in list_loads(code.kernels[0], code.per)]
    return [
        Loads(
            change.sentence, _pictures([change.before, change.after]) if change.before != change.after else []
        )
        for change in code.changes
    ]


def _pictures(sides: Sequence[Sequence[LoopInstruction]]) -> list[list[int]]:
    """A block for each access; nothing where they cannot be drawn, or are too many to count."""
    drawn = [sass.access_widths(loads) for loads in sides]
    return drawn if all(0 < len(widths) <= _MOST_BLOCKS for widths in drawn) else []


def _side_by_side(caption: str, titles: list[str], columns: Sequence[Column], rows: Rows) -> SideBySide:
    """Without the columns that no row fills; a rule starts a new stretch."""
    shown = [
        place
        for place in range(len(columns))
        if any(side[place].text for row in rows for side in row if side is not None)
    ]
    stretches: list[list[list[list[Cell] | None]]] = [[]]
    for row in rows:
        if row == RULE:
            stretches.append([])
        else:
            stretches[-1].append([_cells(side, shown, columns) if side else None for side in row])
    return SideBySide(caption, titles, [columns[place] for place in shown], stretches)


def _cells(side: Sequence[SideCell], shown: Sequence[int], columns: Sequence[Column]) -> list[Cell]:
    made = []
    for place in shown:
        cell = side[place]
        bits = width_bits(cell.text) if columns[place].title == "opcode" else None
        made.append(
            Cell(cell.text, style=width_class(bits) if bits else "quiet" if cell.style == "dim" else "")
        )
    return made


def width_class(bits: int) -> str:
    """The class of an access this wide, as the charts class them."""
    return "narrow" if bits <= 32 else "double" if bits <= 64 else "wide"
