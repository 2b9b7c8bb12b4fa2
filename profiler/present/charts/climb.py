"""The whole climb: every rung in % of its reference, under every workload it was timed at, beside what was published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt
from altair.typing import ChartType

from profiler.analyse.ladder import LadderFinding, RungFinding
from profiler.catalog.ladder import Published, size_text
from profiler.present.charts.ladder import rung_title
from profiler.present.charts.style import (
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    RED,
    Record,
    at_pixel,
    figure,
    heading,
    source,
    tooltips,
)
from profiler.present.text import shortened

_WIDTH, _ROW = 560, 30
_NAME_WIDTH = 40
# From light work to heavy.
_COLOURS = (ORANGE, GREEN, BLUE, PURPLE, RED)


def climb_chart(findings: Sequence[LadderFinding], published: Mapping[int, Published]) -> ChartType | None:
    """None unless the ladder was timed under several workloads, which the findings hold one by one."""
    rows = [
        _row(rung, finding.workload or {})
        for finding in findings
        for rung in finding.kernels
        if rung.reference_pct is not None and rung.basis == "unprofiled"
    ]
    workloads = list(dict.fromkeys(row["workload"] for row in rows))
    if len(workloads) < 2:
        return None
    order = {rung.kernel: rung_title(rung) for finding in findings for rung in finding.kernels}
    names = [order[kernel] for kernel in sorted(order) if order[kernel] in {row["rung"] for row in rows}]
    base = alt.Chart(source(rows)).encode(y=alt.Y("rung:N", sort=names, title=None))
    references = [next(row for row in rows if row["rung"] == name) for name in names]
    x = alt.X("pct:Q", title="% of the speed of the reference named at the right", scale=alt.Scale(zero=True))
    points = base.mark_point(filled=True, opacity=0.9, size=45).encode(
        x=x,
        yOffset=alt.YOffset("workload:N", sort=workloads),
        color=alt.Color(
            "workload:N",
            scale=alt.Scale(domain=workloads, range=list(_COLOURS[: len(workloads)])),
            legend=alt.Legend(title="workload", orient="bottom"),
        ),
        tooltip=tooltips("rung:N", "workload:N", "pct:Q", "reference:N"),
    )
    whole = alt.Chart(source([{"pct": 100.0}])).mark_rule(strokeDash=[3, 3]).encode(x=alt.X("pct:Q"))
    against = (
        base.mark_text(align="left", baseline="middle")
        .encode(x=at_pixel(_WIDTH + 12), text=alt.Text("reference:N"))
        .properties(data=source(references))
    )
    ticks = _published_ticks(base, order, published)
    return alt.layer(whole, *([ticks] if ticks is not None else []), points, against).properties(
        width=_WIDTH, height=_ROW * len(names), title=_title(findings, published)
    )


def _published_ticks(
    base: alt.Chart, order: Mapping[int, str], published: Mapping[int, Published]
) -> ChartType | None:
    rows = [
        {"rung": order[kernel], "pct": one.reference_pct, "gpu": one.gpu}
        for kernel, one in published.items()
        if kernel in order and one.reference_pct is not None
    ]
    if not rows:
        return None
    ticks: ChartType = (
        base.mark_tick(thickness=2, size=18)
        .encode(x=alt.X("pct:Q"), tooltip=tooltips("rung:N", "pct:Q", "gpu:N"))
        .properties(data=source(rows))
    )
    return ticks


def _row(rung: RungFinding, workload: Mapping[str, int]) -> Record:
    return {
        "rung": rung_title(rung), "workload": size_text(dict(workload)), "pct": rung.reference_pct,
        "reference": shortened(rung.reference, _NAME_WIDTH),
    }  # fmt: skip


def _title(findings: Sequence[LadderFinding], published: Mapping[int, Published]) -> alt.TitleParams:
    """Of the reference that the climb began with: that of other rungs is another matter."""
    largest = findings[-1]
    climbed = [rung for rung in largest.kernels if rung.kernel and rung.reference_pct is not None]
    climbed = [rung for rung in climbed if rung.reference == climbed[0].reference]
    title = shortened(largest.title, 100)
    if climbed:
        best = max(climbed, key=lambda rung: rung.reference_pct or 0.0)
        workload = size_text(largest.workload or {})
        title = f"{rung_title(best)} reaches {figure(best.reference_pct or 0.0)} % of {shortened(best.reference, _NAME_WIDTH)} at {workload}"
    gpus = sorted({shortened(one.gpu, _NAME_WIDTH) for one in published.values() if one.reference_pct})
    ticks = [f"Grey bars: as published, on {', '.join(gpus)}"] if gpus else []
    return heading(title, f"{shortened(largest.gpu, 120)}, medians without the profiler", *ticks)
