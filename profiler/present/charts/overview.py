"""All charts of one answer as one picture: a ladder, or one recording."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import altair as alt
from altair.typing import ChartType

from profiler.analyse.climb import LadderSheet
from profiler.analyse.ladder import LadderFinding
from profiler.analyse.profile import Profile
from profiler.analyse.roofline import Roofline
from profiler.analyse.source_lines import SourceLines
from profiler.catalog.ladder import Published
from profiler.catalog.metrics import DURATION
from profiler.errors import MetricsMissing
from profiler.present.charts.climb import climb_chart
from profiler.present.charts.ladder import (
    conditions_text,
    ladder_times_chart,
    profiler_effect_chart,
    reference_chart,
)
from profiler.present.charts.launches import launches_chart, repeats_chart
from profiler.present.charts.roofline import roofline_chart
from profiler.present.charts.rungs import rung_stalls_chart, stalls_of
from profiler.present.charts.source_lines import source_lines_chart
from profiler.present.charts.steps import steps_chart
from profiler.present.text import shortened

_NAME_WIDTH, _LABEL_WIDTH = 90, 40


def ladder_chart(
    sheet: LadderSheet,
    roofline: Roofline,
    workloads: Sequence[LadderFinding] = (),
    published: Mapping[int, Published] | None = None,
) -> ChartType:
    """How fast the rungs are and what changed at every step, beside what they wait for and stand under."""
    ladder = sheet.ladder
    columns = [
        [
            climb_chart(workloads, published or {}, ladder.workload) or reference_chart(ladder),
            ladder_times_chart(ladder),
            steps_chart(sheet),
        ],
        [rung_stalls_chart(sheet), roofline_chart(roofline), profiler_effect_chart(ladder)],
    ]
    title = f"{ladder.ladder}: {shortened(ladder.title, _NAME_WIDTH)}"
    return _side_by_side(columns, title, conditions_text(ladder))


def recording_chart(profile: Profile, stalls: Mapping[str, float], lines: SourceLines | None) -> ChartType:
    """How its launches and its times scatter, what its warps wait for, and on which lines."""
    where = {shortened(profile.label, _LABEL_WIDTH): stalls}
    columns = [
        [launches_chart(profile) if DURATION in profile.series else None, repeats_chart(profile)],
        [
            stalls_of(where, shortened(profile.gpu, _NAME_WIDTH)),
            source_lines_chart(lines) if lines else None,
        ],
    ]
    return _side_by_side(
        columns, shortened(profile.label, _NAME_WIDTH), shortened(profile.kernel, _NAME_WIDTH)
    )


def _side_by_side(columns: Iterable[Iterable[ChartType | None]], title: str, subtitle: str) -> ChartType:
    drawn = [[chart for chart in column if chart is not None] for column in columns]
    filled = [_apart(alt.vconcat(*column, spacing=32)) for column in drawn if column]
    if not filled:
        raise MetricsMissing(
            f"{title}: nothing was recorded that could be drawn",
            remedy="Record it with `prof collect`, or with one of the presets that `prof presets` lists.",
        )
    return _apart(alt.hconcat(*filled, spacing=40)).properties(
        title=alt.TitleParams(title, subtitle=[subtitle], fontSize=18, offset=24)
    )


def _apart(charts: alt.HConcatChart | alt.VConcatChart) -> ChartType:
    """Each chart with colours, shapes and legends of its own."""
    own: ChartType = charts.resolve_scale(color="independent", shape="independent").resolve_legend(
        color="independent", shape="independent"
    )
    return own
