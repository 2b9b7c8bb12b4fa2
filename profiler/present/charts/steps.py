"""The chart of a ladder's steps: the change of the time and of each counter at every step, with its interval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import altair as alt
from altair.typing import ChartType

from profiler.analyse.findings import CI, Speedup, VerdictName
from profiler.analyse.ladder.climb import LadderSheet
from profiler.analyse.ladder.ladder import HEADLINES
from profiler.catalog.metrics import BY_NAME, DURATION
from profiler.present import style
from profiler.present.charts.ladder import conditions_text, rung_title
from profiler.present.documents.ladder import branches_text
from profiler.text import shortened

_WIDTH, _ROW = 110, 20
_COLUMNS = 4
_ROOM_FOR_LABEL = 52
_NAME_WIDTH = 24


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
            _title(sheet),
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
    base = style.chart_of(rows, width=_WIDTH, height=_ROW * len(steps)).encode(
        y=y, tooltip=style.tooltips("step:N", "delta:Q", "low:Q", "high:Q", "verdict:N")
    )
    x = alt.X("delta:Q", title=unit, scale=alt.Scale(nice=False, padding=6), axis=alt.Axis(tickCount=3))
    shapes = alt.Scale(domain=verdicts, range=[style.VERDICT_SHAPES[one] for one in verdicts])
    colour = style.coloured("verdict:N", {one: style.VERDICTS[one] for one in verdicts})
    shape = alt.Shape("verdict:N", scale=shapes, legend=style.legend_below())
    zero = style.chart_of([{"delta": 0.0}]).mark_rule(strokeDash=[3, 3]).encode(x=x)
    reach = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"), color=colour)
    points = base.mark_point(filled=True, size=55, opacity=1).encode(x=x, color=colour, shape=shape)
    title = alt.TitleParams(shortened(name, _NAME_WIDTH), fontSize=11, offset=4, frame="group")
    return alt.layer(zero, reach, points, style.texts_beside(base)).properties(title=title)


def _rows(changes: Sequence[_Change]) -> Iterator[style.Record]:
    for change in changes:
        low, high = change.ci or (change.delta, change.delta)
        yield {
            "step": change.step, "delta": change.delta, "low": low, "high": high, "verdict": change.verdict,
            "label": style.signed_figure(change.delta, 2),
        }  # fmt: skip


def _title(sheet: LadderSheet) -> str:
    judged = list(_judged_steps(sheet).values())
    if not judged:
        return "Changes from rung to rung"
    better = sum(verdict == "better" for _, verdict in judged)
    return f"{better} of {len(judged)} steps make it faster beyond the noise"
