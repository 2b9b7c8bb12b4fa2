"""One recording as a document: its timings, the findings and metrics of each kernel, and its origin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import asdict

from profiler.analyse.compare.attribution import STALLS
from profiler.analyse.recording.index import IndexEntry, plain_name
from profiler.analyse.recording.launch_shapes import LaunchShape
from profiler.analyse.recording.overview import HotLine, Recording, Sheet, SheetMetric, SheetRule, TimingSheet
from profiler.catalog.ladders.ladder import size_text
from profiler.catalog.metrics import DURATION, HEADLINE, TIMED_ALONE
from profiler.present.document import (
    Caution,
    Column,
    Document,
    Facts,
    Folded,
    Heading,
    KernelName,
    Records,
    Row,
    Section,
    Table,
    Text,
    Value,
)
from profiler.present.documents.parts.causes import cause_blocks, headline_blocks
from profiler.present.documents.parts.provenance import provenance_facts
from profiler.store.runs.manifest import Clocks, Provenance
from profiler.store.runs.run import Run
from profiler.text import counted, duration, number, shortened, unit_for_people

_NVTX_WIDTH = 110
_STEADY_MHZ = 15.0  # one step of the clock
_NAME_WIDTH, _PLACE_WIDTH, _RANGES_WIDTH = 100, 30, 40
_MOST_RULES = 4
_LEAST_STALL = 0.01  # of the time between two instructions of a warp
_MOST_REASONS = 2
_LINE_COLUMNS = (
    Column("waiting", right=True),
    Column("source line"),
    Column("reasons", stays=0),
    Column("text", prose=True),
)
_MOST_ROWS = 28  # so that the whole answer has at most 60 lines
_INDEX_COLUMNS = (
    Column("share", right=True),
    Column("total", "duration"),
    Column("launches", "number"),
    Column("kernel", shrinks=True),
    Column("top cause"),
    Column("NVTX", stays=0),
)
_MOST_SHAPES = 4
_HEADER = ("kernel", "metric", "unit", "mean", "spread", "launches", "ncu")
_TIMING_HEADER = (
    "run_id", "workload", "processes", "repeats", "median_ns", "min_ns", "max_ns", "spread_pct", "gflops",
    "gbytes_per_s", "reference_median_ns", "reference_pct", "best_median_ns", "best_pct",
)  # fmt: skip
# The names in the section MemoryWorkloadAnalysis of Nsight Compute.
_RATES = {"max_bandwidth_pct": "Max Bandwidth", "mem_pipes_busy_pct": "Mem Pipes Busy"}
_HITS = {"l1_hit_pct": "L1/TEX Hit Rate", "l2_hit_pct": "L2 Hit Rate"}
Fact = tuple[str, str]


def recording_document(recording: Recording, *, full: bool = False) -> Document:
    """Returns the sheet of one kernel, the index of several and with `full` their sheets too, or the timings alone."""
    run, sheets, timing = recording.run, recording.sheets, recording.timing
    index = index_sections(recording) if len(sheets) > 1 else []
    shown = sheets if full or not index else []
    kernels = [section for sheet in shown for section in kernel_sections(sheet, full=full)]
    is_only_timed = timing is not None and not run.manifest.is_profiled
    return Document(
        run.manifest.name or run.label,
        [*index, *kernels, timing_section(timing), origin_section(run)],
        _timing_records(timing) if timing is not None and is_only_timed else _records(sheets),
        titled=True,
        opening=1 if index else 3 if sheets else 1,
    )


def index_sections(recording: Recording) -> list[Section]:
    """Returns the headline of several kernels, and a row for each that takes much of the time."""
    rows, rest = recording.index[:_MOST_ROWS], recording.index[_MOST_ROWS:]
    cautions = Counter(text for sheet in recording.sheets for text in sheet.cautions)
    shared = [text for text, count in cautions.items() if count == len(recording.sheets)]
    share = sum(one.share_pct or 0.0 for one in rest)
    more = f"{len(rest)} more kernels take {number(share)} % of the time together; --format json --full lists them."
    nvtx = ", `--nvtx RANGE` those in an NVTX range" if any(one.nvtx for one in rows) else ""
    ask = f"Ask next: `-k PATTERN` shows the kernels of that name{nvtx}, `--full` everything."
    return [
        headline_blocks(recording.headline),
        [
            Table(_INDEX_COLUMNS, [Row(_index_cells(one)) for one in rows], drops_empty=True),
            *([Text(more)] if rest else []),
            Text(ask),
        ],
        [Caution(text) for text in shared],
    ]


def _index_cells(entry: IndexEntry) -> tuple[Value, ...]:
    where = f" at {shortened(entry.where, _PLACE_WIDTH)}" if entry.where else ""
    return (
        f"{entry.share_pct:.1f} %" if entry.share_pct is not None else None,
        entry.total_ns,
        entry.launches,
        shortened(plain_name(entry.kernel), _NAME_WIDTH),
        f"{entry.top_cause}{where}" if entry.top_cause else None,
        shortened("; ".join(entry.nvtx), _RANGES_WIDTH),
    )


def timing_section(timing: TimingSheet | None) -> Section:
    """Returns the times without the profiler, if there are any."""
    return [Facts(timing_facts(timing))] if timing else []


def origin_section(run: Run) -> Section:
    """Returns everything needed to believe the run or to repeat it."""
    return [Heading("Origin"), Facts(provenance_facts(run.manifest, None if run.stored else run.path))]


def kernel_sections(
    sheet: Sheet,
    headline: Sequence[str] = HEADLINE,
    launches: Section = (),
    code: Sequence[Section] = (),
    left_out: int = 0,
    full: bool = True,
) -> list[Section]:
    """Returns everything about one kernel.

    A page adds charts of the `launches` and its `code`, and counts the metrics that are `left_out`. Unless `full`,
    small stalls, and the findings of Nsight Compute with the smallest estimates, are only counted.
    """
    facts = [*profiled_facts(sheet), *(("launched", text) for text in shape_lines(sheet))]
    nvtx = [("NVTX", shortened(ranges, _NVTX_WIDTH)) for ranges in sheet.nvtx]
    memory = memory_facts(sheet.metrics)
    rules = [Text(line) for line in rule_lines(sheet, None if full else _MOST_RULES)]
    return [
        [KernelName(sheet.kernel, counted(sheet.launches, "launch", "launches"))],
        headline_blocks(sheet.headline),
        [Caution(text) for text in sheet.cautions],
        cause_blocks(sheet.causes, sheet.causes_unseen, sheet.headline),
        hot_line_blocks(sheet.hot_lines),
        _facts([*facts, *nvtx]),
        _facts(memory),
        *_metric_sections(sheet.metrics, headline, launches, left_out, full=full),
        *code,
        [Heading("Findings of Nsight Compute’s own rules"), *rules] if rules else [],
    ]


def _facts(facts: Sequence[Fact]) -> Section:
    return [Facts(facts)] if facts else []


def _metric_sections(
    metrics: Sequence[SheetMetric], headline: Sequence[str], launches: Section, left_out: int, *, full: bool
) -> Iterator[Section]:
    """Yields the headline metrics in their order, the stall reasons with the longest first, and the others."""
    first = sorted((one for one in metrics if one.name in headline), key=lambda one: headline.index(one.name))
    found = [one for one in metrics if one.name in STALLS and one.mean > 0]
    least = 0.0 if full else _LEAST_STALL * sum(one.mean for one in found)
    stalls = sorted((one for one in found if one.mean >= least), key=lambda one: -one.mean)
    shown = {one.name for one in (*first, *stalls)}
    others = [one for one in metrics if one.name not in shown]
    if first:
        yield [Heading("Headline metrics"), metrics_table("metric", first), *launches]
    if stalls:
        yield [Heading("Stalls"), metrics_table("why a warp waits", stalls)]
    if others:
        summary = f"{counted(len(others), 'other metric', 'other metrics')}, mean and standard deviation over launches"
        more = f"; {left_out} more in `prof show --full`" if left_out else ""
        table = metrics_table("other metric" if shown else "metric", others)
        instead = None if full else f"{counted(len(others), 'other metric', 'other metrics')} with --full"
        yield [Heading("Other metrics"), Folded(f"{summary}{more}", [table], instead)]


def metrics_table(title: str, metrics: Sequence[SheetMetric]) -> Table:
    """Returns a row for each metric."""
    columns = (
        Column(title, folds=True),
        Column("unit"),
        Column("mean", "number"),
        Column("spread, %", "percent", missing="-"),
        Column("ncu", wide=True),
    )
    return Table(columns, [Row(_metric_cells(one)) for one in metrics])


def _metric_cells(metric: SheetMetric) -> tuple[Value, ...]:
    divisor, unit = unit_for_people(metric.unit, metric.mean)
    spread_pct = 100 * metric.spread / abs(metric.mean) if metric.spread is not None and metric.mean else None
    return (metric.name, unit, metric.mean / divisor, spread_pct, metric.ncu)


def profiled_facts(sheet: Sheet | None) -> list[Fact]:
    """Returns the time of a launch, if it was recorded, and whether it was profiled or timed alone."""
    time_ns = profiled_duration_ns(sheet)
    alone = sheet is not None and any(one.ncu == TIMED_ALONE for one in sheet.metrics)
    return [("timed" if alone else "profiled", duration(time_ns))] if time_ns else []


def profiled_duration_ns(sheet: Sheet | None) -> float | None:
    return next((one.mean for one in sheet.metrics if one.name == DURATION), None) if sheet else None


def _records(sheets: Sequence[Sheet]) -> Records:
    rows = [
        (one.kernel, metric.name, metric.unit, metric.mean, metric.spread, metric.launches, metric.ncu)
        for one in sheets
        for metric in one.metrics
    ]
    return Records(_HEADER, rows)


def _timing_records(sheet: TimingSheet) -> Records:
    facts = {
        **asdict(sheet.timing),
        "run_id": sheet.run.run_id,
        "workload": size_text(sheet.run.workload or {}),
        "processes": sheet.processes,
    }
    return Records(_TIMING_HEADER, [[facts[name] for name in _TIMING_HEADER]])


def shape_lines(sheet: Sheet) -> list[str]:
    """Returns the launch shapes in words.

    For example `32 x 32 blocks of 256 threads, 112 registers a thread, 16,896 bytes of shared memory a
    block`.
    """
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
    """Returns the sizes without trailing ones."""
    x, y, z = sizes
    return " x ".join(f"{size:,}" for size in ((x,) if y == z == 1 else (x, y) if z == 1 else sizes))


def hot_line_blocks(lines: Sequence[HotLine]) -> Section:
    """Returns the source lines where warps wait most, with the reasons."""
    rows = [
        Row(
            (
                f"{one.share_pct:.0f} %",
                f"{one.file}:{one.line}",
                ", ".join(f"{why} {share:.0f} %" for why, share in _waits(one)),
                one.text,
            )
        )
        for one in lines
    ]
    return [Heading("Hottest lines"), Table(_LINE_COLUMNS, rows, drops_empty=True)] if rows else []


def _waits(line: HotLine) -> list[tuple[str, float]]:
    """Returns the main reasons to wait at a line; a warp that is selected does not wait."""
    return [(why, share) for why, share in line.stalls.items() if why != "selected"][:_MOST_REASONS]


def rule_lines(sheet: Sheet, most: int | None = None) -> list[str]:
    """Returns the findings of Nsight Compute's own rules, `most` of them, with its estimates of the speedup."""
    lines = [f"{rule.section}{_place(rule)}{_estimate(rule)}: {rule.message}" for rule in sheet.rules[:most]]
    if left_out := sheet.rules_left_out + len(sheet.rules) - len(lines):
        how = "" if most is None else ", with --full"
        lines.append(f"and {counted(left_out, 'more finding', 'more findings')} of Nsight Compute{how}")
    return lines


def _estimate(rule: SheetRule) -> str:
    return f" (estimated speedup {rule.speedup_pct:.3g} %)" if rule.speedup_pct else ""


def _place(rule: SheetRule) -> str:
    if rule.file is not None:
        return f", {rule.file}:{rule.line}"
    return f", instruction at {rule.offset:#x}" if rule.offset is not None else ""


def timing_facts(sheet: TimingSheet) -> list[tuple[str, str]]:
    timing, provenance = sheet.timing, sheet.run.provenance
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
        name = f" ({provenance.reference})" if provenance and provenance.reference else ""
        reached = f"{number(timing.reference_pct)} % of its speed reached"
        rows.append(("reference", f"{duration(timing.reference_median_ns)}{name}, {reached}"))
    if timing.best_median_ns is not None and timing.best_pct is not None:
        reached = f"{number(timing.best_pct)} % of its speed reached"
        rows.append(("at its best", f"{duration(timing.best_median_ns)}{_algorithms(provenance)}, {reached}"))
    if provenance and provenance.clocks:
        rows.append(("clock", clocks_text(provenance.clocks)))
    repeats = counted(timing.repeats, "repeat", "repeats")
    rows.append(("timed", f"{repeats} in {counted(sheet.processes, 'process', 'processes')}, unprofiled"))
    return rows


def _algorithms(provenance: Provenance | None) -> str:
    """Returns the library and its fastest algorithm; processes that chose another one come after a semicolon."""
    if provenance is None:
        return ""
    known = [
        ", ".join(f"{name} {one[name]}" for name in ("id", "tile", "stages", "split_k") if name in one)
        or "its default"
        for one in provenance.algorithms
    ]
    return f" ({provenance.library or 'its library'}: {'; '.join(dict.fromkeys(known))})"


def clocks_text(clocks: Clocks) -> str:
    """Returns the clock and the power while the kernel and its reference were timed."""
    mhz, power = clocks.sm_mhz, clocks.power_w
    moved = mhz.greatest - mhz.least > _STEADY_MHZ
    range_text = f"{mhz.least:,.0f} to {mhz.greatest:,.0f} MHz, " if moved else ""
    return f"{range_text}median {mhz.median:,.0f} MHz, up to {power.greatest:,.0f} W ({counted(clocks.samples, 'sample', 'samples')})"


# Memory


def memory_facts(metrics: Sequence[SheetMetric]) -> list[Fact]:
    """Returns the five figures by which Nsight Compute judges memory, and the accesses, as far as recorded."""
    means = {metric.name: metric.mean for metric in metrics}
    moved = means.get("dram_bytes_per_s")
    throughput = [] if moved is None else [f"Memory Throughput {number(moved / 1e9)} GB/s"]
    facts = [
        ("memory", ", ".join([*throughput, *_percentages(_RATES, means)])),
        ("caches", ", ".join(_percentages(_HITS, means))),
        ("accesses", "; ".join(_accesses(means))),
    ]
    return [fact for fact in facts if fact[1]]


def _percentages(names: Mapping[str, str], means: Mapping[str, float]) -> list[str]:
    return [f"{label} {means[name]:.1f} %" for name, label in names.items() if name in means]


def _accesses(means: Mapping[str, float]) -> list[str]:
    facts = []
    if "bulk_loads" in means:
        loads, stores = (width_text(means, kind) for kind in ("load", "store"))
        facts.append(f"bits per global access: loads {loads}, stores {stores}")
    if "inst_per_byte" in means:
        facts.append(f"{number(means['inst_per_byte'])} instructions of all lanes per useful byte")
    return facts


def width_text(means: Mapping[str, float], kind: str) -> str:
    """Returns the width of loads or of stores in bits: `128`, `bulk`, `128+bulk`, or `-` for none.

    Copies of blocks are `bulk`, because their instructions have no width.
    """
    width_bits = means.get(f"{kind}_width_bits")
    parts = [] if width_bits is None else [f"{width_bits:.0f}"]
    return "+".join([*parts, *(["bulk"] if means.get(f"bulk_{kind}s") else [])]) or "-"
