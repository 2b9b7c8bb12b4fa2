"""A whole ladder as one picture, and the climb: each rung in % of its reference at every workload.

The climb also shows the published figures. The chart of the steps has the change at every step, with its interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import altair as alt
from altair.typing import ChartType

from profiler.analyse.findings import CI, Speedup, VerdictName
from profiler.analyse.ladder.climb import LadderSheet
from profiler.analyse.ladder.ladder import HEADLINES, LadderFinding, RungFinding
from profiler.analyse.ladder.roofline import Roofline
from profiler.catalog.ladders.ladder import Published, size_text
from profiler.catalog.metrics import BY_NAME, DURATION
from profiler.present import style
from profiler.present.charts.ladder import (
    conditions_text,
    ladder_times_chart,
    profiler_effect_chart,
    reached_title,
    reference_chart,
    rung_title,
)
from profiler.present.charts.roofline import roofline_chart
from profiler.present.charts.rungs import rung_stalls_chart
from profiler.present.documents.ladder import branches_text
from profiler.text import shortened

_STEP_WIDTH = 110
_STEP_ROW = 20
_COLUMNS = 4
_ROOM_FOR_LABEL = 52
_PANEL_NAME_WIDTH = 24


class _Change(NamedTuple):
    """The change of one figure at one step, in the unit of its panel."""

    step: str
    delta: float
    ci: CI | None
    verdict: VerdictName


def steps_chart(sheet: LadderSheet) -> ChartType | None:
    """Returns a panel for the time and each metric of the ladder's view, with a row for each step; None if no two rungs compare."""
    names = {rung.kernel: rung_title(rung) for rung in sheet.ladder.kernels}
    panels = [("time", "% of the rung it follows", _time_changes(sheet, names))]
    for metric in HEADLINES[sheet.ladder.view]:
        if metric != DURATION:  # the time under the profiler; the first panel has the time that counts
            panels.append((metric, _unit(sheet, metric), _metric_changes(sheet, metric, names)))
    filled = [panel for panel in panels if panel[2]]
    if not filled:
        return None
    judged = _judged_steps(sheet)
    steps = [names[step.kernel] for step in sheet.steps if step.metrics or step.kernel in judged]
    seen = {change.verdict for _, _, changes in filled for change in changes}
    verdicts = [one for one in style.VERDICTS if one in seen]
    drawn = [
        _panel(*panel, steps, verdicts, named=place % _COLUMNS == 0) for place, panel in enumerate(filled)
    ]
    return alt.concat(*drawn, columns=_COLUMNS, spacing={"row": 18, "column": _ROOM_FOR_LABEL}).properties(
        title=style.heading(
            _steps_title(sheet),
            f"{conditions_text(sheet.ladder)}; each rung against the one before{branches_text(sheet.ladder)}, "
            "with its 95 % interval",
        )
    )


def _judged_steps(sheet: LadderSheet) -> dict[int, tuple[Speedup, VerdictName]]:
    """Returns how much faster each rung is than the one that it follows, where the time of both is known."""
    rungs = sheet.ladder.kernels
    return {rung.kernel: (rung.speedup, rung.verdict) for rung in rungs if rung.speedup and rung.verdict}


def _time_changes(sheet: LadderSheet, names: dict[int, str]) -> list[_Change]:
    """Returns the time after each step in % of the time before it, the inverse of the speedup."""
    changes = []
    for number, (speedup, verdict) in _judged_steps(sheet).items():
        ci = speedup.ci
        low_high = (_less_pct(ci[1]), _less_pct(ci[0])) if ci and min(ci) > 0 else None
        changes.append(_Change(names[number], _less_pct(speedup.ratio), low_high, verdict))
    return changes


def _less_pct(ratio: float) -> float:
    return 100 * (1 / ratio - 1)


def _metric_changes(sheet: LadderSheet, metric: str, names: dict[int, str]) -> list[_Change]:
    return [
        _Change(names[step.kernel], one.delta, one.ci, one.verdict)
        for step in sheet.steps
        for one in step.metrics
        if one.name == metric
    ]


def _unit(sheet: LadderSheet, metric: str) -> str:
    """Returns the unit of a change; percentages change by points."""
    recorded = (one.unit for step in sheet.steps for one in step.metrics if one.name == metric)
    unit = BY_NAME[metric].unit if metric in BY_NAME else next(recorded, "")
    return {"%": "percentage points", "": "number"}.get(unit, unit)


def _divided(change: _Change, divisor: float) -> _Change:
    low_high = (change.ci[0] / divisor, change.ci[1] / divisor) if change.ci else None
    return change._replace(delta=change.delta / divisor, ci=low_high)


def _panel(
    name: str,
    unit: str,
    changes: Sequence[_Change],
    steps: list[str],
    verdicts: Sequence[VerdictName],
    *,
    named: bool,
) -> ChartType:
    divisor, unit = style.readable_unit(unit, max(abs(one.delta) for one in changes))
    rows = list(_rows([_divided(one, divisor) for one in changes]))
    y = alt.Y(
        "step:N",
        sort=steps,
        scale=alt.Scale(domain=steps),
        title=None,
        axis=alt.Axis(grid=True) if named else alt.Axis(grid=True, labels=False, minExtent=0),
    )
    base = style.chart_of(rows, width=_STEP_WIDTH, height=_STEP_ROW * len(steps)).encode(
        y=y, tooltip=style.tooltips("step:N", "delta:Q", "low:Q", "high:Q", "verdict:N")
    )
    x = alt.X("delta:Q", title=unit, scale=alt.Scale(nice=False, padding=6), axis=alt.Axis(tickCount=3))
    shapes = alt.Scale(domain=verdicts, range=[style.VERDICT_SHAPES[one] for one in verdicts])
    colour = style.coloured("verdict:N", {one: style.VERDICTS[one] for one in verdicts})
    shape = alt.Shape("verdict:N", scale=shapes, legend=style.legend_below())
    zero = style.chart_of([{"delta": 0.0}]).mark_rule(strokeDash=[3, 3]).encode(x=x)
    reach = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"), color=colour)
    points = base.mark_point(filled=True, size=55, opacity=1).encode(x=x, color=colour, shape=shape)
    title = alt.TitleParams(shortened(name, _PANEL_NAME_WIDTH), fontSize=11, offset=4, frame="group")
    return alt.layer(zero, reach, points, style.texts_beside(base)).properties(title=title)


def _rows(changes: Sequence[_Change]) -> Iterator[style.Record]:
    for change in changes:
        low, high = change.ci or (change.delta, change.delta)
        yield {
            "step": change.step, "delta": change.delta, "low": low, "high": high, "verdict": change.verdict,
            "label": style.signed_figure(change.delta, 2),
        }  # fmt: skip


def _steps_title(sheet: LadderSheet) -> str:
    judged = list(_judged_steps(sheet).values())
    if not judged:
        return "Changes from rung to rung"
    better = sum(verdict == "better" for _, verdict in judged)
    return f"{better} of {len(judged)} steps make it faster beyond the noise"


_WIDTH, _ROW = 560, 30
_NAME_WIDTH, _TITLE_WIDTH = 40, 90
# From light work to heavy work.
_COLOURS = (style.ORANGE, style.GREEN, style.PURPLE, style.GREY)


def ladder_chart(
    sheet: LadderSheet,
    roofline: Roofline,
    workloads: Sequence[LadderFinding] = (),
    published: Mapping[int, Published] | None = None,
) -> ChartType:
    """Returns all charts of a ladder: times and steps on the left, stalls and the roofline on the right."""
    ladder = sheet.ladder
    columns = [
        [
            climb_chart(workloads, published or {}, ladder.workload) or reference_chart(ladder),
            ladder_times_chart(ladder),
            steps_chart(sheet),
        ],
        [rung_stalls_chart(sheet), roofline_chart(roofline), profiler_effect_chart(ladder)],
    ]
    title = f"{ladder.ladder}: {shortened(ladder.title, _TITLE_WIDTH)}"
    return style.side_by_side(columns, title, [conditions_text(ladder)])


def climb_chart(
    findings: Sequence[LadderFinding],
    published: Mapping[int, Published],
    workload: Mapping[str, int] | None = None,
) -> ChartType | None:
    """Returns the speed of each rung in % of its reference, at every workload that was timed.

    Each finding holds one workload. The title is about the last of them, or about the `workload` given. The
    result is None unless there are several workloads, the one given among them.
    """
    timed = [finding for finding in findings if _timed(finding)]
    titled = next((one for one in reversed(timed) if workload in (None, one.workload)), None)
    rows = [_row(rung, finding.workload or {}) for finding in timed for rung in _timed(finding)]
    workloads = style.names_in(rows, "workload")
    if len(workloads) < 2 or titled is None:
        return None
    order = {rung.kernel: rung_title(rung) for finding in findings for rung in finding.kernels}
    names = [order[kernel] for kernel in sorted(order) if order[kernel] in {row["rung"] for row in rows}]
    base = style.chart_of(rows).encode(y=alt.Y("rung:N", sort=names, title=None))
    references = [next(row for row in rows if row["rung"] == name) for name in names]
    x = alt.X("pct:Q", title="% of the speed of the reference named at the right", scale=alt.Scale(zero=True))
    points = base.mark_point(filled=True, opacity=0.9, size=45).encode(
        x=x,
        yOffset=alt.YOffset("workload:N", sort=workloads),
        color=style.coloured("workload:N", dict(zip(workloads, _COLOURS, strict=False)), "workload"),
        tooltip=style.tooltips("rung:N", "workload:N", "pct:Q", "reference:N"),
    )
    ticks = _published_rows(order, published)
    against = style.texts_beside(base, "reference:N").properties(data=style.source(references))
    drawn = [_published_ticks(base, ticks)] if ticks else []
    return alt.layer(style.dashed_line("pct", 100.0), *drawn, points, against).properties(
        width=_WIDTH, height=_ROW * len(names), title=_title(titled, ticks)
    )


def _timed(finding: LadderFinding) -> list[RungFinding]:
    return [rung for rung in finding.kernels if rung.reference_pct is not None and rung.basis == "unprofiled"]


def _published_rows(order: Mapping[int, str], published: Mapping[int, Published]) -> list[style.Record]:
    return [
        {"rung": order[kernel], "pct": one.reference_pct, "gpu": shortened(one.gpu, _NAME_WIDTH)}
        for kernel, one in published.items()
        if kernel in order and one.reference_pct is not None
    ]


def _published_ticks(base: alt.Chart, rows: Sequence[style.Record]) -> ChartType:
    ticks: ChartType = (
        base.mark_tick(thickness=2, size=18)
        .encode(x=alt.X("pct:Q"), tooltip=style.tooltips("rung:N", "pct:Q", "gpu:N"))
        .properties(data=style.source(rows))
    )
    return ticks


def _row(rung: RungFinding, workload: Mapping[str, int]) -> style.Record:
    return {
        "rung": rung_title(rung), "workload": size_text(dict(workload)), "pct": rung.strongest[0],
        "reference": shortened(rung.strongest[1], _NAME_WIDTH),
    }  # fmt: skip


def _title(titled: LadderFinding, ticks: Sequence[style.Record]) -> alt.TitleParams:
    """Returns a title about the rung that the headline of this workload names."""
    climbed = [rung for rung in _timed(titled) if rung.kernel]
    title = shortened(titled.title, 100)
    if climbed:
        title = f"{reached_title(titled, climbed)} at {size_text(titled.workload or {})}"
    gpus = sorted({row["gpu"] for row in ticks})
    key = [f"Grey bars: as published, on {', '.join(gpus)}"] if gpus else []
    return style.heading(title, f"{shortened(titled.gpu, 120)}, medians without the profiler", *key)
