"""Charts of machine code: the executed instructions by opcode and width, and the hot loop of both sides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import altair as alt
from altair.typing import ChartType

from profiler.analyse.code.opcodes import is_plumbing, width_bits
from profiler.analyse.findings import ComparisonFinding, LoopInstruction, Opcode
from profiler.present import style
from profiler.text import shortened

_PANEL = 180
_ROW = 21
_MOST = 10
_NAME_WIDTH = 28
_NO_ACCESS, _NARROW, _DOUBLE, _WIDE = "no memory access", "up to 32 bits", "64 bits", "128 bits and more"
_COLOURS = {_NO_ACCESS: style.GREY, _NARROW: style.ORANGE, _DOUBLE: style.GREEN, _WIDE: style.PURPLE}


def instructions_chart(comparison: ComparisonFinding) -> ChartType | None:
    """Returns the opcodes whose counts changed most, coloured by access width; None if none changed."""
    opcodes = comparison.instructions.opcodes
    changed = [one for one in opcodes if one.before != one.after]
    if not changed:
        return None
    shown = sorted(changed, key=lambda one: (-abs(one.after - one.before), one.opcode))[:_MOST]
    divisor, unit = style.readable_unit("inst", max(max(one.before, one.after) for one in shown))
    rows = [
        _record(one.opcode, one.width_bits, side, getattr(one, side) / divisor)
        for one in shown
        for side in style.SIDES
    ]
    left = f"; {len(changed) - len(shown)} more changed" if len(changed) > len(shown) else ""
    return _panels(rows, f"{unit} per launch").properties(
        title=style.heading(_mix_title(opcodes), f"most changed first{left}")
    )


def hot_loop_chart(comparison: ComparisonFinding) -> ChartType | None:
    """Returns the instructions of a warp per step of the hot loop, or per iteration; None without a hot loop.

    Address arithmetic and counters are left out.
    """
    loop = comparison.instructions.hot_loop
    if loop is None:
        return None
    counts = [{one.opcode: one.count for one in side} for side in (loop.before, loop.after)]
    opcodes = dict.fromkeys(one.opcode for one in (*loop.before, *loop.after))
    names = [one for one in opcodes if not is_plumbing(one)]
    rows = [
        _record(name, width_bits(name), side, count.get(name, 0.0))
        for name in names
        for side, count in zip(style.SIDES, counts, strict=True)
    ]
    title = "; ".join(change.sentence for change in loop.changes) or _loop_title(loop.before, loop.after)
    return _panels(rows, f"instructions of a warp per {loop.per}").properties(title=style.heading(title))


def _record(opcode: str, bits: int | None, side: str, count: float) -> style.Record:
    return {
        "opcode": shortened(opcode, _NAME_WIDTH),
        "side": side,
        "count": count,
        "label": style.figure(count),
        "width": _class(bits),
    }


def _class(bits: int | None) -> str:
    if bits is None:
        return _NO_ACCESS
    return _NARROW if bits <= 32 else _DOUBLE if bits <= 64 else _WIDE


def _panels(rows: Sequence[style.Record], title: str) -> ChartType:
    largest = max(row["count"] for row in rows) or 1.0
    widths = {row["width"] for row in rows}
    colours = {name: one for name, one in _COLOURS.items() if name in widths}
    colour = style.coloured("width:N", colours, columns=3)

    def panels() -> Iterator[ChartType]:
        for side in style.SIDES:
            own = [row for row in rows if row["side"] == side]
            axis = alt.Axis() if side == style.SIDES[0] else None
            shown = ("side:N", "opcode:N", "width:N", "count:Q")
            base = style.rows_of(own, "opcode", _PANEL, _ROW, *shown, axis=axis)
            x = style.bar_axis("count", f"{side}: {title}", largest)
            yield alt.layer(base.mark_bar(height=13).encode(x=x, color=colour), style.figures_behind(base, x))

    return alt.hconcat(*panels(), spacing=14)


def _mix_title(opcodes: Sequence[Opcode]) -> str:
    before, after = (sum(getattr(one, side) for one in opcodes) for side in style.SIDES)
    if not before:
        return "Executed instructions"
    if before == after:
        return "As many instructions as before, but different ones"
    word = "fewer" if after < before else "more"
    return f"{style.figure(abs(100 * (after / before - 1)), 2)} % {word} instructions executed"


def _loop_title(before: Sequence[LoopInstruction], after: Sequence[LoopInstruction]) -> str:
    change = sum(one.count for one in after) - sum(one.count for one in before)
    if not change:
        return "The hot loop is as long as before"
    return f"The hot loop: {style.signed_figure(change)} instructions"
