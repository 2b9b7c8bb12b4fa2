"""One recording as a document: its timings, the findings and metrics of each kernel, and its origin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath

from msgspec.structs import asdict, replace as with_fields

from profiler.analyse.causes.cause import Cause, place_text
from profiler.analyse.recording import overview
from profiler.analyse.recording.hot_lines import HotLine
from profiler.analyse.recording.index import IndexEntry
from profiler.analyse.recording.kernel_names import called_name, plain_name, without_tags
from profiler.analyse.recording.launch_shapes import LaunchShape, launches_text, shape_text
from profiler.analyse.recording.triage import TriagedKernel
from profiler.catalog.ladders.ladder import size_text
from profiler.catalog.metrics import DURATION, HEADLINE, TIMED_ALONE
from profiler.catalog.presets import what_records_all
from profiler.present import document as doc
from profiler.present.documents.parts.causes import (
    cause_blocks,
    headline_blocks,
    source_notes,
    sureness_blocks,
)
from profiler.present.documents.parts.code_rows import SAMPLES_MEANING
from profiler.present.documents.parts.memory import Fact, memory_facts
from profiler.present.documents.parts.metrics import metric_sections
from profiler.present.documents.parts.origin import provenance_facts
from profiler.present.documents.parts.rules import rule_lines
from profiler.present.documents.parts.times import timing_facts
from profiler.store.runs.manifest import Manifest
from profiler.store.runs.run import Run
from profiler.text import (
    Spoken,
    counted,
    duration,
    first_of,
    place_name,
    share_of_whole,
    short_place,
    shortened,
    whole_percent,
)

_NVTX_WIDTH = 110
_PLACE_WIDTH = 30
_NAME_WIDTH, _RANGES_WIDTH = 60, 40
_MOST_OTHERS = 3
_OTHER_LINE = "{} names {}, where a change begins, although another line is hotter."
_AT_BRACE = (
    "A closing brace stands for the end of the kernel, where warps wait for their stores (drain), and for functions that the compiler calls, such "
    "as `pow` or a division of 64 bits."
)
_AT_THE_END = "At {}, where the code of the kernel ends, most samples are of functions that the compiler calls, such as `pow` or a division of 64 bits."
_MOST_REASONS = 2
_LEAST_WAIT_PCT, _READY_PCT = 1.0, 10.0
_LINE_COLUMNS = (
    doc.Column("samples", right=True),
    doc.Column("source line"),
    doc.Column("reasons", folds=True),
    doc.Column("text", prose=True),
)
_MOST_ROWS = 28  # so that the whole answer has at most 60 lines
_INDEX_COLUMNS = (
    doc.Column("share", right=True),
    doc.Column("total", "duration"),
    doc.Column("likely saves", "duration", stays=2),
    doc.Column("launches", "number", stays=1),
    doc.Column("kernel", shrinks=True),
    doc.Column("top cause", kept=True),
    doc.Column("NVTX", stays=0),
)
_MOST_SHAPES = 4
_HEADER = ("kernel", "metric", "unit", "mean", "spread", "launches", "ncu")
_TIMING_HEADER = (
    "run_id", "workload", "processes", "repeats", "median_ns", "min_ns", "max_ns", "spread_pct", "gflops",
    "gbytes_per_s", "reference_median_ns", "reference_pct", "best_median_ns", "best_pct",
)  # fmt: skip


def recording_document(recording: overview.RecordingOverview, *, full: bool = False) -> doc.Document:
    """Returns the sheet of the kernel that matters, the index of several and with `full` their sheets too, or the timings alone."""
    run, sheets, timing, main = recording.run, recording.sheets, recording.timing, recording.main
    parts_of = partial(parts_of_kernel, full=full, manifest=run.manifest)
    others = [one for one in sheets if one is not main]
    if main:
        parts = parts_of(with_fields(main, headline=recording.headline))
        answer, evidence = parts.answer, [*parts.reasons, *parts.figures, _beside_main(recording)]
    elif sheets:
        headline, *rows = _index_sections(recording)
        answer, evidence = [headline], rows
    else:
        answer = [headline_blocks(timing.headline)] if timing else []
        evidence = [[doc.Caution(text) for text in timing.cautions]] if timing else []
    for sheet in others if full else ():
        evidence += parts_of(sheet).sections
    is_only_timed = timing is not None and not run.manifest.is_profiled
    return doc.Document(
        run.manifest.name or run.label,
        [*answer, *evidence, timing_section(timing), origin_section(run, full=full)],
        _timing_records(timing) if timing is not None and is_only_timed else _records(sheets),
        opening=len(answer),
    )


def _beside_main(recording: overview.RecordingOverview) -> doc.Section:
    """Returns a line about the kernels that take next to nothing of the time beside the one that is shown; nothing if it is alone."""
    others = recording.index[1:]
    if not others:
        return []
    share = share_of_whole(sum(one.share_pct or 0.0 for one in others))
    takes = counted(len(others), "other kernel takes", "other kernels take")
    names = first_of([called_name(one.kernel) for one in others], _MOST_OTHERS)
    ask = Spoken("`-k NAME` shows one.", "`['name']` gives one.")
    return [doc.Text(f"{takes} {share} % of the time: {names}. " + ask)]


def _index_sections(recording: overview.RecordingOverview) -> list[doc.Section]:
    """Returns the headline of several kernels, and a row for each kernel that takes much of the time."""
    rows, rest = recording.index[:_MOST_ROWS], recording.index[_MOST_ROWS:]
    cautions = Counter(text for sheet in recording.sheets for text in sheet.cautions)
    shared = [text for text, count in cautions.items() if count == len(recording.sheets)]
    share = sum(one.share_pct or 0.0 for one in rest)
    more = f"{len(rest)} more kernels take {share_of_whole(share)} % of the time together; " + Spoken(
        "--format json --full lists them.", "`.to_pandas()` lists them."
    )
    nvtx = ", `--nvtx RANGE` those in an NVTX range" if any(one.nvtx for one in rows) else ""
    of_range = ", and `nvtx='name'` those in an NVTX range" if nvtx else ""
    ask = Spoken(
        f"`-k PATTERN` shows the kernels of that name{nvtx}, `--full` everything; "
        "`prof compare` with two -k compares two of them.",
        f"`[0]`, `['name']` and `kernel_name='name'` give one kernel{of_range}.",
    )
    return [
        headline_blocks(recording.headline),
        [
            doc.Table(_INDEX_COLUMNS, [doc.Row(_index_cells(one)) for one in rows], drops_empty=True),
            *([doc.Text(more)] if rest else []),
            *source_notes((one.where for one in rows), recording.headline),
            doc.Text(ask),
        ],
        [doc.Caution(text) for text in shared],
    ]


def _index_cells(entry: IndexEntry) -> tuple[doc.Value, ...]:
    return (
        share_cell(entry),
        entry.total_ns,
        entry.likely_saves_ns,
        entry.launches,
        shortened(plain_name(entry.kernel), _NAME_WIDTH),
        top_cause_cell(entry),
        shortened("; ".join(entry.nvtx), _RANGES_WIDTH),
    )


def share_cell(entry: IndexEntry | TriagedKernel) -> str | None:
    """Returns the part of the time that a kernel takes, as a table of several shows it."""
    return None if entry.share_pct is None else f"{share_of_whole(entry.share_pct)} %"


def top_cause_cell(entry: IndexEntry | TriagedKernel) -> str | None:
    """Returns the cause that limits a kernel most, and where."""
    where = f" at {shortened(short_place(entry.where), _PLACE_WIDTH)}" if entry.where else ""
    return f"{entry.top_cause}{where}" if entry.top_cause else None


def timing_section(timing: overview.TimingSheet | None) -> doc.Section:
    """Returns the times without the profiler, if there are any."""
    return [doc.Facts(timing_facts(timing))] if timing else []


def origin_section(run: Run, *, full: bool = True) -> doc.Section:
    """Returns everything needed to believe the run or to repeat it; unless `full`, what is needed to know it."""
    facts = provenance_facts(run.manifest, None if run.stored else PurePath(run.path).name, full=full)
    everything = Spoken("`--full` shows what is left out, and", "`.manifest` of `prof.read(...)`")
    hint = everything + " adds how it was built and recorded, with the hashes of all files. "
    hint += Spoken("`--brief` shows the answer alone.", "`.headline` is the answer alone.")
    return [doc.Heading("Origin"), doc.Facts(facts), *([] if full else [doc.Text(hint)])]


@dataclass(frozen=True)
class KernelParts:
    """Everything about one kernel: the answer, the reasons for it, and the figures in full."""

    headline: doc.Section
    name: doc.Section
    cautions: doc.Section
    reasons: list[doc.Section]
    figures: list[doc.Section]

    @property
    def answer(self) -> list[doc.Section]:
        """Returns why the kernel takes so long and what to do next, which kernel it is, and what to doubt."""
        return [self.headline, self.name, self.cautions]

    @property
    def sections(self) -> list[doc.Section]:
        return [*self.answer, *self.reasons, *self.figures]


def sheet_document(sheet: overview.SheetFinding) -> doc.Document:
    """Returns everything about one kernel, without the recording that holds it."""
    parts = parts_of_kernel(sheet)
    return doc.Document(sheet.kernel, parts.sections, opening=len(parts.answer))


def parts_of_kernel(
    sheet: overview.SheetFinding,
    headline: Sequence[str] = HEADLINE,
    *,
    launches: doc.Section = (),
    code: Sequence[doc.Section] = (),
    left_out: int = 0,
    full: bool = True,
    manifest: Manifest | None = None,
) -> KernelParts:
    """Returns everything about one kernel.

    A page adds charts of the `launches` and its `code`, and counts the metrics that are `left_out`. Unless `full`,
    small causes and stalls, and the findings of Nsight Compute with the smallest estimates, are only counted, and the types of its
    parameters are left out. The `manifest` says how it was recorded.
    """
    is_named = not full and _names_kernel(sheet)
    name = doc.KernelName(without_tags(sheet.kernel), counted(sheet.launches, "launch", "launches"))
    launched = [("launched", text) for text in _shape_lines(sheet, full=full)]
    if is_named and sheet.launches > 1 and len(launched) < 2:  # several ways each have their number
        launched = [("launched", ": ".join([f"{sheet.launches:,} times", *(text for _, text in launched)]))]
    nvtx = [("NVTX", shortened(ranges, _NVTX_WIDTH)) for ranges in sheet.nvtx]
    clock = [("SM clock", sheet.sm_clock.text)] if sheet.sm_clock else []
    facts = [*launched, *nvtx, *clock, *memory_facts(sheet.metrics)]
    rules = [doc.Text(line) for line in rule_lines(sheet, full=full)]
    return KernelParts(
        headline=headline_blocks(sheet.headline),
        name=[] if is_named else [name],
        cautions=[doc.Caution(text) for text in sheet.cautions],
        reasons=[
            cause_blocks(
                sheet.causes,
                sheet.causes_unseen,
                sheet.headline,
                full=full,
                kernel=sheet.kernel,
                program=manifest.program if manifest else "",
                left_out=sheet.further_causes,
                sure=sureness_blocks(sheet.causes, sheet.sureness, sheet.causes_unseen),
                fuller=sheet.fuller_run,
                records_all=what_records_all(manifest.preset, manifest.sections) if manifest else "",
            ),
            hot_line_blocks(sheet.hot_lines, sheet.causes),
            [doc.Facts(facts)] if facts else [],
        ],
        figures=[
            *metric_sections(sheet.metrics, headline, launches, left_out, full=full),
            *code,
            [doc.Heading("Findings of Nsight Compute’s own rules"), *rules] if rules else [],
        ],
    )


def _names_kernel(sheet: overview.SheetFinding) -> bool:
    """Returns whether the headline says all of the kernel's name but the types of its parameters."""
    name = plain_name(sheet.kernel)
    said = sheet.headline.what if sheet.headline else ""
    return said.startswith((f"{name} takes ", f"How long {name} takes "))


def profiled_facts(sheet: overview.SheetFinding | None) -> list[Fact]:
    """Returns the time of a launch, if it was recorded, and whether it was profiled or timed alone."""
    time_ns = profiled_duration_ns(sheet)
    alone = sheet is not None and any(one.ncu == TIMED_ALONE for one in sheet.metrics)
    return [("timed" if alone else "profiled", duration(time_ns))] if time_ns else []


def profiled_duration_ns(sheet: overview.SheetFinding | None) -> float | None:
    return next((one.mean for one in sheet.metrics if one.name == DURATION), None) if sheet else None


def _records(sheets: Sequence[overview.SheetFinding]) -> doc.Records:
    rows = [
        (one.kernel, metric.name, metric.unit, metric.mean, metric.spread, metric.launches, metric.ncu)
        for one in sheets
        for metric in one.metrics
    ]
    return doc.Records(_HEADER, rows)


def _timing_records(sheet: overview.TimingSheet) -> doc.Records:
    of_run = {"run_id": sheet.run.run_id, "workload": size_text(sheet.run.workload or {})}
    facts = {**asdict(sheet.timing), **of_run, "processes": sheet.processes}
    return doc.Records(_TIMING_HEADER, [[facts[name] for name in _TIMING_HEADER]])


def _shape_lines(sheet: overview.SheetFinding, *, full: bool) -> list[str]:
    """Returns the launch shapes in words; unless `full`, only those that take most of the time, and how many others there are.

    For example `32 x 32 blocks of 256 threads, 112 registers a thread, 16,896 bytes of shared memory a
    block (17,920 with CUDA's own)`.
    """
    most = len(sheet.shapes) if full else _MOST_SHAPES
    kept, rest = sheet.shapes[:most], sheet.shapes[most:]
    several = len(sheet.shapes) > 1
    # All figures, and so what CUDA adds, are of the first shape.
    allocated = {one.name: one.mean for one in sheet.metrics}.get("shared_bytes")
    lines = [
        _shape_text(shape, several=several, allocated=None if place else allocated)
        for place, shape in enumerate(kept)
    ]
    return [*lines, f"and in {counted(len(rest), 'other way', 'other ways')}"] if rest else lines


def _shape_text(shape: LaunchShape, *, several: bool, allocated: float | None) -> str:
    facts = [shape_text(shape)]
    if shape.registers is not None:
        facts.append(f"{shape.registers} registers a thread")
    if shape.shared_bytes:
        is_more = allocated is not None and allocated > shape.shared_bytes
        reserved = f" ({allocated:,.0f} with CUDA's own)" if is_more else ""
        size = f"{shape.shared_bytes:,} byte{'s' * (shape.shared_bytes != 1)}"
        facts.append(f"{size} of shared memory a block{reserved}")
    if several:
        facts.append(launches_text(shape))
    return ", ".join(facts)


def hot_line_blocks(lines: Sequence[HotLine], causes: Sequence[Cause]) -> doc.Section:
    """Returns the source lines where warps wait most, with the reasons, and why the first cause may be at another."""
    rows = []
    for one in (line for line in lines if line.share_pct >= _LEAST_WAIT_PCT):
        waits = ", ".join(f"{why} {whole_percent(share)} %" for why, share in _waits(one))
        place = short_place(place_name(one.file, one.line))
        rows.append(doc.Row((f"{whole_percent(one.share_pct)} %", place, waits, one.text)))
    if not rows:
        return []
    table = doc.Table(_LINE_COLUMNS, rows, drops_empty=True)
    blamed = place_text(causes[0].where[0]) if causes and causes[0].where_is == "line" else ""
    hottest = short_place(place_name(lines[0].file, lines[0].line))
    other = [doc.Text(_OTHER_LINE.format(causes[0].cause, blamed))] if blamed not in ("", hottest) else []
    shown = lines[: len(rows)]
    at_brace = [_AT_BRACE] if any(one.text == "}" for one in shown) else []
    at_the_end = [
        _AT_THE_END.format(short_place(place_name(one.file, one.line)))
        for one in shown
        if one.of_called and not at_brace
    ]
    meaning = [SAMPLES_MEANING, *at_brace, *at_the_end]
    return [doc.Heading("Hottest lines"), table, *map(doc.Text, meaning), *other]


def _waits(line: HotLine) -> list[tuple[str, float]]:
    """Returns the main reasons to wait at a line, and how often a warp did not wait there, the most frequent first."""
    going = [("not waiting", line.ready_pct)] if line.ready_pct >= _READY_PCT else []
    waits = [one for one in line.stalls.items() if one[1] >= _LEAST_WAIT_PCT]
    return sorted([*waits[: _MOST_REASONS - len(going)], *going], key=lambda one: -one[1])
