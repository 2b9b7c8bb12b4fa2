"""Shows the machine code of one hot loop, or of two side by side, on a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from profiler.analyse.code.machine_code import View
from profiler.present.document import Accesses, CodeBlock, CodeCell, CodeColumn
from profiler.present.documents.code import caution_texts, figures_table, load_blocks, scope_text
from profiler.present.documents.parts.code_rows import count_code
from profiler.present.page.tables import PageCell, PageTable, page_table

_MOST_BLOCKS = 32


@dataclass(frozen=True)
class SideBySide:
    """A table with the same columns for each side; a row's side is None if only the other side has it."""

    caption: str
    titles: list[str]
    columns: list[CodeColumn]
    stretches: list[list[list[list[PageCell] | None]]]


@dataclass(frozen=True)
class CodeView:
    scopes: list[tuple[str, str]]
    cautions: list[str]
    loads: list[Accesses]
    figures: PageTable | None
    sides: SideBySide


def code_view(view: View) -> CodeView:
    code = view.finding
    figures = figures_table(code, [sheet.label for sheet in code.kernels])
    return CodeView(
        scopes=[(sheet.label, scope_text(sheet)) for sheet in code.kernels],
        cautions=caution_texts(code),
        loads=[_countable(one) for one in load_blocks(code)],
        figures=page_table("Figures of the hot loop", figures),
        sides=_side_by_side("What the hot loop executes, by opcode", count_code(code, view.counts())),
    )


def _countable(loads: Accesses) -> Accesses:
    """Returns the loads, without their blocks if there are too many to count by eye."""
    return loads if all(len(side) <= _MOST_BLOCKS for side in loads.sides) else replace(loads, sides=[])


def _side_by_side(caption: str, code: CodeBlock) -> SideBySide:
    """Returns the table without the columns that no row fills."""
    shown = [
        place
        for place in range(len(code.columns))
        if any(side[place].text for rows in code.stretches for row in rows for side in row if side)
    ]
    stretches = [
        [[_cells(side, shown, code.columns) if side else None for side in row] for row in rows]
        for rows in code.stretches
    ]
    return SideBySide(caption, list(code.titles), [code.columns[place] for place in shown], stretches)


def _cells(side: Sequence[CodeCell], shown: Sequence[int], columns: Sequence[CodeColumn]) -> list[PageCell]:
    made = []
    for place in shown:
        cell = side[place]
        bits = cell.width_bits if columns[place].title == "opcode" else None
        made.append(PageCell(cell.text, style=width_class(bits) if bits else "quiet" if cell.quiet else ""))
    return made


def width_class(bits: int) -> str:
    """Returns the CSS class of an access of this width, in the classes that the charts use."""
    return "narrow" if bits <= 32 else "double" if bits <= 64 else "wide"
