"""A `Comparison` as a terminal page, Markdown or CSV."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from profiler.analyse.findings import (
    REASONS,
    SETTLED,
    Comparison,
    Confirmation,
    MetricDelta,
    Opcode,
    Side,
    Speedup,
)
from profiler.catalog.metrics import HEADLINE
from profiler.present import encode
from profiler.present.attribution import attribution_markdown, attribution_text
from profiler.present.suspects import suspects_markdown, suspects_text
from profiler.present.terminal import VERDICT_STYLE, render_table, styled
from profiler.text import counted, half_width, number, printable, relative, shortened, signed

_NAME_WIDTH = 100
_OTHER_METRICS = 12
_OPCODES = 12
METRICS_HEADER = ("metric", "unit", "before", "after", "change", "± 95 %", "relative", "verdict")
METRICS_RIGHT = (2, 3, 4, 5, 6)
SIDES_HEADER = ("side", "kernel", "launches", "GPU", "ncu", "clock control")
SIDES_RIGHT = (2,)
_OPCODES_HEADER = ("bits", "before", "after", "change")
OPCODES_HEADER = ("executed instructions, per launch", *_OPCODES_HEADER)
OPCODES_RIGHT = (1, 2, 3, 4)
CSV_HEADER = (
    "kernel_before", "kernel_after", "kind", "name", "ncu", "unit", "before", "after", "delta", "ci_low",
    "ci_high", "verdict", "reason",
)  # fmt: skip
MARK = {True: "✓", False: "✗", None: "?"}
OUTCOME = {True: "yes", False: "no", None: "unclear or not recorded"}


@dataclass(frozen=True)
class Layout:
    """How to print: everything or the essentials, in colour or not, how wide."""

    full: bool = False
    colour: bool = False
    width: int | None = None
    wanted: tuple[str, ...] = ()


def comparison_text(comparison: Comparison, layout: Layout) -> str:
    """The page a person reads first: what, how much faster, which counters, which instructions."""
    parts = [
        heading(comparison, layout, _side),
        _metrics_table(comparison, layout),
        _confirmations(comparison, layout),
        attribution_text(comparison, full=layout.full, colour=layout.colour, width=layout.width),
        suspects_text(
            "the second now",
            comparison.suspects,
            comparison.suspects_missing,
            colour=layout.colour,
            width=layout.width,
        ),
        _opcodes_table(comparison, layout),
        _hot_loop(comparison),
        one_sided_text(comparison),
    ]
    return "\n\n".join(part for part in parts if part)


def comparison_markdown(comparison: Comparison) -> str:
    head = [
        f"### {encode.markdown_text(comparison.before.label)} → {encode.markdown_text(comparison.after.label)}",
        "",
        encode.markdown_text(speedup_text(comparison.speedup)) + ".",
        "",
        *(f"> **Caution:** {encode.markdown_text(text)}  " for text in comparison.comparable.warnings),
        "",
        encode.to_markdown(SIDES_HEADER, side_rows(comparison), numeric=SIDES_RIGHT),
        "",
        encode.to_markdown(
            METRICS_HEADER,
            [metric_cells(delta) for delta in comparison.metrics],
            numeric=METRICS_RIGHT,
        ),
        "",
    ]
    for confirmation in comparison.confirmations:
        head += [
            f"**{confirmation_title(confirmation)}**",
            "",
        ]
        if confirmation.does_not_apply:
            continue
        head += [
            encode.to_markdown(
                ("metric", "expected", "holds"),
                [(check.metric, check.expected, OUTCOME[check.ok]) for check in confirmation.checks],
            ),
            "",
        ]
    head += [attribution_markdown(comparison), ""]
    head += [suspects_markdown("the second now", comparison.suspects, comparison.suspects_missing), ""]
    opcodes = [opcode for opcode in comparison.instructions.opcodes if opcode.before != opcode.after]
    if opcodes:
        head.append(
            encode.to_markdown(
                ("executed instructions", *_OPCODES_HEADER),
                [opcode_cells(opcode) for opcode in opcodes],
                numeric=OPCODES_RIGHT,
            )
        )
    return "\n".join(head).rstrip()


def comparisons_csv(comparisons: Sequence[Comparison]) -> str:
    """One row a metric, or an executed opcode, of each compared kernel; values in full."""
    rows: list[Sequence[encode.Cell]] = []
    for comparison in comparisons:
        kernels = (comparison.before.kernel_name, comparison.after.kernel_name)
        rows += [
            (
                *kernels, "metric", delta.name, delta.ncu, delta.unit, delta.before, delta.after, delta.delta,
                *(delta.ci or (None, None)), delta.verdict, delta.reason,
            )
            for delta in comparison.metrics
        ]  # fmt: skip
        rows += [
            (
                *kernels, "opcode", opcode.opcode, None, "inst", opcode.before, opcode.after,
                opcode.after - opcode.before, None, None, None, None,
            )
            for opcode in comparison.instructions.opcodes
        ]  # fmt: skip
    return encode.to_csv(CSV_HEADER, rows)


def heading(comparison: Comparison, layout: Layout, describe: Callable[[Side], str]) -> str:
    lines = [
        f"before  {describe(comparison.before)}",
        f"after   {describe(comparison.after)}",
        "",
        styled(speedup_text(comparison.speedup), "bold", colour=layout.colour),
    ]
    for warning in comparison.comparable.warnings:
        lines.append(styled(f"caution: {printable(warning)}", "yellow", colour=layout.colour))
    return "\n".join(lines)


def _side(side: Side) -> str:
    workload = ""
    if side.workload:
        workload = ", " + " ".join(f"{name}={value}" for name, value in side.workload.items())
    return (
        f"{printable(side.label)}: {shortened(side.kernel_name, _NAME_WIDTH)}\n"
        f"        {counted(side.launches, 'launch', 'launches')} on {printable(side.gpu)}{workload}, "
        f"ncu {printable(side.ncu_version) or 'of unknown version'}, clock control {printable(side.clock_control)}"
    )


def side_rows(comparison: Comparison) -> list[tuple[str | int, ...]]:
    """As `SIDES_HEADER` names them."""
    return [
        (which, side.kernel_name, side.launches, side.gpu, side.ncu_version, side.clock_control)
        for which, side in (("before", comparison.before), ("after", comparison.after))
    ]


def speedup_text(speedup: Speedup | None) -> str:
    """How much faster, how surely, and by which clock."""
    if speedup is None:
        return "No duration was recorded on both sides, so no speedup can be given"
    faster = speedup.ratio if speedup.ratio >= 1 else 1 / speedup.ratio
    if speedup.ratio == 1:
        verdict = "The same duration"
    else:
        which = "second" if speedup.ratio > 1 else "first"
        verdict = f"The {which} is {faster:.3f}x as fast"
    bounds = ""
    if speedup.ci is not None and speedup.ci != (1, 1):
        low, high = sorted(speedup.ci if speedup.ratio >= 1 else (1 / bound for bound in speedup.ci))
        bounds = f", 95 % interval {low:.3f} to {high:.3f}"
    basis = "timed without the profiler" if speedup.basis == "unprofiled" else "by profiled duration"
    return f"{verdict} ({basis}{bounds})"


def _metrics_table(comparison: Comparison, layout: Layout) -> str:
    shown, hidden = shown_metrics(comparison, layout)
    if not shown:
        return "No metric of the catalogue is recorded on both sides."
    table = render_table(
        METRICS_HEADER,
        [metric_cells(delta) for delta in shown],
        right=METRICS_RIGHT,
        styles=[VERDICT_STYLE[delta.verdict] if layout.colour else "" for delta in shown],
        fold=7,
        optional=(5, 1, 4),
        colour=layout.colour,
        width=layout.width,
    )
    if not hidden:
        return table
    return f"{table}\n{len(hidden)} more with --full: {verdict_counts(hidden)}"


def verdict_counts(deltas: Sequence[MetricDelta]) -> str:
    """2 better, 1 worse, 5 same."""
    return ", ".join(
        f"{count} {verdict}"
        for verdict in ("better", "worse", "changed", "unclear", "same")
        if (count := sum(delta.verdict == verdict for delta in deltas))
    )


def shown_metrics(comparison: Comparison, layout: Layout) -> tuple[list[MetricDelta], list[MetricDelta]]:
    """Those that a person reads first, and the rest."""
    if layout.full:
        return comparison.metrics, []
    if layout.wanted:
        shown = [delta for delta in comparison.metrics if {delta.name, delta.ncu} & set(layout.wanted)]
        return shown, [delta for delta in comparison.metrics if delta not in shown]
    first = [delta for delta in comparison.metrics if delta.name in HEADLINE]
    rest = [delta for delta in comparison.metrics if delta.name not in HEADLINE]
    moved = [delta for delta in rest if delta.verdict not in SETTLED][:_OTHER_METRICS]
    return [*first, *moved], [delta for delta in rest if delta not in moved]


def metric_cells(delta: MetricDelta) -> tuple[str, ...]:
    """As `METRICS_HEADER` names them."""
    return (
        delta.name,
        delta.unit,
        number(delta.before),
        number(delta.after),
        signed(delta.delta),
        half_width(delta.ci),
        relative(delta.before, delta.after),
        _verdict(delta),
    )


def _verdict(delta: MetricDelta) -> str:
    reason = REASONS[delta.reason]
    return f"{delta.verdict} ({reason})" if reason else delta.verdict


def _confirmations(comparison: Comparison, layout: Layout) -> str:
    lines = []
    for confirmation in comparison.confirmations:
        style = "bold green" if confirmation.confirmed else "bold yellow"
        if confirmation.does_not_apply:
            style = "dim"
        lines.append(styled(confirmation_title(confirmation), style, colour=layout.colour))
        if confirmation.does_not_apply and not layout.full:
            continue
        for check in confirmation.checks:
            why = "" if check.ok is not None else " (unclear or not recorded)"
            lines.append(f"  {MARK[check.ok]} {check.metric} {check.expected}{why}")
    return "\n".join(lines)


def confirmation_title(confirmation: Confirmation) -> str:
    if confirmation.does_not_apply:
        return f"{confirmation.name}: does not apply, as {confirmation.does_not_apply}"
    return f"{confirmation.name}: {'confirmed' if confirmation.confirmed else 'not confirmed'}"


def _opcodes_table(comparison: Comparison, layout: Layout) -> str:
    opcodes = comparison.instructions.opcodes
    if not opcodes:
        return ""
    changed = [opcode for opcode in opcodes if opcode.before != opcode.after]
    shown = opcodes if layout.full else changed[:_OPCODES]
    total = all_opcodes(opcodes)
    table = render_table(
        OPCODES_HEADER,
        [opcode_cells(opcode) for opcode in (total, *shown)],
        right=OPCODES_RIGHT,
        optional=(1, 4),
        colour=layout.colour,
        width=layout.width,
    )
    left = len(changed) - len(shown)
    return table if layout.full or left <= 0 else f"{table}\n{left} more changed, with --full"


def all_opcodes(opcodes: Sequence[Opcode]) -> Opcode:
    """All that was executed, as one more row."""
    return Opcode("all", sum(one.before for one in opcodes), sum(one.after for one in opcodes))


def _hot_loop(comparison: Comparison) -> str:
    """What changed about the loads; `prof sass` shows the code."""
    loop = comparison.instructions.hot_loop
    return "\n".join(f"hot loop, {change.sentence}" for change in loop.changes) if loop else ""


def opcode_cells(opcode: Opcode) -> tuple[str, ...]:
    """As `OPCODES_HEADER` names them."""
    return (
        opcode.opcode,
        "" if opcode.width_bits is None else str(opcode.width_bits),
        number(opcode.before),
        number(opcode.after),
        signed(opcode.after - opcode.before),
    )


def one_sided_text(comparison: Comparison) -> str:
    """What only one of the two recorded, or each in its own way; empty where there is nothing."""
    one_sided = [
        f"{item.name} (not {item.missing_in})" for item in comparison.missing if item.missing_in != "both"
    ]
    unlike = [item.name for item in comparison.missing if item.missing_in == "both"]
    lines = [f"recorded on one side only: {', '.join(one_sided)}"] if one_sided else []
    if unlike:
        lines.append(f"recorded under different names of ncu's, so not compared: {', '.join(unlike)}")
    return "\n".join(lines)
