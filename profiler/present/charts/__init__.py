"""Draws findings with Altair: a finding comes in, a chart goes out, always the same one for the same finding.

Every axis has its unit, and every title is a sentence computed from the data. Import this package only where
a chart is drawn, because Altair takes longer to import than a comparison takes to print.
"""

from profiler.present.charts.climb import climb_chart, ladder_chart
from profiler.present.charts.comparison import (
    comparison_chart,
    deltas_chart,
    spent_chart,
    stalls_chart,
    waterfall_chart,
)
from profiler.present.charts.instructions import hot_loop_chart, instructions_chart
from profiler.present.charts.ladder import ladder_times_chart, profiler_effect_chart, reference_chart
from profiler.present.charts.recording import (
    launches_chart,
    recording_chart,
    repeats_chart,
    source_lines_chart,
)
from profiler.present.charts.render import SUFFIXES, render, show
from profiler.present.charts.roofline import roofline_chart, roofline_sentence
from profiler.present.charts.rungs import rung_stalls_chart
from profiler.present.charts.steps import steps_chart
from profiler.present.charts.sweep import sweep_chart
from profiler.present.charts.tuning import tuning_chart

__all__ = [
    "SUFFIXES",
    "climb_chart",
    "comparison_chart",
    "deltas_chart",
    "hot_loop_chart",
    "instructions_chart",
    "ladder_chart",
    "ladder_times_chart",
    "launches_chart",
    "profiler_effect_chart",
    "recording_chart",
    "reference_chart",
    "render",
    "repeats_chart",
    "roofline_chart",
    "roofline_sentence",
    "rung_stalls_chart",
    "show",
    "source_lines_chart",
    "spent_chart",
    "stalls_chart",
    "steps_chart",
    "sweep_chart",
    "tuning_chart",
    "waterfall_chart",
]
