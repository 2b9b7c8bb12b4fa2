"""Which charts each view shows: asked for all at once, so that they are drawn while the text is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import Any

from profiler.present import charts
from profiler.present.page.contents import Contents, KernelPart, PairPart
from profiler.present.page.drawing import ChartFunction, Drawing, Picture

Pictures = Mapping[str, "Future[Picture | None]"]
_Asked = dict[str, tuple[ChartFunction, Any]]


def ladder_pictures(contents: Contents, drawing: Drawing) -> Pictures:
    sheet, roofline = contents.ladder, contents.roofline
    if sheet is None:
        return {}
    asked: _Asked = {
        "reference": (charts.reference_chart, sheet.ladder),
        "stalls": (charts.rung_stalls_chart, sheet),
        "steps": (charts.steps_chart, sheet),
        "times": (charts.ladder_times_chart, sheet.ladder),
        "effect": (charts.profiler_effect_chart, sheet.ladder),
    }
    if roofline is not None:
        asked["roofline"] = (charts.roofline_chart, roofline)
    return _ask(asked, drawing)


def pair_pictures(pair: PairPart, headline: Sequence[str], drawing: Drawing) -> Pictures:
    if pair.comparison is None:
        return {}
    return _ask(
        {
            "deltas": (partial(charts.deltas_chart, metrics=headline), pair.comparison),
            "waterfall": (charts.waterfall_chart, pair.comparison),
            "stalls": (charts.stalls_chart, pair.comparison),
            "instructions": (charts.instructions_chart, pair.comparison),
        },
        drawing,
    )


def kernel_pictures(part: KernelPart, drawing: Drawing) -> Pictures:
    """Of one launch there is nothing to see scatter."""
    asked: _Asked = {}
    if part.profile is not None and part.profile.launches > 1 and "duration_ns" in part.profile.series:
        # Without what the chart does not read, since it travels to another process.
        series = {"duration_ns": part.profile.series["duration_ns"]}
        asked["launches"] = (
            charts.launches_chart,
            replace(part.profile, run=None, raw={}, opcodes={}, series=series),
        )
    if part.lines is not None:
        asked["lines"] = (charts.source_lines_chart, part.lines)
    return _ask(asked, drawing)


def _ask(asked: _Asked, drawing: Drawing) -> Pictures:
    return {name: drawing.ask(*one) for name, one in asked.items()}
