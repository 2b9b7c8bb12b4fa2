"""Charts of rungs under the ceilings measured on the same GPU: how much of its ceiling each rung reaches."""

from __future__ import annotations

import altair as alt
from altair.typing import ChartType

from profiler.analyse.ladder.roofline import DRAM, L2, Point, Roofline, Stream
from profiler.present import style
from profiler.present.charts.ladder import conditions_text, rung_title
from profiler.present.charts.roof import LEVELS, compute_ceilings, memory_ceilings, roof_chart

_WIDTH = 460
_ROW = 24
_STREAM_KEY = "bar: useful bytes; tick: all bytes that device memory moved, counted under the profiler"


def roofline_chart(roofline: Roofline) -> ChartType | None:
    """Returns the roof above bars that show how much of its ceiling each rung reaches.

    For a ladder that counts no operations, the bars compare the bytes moved with the ceiling of device
    memory. The result is None if a required ceiling was not measured; `roofline_sentence` names it.
    """
    if not _can_draw(roofline):
        return None
    drawn = [_reached(roofline)] if roofline.streams else [roof_chart(roofline), _reached(roofline)]
    notes = [_STREAM_KEY] if roofline.streams else []
    notes += [f"not measured: {', '.join(roofline.missing)}"] if roofline.missing else []
    if roofline.find(L2) and roofline.points and not any(point.l2_bytes for point in roofline.points):
        notes.append("without l2: its bytes were not counted")
    elif len(memory_ceilings(roofline)) > 1 and roofline.points:
        notes.append(f"a rung's number stands beside its point for {DRAM}")
    notes += [f"without {number}: {why}" for number, why in roofline.left_out.items()]
    title = style.heading(roofline_sentence(roofline), conditions_text(roofline), *notes)
    return style.apart(alt.vconcat(*drawn, spacing=24)).properties(title=title)


def roofline_sentence(roofline: Roofline) -> str:
    """Returns the message of the chart; if a ceiling is missing, says how to measure it."""
    missing = ", ".join(roofline.missing)
    if not _can_draw(roofline):
        if not (roofline.points or roofline.streams):
            return "No rung can be placed, because each was left out"
        measured = "Not every ceiling that is needed" if roofline.ceilings else "No ceiling"
        return f"{measured} was measured on {roofline.gpu} (missing: {missing}); `prof collect --ladder ceilings` measures them"
    candidates = [(one.ceiling_pct, rung_title(one), one.ceiling) for one in roofline.points]
    for one in roofline.streams:
        candidates.append((one.dram_pct if one.useful_pct is None else one.useful_pct, rung_title(one), DRAM))
    reached = [(pct, name, ceiling) for pct, name, ceiling in candidates if pct is not None]
    if not reached:
        return f"The ceilings of the rungs are not known (missing: {missing})"
    pct, name, ceiling = max(reached, key=lambda one: one[0])
    return f"{name} comes closest: it reaches {style.figure(pct)} % of its ceiling, {ceiling}"


def _can_draw(roofline: Roofline) -> bool:
    if roofline.find(DRAM) is None:
        return False
    return bool(roofline.streams) or (bool(roofline.points) and bool(compute_ceilings(roofline)))


def _reached(roofline: Roofline) -> ChartType:
    rows = [_point_row(point) for point in roofline.points] + [_stream_row(one) for one in roofline.streams]
    highest = max(100.0, *(row[name] or 0.0 for row in rows for name in ("pct", "moved")))
    x = alt.X(
        "pct:Q",
        title="% of device memory's ceiling" if roofline.streams else "% of the ceiling that it stands under",
        scale=alt.Scale(domain=[0, highest]),
        axis=alt.Axis(tickCount=5),
    )
    base = style.rows_of(rows, "rung", _WIDTH, _ROW, "rung:N", "label:N")
    bars = base.mark_bar(height=14).encode(x=x, color=alt.Color("colour:N", scale=None))
    moved = base.mark_tick(color=style.ORANGE, thickness=3, height=20, opacity=1).encode(x=alt.X("moved:Q"))
    text = style.texts_beside(base)
    return alt.layer(style.dashed_line("pct", 100.0), bars, *([moved] if roofline.streams else []), text)


def _point_row(point: Point) -> style.Record:
    pct = point.ceiling_pct
    label = "not known" if pct is None else f"{style.figure(pct)} % of {point.ceiling}"
    return {
        "rung": rung_title(point), "pct": pct, "moved": None, "label": label,
        "colour": LEVELS.get(point.ceiling or "", style.GREY),
    }  # fmt: skip


def _stream_row(stream: Stream) -> style.Record:
    parts = [
        f"{style.figure(rate)} GB/s {what}"
        for rate, what in ((stream.useful_gbytes_per_s, "useful"), (stream.dram_gbytes_per_s, "moved"))
        if rate is not None
    ]
    return {
        "rung": rung_title(stream), "pct": stream.useful_pct, "moved": stream.dram_pct, "label": ", ".join(parts),
        "colour": LEVELS[DRAM],
    }  # fmt: skip
