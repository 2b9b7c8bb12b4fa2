"""Chart of a sweep: every point by the value of each parameter, and a line through the best of each value."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
from altair.typing import ChartType

from profiler.analyse.tuning import ParameterWorth, RankedPoint, TuningFinding
from profiler.catalog.ladders.ladder import size_text
from profiler.present import style
from profiler.present.documents.sweep import settings_text, short_names, worth_title
from profiler.text import counted, duration, shortened

_VALUE_WIDTH, _HEIGHT = 46, 200
_PANELS = 4  # side by side
_LOWEST_PCT = 50.0  # of the fastest's speed; slower points would squeeze all others together
_BRIEF, _FULL = "timed briefly", "timed in full"
_BEST, _OWN = "the best", "what the source has now"


def tuning_chart(finding: TuningFinding) -> ChartType:
    """Returns the chart of a finding with all timed points; points far behind are counted, not drawn."""
    fastest_ns = min(point.time_ns for point in finding.points)
    drawn: list[RankedPoint] = []
    left_out: list[RankedPoint] = []
    for point in finding.points:
        (drawn if 100 * fastest_ns / point.time_ns >= _LOWEST_PCT else left_out).append(point)
    rows: list[style.Record] = [
        {
            "settings": point.settings,
            "pct": 100 * fastest_ns / point.time_ns,
            "timed": _BRIEF if point.stage == "screen" else _FULL,
            "point": _point_text(point),
            "role": _role(point, finding),
        }
        for point in drawn
    ]
    lowest = min(99.0, *(row["pct"] for row in rows))
    y = alt.Scale(domain=[lowest - 0.05 * (100 - lowest), 100], nice=False)
    names = dict(zip(finding.best.settings, short_names(finding.best.settings), strict=True))
    panels = [
        _panel(one, names[one.name], rows, y, is_first=place % _PANELS == 0)
        for place, one in enumerate(finding.parameters)
    ]
    chart: ChartType = (
        alt.concat(*panels, columns=_PANELS, spacing=18)
        .resolve_scale(color="shared", shape="shared")
        .properties(title=style.heading(_title(finding), *_subtitle(finding, left_out)))
    )
    return chart


def _role(point: RankedPoint, finding: TuningFinding) -> str:
    if point.settings == finding.best.settings:
        return _BEST
    return _OWN if point.is_current else ""


def _panel(
    worth: ParameterWorth, name: str, rows: Sequence[style.Record], y: alt.Scale, *, is_first: bool
) -> ChartType:
    points = [{**row, "value": row["settings"][worth.name]} for row in rows]
    values = sorted({row["value"] for row in points})
    best = [
        {"value": value, "pct": max(row["pct"] for row in points if row["value"] == value)}
        for value in values
    ]
    x = alt.X("value:O", title=name, sort=values, axis=alt.Axis(labelAngle=0))
    title = "% of the fastest's speed" if is_first else None
    height = alt.Y("pct:Q", title=title, scale=y, axis=alt.Axis(minExtent=0, grid=True, tickCount=6))
    drawn = [{key: value for key, value in row.items() if key != "settings"} for row in points]
    base = style.chart_of(drawn, width=_VALUE_WIDTH * max(2, len(values)), height=_HEIGHT)
    others = base.transform_filter(alt.datum.role == "").mark_point(filled=False, size=36, opacity=1).encode(
        x=x, y=height, tooltip=["point:N", "timed:N"],
        color=style.coloured("timed:N", {_FULL: style.PURPLE, _BRIEF: style.GREY}),
        shape=alt.Shape("timed:N", scale=alt.Scale(domain=[_FULL, _BRIEF], range=["circle", "stroke"])),
    )  # fmt: skip
    line = style.chart_of(best).mark_line(color=style.ORANGE, strokeWidth=1.5).encode(x=x, y=height)
    diamonds = [
        base.transform_filter(alt.datum.role == role)
        .mark_point(filled=role == _BEST, size=110, shape="diamond", color=style.ORANGE, opacity=1)
        .encode(x=x, y=height, tooltip=["point:N", "timed:N", "role:N"])
        for role in (_OWN, _BEST)
    ]
    panel: ChartType = alt.layer(line, others, *diamonds)
    return panel


def _title(finding: TuningFinding) -> str:
    top = finding.parameters[0]
    return worth_title(top, finding) if top.worth_pct > 0 else "No parameter makes a difference"


def _subtitle(finding: TuningFinding, left_out: Sequence[RankedPoint]) -> list[str]:
    best = finding.best
    where = f"{finding.ladder} {finding.kernel}, {shortened(finding.gpu, 80)}, {size_text(finding.workload)}"
    whose = f"the best, and {_OWN}" if best.is_current else "the best"
    lines = [
        f"{where}; every point that is correct",
        f"diamond: {whose}, {_point_text(best)}; line: the best with each value",
    ]
    own = next((point for point in finding.points if point.is_current), best)
    if own is not best and own not in left_out:
        lines.append(f"open diamond: {_OWN}, {_point_text(own)}")
    if left_out:
        points, are = counted(len(left_out), "point"), "is" if len(left_out) == 1 else "are"
        which = f", {_OWN} among them" if own in left_out else ""
        lines.append(f"{points} at less than {_LOWEST_PCT:g} % of its speed {are} not drawn{which}")
    return lines


def _point_text(point: RankedPoint) -> str:
    return f"{settings_text(point.settings)}, {duration(point.time_ns)}"
