"""A ladder as recorded: where every rung stands, and what changed from the rung it follows.

Rungs in; a `LadderFinding` out, which is what `prof ladder --format json` prints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from statistics import median
from typing import Annotated, Any, Literal, NamedTuple

from msgspec import Struct, convert

from profiler.analyse.agreed_names import WithAgreedNames
from profiler.analyse.causes.cause import Headline
from profiler.analyse.causes.diagnose import Diagnose, diagnose
from profiler.analyse.compare.changes import PairChange, compare_pair, judge_speedup
from profiler.analyse.compare.compare import typical_ns
from profiler.analyse.findings import SCHEMA_VERSION, Basis, LeftOut, Speedup, VerdictName
from profiler.analyse.importance import Importance
from profiler.analyse.ladder.cautions import cautions_of
from profiler.analyse.ladder.rungs import Conditions, Rung
from profiler.analyse.recording.doubts import find_doubts, find_passed_copy, is_part_of_step
from profiler.analyse.recording.overview import summarise_rung, times_of
from profiler.analyse.recording.profile import TimedColumn, timings_of
from profiler.analyse.statistics.timings import TimingSummary
from profiler.catalog.ladders.ladder import Ladder
from profiler.catalog.metrics import DURATION, HEADLINE, MEMORY_HEADLINE
from profiler.errors import NotComparable

LadderView = Literal["compute", "memory"]
_WORTH_SAYING_PCT = 0.5  # points by which a percentage moves
HEADLINES: dict[LadderView, tuple[str, ...]] = {"compute": HEADLINE, "memory": MEMORY_HEADLINE}


class RungDelta(Struct, frozen=True):
    delta: float
    verdict: VerdictName


def _is_repeated(metric: tuple[str, object], *_: object) -> bool:
    """Ranks last the metrics that repeat the rung's own duration, or the pipe of the same instructions."""
    return metric[0] in (DURATION, "lsu_inst_share_pct")


class RungFinding(WithAgreedNames, Struct, frozen=True):
    """One rung. `duration_ns` is unprofiled where there are timings; `metrics` are the profiler's.

    If it `is_part_of_step`, the timed step took much longer than the kernel that was profiled.

    `reference_pct` is its speed in percent of the reference as one calls it. `best_pct` is its speed in percent of the
    fastest algorithm that the reference's library offers, and null where that was not timed.

    `delta`, `speedup` and `refused` are against rung `before`: the change of each metric, how many times as fast it is, or why
    the two may not be compared; `warnings` qualify it, or the rung itself. `binding` is the cause that would save most, null
    where none would save 3 %. A `duration_ns`, its `delta` and the speedup all come from the mean of the processes' medians, so that
    they never contradict each other. Work per second and percentages are of medians of all repeats.
    """

    kernel: int
    name: str
    duration_ns: float | None
    basis: Basis
    gflops: float | None
    gbytes_per_s: float | None
    reference_pct: float | None
    reference: str
    metrics: Annotated[dict[str, float], Importance(95, each=1.4, by=_is_repeated)]
    before: int | None
    speedup: Speedup | None
    verdict: VerdictName | None
    delta: Annotated[dict[str, RungDelta], Importance(89, each=1.4, by=_is_repeated)]
    refused: Annotated[list[str], Importance(97, each=3)]
    warnings: Annotated[list[str], Importance(97, each=3)]
    binding: str | None
    launches: int
    run_id: str
    timed_run_id: str | None
    is_part_of_step: bool = False
    best_pct: float | None = None
    cautions: Annotated[list[str], Importance(97, each=3)] = []

    @property
    def strongest(self) -> tuple[float, str]:
        """Returns the percentage of the strongest opponent, with its name: the reference's fastest algorithm, where it was timed."""
        if self.best_pct is None:
            return self.reference_pct or 0.0, self.reference
        return min(self.best_pct, self.reference_pct or self.best_pct), f"{self.reference} at its best"


class MissingRung(Struct, frozen=True):
    """A rung of the ladder that a finding lacks, and why."""

    kernel: int
    name: str
    why: str


def name_cut(rung: Any) -> MissingRung:
    """Returns what the short form of a finding says about a rung, or the idea of one, for which it has no room."""
    return MissingRung(rung.kernel, rung.name, "cut from the short form")


MissingRungs = Annotated[list[MissingRung], Importance(98, each=0.1, by=lambda rung, *_: rung.kernel)]


def _ranks_first(rung: RungFinding, *_: object) -> tuple[bool, float]:
    """Returns a key that puts the reference and the rung that the climb begins with first, then the fastest."""
    return rung.before is not None, rung.duration_ns or inf


class RungElsewhere(Struct, frozen=True):
    """The time and the speed of a rung on another GPU."""

    kernel: int
    duration_ns: float | None
    gflops: float | None
    gbytes_per_s: float | None
    reference_pct: float | None
    best_pct: float | None
    run_id: str


class LadderElsewhere(Struct, frozen=True):
    """The rungs of a ladder on another GPU with the same workload."""

    gpu: str
    kernels: list[RungElsewhere]


def on_another_gpu(finding: LadderFinding) -> LadderElsewhere:
    """Returns the times and speeds of a ladder on its GPU, to stand beside those on another."""
    return LadderElsewhere(finding.gpu, convert(finding.kernels, list[RungElsewhere], from_attributes=True))


class LadderFinding(Struct, frozen=True, kw_only=True):
    """All rungs were recorded on this GPU with this workload, null where the runs do not say it.

    `elsewhere` has the same rungs on other GPUs, as far as runs of this workload are stored.
    `view` says which metrics the rungs show: those of kernels that compute, or of kernels that move bytes.
    `missing` are the ladder's other rungs.
    """

    headline: Headline | None = None
    schema_version: int
    ladder: str
    title: str
    gpu: str
    workload: dict[str, int] | None
    kernels: Annotated[
        list[RungFinding],
        Importance(100, each=0.8, by=_ranks_first, keeps_order=True, instead=("missing", name_cut)),
    ]
    view: LadderView = "compute"
    missing: MissingRungs = []
    elsewhere: Annotated[list[LadderElsewhere], Importance(94, each=2)] = []
    left_out: LeftOut = {}

    @property
    def cautions(self) -> list[str]:
        return cautions_of(self.kernels)

    def branches(self) -> dict[int, list[int]]:
        """Returns the rungs that do not follow the one above them, by the rung that they follow."""
        found: dict[int, list[int]] = {}
        for above, rung in pairwise(self.kernels):
            if rung.before not in (None, above.kernel):
                found.setdefault(rung.before, []).append(rung.kernel)
        return found


@dataclass(frozen=True)
class LadderStep:
    """The change from one rung to one that follows it; no `change` where they may not be compared."""

    before: Rung
    after: Rung
    change: PairChange | None
    refused: tuple[str, ...] = ()


def derive_steps(ladder: Ladder, rungs: Sequence[Rung]) -> list[LadderStep]:
    """Compares every rung with the one that the ladder says it follows, or else with the one before, as far as these have runs.

    A reference numbered 0 is what the rungs are measured by, not a step of the climb.
    """
    climb = [rung for rung in rungs if not (rung.kernel.number == ladder.reference == 0)]
    recorded = {rung.kernel.number: rung for rung in rungs}
    steps = []
    for previous, after in zip([None, *climb], climb, strict=False):
        followed = after.kernel.against
        before = previous if followed is None else recorded.get(followed)
        if before is not None:
            steps.append(_step(before, after))
    return steps


def _step(before: Rung, after: Rung) -> LadderStep:
    try:
        return LadderStep(before, after, compare_pair(before.profile, after.profile))
    except NotComparable as error:
        refused = tuple(line.strip() for line in error.details) or (error.message,)
        return LadderStep(before, after, None, refused)


def choose_view(ladder: Ladder) -> LadderView:
    """Chooses by the work that the ladder declares: bytes alone are moved, operations are computed."""
    moves = any(kernel.bytes for kernel in ladder.kernels)
    return "memory" if moves and not any(kernel.flops for kernel in ladder.kernels) else "compute"


def derive_ladder(
    ladder: Ladder,
    conditions: Conditions,
    rungs: Sequence[Rung],
    steps: Sequence[LadderStep],
    view: LadderView | None = None,
    diagnose: Diagnose | None = diagnose,
) -> LadderFinding:
    """Derives the finding in the `view` asked for, or the one that fits the ladder.

    `diagnose` finds the causes of a rung; without it, no rung has a `binding` cause.
    """
    view = view or choose_view(ladder)
    workload = dict(conditions.workload) if conditions.workload is not None else None
    summaries = {rung.kernel.number: _summary(rung, workload) for rung in rungs}
    reference = next((rung for rung in rungs if rung.kernel.number == ladder.reference), None)
    step_to = {step.after.kernel.number: step for step in steps}
    return LadderFinding(
        schema_version=SCHEMA_VERSION,
        ladder=ladder.name,
        title=ladder.title,
        gpu=conditions.gpu,
        workload=workload,
        kernels=[
            _finding(rung, summaries, reference, step_to.get(rung.kernel.number), HEADLINES[view], diagnose)
            for rung in rungs
        ],
        view=view,
    )


def _finding(
    rung: Rung,
    summaries: dict[int, TimingSummary | None],
    reference: Rung | None,
    step: LadderStep | None,
    headline: Sequence[str],
    diagnose: Diagnose | None,
) -> RungFinding:
    number, profile = rung.kernel.number, rung.profile
    summary = summaries[number]
    reached = _reach(rung, summaries, reference)
    speedup = step.change.speedup if step and step.change else None
    return RungFinding(
        kernel=number,
        name=rung.kernel.name,
        duration_ns=summary.typical_ns if summary else None,
        basis=_basis(rung),
        gflops=summary.gflops if summary else None,
        gbytes_per_s=summary.gbytes_per_s if summary else None,
        reference_pct=reached.reference_pct,
        reference=reached.name,
        best_pct=reached.best_pct,
        metrics={metric: profile.series[metric].mean for metric in headline if metric in profile.series},
        before=step.before.kernel.number if step else None,
        speedup=speedup,
        verdict=judge_speedup(speedup) if speedup else None,
        delta=_deltas(step, headline) if step else {},
        refused=list(step.refused) if step else [],
        warnings=_warnings(rung, step, reached),
        binding=_binding(rung, diagnose),
        launches=profile.launches,
        run_id=profile.manifest.run_id,
        timed_run_id=rung.timed.manifest.run_id if rung.timed else None,
        is_part_of_step=is_part_of_step(profile),
    )


def _warnings(rung: Rung, step: LadderStep | None, reached: _Reached) -> list[str]:
    passed = find_passed_copy(rung.profile, reached.name, reached.reference_pct)
    if step and step.change:
        return [*reached.warnings, *passed, *step.change.warnings]
    followed = rung.kernel.against
    lost = [] if followed is None or step else [f"it follows rung {followed}, which has no run here"]
    return [*reached.warnings, *passed, *lost, *find_doubts(rung.profile)]


def _basis(rung: Rung) -> Basis:
    return "unprofiled" if rung.timed else "profiled"


def _summary(rung: Rung, workload: Mapping[str, int] | None) -> TimingSummary | None:
    if rung.timed is not None:
        return summarise_rung(rung.kernel, workload, *times_of(rung.timed.table("timings")))
    duration_ns = rung.profile.mean(DURATION) or 0.0
    return summarise_rung(rung.kernel, workload, [duration_ns]) if duration_ns > 0 else None


class _Reached(NamedTuple):
    """The speed of a rung in percent of its reference: of the default call, and of the fastest algorithm of its library."""

    reference_pct: float | None = None
    best_pct: float | None = None
    name: str = ""
    warnings: tuple[str, ...] = ()


def _reach(rung: Rung, summaries: dict[int, TimingSummary | None], reference: Rung | None) -> _Reached:
    """Compares a rung with the reference timed in turns with it; else with the reference rung, if both were measured the same way.

    A rung that slows the reference beside it is compared with the reference rung.
    """
    own, alone = summaries[rung.kernel.number], summaries[reference.kernel.number] if reference else None
    if own is None:
        return _Reached()
    if own.reference_pct is None or rung.timed is None:
        if reference is None or alone is None or _basis(reference) != _basis(rung):
            return _Reached()
        return _Reached(100 * alone.median_ns / own.median_ns, name=str(reference.kernel))
    name = rung.timed.manifest.facts.reference or "its reference"
    pct, best_pct = own.reference_pct, own.best_pct
    if reference is None or alone is None or not _may_slow(rung, reference):
        return _Reached(pct, best_pct, name)
    if _is_slower(rung, "reference_ns", reference, ("kernel_ns", "reference_ns")):
        pct = 100 * alone.median_ns / own.median_ns
    if alone.best_median_ns is not None and _is_slower(rung, "best_ns", reference, ("best_ns",)):
        best_pct = 100 * alone.best_median_ns / own.median_ns
    moved = max(own.reference_pct - pct, (own.best_pct or 0) - (best_pct or 0))
    caution = f"its percentage is of {name} alone, which it slows"
    return _Reached(pct, best_pct, name, (caution,) if moved > _WORTH_SAYING_PCT else ())


def _may_slow(rung: Rung, reference: Rung) -> bool:
    """Returns whether both time the same reference in the same kind of program: PyTorch's processes copy more slowly than ours."""
    facts = [one.timed.manifest.provenance if one.timed else None for one in (rung, reference)]
    names, runtimes = ({getattr(one, field, None) for one in facts} for field in ("reference", "runtime"))
    return rung is not reference and None not in facts and len(names) == len(runtimes) == 1


def _is_slower(
    rung: Rung, column: TimedColumn, reference: Rung, columns_alone: Sequence[TimedColumn]
) -> bool:
    """Returns whether this column of a rung is slower in every process than those columns of the reference in any of its processes."""
    beside = _process_medians(rung, column)
    alone = [one for name in columns_alone for one in _process_medians(reference, name)]
    return bool(beside and alone) and min(beside) > max(alone)


def _process_medians(rung: Rung, column: TimedColumn) -> list[float]:
    assert rung.timed is not None
    return list(map(median, timings_of(rung.timed, column).by_process))


def _deltas(step: LadderStep, headline: Sequence[str]) -> dict[str, RungDelta]:
    """Returns the changes of the headline. The duration's is unprofiled where both were timed so."""
    if step.change is None:
        return {}
    deltas = {one.name: RungDelta(one.delta, one.verdict) for one in step.change.metrics}
    speedup = step.change.speedup
    if speedup and speedup.basis == "unprofiled":
        before, after = typical_ns(step.before.profile, step.after.profile, speedup.basis)
        deltas[DURATION] = RungDelta(after - before, judge_speedup(speedup))
    return {name: deltas[name] for name in headline if name in deltas}


def _binding(rung: Rung, diagnose: Diagnose | None) -> str | None:
    """Returns the cause whose removal would save most."""
    causes = diagnose(rung.profile).causes if diagnose and rung.profile.launches else []
    return causes[0].cause if causes else None
