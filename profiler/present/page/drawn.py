"""Makes the contents of a page from a report; each chart is drawn in the background while the rest is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiler.present.page.contents import Contents, KernelPart, PairPart, Pictures
from profiler.present.page.figures import kernel_pictures, ladder_pictures, pair_pictures

if TYPE_CHECKING:
    from profiler.analyse.report import KernelFindings, Report
    from profiler.present.page.drawing import Drawing


def draw_report(report: Report, drawing: Drawing) -> Contents:
    """Returns everything that was found, with pictures that are still being drawn."""
    pictures: Pictures = {}
    text = None
    if report.ladder is not None and report.roofline is not None:
        pictures = ladder_pictures(report.ladder, report.roofline, drawing)
        text = drawing.ask_sentence("roofline_sentence", report.roofline)
    parts = {found.anchor: _kernel(found, drawing) for found in report.kernels}
    pairs = [
        PairPart(
            before=parts[found.before],
            after=parts[found.after],
            comparison=found.comparison,
            code=found.code,
            pictures=pair_pictures(found.comparison, report.headline, drawing) if found.comparison else {},
            speedup=found.speedup,
            warnings=found.warnings,
            refused=found.refused,
        )
        for found in report.pairs
    ]
    return Contents(
        title=report.title,
        kernels=list(parts.values()),
        pairs=pairs,
        ladder=report.ladder,
        others=report.others,
        headline=report.headline,
        pictures=pictures,
        roofline_text=text,
    )


def _kernel(found: KernelFindings, drawing: Drawing) -> KernelPart:
    return KernelPart(
        anchor=found.anchor,
        name=found.name,
        idea=found.idea,
        run=found.run,
        profile=found.profile,
        sheet=found.sheet,
        timing=found.timing,
        code=found.code,
        pictures=kernel_pictures(found.profile, found.lines, drawing) if found.profile else {},
        metrics_left_out=found.metrics_left_out,
    )
