"""Summarises one recording: per kernel its metrics and rules, or a rung's timings.

A `Run` in; plain values out, which are what `prof show --format json` prints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace as with_fields

from profiler.analyse.agreed_names import WithAgreedNames
from profiler.analyse.causes.cause import Cause, FullerRun, Headline
from profiler.analyse.causes.diagnose import Diagnose, diagnose
from profiler.analyse.causes.headline import headline_of
from profiler.analyse.findings import ALL_KERNELS, SCHEMA_VERSION, LeftOut
from profiler.analyse.importance import ALWAYS, Importance
from profiler.analyse.recording.doubts import SmClock, find_doubts, find_sm_clock
from profiler.analyse.recording.hot_lines import HotLine, list_hot_lines
from profiler.analyse.recording.index import IndexEntry, headline_of_index, index_of, share_text
from profiler.analyse.recording.launch_shapes import LaunchShape
from profiler.analyse.recording.main_shape import of_main_shape, say_main_shape
from profiler.analyse.recording.profile import Profile, Series, gpus_text
from profiler.analyse.recording.rules import SheetRule, find_rules
from profiler.analyse.recording.work import declared_work
from profiler.analyse.statistics.differences import Readings, standard_deviation
from profiler.analyse.statistics.timings import TimingSummary, summarise
from profiler.catalog.causes.sureness import Sureness
from profiler.catalog.ladders.ladder import Kernel
from profiler.catalog.metrics import BUSY_PCT, DURATION, HEADLINE, STALLS, WAITS, with_working_pipes
from profiler.errors import RunDamaged
from profiler.store.runs.manifest import Manifest
from profiler.store.runs.run import Run
from profiler.text import duration

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_RULES = 30
_MOST_WAITS = 3
# The other kernels together then take a part of the time that is too small to be a notable change.
_NEARLY_ALL_PCT = 95.0
_LEAST_STALL = 0.01  # of a warp's time, ready or not
_OF_UNITS = ("_pipe_pct", "_throughput_pct")
_MOST_UNITS = 2


class SheetMetric(Struct, frozen=True):
    """Mean of the means of processes; `spread` is the standard deviation of all launches, null with one launch."""

    name: str
    unit: str
    mean: float
    spread: Annotated[
        float | None,
        Meta(description="Standard deviation of all launches, in the metric's unit; null with one launch."),
    ]
    launches: int
    ncu: str


def longest_stalls(metrics: Sequence[SheetMetric]) -> list[SheetMetric]:
    """Returns the stalls, the longest first, without those that cost next to nothing; `selected` and `not_selected` are among them."""
    stalls = [one for one in metrics if one.name in STALLS and one.mean > 0]
    least = _LEAST_STALL * sum(one.mean for one in stalls)
    return sorted((one for one in stalls if one.mean >= least), key=lambda one: -one.mean)


def busiest_units(metrics: Sequence[SheetMetric], most: int) -> list[SheetMetric]:
    """Returns the units of the GPU that work most, if they work."""
    units = [one for one in metrics if one.name.endswith(_OF_UNITS) and one.mean >= BUSY_PCT]
    return sorted(units, key=lambda one: -one.mean)[:most]


def _says_most(metric: SheetMetric, sheet: SheetFinding, _: object) -> tuple[int, float]:
    """Ranks the duration first, then the longest waits, the busiest units, the headline, and what causes and cautions mention.

    Stalls that cost next to nothing come last, those of the headline too.
    """
    if metric.name == DURATION:
        return 0, 0
    if metric.name in STALLS:
        longest = longest_stalls(sheet.metrics)
        if metric in [one for one in longest if one.name in WAITS][:_MOST_WAITS]:
            return 1, -metric.mean
        if metric not in longest:
            return 5, 0
    if metric.name.endswith(_OF_UNITS) and metric in busiest_units(sheet.metrics, _MOST_UNITS):
        return 2, -metric.mean
    leading = with_working_pipes(HEADLINE, {one.name: one.mean for one in sheet.metrics})
    if metric.name in leading:
        return 3, leading.index(metric.name)
    is_evidence = any(metric.name in cause.evidence for cause in sheet.causes)
    is_doubted = any(metric.name in caution for caution in sheet.cautions)
    return 4, not (is_evidence or is_doubted)


def _name_and_saving(cause: Cause) -> tuple[str, float]:
    return cause.cause, cause.saves_pct.expected


class SheetFinding(WithAgreedNames, Struct, frozen=True):
    """`nvtx` holds the NVTX ranges around the launches, each nesting once: `outer > inner`; `shapes` how they were launched.

    `launches` and `total_ns` cover all launches; everything else covers those of the shape that takes most of the time.
    The `headline` repeats the first cause, and for one kernel what the answer begins with, so the short form may lack it.
    """

    kernel: str
    launches: int
    gpu: str
    nvtx: Annotated[list[str], Importance(84, each=2)]
    metrics: Annotated[list[SheetMetric], Importance(97, each=1.2, by=_says_most)]
    rules: Annotated[list[SheetRule], Importance(84, each=3)]
    rules_left_out: int = 0
    cautions: Annotated[list[str], Importance(99, each=1)] = []
    shapes: list[LaunchShape] = []
    headline: Annotated[Headline | None, Importance(88, counted_as="kernels.headline")] = None
    causes: Annotated[list[Cause], Importance(98, each=3, instead=("further_causes", _name_and_saving))] = []
    further_causes: Annotated[
        dict[str, float],
        Importance(99, each=0.1),
        Meta(
            description="For each cause that is not listed for want of room, what removing it alone is expected to save, in percent."
        ),
    ] = {}
    sureness: Annotated[
        Sureness | None,
        Meta(
            description="How sure the first cause is, where kernels with such a recording and answer were put to the test."
        ),
    ] = None
    causes_unseen: Annotated[list[str], Importance(86, each=1)] = []
    fuller_run: FullerRun | None = None
    hot_lines: Annotated[list[HotLine], Importance(95, each=1)] = []
    total_ns: float | None = None
    kernel_name: str = ""
    sm_clock: Annotated[SmClock | None, Importance(60)] = None


class RunOfAnswer(Manifest, frozen=True):
    """The manifest of what was recorded. A report that is not stored has no id, since no command would find it by one."""

    run_id: str | None  # type: ignore[assignment]
    origin: Literal["ingested", "collected", "timed", "report"]  # type: ignore[assignment]


def _run_of_answer(run: Run) -> RunOfAnswer:
    known = {name: getattr(run.manifest, name) for name in run.manifest.__struct_fields__}
    return RunOfAnswer(**(known if run.stored else {**known, "run_id": None, "origin": "report"}))


# How the run was made matters more than the files that hold it.
RecordedRun = Annotated[
    RunOfAnswer,
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
    headline: Headline
    run: RecordedRun
    processes: int
    timing: TimingSummary
    cautions: Annotated[list[str], Importance(99, each=1)] = []
    schema_version: int = SCHEMA_VERSION
    left_out: LeftOut = {}


def _time_ns(sheet: SheetFinding, *_: object) -> float:
    return sheet.total_ns or 0.0


class Sheets(Struct, frozen=True):
    """`index` lists all kernels; `timing` is what was timed without the profiler, if the run holds that too."""

    headline: Headline | None
    index: Annotated[list[IndexEntry], Importance(ALL_KERNELS, keeps_order=True)]
    run: RecordedRun
    kernels: Annotated[list[SheetFinding], Importance(100, each=3, by=_time_ns, largest_first=True)]
    timing: TimingSummary | None = None
    schema_version: int = SCHEMA_VERSION
    left_out: LeftOut = {}


@dataclass(frozen=True)
class RecordingOverview:
    """A run's kernels, its unprofiled timings, or both."""

    run: Run
    sheets: list[SheetFinding]
    timing: TimingSheet | None

    @property
    def finding(self) -> Sheets | TimingSheet:
        if self.timing and not self.run.manifest.is_profiled:
            return self.timing
        timing = self.timing.timing if self.timing else None
        return Sheets(self.headline, self.index, _run_of_answer(self.run), self.sheets, timing)

    @cached_property
    def index(self) -> list[IndexEntry]:
        return index_of(self.sheets)

    @cached_property
    def main(self) -> SheetFinding | None:
        """Returns the sheet of the one kernel, or of the one that takes nearly all of the time; None if several share it."""
        if len(self.sheets) < 2:
            return next(iter(self.sheets), None)
        shares = [one.share_pct for one in self.index]
        if None in shares or (shares[0] or 0.0) <= _NEARLY_ALL_PCT:
            return None
        return max(self.sheets, key=_time_ns)

    @cached_property
    def headline(self) -> Headline | None:
        """Returns the answer about the one kernel that matters, or about where the time of several goes."""
        if self.main and self.main.headline:
            return with_fields(self.main.headline, what=f"{self.main.headline.what}{self._share_of_main}")
        counted = self.run.manifest.has_counters
        return headline_of_index(self.run.label, self.index, self.sheets, has_counters=counted)

    @property
    def _share_of_main(self) -> str:
        """Returns a further sentence, which says how many kernels there are beside the main one."""
        if len(self.sheets) == 1:
            return ""
        return f" It takes {share_text(self.index[0].share_pct or 0.0)} % of the time of {len(self.sheets)} kernels."


def derive_sheet(profile: Profile, full: bool, diagnose: Diagnose = diagnose) -> SheetFinding:
    """Returns the sheet of a kernel, with every metric if `full`; `diagnose` finds its causes."""
    main = of_main_shape(profile)
    series = list(main.series.values())
    if full:
        catalogued = {one.ncu for one in series}
        series += [one for name, one in sorted(main.raw.items()) if name not in catalogued]
    rules = find_rules(main.run, profile.kernel)
    diagnosis = diagnose(profile)
    return SheetFinding(
        kernel=profile.kernel,
        launches=profile.launches,
        gpu=profile.gpu,
        nvtx=_nvtx(main.run, profile.kernel),
        metrics=[_metric(one) for one in series],
        rules=rules[:_MOST_RULES],
        rules_left_out=len(rules[_MOST_RULES:]),
        cautions=[*find_doubts(main), *say_main_shape(profile, main)],
        shapes=profile.shapes,
        headline=headline_of(main, diagnosis, profile.launches),
        causes=diagnosis.causes,
        further_causes=diagnosis.left_out,
        sureness=diagnosis.sureness,
        causes_unseen=diagnosis.unseen,
        hot_lines=list_hot_lines(main),
        total_ns=profile.total_ns,
        sm_clock=find_sm_clock(main),
    )


def derive_timing_sheet(run: Run, kernel: Kernel | None, how_to_profile: str) -> TimingSheet:
    """Summarises a run's timings. `how_to_profile` is the command, or the call, that records the counters that they lack."""
    timing = summarise_timings(run, kernel)
    return TimingSheet(
        headline=_headline_of_timing(run, timing, kernel, how_to_profile),
        run=_run_of_answer(run),
        processes=len(set(run.table("timings").column("process").to_pylist())),
        timing=timing,
        cautions=run.manifest.facts.cautions,
    )


def summarise_timings(run: Run, kernel: Kernel | None) -> TimingSummary:
    """Returns a run's times without the profiler. Without the ladder's `kernel`, the work done is not known."""
    timings = run.table("timings")
    if not timings.num_rows:
        raise RunDamaged(f"{run.path}: a run of timings without a single one")
    return summarise_rung(kernel, run.manifest.workload, *times_of(timings))


def _headline_of_timing(
    run: Run, timing: TimingSummary, kernel: Kernel | None, how_to_profile: str
) -> Headline:
    """Returns the time and its ratio to the reference; why it takes so long needs a profile."""
    name = run.manifest.facts.reference or "its reference"
    of = "" if timing.reference_pct is None else f", {timing.reference_pct:.1f} % of the speed of {name}"
    if of and timing.best_pct is not None:
        of += f" and {timing.best_pct:.1f} % of its best"
    gpus = gpus_text(run.manifest.gpus)
    what = f"{run.label} takes {duration(timing.typical_ns)} without the profiler on {gpus}{of}."
    if kernel is not None and not kernel.is_profiled:
        ladder = f"`prof ladder {run.manifest.ladder}`"
        why = "It launches no kernel of its own, so there are no counters to say why."
        return Headline(what, why, f"{ladder} compares it with the kernels of its ladder.")
    why = "Only times were recorded, which do not say why."
    return Headline(what, why, f"Record its counters with `{how_to_profile}`, then ask again.")


def times_of(timings: pa.Table) -> tuple[Readings, list[float | None], list[float | None]]:
    """Returns the times of the kernel, of its reference, and of the reference's fastest algorithm."""
    kernel, process, *others = (
        timings.column(name).to_pylist() for name in ("kernel_ns", "process", "reference_ns", "best_ns")
    )
    return Readings(kernel, process), others[0], others[1]


def summarise_rung(
    kernel: Kernel | None,
    workload: Mapping[str, int] | None,
    kernel_ns: Sequence[float],
    reference_ns: Sequence[float | None] = (),
    best_ns: Sequence[float | None] = (),
) -> TimingSummary:
    """Summarises times, with the work that the ladder says this kernel does at these sizes."""
    declared = (kernel.flops, kernel.bytes) if kernel else (None, None)
    flops, moved = (declared_work(one, workload) for one in declared)
    return summarise(kernel_ns, reference_ns, best_ns, flops=flops, bytes=moved)


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
    texts = (" > ".join(one["name"] or "(unnamed)" for one in nesting) for nesting in nestings)
    return list(dict.fromkeys(texts))
