"""Charts of one recording: all of it as one picture, and the scatter of its launches and of its timed repeats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

import altair as alt
from altair.typing import ChartType

from profiler.analyse.recording.profile import Profile
from profiler.analyse.recording.source_lines import SourceLines
from profiler.analyse.statistics.differences import Readings
from profiler.catalog.metrics import DURATION
from profiler.errors import MetricNotFound
from profiler.present.charts.rungs import stalls_heading, stalls_of
from profiler.present.charts.source_lines import source_lines_chart
from profiler.present.charts.style import (
    CATEGORIES,
    TITLE_ABOVE,
    Record,
    chart_of,
    figure,
    heading,
    legend_below,
    names_in,
    readable_unit,
    side_by_side,
    texts_beside,
    tooltips,
)
from profiler.text import report_name, shortened

_WIDTH, _HEIGHT = 460, 180
_NAME_WIDTH, _TITLE_WIDTH, _LABEL_WIDTH = 60, 90, 40
_MANY = 60
_FEWEST = 2  # points that scatter


def recording_chart(profile: Profile, stalls: Mapping[str, float], lines: SourceLines | None) -> ChartType:
    """Returns the launches and times of one kernel, its stall reasons, and its hottest source lines."""
    where = {shortened(profile.label, _LABEL_WIDTH): stalls}
    columns = [
        [launches_chart(profile) if DURATION in profile.series else None, repeats_chart(profile)],
        [
            stalls_of(where, stalls_heading(where, shortened(profile.gpu, _TITLE_WIDTH))),
            source_lines_chart(lines) if lines else None,
        ],
    ]
    return side_by_side(
        columns, shortened(profile.label, _TITLE_WIDTH), [shortened(profile.kernel, _TITLE_WIDTH)]
    )


def launches_chart(profile: Profile, metric: str = DURATION) -> ChartType | None:
    """Returns a point for each launch, and their mean as a line; processes differ in colour and shape.

    The result is None for a single launch, which scatters around nothing.
    """
    series = profile.find(metric)
    if series is None or not series.values:
        raise MetricNotFound(f"{profile.label}: '{metric}' was not recorded")
    if len(series.values) < _FEWEST:
        return None
    name = "time under the profiler" if metric == DURATION else series.metric.name
    title = _title(profile, name, series.values, "launches")
    return _scatter(series.values, "launch", name, series.metric.unit, ("mean", series.values.mean), title)


def repeats_chart(profile: Profile) -> ChartType | None:
    """Returns a point for each time without the profiler, and their median; None if there are none."""
    if len(profile.timings_ns) < _FEWEST:
        return None
    title = _title(profile, "time without the profiler", profile.timings_ns, "repeats")
    middle = ("median", median(profile.timings_ns))
    return _scatter(profile.timings_ns, "repeat", "time without the profiler", "ns", middle, title)


def _scatter(
    values: Readings, what: str, name: str, unit: str, middle: tuple[str, float], title: str
) -> ChartType:
    divisor, unit = readable_unit(unit, max(abs(value) for value in values))
    rows: list[Record] = [
        {"number": number, "value": value / divisor, "process": str(process)}
        for number, (value, process) in enumerate(zip(values, values.processes, strict=True), start=1)
    ]
    processes = names_in(rows, "process")
    colours = [CATEGORIES[place % len(CATEGORIES)] for place in range(len(processes))]
    legend = legend_below("process") if len(processes) > 1 else None
    points = (
        chart_of(rows, width=_WIDTH, height=_HEIGHT)
        .mark_point(filled=True, size=60 if len(rows) <= _MANY else 20, opacity=0.9)
        .encode(
            x=alt.X(
                "number:Q",
                title=f"{what}, number",
                scale=alt.Scale(domain=[0.5, len(rows) + 0.5], nice=False),
                axis=alt.Axis(tickMinStep=1, format="d", grid=False),
            ),
            y=alt.Y(
                "value:Q",
                title=f"{name}, {unit}",
                scale=alt.Scale(zero=False, padding=8),
                axis=alt.Axis(grid=True, minExtent=0, **TITLE_ABOVE),
            ),
            color=alt.Color("process:N", scale=alt.Scale(domain=processes, range=colours), legend=legend),
            shape=alt.Shape("process:N", scale=alt.Scale(domain=processes), legend=legend),
            tooltip=tooltips("number:Q", "process:N", "value:Q"),
        )
    )
    label, value = middle
    shown = [{"value": value / divisor, "label": f"{label} {figure(value / divisor, 4)} {unit}"}]
    line = chart_of(shown).mark_rule(strokeDash=[4, 3]).encode(y=alt.Y("value:Q"))
    text = texts_beside(chart_of(shown).encode(y=alt.Y("value:Q")))
    return alt.layer(line, points, text).properties(title=heading(title))


def _title(profile: Profile, name: str, values: Sequence[float], what: str) -> str:
    mean = sum(values) / len(values)
    where = f"{shortened(report_name(profile.label), _NAME_WIDTH)}: {shortened(name, _NAME_WIDTH)}"
    if not mean:
        return where
    spread = 100 * (max(values) - min(values)) / abs(mean)
    return f"{where} of {len(values)} {what} within {figure(spread, 2)} % of each other"
