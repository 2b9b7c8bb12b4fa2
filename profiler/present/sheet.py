"""One recording as a sheet: its provenance, and per kernel its metrics and findings, or its timings."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import asdict

from profiler.analyse.recording.launch_shapes import LaunchShape
from profiler.analyse.recording.overview import Sheet, SheetMetric, SheetRule, TimingSheet
from profiler.catalog.ladders.ladder import size_text
from profiler.present.encode import markdown_text, to_csv, to_markdown
from profiler.present.memory import memory_facts
from profiler.present.provenance import provenance_facts
from profiler.present.rungs import duration
from profiler.present.suspects import suspects_markdown, suspects_text
from profiler.present.terminal import render_table, styled
from profiler.store.runs.run_store import Run
from profiler.text import counted, number, printable, shortened

_KERNEL_WIDTH = _NVTX_WIDTH = 110
_MOST_SHAPES = 4
METRICS_HEADER = ("metric", "unit", "mean", "spread", "ncu")
_TIMING_HEADER = (
    "run_id", "workload", "processes", "repeats", "median_ns", "min_ns", "max_ns", "spread_pct", "gflops",
    "gbytes_per_s", "reference_median_ns", "reference_pct",
)  # fmt: skip


def sheets_text(
    run: Run, sheets: Sequence[Sheet], timing: TimingSheet | None, *, colour: bool, width: int | None
) -> str:
    parts = [_facts_text(run_facts(run))]
    if timing is not None:
        parts.append(_facts_text(timing_facts(timing)))
    for one in sheets:
        title = f"{shortened(one.kernel, _KERNEL_WIDTH)}, {counted(one.launches, 'launch', 'launches')}"
        launched = [("launched", text) for text in shape_lines(one)]
        parts.append(
            "\n".join([styled(title, "bold", colour=colour), *([_facts_text(launched)] if launched else [])])
        )
        if one.nvtx:
            parts.append("\n".join(f"NVTX  {shortened(ranges, _NVTX_WIDTH)}" for ranges in one.nvtx))
        parts += [styled(f"caution: {printable(text)}", "yellow", colour=colour) for text in one.cautions]
        parts.append(suspects_text("it", one.suspects, one.suspects_missing, colour=colour, width=width))
        if facts := memory_facts(one.metrics):
            parts.append(_facts_text(facts))
        parts.append(
            render_table(
                METRICS_HEADER[:4],
                [sheet_cells(metric)[:4] for metric in one.metrics],
                right=(2, 3),
                fold=0,
                colour=colour,
                width=width,
            )
        )
        parts += [printable(line) for line in rule_lines(one)]
    return "\n\n".join(parts)


def sheets_markdown(run: Run, sheets: Sequence[Sheet], timing: TimingSheet | None) -> str:
    timed = timing_facts(timing) if timing is not None else []
    parts = [to_markdown(("", ""), [*run_facts(run), *timed])]
    for one in sheets:
        parts.append(f"### {markdown_text(one.kernel)}")
        if one.shapes:
            parts.append("\n".join(f"* launched: {text}" for text in shape_lines(one)))
        if one.nvtx:
            parts.append("\n".join(f"* NVTX: {markdown_text(ranges)}" for ranges in one.nvtx))
        parts += [f"> **Caution:** {markdown_text(text)}" for text in one.cautions]
        parts.append(suspects_markdown("it", one.suspects, one.suspects_missing))
        if facts := memory_facts(one.metrics):
            parts.append("\n".join(f"* {name}: {markdown_text(text)}" for name, text in facts))
        parts.append(
            to_markdown(METRICS_HEADER, [sheet_cells(metric) for metric in one.metrics], numeric=(2, 3))
        )
        parts += [f"* {markdown_text(line)}" for line in rule_lines(one)]
    return "\n\n".join(parts)


def sheets_csv(sheets: Sequence[Sheet]) -> str:
    return to_csv(
        ("kernel", "metric", "unit", "mean", "spread", "launches", "ncu"),
        [
            (one.kernel, metric.name, metric.unit, metric.mean, metric.spread, metric.launches, metric.ncu)
            for one in sheets
            for metric in one.metrics
        ],
    )


def timing_text(sheet: TimingSheet) -> str:
    return f"{_facts_text(provenance_facts(sheet.run))}\n\n{_facts_text(timing_facts(sheet))}"


def timing_markdown(sheet: TimingSheet) -> str:
    return to_markdown(("", ""), [*provenance_facts(sheet.run), *timing_facts(sheet)])


def timing_csv(sheet: TimingSheet) -> str:
    facts = {
        **asdict(sheet.timing),
        "run_id": sheet.run.run_id,
        "workload": size_text(sheet.run.workload or {}),
        "processes": sheet.processes,
    }
    return to_csv(_TIMING_HEADER, [[facts[name] for name in _TIMING_HEADER]])


def _facts_text(facts: Sequence[tuple[str, str]]) -> str:
    return "\n".join(f"{name:<11}{printable(value)}" for name, value in facts)


def shape_lines(sheet: Sheet) -> list[str]:
    """`32 x 32 blocks of 256 threads, 112 registers a thread, 16,896 bytes of shared memory a block`."""
    kept, rest = sheet.shapes[:_MOST_SHAPES], sheet.shapes[_MOST_SHAPES:]
    lines = [_shape_text(shape, several=len(sheet.shapes) > 1) for shape in kept]
    return [*lines, f"and in {len(rest)} other ways"] if rest else lines


def _shape_text(shape: LaunchShape, *, several: bool) -> str:
    facts = [f"{_extent(shape.grid)} blocks of {_extent(shape.block)} threads"]
    if shape.registers is not None:
        facts.append(f"{shape.registers} registers a thread")
    if shape.shared_bytes:
        facts.append(f"{shape.shared_bytes:,} bytes of shared memory a block")
    if several:
        facts.append(counted(shape.launches, "launch", "launches"))
    return ", ".join(facts)


def _extent(sizes: tuple[int, int, int]) -> str:
    """Without the ones at its end."""
    x, y, z = sizes
    return " x ".join(f"{size:,}" for size in ((x,) if y == z == 1 else (x, y) if z == 1 else sizes))


def rule_lines(sheet: Sheet) -> list[str]:
    lines = [f"{rule.section}{_place(rule)}: {rule.message}" for rule in sheet.rules]
    if sheet.rules_left_out:
        lines.append(
            f"and {counted(sheet.rules_left_out, 'more finding', 'more findings')} of Nsight Compute"
        )
    return lines


def _place(rule: SheetRule) -> str:
    if rule.file is not None:
        return f", {rule.file}:{rule.line}"
    return f", instruction at {rule.offset:#x}" if rule.offset is not None else ""


def timing_facts(sheet: TimingSheet) -> list[tuple[str, str]]:
    timing = sheet.timing
    rows = [
        (
            "median",
            f"{duration(timing.median_ns)}, spread {number(timing.spread_pct)} % (interquartile range), "
            f"{duration(timing.min_ns)} to {duration(timing.max_ns)}",
        )
    ]
    if timing.gflops is not None:
        rows.append(("work", f"{number(timing.gflops)} GFLOP/s"))
    if timing.gbytes_per_s is not None:
        rows.append(("traffic", f"{number(timing.gbytes_per_s)} GB/s"))
    if timing.reference_median_ns is not None and timing.reference_pct is not None:
        provenance = sheet.run.provenance
        name = f" ({provenance.reference})" if provenance and provenance.reference else ""
        reached = f"{number(timing.reference_pct)} % of its speed reached"
        rows.append(("reference", f"{duration(timing.reference_median_ns)}{name}, {reached}"))
    repeats = counted(timing.repeats, "repeat", "repeats")
    rows.append(("timed", f"{repeats} in {counted(sheet.processes, 'process', 'processes')}, unprofiled"))
    return rows


def run_facts(run: Run) -> list[tuple[str, str]]:
    return provenance_facts(run.manifest, None if run.stored else run.path)


def sheet_cells(metric: SheetMetric) -> tuple[str, str, str, str, str]:
    return (metric.name, metric.unit, number(metric.mean), number(metric.spread), metric.ncu)
