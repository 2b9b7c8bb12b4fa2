"""One kernel of one recording as a page shows it: what binds it, its figures, its code, where it is from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from profiler.analyse.compare.attribution import STALLS
from profiler.analyse.findings import Suspect
from profiler.analyse.recording.overview import Sheet, SheetMetric
from profiler.present.page.code_view import CodeView, code_view
from profiler.present.page.contents import KernelPart, Pictures
from profiler.present.page.tables import Cell, Table, table, without_empty_columns
from profiler.present.rungs import duration
from profiler.present.sheet import METRICS_HEADER, rule_lines, run_facts, sheet_cells, timing_facts
from profiler.present.suspects import NOTHING_STANDS_OUT, SHARE_MEANING, unjudged_text, weight_text
from profiler.text import counted


@dataclass(frozen=True)
class SuspectsView:
    """`rows` are weight, its number for a bar, name and sentence; `note` is what else to say."""

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
    headline: Table | None
    stalls: Table | None
    code: CodeView | None
    rules: list[str]
    metrics: Table | None
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
        metrics=without_empty_columns(
            table(
                "All metrics",
                METRICS_HEADER,
                [sheet_cells(one) for one in metrics],
                right=(2, 3),
                sortable=True,
                searchable=True,
            )
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
    """Without the profiler first; under it beside."""
    facts = timing_facts(part.timing) if part.timing else []
    profiled_ns = profiled_duration_ns(part.sheet)
    return [*facts, *([("under the profiler", duration(profiled_ns))] if profiled_ns else [])]


def profiled_duration_ns(sheet: Sheet | None) -> float | None:
    return next((one.mean for one in sheet.metrics if one.name == "duration_ns"), None) if sheet else None


def suspects_view(whose: str, suspects: Sequence[Suspect], missing: Sequence[str]) -> SuspectsView:
    note = unjudged_text(missing)
    if not suspects:
        return SuspectsView(f"What binds {whose}", [], note or NOTHING_STANDS_OUT)
    rows = [(weight_text(one), one.weight_pct or 0.0, one.name, one.sentence) for one in suspects]
    return SuspectsView(f"What binds {whose}, {SHARE_MEANING}", rows, note)


def _metrics_table(caption: str, metrics: Sequence[SheetMetric], names: Sequence[str]) -> Table | None:
    shown = sorted((one for one in metrics if one.name in names), key=lambda one: names.index(one.name))
    return table(caption, METRICS_HEADER, [sheet_cells(one) for one in shown], right=(2, 3))


def _stalls_table(metrics: Sequence[SheetMetric]) -> Table | None:
    """The longest wait first."""
    shown = sorted((one for one in metrics if one.name in STALLS and one.mean > 0), key=lambda one: -one.mean)
    rows = [[Cell(text) for text in sheet_cells(one)[:4]] for one in shown]
    return table("Why a warp waits, from one instruction to its next", METRICS_HEADER[:4], rows, right=(2, 3))
