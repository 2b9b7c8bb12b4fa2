"""Shows one kernel of one recording on a page: what binds it, its figures, its code and its origin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from profiler.analyse.compare.attribution import STALLS
from profiler.analyse.findings import Suspect
from profiler.analyse.recording.overview import Sheet, SheetMetric
from profiler.present.document import Table
from profiler.present.documents.parts.suspects import NOTHING_STANDS_OUT, SHARE_MEANING, unjudged_text
from profiler.present.documents.recording import (
    METRIC_COLUMNS,
    NAMED_COLUMNS,
    metric_row,
    named_row,
    rule_lines,
    run_facts,
    timing_facts,
)
from profiler.present.page.code_view import CodeView, code_view
from profiler.present.page.contents import KernelPart, Pictures
from profiler.present.page.tables import PageTable, page_table
from profiler.present.render.cells import weight_text
from profiler.text import counted, duration


@dataclass(frozen=True)
class SuspectsView:
    """The suspects. A row is a weight in words and as a number, a name, and a sentence; `note` adds a remark."""

    heading: str
    rows: list[tuple[str, float, str, str]]
    note: str


@dataclass(frozen=True)
class KernelView:
    anchor: str
    name: str
    idea: str
    kernel_name: str
    nvtx: list[str]
    cautions: list[str]
    facts: list[tuple[str, str]]
    suspects: SuspectsView | None
    headline: PageTable | None
    stalls: PageTable | None
    code: CodeView | None
    rules: list[str]
    metrics: PageTable | None
    metrics_text: str
    provenance: list[tuple[str, str]]
    pictures: Pictures


def kernel_view(part: KernelPart, headline: Sequence[str]) -> KernelView:
    sheet = part.sheet
    metrics = sheet.metrics if sheet else []
    return KernelView(
        anchor=part.anchor,
        name=part.name,
        idea=part.idea,
        kernel_name=sheet.kernel if sheet else "",
        nvtx=sheet.nvtx if sheet else [],
        cautions=sheet.cautions if sheet else [],
        facts=time_facts(part),
        suspects=suspects_view("it", sheet.suspects, sheet.suspects_missing) if sheet else None,
        headline=_metrics_table("Headline metrics", metrics, headline),
        stalls=_stalls_table(metrics),
        code=code_view(part.code) if part.code else None,
        rules=rule_lines(sheet) if sheet else [],
        metrics=page_table(
            "All metrics",
            Table(NAMED_COLUMNS, [named_row(one) for one in metrics], drops_empty=True),
            sortable=True,
            searchable=True,
        ),
        metrics_text=_metrics_text(part),
        provenance=run_facts(part.run),
        pictures=part.pictures,
    )


def _metrics_text(part: KernelPart) -> str:
    shown = len(part.sheet.metrics) if part.sheet else 0
    text = f"{counted(shown, 'metric', 'metrics')}, mean and standard deviation over launches"
    return f"{text}; {part.metrics_left_out} more in `prof show --full`" if part.metrics_left_out else text


def time_facts(part: KernelPart) -> list[tuple[str, str]]:
    """Returns the times without the profiler, then the time under it."""
    facts = timing_facts(part.timing) if part.timing else []
    profiled_ns = profiled_duration_ns(part.sheet)
    return [*facts, *([("under the profiler", duration(profiled_ns))] if profiled_ns else [])]


def profiled_duration_ns(sheet: Sheet | None) -> float | None:
    return next((one.mean for one in sheet.metrics if one.name == "duration_ns"), None) if sheet else None


def suspects_view(whose: str, suspects: Sequence[Suspect], missing: Sequence[str]) -> SuspectsView:
    note = unjudged_text(missing)
    if not suspects:
        return SuspectsView(f"What binds {whose}", [], note or NOTHING_STANDS_OUT)
    rows = [(weight_text(one.weight_pct), one.weight_pct or 0.0, one.name, one.sentence) for one in suspects]
    return SuspectsView(f"What binds {whose}, {SHARE_MEANING}", rows, note)


def _metrics_table(caption: str, metrics: Sequence[SheetMetric], names: Sequence[str]) -> PageTable | None:
    shown = sorted((one for one in metrics if one.name in names), key=lambda one: names.index(one.name))
    return page_table(caption, Table(NAMED_COLUMNS, [named_row(one) for one in shown]))


def _stalls_table(metrics: Sequence[SheetMetric]) -> PageTable | None:
    """Returns the stall reasons, the longest first."""
    shown = sorted((one for one in metrics if one.name in STALLS and one.mean > 0), key=lambda one: -one.mean)
    made = Table(METRIC_COLUMNS, [metric_row(one) for one in shown])
    return page_table("Why a warp waits, from one instruction to its next", made)
