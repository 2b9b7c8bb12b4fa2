"""All charts of one answer as one picture: a ladder, or one recording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from altair.typing import ChartType

from profiler.analyse.ladder.climb import LadderSheet
from profiler.analyse.ladder.ladder import LadderFinding
from profiler.analyse.ladder.roofline import Roofline
from profiler.analyse.recording.profile import Profile
from profiler.analyse.recording.source_lines import SourceLines
from profiler.catalog.ladders.ladder import Published
from profiler.catalog.metrics import DURATION
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
from profiler.present.charts.style import side_by_side
from profiler.text import shortened

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
    return side_by_side(columns, title, [conditions_text(ladder)])


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
    return side_by_side(
        columns, shortened(profile.label, _NAME_WIDTH), [shortened(profile.kernel, _NAME_WIDTH)]
    )
