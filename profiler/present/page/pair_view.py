"""Two kernels against each other as a page shows them, in the order in which `prof compare` reasons."""

from __future__ import annotations

from dataclasses import dataclass, replace

from profiler.analyse.findings import Attribution, Comparison, MetricDelta, Opcode
from profiler.present import comparison as words
from profiler.present.attribution import (
    MOST_PARTS,
    attribution_header,
    attribution_notes,
    attribution_rows,
    attribution_title,
    lack_lines,
    speedup_sentence,
)
from profiler.present.page.code_view import CodeView, code_view
from profiler.present.page.contents import PairPart, Pictures
from profiler.present.page.kernel_view import SuspectsView, suspects_view, time_facts
from profiler.present.page.tables import Cell, Table, table
from profiler.text import counted

_INDENT = 3 * "\N{NO-BREAK SPACE}"  # no line may end there


@dataclass(frozen=True)
class ConfirmationView:
    title: str
    checks: list[
        tuple[str, str, str]
    ]  # mark, what was expected, what became of it; none where it does not apply


@dataclass(frozen=True)
class AttributionView:
    title: str
    sentence: str
    table: Table | None
    parts: Table | None
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
    sides: Table | None
    times: Table | None
    metrics: Table | None
    other_metrics: Table | None
    other_metrics_text: str
    confirmations: list[ConfirmationView]
    attribution: AttributionView | None
    opcodes: Table | None
    opcodes_text: str
    code: CodeView | None
    suspects: SuspectsView | None
    one_sided: str
    pictures: Pictures


def pair_view(part: PairPart) -> PairView:
    comparison = part.comparison
    opcodes = comparison.instructions.opcodes if comparison else []
    changed = [one for one in opcodes if one.before != one.after]
    shown, hidden = words.shown_metrics(comparison, words.Layout()) if comparison else ([], [])
    return PairView(
        anchor=part.anchor,
        name=f"{part.before.name} → {part.after.name}",
        idea=part.after.idea,
        before=part.before.anchor,
        after=part.after.anchor,
        speedup=""
        if part.refused
        else words.speedup_text(comparison.speedup if comparison else part.speedup),
        warnings=comparison.comparable.warnings if comparison else list(part.warnings),
        refused=part.refused,
        sides=_sides(comparison) if comparison else None,
        times=_times(part),
        metrics=_metrics("Metrics", shown),
        other_metrics=_metrics("Other metrics", hidden),
        other_metrics_text=f"{len(hidden)} more: {words.verdict_counts(hidden)}",
        confirmations=confirmation_views(comparison) if comparison else [],
        attribution=_attribution(comparison) if comparison else None,
        opcodes=_opcodes(changed),
        opcodes_text=f"{counted(len(changed), 'opcode', 'opcodes')} changed",
        code=code_view(part.code) if part.code else None,
        suspects=suspects_view("the second now", comparison.suspects, comparison.suspects_missing)
        if comparison
        else None,
        one_sided=words.one_sided_text(comparison) if comparison else "",
        pictures=part.pictures,
    )


def _sides(comparison: Comparison) -> Table | None:
    return table("What is compared", words.SIDES_HEADER, words.side_rows(comparison), right=words.SIDES_RIGHT)


def _times(part: PairPart) -> Table | None:
    sides = [dict(time_facts(side)) for side in (part.before, part.after)]
    names = list(dict.fromkeys(name for side in sides for name in side))
    return table(
        "Duration and useful work",
        ("", part.before.name, part.after.name),
        [(name, *(side.get(name, "") for side in sides)) for name in names],
    )


def _metrics(caption: str, deltas: list[MetricDelta]) -> Table | None:
    return table(
        caption,
        words.METRICS_HEADER,
        [metric_cells(delta) for delta in deltas],
        right=words.METRICS_RIGHT,
        styles=[delta.verdict for delta in deltas],
        marked=words.METRICS_HEADER.index("verdict"),
        sortable=True,
        searchable=True,
    )


def metric_cells(delta: MetricDelta) -> list[Cell]:
    """Sorted by how large a change is, whether it is written in percent or, where it is beyond that, as a factor."""
    cells = [Cell(text) for text in words.metric_cells(delta)]
    place = words.METRICS_HEADER.index("relative")
    grown = (delta.after - delta.before) / abs(delta.before) if delta.before else None
    cells[place] = replace(cells[place], value=None if grown is None else float(f"{grown:.6g}"))
    return cells


def confirmation_views(comparison: Comparison) -> list[ConfirmationView]:
    return [
        ConfirmationView(
            words.confirmation_title(one),
            [
                (words.MARK[check.ok], f"{check.metric} {check.expected}", words.OUTCOME[check.ok])
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


def _factors(caption: str, found: Attribution, most: int | None) -> Table | None:
    rows = attribution_rows(found, most, indent=_INDENT)
    return table(caption, attribution_header(found), rows, right=(2, 3, 4, 5))


def _opcodes(changed: list[Opcode]) -> Table | None:
    return table(
        "Executed instructions that changed",
        words.OPCODES_HEADER,
        [words.opcode_cells(one) for one in changed],
        right=words.OPCODES_RIGHT,
        sortable=True,
        searchable=True,
    )
