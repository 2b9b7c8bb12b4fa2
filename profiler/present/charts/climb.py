"""A whole ladder as one picture, and the climb: each rung in % of its reference at every workload, beside the published figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt
from altair.typing import ChartType

from profiler.analyse.ladder.climb import LadderSheet
from profiler.analyse.ladder.ladder import LadderFinding, RungFinding
from profiler.analyse.ladder.roofline import Roofline
from profiler.catalog.ladders.ladder import Published, size_text
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
from profiler.present.charts.steps import steps_chart
from profiler.text import shortened

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
