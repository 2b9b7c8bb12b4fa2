"""The findings of an analysis as data: the shape of `--format json`, and its contract.

Names may be added, none renamed without a new `SCHEMA_VERSION`. The published JSON
Schema is generated from these classes (`prof compare --schema`).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from msgspec import Meta, Struct

from profiler.analyse.agreed_names import WithAgreedNames
from profiler.analyse.causes.cause import Cause, Headline
from profiler.analyse.flat_rows import flat_columns, flat_row
from profiler.analyse.importance import Importance
from profiler.analyse.recording.launch_shapes import LaunchShape
from profiler.analyse.statistics.timings import TimingSummary
from profiler.catalog.metrics import BY_NAME, DURATION, HEADLINE, Direction
from profiler.text import relative_pct

if TYPE_CHECKING:
    import pandas as pd

SCHEMA_VERSION = 1
ALL_KERNELS = 200.0  # an index says more than any detail, which counts 100 at most

_CLOCK = "sm_frequency_hz"

VerdictName = Literal["better", "worse", "same", "unclear", "changed"]
SETTLED: tuple[VerdictName, ...] = ("same", "unclear")  # neither is reported as a change

Reason = Annotated[
    Literal[
        "",
        "identical",
        "too_few_launches",
        "beyond_launches",
        "interval_spans_zero",
        "interval_spans_limit",
        "among_many",
        "below_effect_size",
        "within_effect_size",
    ],
    Meta(description="Why the change is not certain; empty if it is."),
]

Basis = Annotated[
    Literal["unprofiled", "profiled"],
    Meta(description="How the figure was measured: without the profiler, as a program runs, or under it."),
]

REASONS: dict[str, str] = {
    "": "",
    "identical": "equal in every launch",
    "too_few_launches": "too few launches to tell",
    "beyond_launches": "no interval, but more than launches differ",
    "interval_spans_zero": "the interval spans zero",
    "interval_spans_limit": "worse, but the interval spans the limit",
    "among_many": "sure alone, but not among so many metrics",
    "below_effect_size": "certain, but too small to matter",
    "within_effect_size": "no difference that would matter",
}

# Of an unclear change without an interval.
TOO_FEW: tuple[Reason, ...] = ("too_few_launches", "beyond_launches")

LeftOut = Annotated[
    dict[str, int],
    Meta(
        description="Counts everything that the short form leaves out, by kind. `texts` were shortened. `--full` prints "
        "all of it, and every digit."
    ),
]

CI = Annotated[
    tuple[float, float],
    Meta(
        description="95 % confidence interval, low and high, of the change or ratio beside it and in its unit; null where there "
        "are too few launches for one."
    ),
]


class Side(Struct, frozen=True):
    """One of the two recordings, as far as needed to find and judge it.

    Sentences call it `called`: after its recording, and after the kernel too if the recording has several. If only times are
    compared, `timing` is what was timed, and `reference` is its reference. `shape` is that of most launches.
    """

    label: str
    kernel_name: str
    gpu: str
    workload: dict[str, int] | None
    launches: int
    run_id: str | None = None
    report: str | None = None
    ncu_version: str = ""
    clock_control: str = ""
    timing: TimingSummary | None = None
    reference: str | None = None
    shape: LaunchShape | None = None
    called: str = ""


class Comparability(WithAgreedNames, Struct, frozen=True):
    ok: bool
    warnings: Annotated[list[str], Importance(99, each=4)]
    cautions: Annotated[list[str], Importance(99, each=4)] = []


class Speedup(Struct, frozen=True):
    """`ratio` above 1 means that the second is faster."""

    ratio: float
    ci: CI | None
    basis: Basis


class MetricDelta(Struct, frozen=True):
    name: str
    ncu: str
    unit: str
    before: float
    after: float
    delta: float
    ci: CI | None
    verdict: VerdictName
    reason: Reason
    also_in_rows: ClassVar[tuple[str, ...]] = ("change_pct",)

    @property
    def change_pct(self) -> float | None:
        """Returns the change in percent of the value before; None if that is 0."""
        return relative_pct(self.before, self.after)

    @property
    def better(self) -> Direction | None:
        """Returns the better direction of such a change; None if neither is good by itself, or nothing is known of the metric."""
        return BY_NAME[self.name].better_between(self.before, self.after) if self.name in BY_NAME else None

    @property
    def has_moved(self) -> bool:
        """Returns whether it is reported as a change: a certain one, or one by more than launches differ."""
        return self.verdict not in SETTLED or self.reason == "beyond_launches"

    def row(self) -> dict[str, object]:
        """Returns the fields and the change in percent; the interval is replaced by its two ends, as numbers to compute with."""
        return flat_row(self)


DELTA_COLUMNS = flat_columns(MetricDelta)


class MissingMetric(Struct, frozen=True):
    """A catalogue metric that a recording lacks; `both` if each has it only under a name that the other lacks."""

    name: str
    missing_in: Literal["before", "after", "both"]


class ExpectedChange(Struct, frozen=True):
    """`ok` is null where the metric is missing or its change unclear."""

    metric: str
    expected: Literal["up", "down"]
    ok: bool | None


class Confirmation(Struct, frozen=True):
    """`confirmed` if every check holds."""

    name: str
    confirmed: bool
    checks: list[ExpectedChange]


class Opcode(Struct, frozen=True):
    """Warp instructions executed per launch; `width_bits` is set for memory accesses."""

    opcode: str
    before: float
    after: float
    width_bits: int | None = None


class LoopInstruction(Struct, frozen=True):
    opcode: str
    count: float


class LoadChange(Struct, frozen=True):
    """The loads of one operand of the FMAs, of both together, or all loads from shared memory.

    `fmas` counts the FMAs of a thread that they feed, before and after, where these differ.
    """

    operand: Literal["A", "B", "both", "shared"]
    before: list[LoopInstruction]
    after: list[LoopInstruction]
    sentence: str
    fmas: tuple[int, int] | None = None


class HotLoop(Struct, frozen=True):
    """The instructions that a warp executes `per` iteration, or per step where the accumulators of both sides show how many there are."""

    before: Annotated[list[LoopInstruction], Importance(71, each=1.5, counted_as="hot_loop")]
    after: Annotated[list[LoopInstruction], Importance(71, each=1.5, counted_as="hot_loop")]
    per: Literal["iteration", "step"] = "iteration"
    changes: Annotated[list[LoadChange], Importance(88, each=1)] = []


def _changed(opcode: Opcode, *_: object) -> int | None:
    return 0 if opcode.before != opcode.after else None


class Instructions(Struct, frozen=True):
    opcodes: Annotated[list[Opcode], Importance(90, each=2, by=_changed)]
    hot_loop: HotLoop | None = None


class Factor(Struct, frozen=True):
    """One factor of the speedup, which may have factors of its own.

    Its `share` is a part of the logarithm of the whole speedup, so that the shares of all factors add up to 1; it is
    0 where there is no speedup to share. `before` and `after` are geometric means over launches.
    """

    name: str
    ratio: float
    share: float
    before: float
    after: float
    unit: str
    factors: list[Factor] = []


class Part(Struct, frozen=True):
    """One addend of a factor: the `share`s add up to the factor's, and the `ratio`s multiply to it."""

    name: str
    before: float
    after: float
    ratio: float
    share: float


# The factors that a duration is the product of: instructions issued, bytes, the work of the tensor pipe, or cycles alone.
AttributionView = Literal["issue", "bytes", "tensor", "cycles"]


class Attribution(Struct, frozen=True):
    """`profiled_ratio` as a product of `factors`, which miss it by `closure_error_pct`.

    `stalls` are the parts of the latency of a warp, in cycles per issued instruction; `traffic` those of
    the bytes moved, per useful byte where these are known. An inferred `clock` closes by construction;
    the view by bytes has none. `bandwidth_from` says what the bandwidth follows, if the accesses show it.
    """

    view: AttributionView
    why: str
    evidence: dict[str, float]
    profiled_ratio: float
    factors: list[Factor]
    closure_error_pct: float
    stalls: Annotated[list[Part], Importance(90, each=4)] = []
    traffic: Annotated[list[Part], Importance(90, each=4)] = []
    clock: Literal["measured", "inferred"] | None = None
    bandwidth_from: str = ""


def _says_most(delta: MetricDelta, comparison: ComparisonFinding, wanted: Collection[str]) -> int | None:
    """Ranks the duration and what was asked for first, then what the cautions name, what moved, in its order, and the headline.

    What had too few launches to judge comes last.
    """
    if delta.name == DURATION or not {delta.name, delta.ncu}.isdisjoint(wanted):
        return 0
    if any(delta.name in warning for warning in comparison.comparable.warnings):
        return 1
    if delta.has_moved:
        return 1 if delta.name == _CLOCK else 2
    if delta.name in HEADLINE:
        return 3
    return 4 if delta.reason in TOO_FEW else None


class CauseChange(Struct, frozen=True):
    """A cause of both sides, with what removing it is likely to save of the time of each."""

    cause: str
    before_pct: float
    after_pct: float


class ComparisonFinding(Struct, frozen=True, kw_only=True):
    """The second side has the `causes`. Only the first has those in `gone`, and only the second those in `new`. Both have the
    causes in `kept`, `less` and `more`: those in `less` are likely to save a smaller part of the time, and less time, than before,
    and those in `more` more.
    `undecided` names causes of one side that the other's recording could not show. `unmoved` names causes that limit one side alone,
    although they follow from something that is the same on both, such as the launch or the width of accesses.
    `different_kernels` do not explain each other, so these lists are empty, and the first side has `causes_before`.
    """

    headline: Headline | None = None
    schema_version: int
    before: Side
    after: Side
    comparable: Comparability
    speedup: Speedup | None
    metrics: Annotated[
        list[MetricDelta],
        Importance(100, each=1.6, by=_says_most, counted_as=lambda delta: f"metrics_{delta.verdict}"),
    ]
    missing: Annotated[list[MissingMetric], Importance(72, each=1)]
    confirmations: Annotated[list[Confirmation], Importance(98, each=6)]
    attribution: Annotated[Attribution | None, Importance(97)]
    instructions: Instructions
    attribution_missing: Annotated[list[MissingMetric], Importance(96, each=0.5)] = []
    causes: Annotated[list[Cause], Importance(95, each=6)] = []
    causes_unseen: Annotated[list[str], Importance(86, each=1)] = []
    causes_gone: list[str] = []
    causes_new: list[str] = []
    causes_less: list[CauseChange] = []
    causes_more: list[CauseChange] = []
    causes_kept: Annotated[list[CauseChange], Importance(70, each=2)] = []
    causes_undecided: list[str] = []
    causes_unmoved: list[str] = []
    different_kernels: bool = False
    causes_before: Annotated[list[Cause], Importance(94, each=6)] = []
    left_out: LeftOut = {}

    def to_pandas(self) -> pd.DataFrame:
        """Returns one row for each metric, indexed by its name."""
        import pandas as pd

        return pd.DataFrame([delta.row() for delta in self.metrics], columns=DELTA_COLUMNS).set_index("name")


def time_changed_ns(comparison: ComparisonFinding, *_: object) -> float:
    """Returns the time that as many launches gain or lose, and zero where the duration is not known."""
    launches = max(comparison.before.launches, comparison.after.launches)
    return sum(launches * abs(one.delta) for one in comparison.metrics if one.name == DURATION)


class ComparedKernel(WithAgreedNames, Struct, frozen=True):
    """A kernel with the time that all its launches take on each side; the change is that of its mean duration."""

    kernel: str
    before_launches: int
    after_launches: int
    before_ns: float
    after_ns: float
    change_pct: float
    ci_pct: CI | None
    verdict: VerdictName
    kernel_name: str = ""
    reason: Reason = ""


class Comparisons(Struct, frozen=True, kw_only=True):
    """Every common kernel of two recordings (`prof compare --all`), with the largest change of time first."""

    headline: Headline | None
    index: Annotated[list[ComparedKernel], Importance(ALL_KERNELS, keeps_order=True)]
    schema_version: int
    comparisons: Annotated[
        list[ComparisonFinding], Importance(100, each=0.4, by=time_changed_ns, largest_first=True)
    ]
    left_out: LeftOut = {}
