"""Shows the comparison of two kernels on a page, in the order in which `prof compare` reasons."""

from __future__ import annotations

from dataclasses import dataclass

from profiler.analyse.findings import Attribution, Comparison, MetricDelta, Opcode
from profiler.present.document import Column, Row, Table
from profiler.present.documents.comparison import (
    METRIC_COLUMNS,
    OPCODE_COLUMNS,
    confirmation_title,
    metric_row,
    one_sided_lines,
    opcode_row,
    shown_metrics,
    speedup_text,
    verdict_counts,
)
from profiler.present.documents.parts.attribution import (
    MOST_PARTS,
    attribution_notes,
    attribution_title,
    factor_columns,
    factor_rows,
    lack_lines,
    speedup_sentence,
)
from profiler.present.page.code_view import CodeView, code_view
from profiler.present.page.contents import PairPart, Pictures
from profiler.present.page.kernel_view import SuspectsView, suspects_view, time_facts
from profiler.present.page.tables import PageTable, page_table
from profiler.text import counted

_SIDE_COLUMNS = (
    Column("side"),
    Column("kernel"),
    Column("launches", "number"),
    Column("GPU"),
    Column("ncu"),
    Column("clock control"),
)
_MARK = {True: "✓", False: "✗", None: "?"}
_OUTCOME = {True: "yes", False: "no", None: "unclear or not recorded"}


@dataclass(frozen=True)
class ConfirmationView:
    title: str
    checks: list[tuple[str, str, str]]  # mark, expectation, outcome; empty if the expectation does not apply


@dataclass(frozen=True)
class AttributionView:
    title: str
    sentence: str
    table: PageTable | None
    parts: PageTable | None
    notes: list[str]


@dataclass(frozen=True)
class PairView:
    anchor: str
    name: str
    idea: str
    before: str
    after: str
    speedup: str
    warnings: list[str]
    refused: tuple[str, ...]
    sides: PageTable | None
    times: PageTable | None
    metrics: PageTable | None
    other_metrics: PageTable | None
    other_metrics_text: str
    confirmations: list[ConfirmationView]
    attribution: AttributionView | None
    opcodes: PageTable | None
    opcodes_text: str
    code: CodeView | None
    suspects: SuspectsView | None
    one_sided: str
    pictures: Pictures


def pair_view(part: PairPart) -> PairView:
    comparison = part.comparison
    opcodes = comparison.instructions.opcodes if comparison else []
    changed = [one for one in opcodes if one.before != one.after]
    shown, hidden = shown_metrics(comparison) if comparison else ([], [])
    return PairView(
        anchor=part.anchor,
        name=f"{part.before.name} → {part.after.name}",
        idea=part.after.idea,
        before=part.before.anchor,
        after=part.after.anchor,
        speedup="" if part.refused else speedup_text(comparison.speedup if comparison else part.speedup),
        warnings=comparison.comparable.warnings if comparison else list(part.warnings),
        refused=part.refused,
        sides=_sides(comparison) if comparison else None,
        times=_times(part),
        metrics=_metrics("Metrics", shown),
        other_metrics=_metrics("Other metrics", hidden),
        other_metrics_text=f"{len(hidden)} more: {verdict_counts(hidden)}",
        confirmations=confirmation_views(comparison) if comparison else [],
        attribution=_attribution(comparison) if comparison else None,
        opcodes=_opcodes(changed),
        opcodes_text=f"{counted(len(changed), 'opcode', 'opcodes')} changed",
        code=code_view(part.code) if part.code else None,
        suspects=suspects_view("the second now", comparison.suspects, comparison.suspects_missing)
        if comparison
        else None,
        one_sided="\n".join(one_sided_lines(comparison)) if comparison else "",
        pictures=part.pictures,
    )


def _sides(comparison: Comparison) -> PageTable | None:
    rows = [
        Row((which, side.kernel_name, side.launches, side.gpu, side.ncu_version, side.clock_control))
        for which, side in (("before", comparison.before), ("after", comparison.after))
    ]
    return page_table("What is compared", Table(_SIDE_COLUMNS, rows))


def _times(part: PairPart) -> PageTable | None:
    sides = [dict(time_facts(side)) for side in (part.before, part.after)]
    names = list(dict.fromkeys(name for side in sides for name in side))
    columns = (Column(""), Column(part.before.name), Column(part.after.name))
    rows = [Row((name, *(side.get(name, "") for side in sides))) for name in names]
    return page_table("Duration and useful work", Table(columns, rows))


def _metrics(caption: str, deltas: list[MetricDelta]) -> PageTable | None:
    made = Table(METRIC_COLUMNS, [metric_row(delta) for delta in deltas])
    return page_table(caption, made, marked="verdict", sortable=True, searchable=True)


def confirmation_views(comparison: Comparison) -> list[ConfirmationView]:
    return [
        ConfirmationView(
            confirmation_title(one),
            [
                (_MARK[check.ok], f"{check.metric} {check.expected}", _OUTCOME[check.ok])
                for check in one.checks
                if not one.does_not_apply
            ],
        )
        for one in comparison.confirmations
    ]


def _attribution(comparison: Comparison) -> AttributionView | None:
    found = comparison.attribution
    if found is None:
        lines = lack_lines(comparison.attribution_missing)
        return AttributionView("", "", None, None, lines) if lines else None
    return AttributionView(
        attribution_title(found),
        speedup_sentence(found),
        _factors("The speedup as a product of its factors", found, MOST_PARTS),
        _factors("Every factor and part", found, None),
        attribution_notes(comparison, found),
    )


def _factors(caption: str, found: Attribution, most: int | None) -> PageTable | None:
    return page_table(caption, Table(factor_columns(found), factor_rows(found, most)))


def _opcodes(changed: list[Opcode]) -> PageTable | None:
    made = Table(OPCODE_COLUMNS, [opcode_row(one) for one in changed])
    return page_table("Executed instructions that changed", made, sortable=True, searchable=True)
