"""Summarises one recording: per kernel its metrics and rules, or a rung's timings.

A `Run` in; plain values out, which are what `prof show --format json` prints.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct
from msgspec.structs import replace

from profiler.analyse.causes.cause import Cause, Headline
from profiler.analyse.causes.find import Diagnose, diagnose
from profiler.analyse.causes.headline import headline_of
from profiler.analyse.findings import ALL_KERNELS, SCHEMA_VERSION, LeftOut
from profiler.analyse.importance import ALWAYS, Importance
from profiler.analyse.recording.doubts import find_doubts
from profiler.analyse.recording.index import IndexEntry, headline_of_index, index_of
from profiler.analyse.recording.launch_shapes import LaunchShape
from profiler.analyse.recording.profile import Profile, Series
from profiler.analyse.recording.source_lines import find_source_lines
from profiler.analyse.statistics.differences import standard_deviation
from profiler.analyse.statistics.timings import TimingSummary, summarise
from profiler.catalog.metrics import DURATION, HEADLINE
from profiler.errors import RunDamaged
from profiler.store.runs.manifest import Manifest
from profiler.text import counted

if TYPE_CHECKING:
    import pyarrow as pa

    from profiler.catalog.ladders.ladder import Kernel
    from profiler.store.runs.run import Run

_MOST_RULES = 30
_MOST_LINES, _MOST_STALLS = 5, 3
# Links in the texts of Nsight Compute's rules: `@url:fused:https://...@`, `@section:LaunchStats:Launch Statistics@`.
_MARKUP = re.compile(r"@url:([^@]*?):https?:[^@]*@|@[a-z]+:(?:[^@:]*:)?([^@]*)@")


class SheetMetric(Struct, frozen=True):
    """Mean of the means of processes; `spread` is the standard deviation of all launches, null with one launch."""

    name: str
    unit: str
    mean: float
    spread: float | None
    launches: int
    ncu: str


class SheetRule(Struct, frozen=True):
    """It may point at a source line, or at an instruction by its offset in bytes."""

    section: str
    kind: str
    message: str
    speedup_pct: float | None
    file: str | None = None
    line: int | None = None
    offset: int | None = None


class HotLine(Struct, frozen=True):
    """A source line with its share of the kernel's stall samples, and the share of each main reason in its own."""

    file: str
    line: int
    share_pct: float
    stalls: dict[str, float]
    text: str | None


def _says_most(metric: SheetMetric, sheet: Sheet, _: object) -> int:
    """Ranks the headline in its order, then what the causes and the cautions speak of."""
    if metric.name in HEADLINE:
        return HEADLINE.index(metric.name)
    is_evidence = any(metric.name in cause.evidence for cause in sheet.causes)
    is_doubted = any(metric.name in caution for caution in sheet.cautions)
    return len(HEADLINE) + (not (is_evidence or is_doubted))


class Sheet(Struct, frozen=True):
    """`nvtx` holds the NVTX ranges around the launches, each nesting once: `outer > inner`; `shapes` how they were launched."""

    kernel: str
    launches: int
    gpu: str
    nvtx: Annotated[list[str], Importance(84, each=2)]
    metrics: Annotated[list[SheetMetric], Importance(97, each=1.2, by=_says_most)]
    rules: Annotated[list[SheetRule], Importance(84, each=3)]
    rules_left_out: int = 0
    cautions: Annotated[list[str], Importance(99, each=1)] = []
    shapes: list[LaunchShape] = []
    headline: Headline | None = None
    causes: Annotated[list[Cause], Importance(98, each=3)] = []
    causes_unseen: Annotated[list[str], Importance(86, each=1)] = []
    hot_lines: Annotated[list[HotLine], Importance(93, each=2)] = []

    @property
    def total_ns(self) -> float | None:
        """The time that the kernel took over all its launches; None where it is not recorded."""
        return next((one.mean * one.launches for one in self.metrics if one.name == DURATION), None)


# How the run was made matters more than the files that hold it.
RecordedRun = Annotated[
    Manifest,
    Importance(
        ALWAYS,
        parts={
            "provenance": Importance(
                79, counted_as="run.provenance", parts={"sources": Importance(0, counted_as="run.sources")}
            ),
            **{
                name: Importance(0, counted_as=f"run.{name}")
                for name in ("metrics", "kernels", "reports", "tables")
            },
        },
    ),
]


class TimingSheet(Struct, frozen=True):
    run: RecordedRun
    processes: int
    timing: TimingSummary
    schema_version: int = SCHEMA_VERSION
    left_out: LeftOut = {}


def _time_ns(sheet: Sheet, *_: object) -> float:
    return sheet.total_ns or 0.0


class Sheets(Struct, frozen=True):
    """`index` lists all kernels; `timing` is what was timed without the profiler, where the run holds that too."""

    headline: Headline | None
    index: Annotated[list[IndexEntry], Importance(ALL_KERNELS, keeps_order=True)]
    run: RecordedRun
    kernels: Annotated[list[Sheet], Importance(100, each=3, by=_time_ns, largest_first=True)]
    timing: TimingSummary | None = None
    schema_version: int = SCHEMA_VERSION
    left_out: LeftOut = {}


@dataclass(frozen=True)
class Recording:
    """A run's kernels, its unprofiled timings, or both."""

    run: Run
    sheets: list[Sheet]
    timing: TimingSheet | None

    @property
    def finding(self) -> Sheets | TimingSheet:
        if self.timing and not self.run.manifest.is_profiled:
            return self.timing
        return Sheets(
            self.headline,
            self.index,
            self.run.manifest,
            self.sheets,
            self.timing.timing if self.timing else None,
        )

    @cached_property
    def index(self) -> list[IndexEntry]:
        return index_of(self.sheets)

    @cached_property
    def headline(self) -> Headline | None:
        """The answer: of the one kernel, or of where the time of several goes."""
        if len(self.sheets) == 1:
            return self.sheets[0].headline
        counted = self.run.manifest.has_counters
        return headline_of_index(self.run.label, self.index, self.sheets, has_counters=counted)


def derive_sheet(run: Run, profile: Profile, full: bool, diagnose: Diagnose = diagnose) -> Sheet:
    """Returns the sheet of a kernel, with every metric if `full`; `diagnose` finds its causes."""
    series = list(profile.series.values())
    if full:
        catalogued = {one.ncu for one in series}
        series += [one for name, one in sorted(profile.raw.items()) if name not in catalogued]
    run = profile.run or run
    rules = _rules(run, profile.kernel)
    diagnosis = diagnose(profile)
    return Sheet(
        kernel=profile.kernel,
        launches=profile.launches,
        gpu=profile.gpu,
        nvtx=_nvtx(run, profile.kernel),
        metrics=[_metric(one) for one in series],
        rules=rules[:_MOST_RULES],
        rules_left_out=len(rules[_MOST_RULES:]),
        cautions=find_doubts(profile),
        shapes=profile.shapes,
        headline=headline_of(profile, diagnosis),
        causes=diagnosis.causes,
        causes_unseen=diagnosis.unseen,
        hot_lines=_hot_lines(run, profile.kernel),
    )


def derive_timing_sheet(run: Run, kernel: Kernel | None) -> TimingSheet:
    """Summarises a run's timings. Without the ladder's `kernel`, the work done is not known."""
    timings = run.table("timings")
    if not timings.num_rows:
        raise RunDamaged(f"{run.path}: a run of timings that holds none")
    return TimingSheet(
        run=run.manifest,
        processes=len(set(timings.column("process").to_pylist())),
        timing=summarise_rung(
            kernel,
            run.manifest.workload or {},
            *times_of(timings),
        ),
    )


def times_of(timings: pa.Table) -> list[list[float]]:
    """Returns the times of the kernel, of its reference, and of the reference's fastest algorithm."""
    return [timings.column(name).to_pylist() for name in ("kernel_ns", "reference_ns", "best_ns")]


def summarise_rung(
    kernel: Kernel | None,
    values: Mapping[str, int],
    kernel_ns: Sequence[float],
    reference_ns: Sequence[float | None] = (),
    best_ns: Sequence[float | None] = (),
) -> TimingSummary:
    """Summarises times, with the work that the ladder says this kernel does at these sizes."""
    return summarise(
        kernel_ns,
        reference_ns,
        best_ns,
        flops=kernel.flops.evaluate(values) if kernel and kernel.flops else None,
        bytes=kernel.bytes.evaluate(values) if kernel and kernel.bytes else None,
    )


def _metric(series: Series) -> SheetMetric:
    values = series.values
    return SheetMetric(
        name=series.metric.name,
        unit=series.metric.unit,
        mean=series.mean,
        spread=standard_deviation(values) if len(values) > 1 else None,
        launches=len(values),
        ncu=series.ncu,
    )


def _nvtx(run: Run, kernel: str) -> list[str]:
    launches = run.table("launches").select(["kernel", "nvtx"]).to_pylist()
    nestings = (row["nvtx"] for row in launches if row["kernel"] == kernel and row["nvtx"])
    return list(
        dict.fromkeys(" > ".join(one["name"] or "(unnamed)" for one in nesting) for nesting in nestings)
    )


def _rules(run: Run, kernel: str) -> list[SheetRule]:
    """Lists Nsight Compute's own findings for the kernel, the largest estimate first, once for each source line.

    Each launch repeats them with slightly other figures: a rule speaks for the first launch that it fired for. What
    it says of instructions whose lines are not known is said of the first, and the others are counted.
    """
    launches = run.table("launches").select(["launch", "kernel"]).to_pylist()
    numbers = {row["launch"] for row in launches if row["kernel"] == kernel}
    launch_of: dict[str, int] = {}
    found: dict[tuple[object, ...], list[SheetRule]] = {}
    for row in run.table("rules").to_pylist():
        if (
            row["launch"] in numbers
            and row["kind"] in ("optimization", "warning")
            and launch_of.setdefault(row["rule"], row["launch"]) == row["launch"]
        ):
            rule = SheetRule(**{name: row[name] for name in SheetRule.__struct_fields__})
            rule = replace(rule, message=_MARKUP.sub(r"\1\2", rule.message))
            what = (rule.file, rule.line) if rule.line else rule.offset is not None or rule.message
            found.setdefault((row["rule"], rule.section, what), []).append(rule)
    return sorted(map(_one_rule, found.values()), key=lambda rule: -(rule.speedup_pct or 0.0))


def _one_rule(alike: Sequence[SheetRule]) -> SheetRule:
    first = max(alike, key=lambda rule: rule.speedup_pct or 0.0)
    others = len({rule.offset for rule in alike} - {first.offset})
    if not others or first.line:
        return first
    return replace(
        first,
        message=f"{first.message} The same holds at {counted(others, 'other instruction', 'other instructions')}.",
    )


def _hot_lines(run: Run, kernel: str) -> list[HotLine]:
    """Returns the lines where warps wait most often, each with its main reasons; nothing without samples of lines."""
    sections = run.manifest.sections
    if sections and "SourceCounters" not in sections:  # which samples: reading the lines would be for nothing
        return []
    found = find_source_lines(run, kernel)
    if found is None or not found.samples:
        return []
    lines = sorted((one for one in found.lines if one.samples), key=lambda one: -one.samples)
    return [
        HotLine(
            file=one.file,
            line=one.line,
            share_pct=100 * one.samples / found.samples,
            stalls={why: 100 * count / one.samples for why, count in list(one.stalls.items())[:_MOST_STALLS]},
            text=one.text.strip() if one.text else None,
        )
        for one in lines[:_MOST_LINES]
    ]
