"""Charts of the cycles of every rung: the stall reasons side by side, in cycles or as shares."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import altair as alt
from altair.typing import ChartType

from profiler.analyse.ladder.climb import LadderSheet
from profiler.catalog.metrics import READY
from profiler.present import style
from profiler.present.charts.ladder import conditions_text, rung_title
from profiler.text import whole_percent

_WIDTH = 460
_ROW = 24
# Beyond this ratio of the longest to the shortest, bars of cycles would make the short ones unreadable.
_MOST_APART = 5.0
# Segments narrower than this part of the longest bar have no room for a figure.
_ROOM_FOR_TEXT = 0.065
_DIGITS, _DIGITS_OF_TIMES = 3, 4  # as in tables
READY_KEY = f"outlined: {style.READY_TITLE}"
STALLS_KEY = f"{READY_KEY}; figures: cycles per issued instruction of a warp"


def rung_stalls_chart(sheet: LadderSheet) -> ChartType | None:
    """Returns the stall reasons of each rung; None if no rung recorded them."""
    stalls = {rung_title(rung): rung.stalls for rung in sheet.rungs}
    return stalls_of(stalls, stalls_heading(stalls, conditions_text(sheet.ladder)))


def stalls_heading(stalls: Mapping[str, Mapping[str, float]], conditions: str) -> alt.TitleParams:
    return style.heading(_title(stalls), conditions, STALLS_KEY)


def stalls_of(
    stalls: Mapping[str, Mapping[str, float]],
    title: alt.TitleParams,
    named: Collection[str] = (),
    *,
    time_unit: str = "",
) -> ChartType | None:
    """Returns bars of cycles, or of shares if the totals are too far apart; the figures are always cycles.

    With a `time_unit`, all of it is times, and the bars are never shares: how long they are is the answer. The
    reasons that the title has `named` get a colour of their own, however small they are.
    """
    # A part below zero has no bar; the rest of a sum may be one.
    drawn = {name: {one: max(0.0, part) for one, part in reasons.items()} for name, reasons in stalls.items()}
    totals = {name: sum(reasons.values()) for name, reasons in drawn.items()}
    shown = {name: _named(reasons) for name, reasons in drawn.items() if totals[name] > 0}
    if not shown:
        return None
    longest, shortest = (pick(totals[name] for name in shown) for pick in (max, min))
    as_shares = not time_unit and longest > _MOST_APART * shortest
    colours = _colours(shown, [_reason(name) for name in named])
    rows = [
        row
        for name, reasons in shown.items()
        for row in _segments(name, reasons, colours, longest, as_shares)
    ]
    names = list(shown)
    base = style.rows_of(rows, "rung", _WIDTH, _ROW, "rung:N", "reason:N", "cycles:Q")
    cycles = "% of the cycles from one instruction of a warp to its next" if as_shares else "cycles per issue"
    axis = f"time under the profiler, {time_unit}" if time_unit else cycles
    x = alt.X("start:Q", title=axis, scale=alt.Scale(domain=[0, 100 if as_shares else longest], nice=False))
    bars = style.stall_bars(base, x, colours, 16, columns=6)
    texts = [_texts(rows, names, ink) for ink in (style.BLACK, style.WHITE, "")]
    digits = _DIGITS_OF_TIMES if time_unit else _DIGITS
    sums = {name: style.figure(sum(stalls[name].values()), digits) for name in names}
    whole = [{"rung": name, "total": f"{one} {time_unit or 'cycles'}"} for name, one in sums.items()]
    total = style.texts_beside(style.chart_of(whole).encode(y=alt.Y("rung:N", sort=names)), "total:N")
    return alt.layer(*bars, *texts, total).properties(title=title)


def _named(stalls: Mapping[str, float]) -> dict[str, float]:
    """Returns the stalls under the names that people use."""
    return {_reason(name): cycles for name, cycles in stalls.items()}


def _reason(name: str) -> str:
    return name.removeprefix("stall_")


def _colours(stalls: Mapping[str, Mapping[str, float]], named: Collection[str]) -> dict[str, str]:
    """Returns the colours of the reasons that are named, and of those that take the largest share of some rung."""
    largest: dict[str, float] = dict.fromkeys(named, 1.0)
    for reasons in stalls.values():
        total = sum(reasons.values())
        for reason, cycles in reasons.items():
            largest[reason] = max(largest.get(reason, 0.0), cycles / total)
    return style.stall_colours(largest)


def _segments(
    rung: str, stalls: Mapping[str, float], colours: Mapping[str, str], longest: float, as_shares: bool
) -> Iterator[style.Record]:
    total = sum(stalls.values())
    scale = 100 / total if as_shares else 1.0
    start = 0.0
    for reason, cycles in style.grouped_stalls(stalls, colours).items():
        end = start + cycles * scale
        if cycles > 0:
            wide = cycles * scale >= _ROOM_FOR_TEXT * (100 if as_shares else longest)
            yield {
                "rung": rung, "reason": reason, "cycles": cycles, "start": start, "end": end,
                "middle": (start + end) / 2, "text": style.figure(cycles, 2) if wide else "",
                "ink": style.ink_on(colours[reason]) if reason in colours else "",
            }  # fmt: skip
        start = end


def _texts(rows: Sequence[style.Record], names: list[str], ink: str) -> ChartType:
    """Returns the figures in an ink that is readable on their segment, or in the paper's ink on paper."""
    written = [row for row in rows if row["ink"] == ink and row["text"]]
    chart: ChartType = (
        style.chart_of(written)
        .mark_text(baseline="middle", fontSize=10, color=ink or alt.Undefined)
        .encode(y=alt.Y("rung:N", sort=names), x=alt.X("middle:Q"), text=alt.Text("text:N"))
    )
    return chart


def _title(stalls: Mapping[str, Mapping[str, float]]) -> str:
    waits = [
        (cycles / sum(reasons.values()), rung, name)
        for rung, reasons in stalls.items()
        for name, cycles in _named(reasons).items()
        if name not in READY and cycles > 0
    ]
    if not waits:
        return "No warp waits for anything"
    share, rung, name = max(waits, key=lambda wait: wait[0])
    return f"The largest share of waiting: {rung}, {whole_percent(100 * share)} % for {name}"
