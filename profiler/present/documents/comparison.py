"""A comparison as a document: the speedup, the counters and the instructions; or times alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from msgspec.structs import asdict

from profiler.analyse import findings
from profiler.analyse.causes.cause import Headline
from profiler.analyse.code.machine_code import CodeView
from profiler.analyse.compare.changes import judge_speedup
from profiler.analyse.compare.four_way import WHY_EXPECTED
from profiler.analyse.compare.metric_order import repeated
from profiler.analyse.recording.kernel_names import BY_ORDER, names_of_sides, without_tags
from profiler.analyse.recording.launch_shapes import shape_text
from profiler.catalog.ladders.ladder import size_text
from profiler.catalog.metrics import DURATION, HEADLINE
from profiler.present import document as doc
from profiler.present.documents.code import code_sections
from profiler.present.documents.parts.attribution import attribution_blocks
from profiler.present.documents.parts.causes import changed_cause_blocks, why_and_next
from profiler.present.documents.parts.times import USEFUL_BYTES
from profiler.present.documents.parts.two_kernels import two_kernels_sections
from profiler.present.documents.parts.verdicts import VERDICT_TONE, verdict_text
from profiler.text import Spoken, counted, first_of, shortened, unit_for_people

_NAME_WIDTH = 100
_MOST_MOVED, _LEAST_METRICS = 16, 8
_OPCODES = 12
_MOST_ONE_SIDED = 8
_NO_DURATION = "No duration was recorded on both sides, so no speedup can be given."
_SPEEDUP = "speedup_ratio"
# Fields of a `TimingSummary`, as people call them, with their units; those that neither side has are left out.
_FIGURES = {
    "median_ns": ("median", "ns"),
    "spread_pct": ("spread", "%"),
    "gflops": ("work", "GFLOP/s"),
    "gbytes_per_s": ("useful", "GB/s"),
    "reference_median_ns": ("reference", "ns"),
    "reference_pct": ("% ref", "%"),
    "best_median_ns": ("its best", "ns"),
    "best_pct": ("% best", "%"),
    "repeats": ("repeats", "repeat"),
}
METRIC_COLUMNS = (
    doc.Column("metric"),
    doc.Column("unit"),
    doc.Column("before", "number"),
    doc.Column("after", "number"),
    doc.Column("change", "change"),
    doc.Column("± 95 %", "spread"),
    doc.Column("relative", "relative", stays=1),
    doc.Column("verdict", judges=True),
    doc.Column("because", stays=0),
)
_JUDGING = next(at for at, column in enumerate(METRIC_COLUMNS) if column.judges)
_OPCODE_COLUMNS = (
    doc.Column("instructions per launch"),
    doc.Column("bits", "number", stays=0),
    doc.Column("before", "number"),
    doc.Column("after", "number"),
    doc.Column("change", "change"),
)
_TIMED_COLUMNS = (
    doc.Column("without the profiler"),
    doc.Column("unit"),
    doc.Column("before", "number", missing="-"),
    doc.Column("after", "number", missing="-"),
    doc.Column("change", "change"),
    doc.Column("relative", "relative"),
)
_HEADER = (
    "kernel_before", "kernel_after", "kind", "name", "ncu", "unit", "before", "after", "delta", "ci_low",
    "ci_high", "verdict", "reason",
)  # fmt: skip


def comparison_document(
    comparison: findings.ComparisonFinding,
    *,
    full: bool = False,
    wanted: Sequence[str] = (),
    drawn: Sequence[str] = HEADLINE,
    code: CodeView | None = None,
) -> doc.Document:
    """Returns the comparison; with `full`, all its metrics and opcodes, otherwise those that people read first.

    The `wanted` metrics replace these. The chart shows the `drawn` metrics. With `code`, the whole code of the
    hot loops is shown, otherwise the changes to their loads.
    """
    answer = _answer(comparison)
    if comparison.before.timing is not None:
        evidence, records = _timed_evidence(comparison), _timed_records(comparison)
    else:
        is_short = comparison.different_kernels and not full and code is None
        evidence = (
            two_kernels_sections(comparison, partial(_side, with_run=True), wanted)
            if is_short
            else _evidence(comparison, full, wanted, drawn, code)
        )
        records = _records(comparison)
    return doc.Document(
        f"{comparison.before.label} → {comparison.after.label}",
        [*answer, *evidence],
        doc.Records(_HEADER, list(records)),
        opening=len(answer),
    )


def _evidence(
    comparison: findings.ComparisonFinding,
    full: bool,
    wanted: Sequence[str],
    drawn: Sequence[str],
    code: CodeView | None,
) -> list[doc.Section]:
    hot_loop = code_sections(code) if code else [_hot_loop(comparison)]
    sides = (comparison.before, comparison.after)
    names = names_of_sides((sides[0].label, sides[1].label), (sides[0].kernel_name, sides[1].kernel_name))
    after = (names == BY_ORDER and sides[1].run_id) or shortened(names[1], _NAME_WIDTH)
    return [
        [
            doc.Heading("Counters"),
            doc.Chart("deltas_chart", comparison, {"metrics": tuple(drawn)}),
            *_metrics(comparison, full, wanted),
        ],
        *map(_checks, comparison.confirmations),
        attribution_blocks(comparison, full),
        changed_cause_blocks(comparison, after, full=full),
        *doc.under("Machine code", [*hot_loop, _opcodes(comparison, full)]),
        [doc.Text(line, wraps=False) for line in _one_sided_lines(comparison, full=full)],
        _sides(comparison, partial(_side, with_run=names == BY_ORDER)),
    ]


def _answer(comparison: findings.ComparisonFinding) -> list[doc.Section]:
    """Returns the headline, and what to doubt in it."""
    headline = comparison.headline
    what = doc.Text(claim_text(headline), strong=True)
    cautions = [doc.Caution(one) for one in comparison.comparable.warnings]
    return [[what, *why_and_next(headline)], cautions]


def _sides(
    comparison: findings.ComparisonFinding, describe: Callable[[findings.Side], list[str]]
) -> doc.Section:
    return [doc.Facts([("before", describe(comparison.before)), ("after", describe(comparison.after))])]


def _side(side: findings.Side, *, with_run: bool) -> list[str]:
    workload = ""
    if side.workload:
        workload = ", " + " ".join(f"{name}={value}" for name, value in side.workload.items())
    shape = f" of {shape_text(side.shape)}" if side.shape else ""
    return [
        f"{side.label}: {shortened(without_tags(side.kernel_name), _NAME_WIDTH)}",
        *([f"run {side.run_id}"] if with_run and side.run_id else []),
        f"{counted(side.launches, 'launch', 'launches')}{shape} on {side.gpu}{workload}, "
        f"ncu {side.ncu_version or 'of unknown version'}, clock control {side.clock_control}",
    ]


def claim_text(headline: Headline | None) -> str:
    """Returns the first sentence of a comparison."""
    return headline.what if headline else _NO_DURATION


# Metrics


def _metrics(comparison: findings.ComparisonFinding, full: bool, wanted: Sequence[str]) -> doc.Section:
    shown, hidden = (comparison.metrics, []) if full else shown_metrics(comparison, wanted)
    # Of a single launch, the first screen says already that it is too few.
    says_too_few = 1 not in (comparison.before.launches, comparison.after.launches)
    judges = not comparison.different_kernels
    table = partial(_metrics_table, says_too_few=says_too_few, judges=judges)
    if not shown:
        return [doc.Text("No metric of the catalogue is recorded on both sides.")]
    return [table(shown), *_folded(table(hidden), "more", _verdict_counts(hidden) if judges else "")]


def _metrics_table(deltas: Sequence[findings.MetricDelta], *, says_too_few: bool, judges: bool) -> doc.Table:
    rows = [metric_row(delta, says_too_few=says_too_few) for delta in deltas]
    if judges:
        return doc.Table(METRIC_COLUMNS, rows, drops_empty=True)
    # Of two different kernels, neither is better: the rows end before the verdict.
    rows = [doc.Row(row.values[:_JUDGING]) for row in rows]
    return doc.Table(METRIC_COLUMNS[:_JUDGING], rows, drops_empty=True)


def _folded(table: doc.Table, what: str, which: str) -> doc.Section:
    """Returns the table folded away, under the count of its rows; nothing if it has none."""
    said, more = f"{len(table.rows)} {what}", f": {which}" if which else ""
    return [doc.Folded(f"{said}{more}", [table], f"{said} with --full{more}")] if table.rows else []


def shown_metrics(
    comparison: findings.ComparisonFinding, wanted: Sequence[str] = ()
) -> tuple[list[findings.MetricDelta], list[findings.MetricDelta]]:
    """Returns the metrics to show, and the rest.

    Shown are those `wanted`; otherwise those whose changes say most, each of which says something new, and those that a check or the
    headline names.
    """
    if wanted:
        shown = [delta for delta in comparison.metrics if {delta.name, delta.ncu} & set(wanted)]
        return shown, [delta for delta in comparison.metrics if delta not in shown]
    deltas, repeats = comparison.metrics, repeated(comparison.metrics)
    moved = [one.name for one in deltas if one.has_moved and one.name not in repeats]
    still = [one.name for one in deltas if not one.has_moved and (one.before or one.after)]
    checked = {check.metric for one in comparison.confirmations for check in one.checks}
    given = comparison.headline.gives if comparison.headline else ()
    names = {DURATION, *moved[:_MOST_MOVED], *still[: max(0, _LEAST_METRICS - len(moved))], *checked, *given}
    return [one for one in deltas if one.name in names], [one for one in deltas if one.name not in names]


def _verdict_counts(deltas: Sequence[findings.MetricDelta]) -> str:
    """Returns a count of each verdict: `2 better, 1 worse, 5 same`."""
    counts = Counter(_verdict_of(delta) for delta in deltas)
    in_order = [word for verdict in VERDICT_TONE for word in (verdict, f"likely {verdict}")]
    return ", ".join(f"{counts[word]} {word}" for word in in_order if counts[word])


def _verdict_of(delta: findings.MetricDelta) -> str:
    return verdict_text(delta.verdict, delta.reason, delta.delta, delta.better)


def metric_row(delta: findings.MetricDelta, *, says_too_few: bool = True) -> doc.Row:
    """Returns the row of one metric, in the order of `METRIC_COLUMNS`; that there are too few launches, only if it `says_too_few`."""
    divisor, unit = unit_for_people(delta.unit, delta.before, delta.after)
    ci = None if delta.ci is None else (delta.ci[0] / divisor, delta.ci[1] / divisor)
    figures = (delta.before / divisor, delta.after / divisor, delta.delta / divisor, ci)
    because = findings.REASONS[delta.reason]
    if delta.reason in findings.TOO_FEW and not says_too_few:
        because = ""
    cells = (delta.name, unit, *figures, (delta.before, delta.after), _verdict_of(delta), because)
    return doc.Row(cells, VERDICT_TONE[delta.verdict])


# Expectations


def _checks(confirmation: findings.Confirmation) -> doc.Section:
    """Returns the outcome of an expectation, its parts, and why they are expected."""
    title = f"{confirmation.name}: {'confirmed' if confirmation.confirmed else 'not confirmed'}"
    tone: doc.Tone = "good" if confirmation.confirmed else "warn"
    rows = [doc.Holds(check.ok, check.metric, check.expected) for check in confirmation.checks]
    return [doc.Checks(title, tone, rows), doc.Text(WHY_EXPECTED, "quiet")]


# Machine code


def _opcodes(comparison: findings.ComparisonFinding, full: bool) -> doc.Section:
    opcodes = comparison.instructions.opcodes
    if not opcodes:
        return []
    changed = [opcode for opcode in opcodes if opcode.before != opcode.after]
    shown, hidden = (opcodes, []) if full else (changed[:_OPCODES], changed[_OPCODES:])
    total = findings.Opcode("all", sum(one.before for one in opcodes), sum(one.after for one in opcodes))
    return [
        doc.Chart("instructions_chart", comparison),
        _opcodes_table([total, *shown]),
        *_folded(_opcodes_table(hidden), "more changed", ""),
    ]


def _opcodes_table(opcodes: Sequence[findings.Opcode]) -> doc.Table:
    rows = [(one.opcode, one.width_bits, one.before, one.after, one.after - one.before) for one in opcodes]
    return doc.Table(_OPCODE_COLUMNS, list(map(doc.Row, rows)))


def _hot_loop(comparison: findings.ComparisonFinding) -> doc.Section:
    """Returns the changes to the loads; `prof sass` shows the code."""
    loop = comparison.instructions.hot_loop
    return [doc.Text(f"hot loop, {one.sentence}", wraps=False) for one in loop.changes] if loop else []


def _one_sided_lines(comparison: findings.ComparisonFinding, *, full: bool) -> list[str]:
    """Returns the metrics that only one side recorded, or that the sides recorded in different ways; unless `full`, the first."""
    lines = []
    for lacking, only in (("after", "before"), ("before", "after"), ("both", None)):
        names = [item.name for item in comparison.missing if item.missing_in == lacking]
        told = ", ".join(names) if full else first_of(names, _MOST_ONE_SIDED)
        more = Spoken(" (`--full` names them)", " (`.missing` names them)")
        is_cut = len(names) > _MOST_ONE_SIDED and not full
        if names:
            how = f"only {only}" if only else "under different names of ncu's, so not compared"
            lines.append(f"recorded {how}: {told}" + (more if is_cut else ""))
    return lines


def _records(comparison: findings.ComparisonFinding) -> Iterator[Sequence[doc.Plain]]:
    """Yields a record for each metric and for each executed opcode."""
    kernels = (comparison.before.kernel_name, comparison.after.kernel_name)
    for delta in comparison.metrics:
        yield (
            *kernels, "metric", delta.name, delta.ncu, delta.unit, delta.before, delta.after, delta.delta,
            *(delta.ci or (None, None)), delta.verdict, delta.reason,
        )  # fmt: skip
    for opcode in comparison.instructions.opcodes:
        yield (
            *kernels, "opcode", opcode.opcode, None, "inst", opcode.before, opcode.after,
            opcode.after - opcode.before, None, None, None, None,
        )  # fmt: skip


# Times alone


def _timed_evidence(comparison: findings.ComparisonFinding) -> list[doc.Section]:
    table = doc.Table(_TIMED_COLUMNS, [doc.Row(_timed_values(*one)) for one in _figures(comparison)])
    references = [doc.Text(line, wraps=False) for line in _references(comparison)]
    return [[table, *references], _sides(comparison, _timed_side)]


def _timed_side(side: findings.Side) -> list[str]:
    workload = f", {size_text(side.workload)}" if side.workload else ""
    return [f"{side.label}: {side.run_id}", f"timed on {side.gpu}{workload}"]


def _timed_values(name: str, before: float | None, after: float | None) -> tuple[doc.Value, ...]:
    shown, unit = _FIGURES[name]
    divisor, unit = unit_for_people(unit, before, after)
    sides = [None if value is None else value / divisor for value in (before, after)]
    if before is None or after is None or name == "repeats":
        return (shown, unit, *sides, None, None)
    return (shown, unit, *sides, (after - before) / divisor, (before, after))


def _figures(comparison: findings.ComparisonFinding) -> list[tuple[str, float | None, float | None]]:
    before, after = (asdict(side.timing) for side in (comparison.before, comparison.after) if side.timing)
    figures = [(name, before[name], after[name]) for name in _FIGURES]
    return [one for one in figures if one[1:] != (None, None)]


def _references(comparison: findings.ComparisonFinding) -> list[str]:
    """Returns what the bytes are, and the reference of the percentages; once if both sides have the same."""
    names = dict.fromkeys(side.reference for side in (comparison.before, comparison.after) if side.reference)
    timings = [side.timing for side in (comparison.before, comparison.after) if side.timing]
    has_best = any(one.best_pct is not None for one in timings)
    best = "; its best, % best: of the fastest algorithm that it offers" if has_best else ""
    moved = f"useful: {USEFUL_BYTES}" if any(one.gbytes_per_s is not None for one in timings) else ""
    reference = f"% ref: speed in percent of {' and of '.join(names)}{best}" if names else ""
    return [line for line in (moved, reference) if line]


def _timed_records(comparison: findings.ComparisonFinding) -> Iterator[Sequence[doc.Plain]]:
    """Yields a record for the speedup and one for each figure. The speedup is relative to the first side."""
    kernels = (comparison.before.kernel_name, comparison.after.kernel_name)
    if speedup := comparison.speedup:
        bounds = [bound - 1 for bound in speedup.ci] if speedup.ci else [None, None]
        verdict = judge_speedup(speedup)
        yield (
            *kernels, "timing", _SPEEDUP, None, "ratio", 1.0, speedup.ratio, speedup.ratio - 1, *bounds, verdict, None,
        )  # fmt: skip
    for name, before, after in _figures(comparison):
        delta = None if before is None or after is None else after - before
        unit = _FIGURES[name][1]
        yield (*kernels, "timing", name, None, unit, before, after, delta, None, None, None, None)
