"""Chooses the charts of each view, and starts to draw them in the background."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from profiler.analyse.findings import Comparison
from profiler.analyse.ladder.climb import LadderSheet
from profiler.analyse.ladder.roofline import Roofline
from profiler.analyse.recording.profile import Profile
from profiler.analyse.recording.source_lines import SourceLines
from profiler.catalog.metrics import DURATION
from profiler.present.page.contents import Pictures
from profiler.present.page.drawing import Drawing


def ladder_pictures(sheet: LadderSheet, roofline: Roofline, drawing: Drawing) -> Pictures:
    return {
        "reference": drawing.ask("reference_chart", sheet.ladder),
        "steps": drawing.ask("steps_chart", sheet),
        "stalls": drawing.ask("rung_stalls_chart", sheet),
        "times": drawing.ask("ladder_times_chart", sheet.ladder),
        "roofline": drawing.ask("roofline_chart", roofline),
        "effect": drawing.ask("profiler_effect_chart", sheet.ladder),
    }


def pair_pictures(comparison: Comparison, headline: Sequence[str], drawing: Drawing) -> Pictures:
    return {
        "deltas": drawing.ask("deltas_chart", comparison, metrics=headline),
        "waterfall": drawing.ask("waterfall_chart", comparison),
        "stalls": drawing.ask("stalls_chart", comparison),
        "instructions": drawing.ask("instructions_chart", comparison),
    }


def kernel_pictures(profile: Profile, lines: SourceLines | None, drawing: Drawing) -> Pictures:
    """Returns the pictures of one kernel; a single launch has no scatter to show."""
    pictures = {}
    if profile.launches > 1 and DURATION in profile.series:
        # The profile travels to another process, so it carries only what the chart reads.
        series = {DURATION: profile.series[DURATION]}
        small = replace(profile, run=None, raw={}, opcodes={}, series=series)
        pictures["launches"] = drawing.ask("launches_chart", small)
    if lines is not None:
        pictures["lines"] = drawing.ask("source_lines_chart", lines)
    return pictures
