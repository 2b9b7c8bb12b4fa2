"""Charts of two kernels: the change of each metric, and all charts of a comparison as one picture."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import altair as alt
from altair.typing import ChartType

from profiler.analyse.findings import ComparisonFinding, Confirmation, MetricDelta, Side
from profiler.catalog.metrics import HEADLINE
from profiler.present.charts.attribution import stalls_chart, waterfall_chart
from profiler.present.charts.instructions import instructions_chart
from profiler.present.charts.style import (
    VERDICTS,
    Record,
    chart_of,
    figure,
    heading,
    readable_unit,
    rows_of,
    side_by_side,
    signed_figure,
    texts_beside,
)
from profiler.present.documents.comparison import claim_text
from profiler.text import shortened

_WIDTH = 380
_ROW = 26
_ARROWS = {"up": "↑", "down": "↓"}
_LABEL_WIDTH = 60


def comparison_chart(comparison: ComparisonFinding) -> ChartType:
    """Returns the metrics above the stalls, and the factors above the instructions, as far as recorded."""
    columns: list[list[ChartType | None]] = [
        [deltas_chart(comparison), stalls_chart(comparison)],
        [waterfall_chart(comparison), instructions_chart(comparison)],
    ]
    sides = _sides(comparison)
    title = claim_text(comparison.headline)
    return side_by_side(columns, title, [sides, *comparison.comparable.warnings], about=sides)


def deltas_chart(comparison: ComparisonFinding, metrics: Sequence[str] = HEADLINE) -> ChartType | None:
    """Returns each metric before and after, with the interval of the change; one panel for each unit.

    The result is None if the recordings have none of the metrics.
    """
    wanted = {name: place for place, name in enumerate(metrics)}
    shown = sorted(
        (delta for delta in comparison.metrics if delta.name in wanted), key=lambda one: wanted[one.name]
    )
    if not shown:
        return None
    panels = [
        _panel(unit, list(deltas))
        for unit, deltas in groupby(
            sorted(shown, key=lambda one: _first(shown, one.unit)), key=lambda d: d.unit
        )
    ]
    return alt.vconcat(*panels, spacing=14).properties(
        title=heading(
            _deltas_title(comparison, shown),
            "ring: before; dot: after, with the 95 % interval of the change; right: the change",
        )
    )


def _sides(comparison: ComparisonFinding) -> str:
    return " → ".join(_side(side) for side in (comparison.before, comparison.after))


def _side(side: Side) -> str:
    return f"{shortened(side.label, _LABEL_WIDTH)} ({shortened(side.gpu, _LABEL_WIDTH)})"


def _first(shown: Sequence[MetricDelta], unit: str) -> int:
    return next(place for place, one in enumerate(shown) if one.unit == unit)


def _panel(unit: str, deltas: Sequence[MetricDelta]) -> ChartType:
    largest = max(max(abs(one.before), abs(one.after)) for one in deltas)
    divisor, unit = readable_unit(unit, largest)
    rows = [_row(one, divisor) for one in deltas]
    names = [row["metric"] for row in rows]
    base = rows_of(rows, "metric", _WIDTH, _ROW, "metric:N", "before:Q", "after:Q", "label:N").encode(
        color=alt.Color("colour:N", scale=None)
    )
    x = alt.X(
        "before:Q", title=unit or "number", scale=alt.Scale(zero=True, nice=True), axis=alt.Axis(tickCount=6)
    )
    line = base.mark_rule(strokeWidth=3, opacity=0.55).encode(x=x, x2=alt.X2("after:Q"))
    before = base.mark_point(size=60, filled=False, strokeWidth=2, opacity=1).encode(x=x)
    after = base.mark_point(size=70, filled=True, opacity=1).encode(x=alt.X("after:Q"))
    interval = base.mark_rule(strokeWidth=9, opacity=0.35).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"))
    label = texts_beside(chart_of(rows).encode(y=alt.Y("metric:N", sort=names)))
    return alt.layer(line, interval, before, after, label)


def _row(one: MetricDelta, divisor: float) -> Record:
    low, high = one.ci or (one.delta, one.delta)
    reach = f" ± {figure((high - low) / 2 / divisor, 2)}" if one.ci else ""
    return {
        "metric": shortened(one.name, _LABEL_WIDTH),
        "before": one.before / divisor,
        "after": one.after / divisor,
        "low": (one.before + low) / divisor,
        "high": (one.before + high) / divisor,
        "label": f"{signed_figure(one.delta / divisor)}{reach}, {one.verdict}",
        "colour": VERDICTS[one.verdict],
    }


def _deltas_title(comparison: ComparisonFinding, shown: Sequence[MetricDelta]) -> str:
    names = {one.name for one in shown}
    for confirmation in comparison.confirmations:
        if confirmation.confirmed and names.issuperset(check.metric for check in confirmation.checks):
            return f"{confirmation.name} confirmed: {_arrows(confirmation)}"
    certain = sum(one.verdict in ("better", "worse", "changed") for one in shown)
    return f"{certain} of {len(shown)} metrics differ beyond the noise"


def _arrows(confirmation: Confirmation) -> str:
    return " ".join(
        f"{check.metric.removesuffix('_pct').removeprefix('stall_')} {_ARROWS[check.expected]}"
        for check in confirmation.checks
    )
