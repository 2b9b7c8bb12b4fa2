"""Machine code on a page: the figures of one hot loop or two, what changed, and the code itself."""

from __future__ import annotations

from collections.abc import Sequence

from profiler.analyse.code.hot_loop import LoopSheet
from profiler.analyse.code.machine_code import UNIT_TEXT, MachineCode, list_loads
from profiler.analyse.code.opcodes import width_bits
from profiler.analyse.findings import LoopInstruction
from profiler.present import encode
from profiler.present.code_rows import width_style
from profiler.present.columns import Layout
from profiler.present.encode import Cell
from profiler.present.terminal import render_table, styled
from profiler.text import number, printable, shortened

_NAME_WIDTH, _NARROWEST_NAME = 100, 30
_WIDEST_PICTURE = 40
_WORD_BITS = 32
_NUMERIC = ("bits", "count", "per_step", "offset", "executed", "samples", "samples_pct")


def heading_text(code: MachineCode, layout: Layout) -> str:
    """Which kernels, which part of them, and what to be careful about."""
    lines = []
    for title, sheet in zip(side_titles(code), code.kernels, strict=True):
        room = layout.width - len(f"{title:<8}{printable(sheet.label)}: ") if layout.width else _NAME_WIDTH
        name = shortened(sheet.kernel_name, max(_NARROWEST_NAME, min(room, _NAME_WIDTH)))
        lines.append(f"{styled(f'{title:<8}', 'bold', colour=layout.colour)}{printable(sheet.label)}: {name}")
        lines.append(f"        {printable(scope_text(sheet))}")
    for caution in caution_lines(code):
        lines.append(styled(f"caution: {printable(caution)}", "yellow", colour=layout.colour))
    return "\n".join(lines)


def side_titles(code: MachineCode) -> tuple[str, ...]:
    return ("before", "after") if len(code.kernels) > 1 else ("kernel",)


def scope_text(sheet: LoopSheet) -> str:
    share = f"{number(sheet.executed_pct)} % of all executed"
    if sheet.scope == "function":
        place = f" from {sheet.place}" if sheet.place else ""
        return f"the whole function{place}, {number(sheet.iterations)} warps, {share}"
    place = sheet.place or f"{sheet.start:#x} to {sheet.end:#x}"
    return f"loop at {place}, {number(sheet.iterations_per_warp)} iterations a warp, {share}"


def caution_lines(code: MachineCode) -> list[str]:
    cautions = [
        f"{sheet.label}: {text}" if len(code.kernels) > 1 else text
        for sheet in code.kernels
        for text in sheet.cautions
    ]
    gpus = {sheet.gpu for sheet in code.kernels}
    if len(gpus) > 1:
        cautions.append(f"the GPU differs: {' against '.join(sheet.gpu for sheet in code.kernels)}")
    return cautions


# The figures


def figures_text(code: MachineCode, layout: Layout) -> str:
    titles = side_titles(code) if len(code.kernels) > 1 else ("",)
    return render_table(
        (figures_title(code), *titles),
        [(name, *map(number, values)) for name, values in figures(code)],
        right=range(1, 1 + len(code.kernels)),
        colour=layout.colour,
        width=layout.width,
    )


def figures_title(code: MachineCode) -> str:
    return "hot loop, per thread" if code.kernels[0].scope == "loop" else "whole function, per thread"


def figures(code: MachineCode) -> list[tuple[str, list[float | None]]]:
    """Each figure with its value on each side; without those that no side has."""
    by_step = code.per == "step"
    sheets = code.kernels
    unit = UNIT_TEXT[code.per]
    turn = "iteration" if sheets[0].scope == "loop" else "warp"
    steps = [sheet.steps if by_step and sheet.steps else 1 for sheet in sheets]
    shared = [sheet.shared for sheet in sheets]
    rows: list[tuple[str, list[float | None]]] = [
        (f"instructions per {turn}", [sheet.instructions for sheet in sheets]),
        (f"k-steps per {turn}", [sheet.steps for sheet in sheets]),
        (f"FMAs per {unit}", [sheet.fmas / n or None for sheet, n in zip(sheets, steps, strict=True)]),
        ("instructions per FMA", [sheet.instructions_per_fma for sheet in sheets]),
        ("FMA instructions, % of issue slots", [sheet.fma_issue_pct or None for sheet in sheets]),
        (f"shared loads per {unit}", [one.loads / n if one else None for one, n in zip(shared, steps, strict=True)]),
        ("bytes per shared load", [one.bytes_per_load if one else None for one in shared]),
        ("FMAs per shared load", [one.fmas_per_load or None if one else None for one in shared]),
        ("FMAs per shared element of 4 bytes", [one.fmas_per_word or None if one else None for one in shared]),
    ]  # fmt: skip
    return [(name, values) for name, values in rows if any(value is not None for value in values)]


# What loads the operands


def loads_text(code: MachineCode, layout: Layout) -> str:
    """A sentence for each operand, and its loads drawn: a block is an access, as long as it is wide."""
    lines = []
    for change in code.changes:
        lines.append(styled(change.sentence, "bold", colour=layout.colour))
        pictures = [_picture(side, layout) for side in (change.before, change.after)]
        if all(pictures) and change.before != change.after:
            lines.append("  " + "  ->  ".join(pictures))
    if len(code.kernels) == 1:
        for sentence, loads in list_loads(code.kernels[0], code.per):
            lines.append(styled(sentence, "bold", colour=layout.colour))
            lines += [f"  {picture}" for picture in [_picture(loads, layout)] if picture]
    return "\n".join(lines)


def _picture(loads: Sequence[LoopInstruction], layout: Layout) -> str:
    """Empty where it would not fit."""
    accesses = access_widths(loads)
    if sum(bits // _WORD_BITS + 1 for bits in accesses) > _WIDEST_PICTURE:
        return ""
    return " ".join(
        styled("█" * (bits // _WORD_BITS), width_style(bits), colour=layout.colour) for bits in accesses
    )


def access_widths(loads: Sequence[LoopInstruction]) -> list[int]:
    """The bits of each access; none where less than a whole one is made, or less than a word."""
    accesses = []
    for load in loads:
        bits = width_bits(load.opcode)
        if not bits or bits < _WORD_BITS or load.count != int(load.count):
            return []
        accesses += [bits] * int(load.count)
    return accesses


# For documents and programs


def machine_code_markdown(code: MachineCode, header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """The figures, the sentences, and the code as `header` and `rows`."""
    titles = side_titles(code)
    about = [
        (title, sheet.label, sheet.kernel_name, scope_text(sheet))
        for title, sheet in zip(titles, code.kernels, strict=True)
    ]
    sentences = [change.sentence for change in code.changes]
    if len(code.kernels) == 1:
        sentences = [sentence for sentence, _ in list_loads(code.kernels[0], code.per)]
    numeric = [index for index, name in enumerate(header) if name.endswith(_NUMERIC)]
    parts = [
        encode.to_markdown(("", "recording", "kernel", "code"), about),
        "\n".join(f"> **Caution:** {encode.markdown_text(text)}  " for text in caution_lines(code)),
        encode.to_markdown(
            (figures_title(code), *titles),
            [(name, *map(number, values)) for name, values in figures(code)],
            numeric=range(1, 1 + len(titles)),
        ),
        "\n".join(f"* {encode.markdown_text(sentence)}" for sentence in sentences),
        encode.to_markdown(header, [[_rounded(cell) for cell in row] for row in rows], numeric=numeric),
    ]
    return "\n\n".join(part for part in parts if part)


def _rounded(cell: Cell) -> Cell:
    return number(cell) if isinstance(cell, float) else cell
