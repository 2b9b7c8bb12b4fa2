"""A ladder as recorded: where every rung stands, and what changed from the rung it follows.

Rungs in; a `LadderFinding` out, which is what `prof ladder --format json` prints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import Annotated, Literal, Protocol

from msgspec import Struct

from profiler.analyse.causes.find import Diagnosis, diagnose
from profiler.analyse.compare.changes import PairChange, compare_pair, judge_speedup
from profiler.analyse.compare.compare import typical_ns
from profiler.analyse.findings import SCHEMA_VERSION, LeftOut, Speedup, VerdictName
from profiler.analyse.importance import Importance
from profiler.analyse.ladder.rungs import Conditions, Rung
from profiler.analyse.recording.doubts import find_doubts, is_part_of_step
from profiler.analyse.recording.overview import summarise_rung
from profiler.analyse.recording.profile import Profile
from profiler.analyse.statistics.timings import TimingSummary
from profiler.catalog.ladders.ladder import Kernel, Ladder
from profiler.catalog.metrics import DURATION, HEADLINE, MEMORY_HEADLINE
from profiler.catalog.thresholds import DISTURBED_REFERENCE_PCT
from profiler.errors import NotComparable

LadderView = Literal["compute", "memory"]
Diagnose = Callable[[Profile], Diagnosis]
HEADLINES: dict[LadderView, tuple[str, ...]] = {"compute": HEADLINE, "memory": MEMORY_HEADLINE}


class RungDelta(Struct, frozen=True):
    delta: float
    verdict: VerdictName


def _is_repeated(metric: tuple[str, object], *_: object) -> bool:
    """Ranks last what the rung's own duration says too, and what the pipe of those instructions says."""
    return metric[0] in (DURATION, "lsu_inst_share_pct")


class RungFinding(Struct, frozen=True):
    """One rung. `duration_ns` is unprofiled where there are timings; `metrics` are the profiler's.

    Where it `is_part_of_step`, what was timed took well longer than the kernel that they are of.

    `delta`, `speedup` and `refused` are against rung `before`: the change of each metric, how many
    times as fast it is, or why the two may not be compared; `warnings` qualify it, or the rung itself. `binding` is
    the cause that would save most, null where none would save 3 %. A `duration_ns` is the median of all repeats; its `delta` is of the same
    figures as the speedup, so that they never contradict each other.
    """

    kernel: int
    name: str
    duration_ns: float | None
    basis: Literal["unprofiled", "profiled"]
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


class MissingRung(Struct, frozen=True):
    """A rung that the ladder has and a finding has not, and why."""

    kernel: int
    name: str
    why: str


class Numbered(Protocol):
    """A rung as a finding has it."""

    @property
    def kernel(self) -> int: ...
    @property
    def name(self) -> str: ...


def name_cut(rung: Numbered) -> MissingRung:
    """Returns what the short form of a finding says of a rung that it has no room for."""
    return MissingRung(rung.kernel, rung.name, "cut from the short form")


MissingRungs = Annotated[list[MissingRung], Importance(98, each=0.3, by=lambda rung, *_: rung.kernel)]


def _ranks_first(rung: RungFinding, *_: object) -> tuple[bool, float]:
    """The reference and the rung that the climb begins with, then the fastest."""
    return rung.before is not None, rung.duration_ns or inf


class LadderFinding(Struct, frozen=True):
    """All rungs were recorded on this GPU with this workload, null where the runs do not say it.

    `view` says which metrics the rungs show: those of kernels that compute, or of kernels that move bytes.
    `missing` are the ladder's other rungs.
    """

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
    left_out: LeftOut = {}

    def branches(self) -> dict[int, list[int]]:
        """Returns the rungs that follow another than the one above them, by the rung that they follow."""
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
    """Compares every rung with the one before that has runs, or the one that the ladder says it follows, if that has.

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
        return LadderStep(
            before, after, None, tuple(line.strip() for line in error.details) or (error.message,)
        )


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
    diagnosed: Diagnose | None = diagnose,
) -> LadderFinding:
    """Derives the finding in the `view` asked for, or the one that fits the ladder.

    `diagnosed` gives the diagnosis of a rung, which need not be made anew; without it, no rung has a `binding` cause.
    """
    view = view or choose_view(ladder)
    workload = dict(conditions.workload) if conditions.workload is not None else None
    summaries = {rung.kernel.number: _summary(ladder, rung, workload or {}) for rung in rungs}
    reference = next((rung for rung in rungs if rung.kernel.number == ladder.reference), None)
    step_to = {step.after.kernel.number: step for step in steps}
    return LadderFinding(
        schema_version=SCHEMA_VERSION,
        ladder=ladder.name,
        title=ladder.title,
        gpu=conditions.gpu,
        workload=workload,
        kernels=[
            _finding(rung, summaries, reference, step_to.get(rung.kernel.number), HEADLINES[view], diagnosed)
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
    diagnosed: Diagnose | None,
) -> RungFinding:
    number, profile = rung.kernel.number, rung.profile
    summary = summaries[number]
    pct, name = _of_reference(rung, summaries, reference)
    change = step.change if step else None
    speedup = change.speedup if change else None
    return RungFinding(
        kernel=number,
        name=rung.kernel.name,
        duration_ns=summary.median_ns if summary else None,
        basis=_basis(rung),
        gflops=summary.gflops if summary else None,
        gbytes_per_s=summary.gbytes_per_s if summary else None,
        reference_pct=pct,
        reference=name,
        metrics={metric: profile.series[metric].mean for metric in headline if metric in profile.series},
        before=step.before.kernel.number if step else None,
        speedup=speedup,
        verdict=judge_speedup(speedup) if speedup else None,
        delta=_deltas(step, headline) if step else {},
        refused=list(step.refused) if step else [],
        warnings=[
            *_disturbed_reference(rung, summaries, reference),
            *(change.warnings if change else [*_lost_start(rung, step), *find_doubts(profile)]),
        ],
        binding=_binding(rung, diagnosed),
        launches=profile.launches,
        run_id=profile.manifest.run_id,
        timed_run_id=rung.timed.manifest.run_id if rung.timed else None,
        is_part_of_step=is_part_of_step(profile),
    )


def _lost_start(rung: Rung, step: LadderStep | None) -> list[str]:
    followed = rung.kernel.against
    return [f"it follows rung {followed}, which has no run here"] if followed is not None and not step else []


def _basis(rung: Rung) -> Literal["unprofiled", "profiled"]:
    return "unprofiled" if rung.timed else "profiled"


def _summary(ladder: Ladder, rung: Rung, workload: dict[str, int]) -> TimingSummary | None:
    """Summarises a rung's times; the work per second is known where the workload is."""
    known = set(workload) == set(ladder.workload.parameters)
    kernel: Kernel | None = rung.kernel if known else None
    if rung.timed is not None:
        timings = rung.timed.table("timings")
        return summarise_rung(
            kernel,
            workload,
            timings.column("kernel_ns").to_pylist(),
            timings.column("reference_ns").to_pylist(),
        )
    duration = rung.profile.series.get(DURATION)
    if duration is None or duration.mean <= 0:
        return None
    return summarise_rung(kernel, workload, [duration.mean], ())


def _of_reference(
    rung: Rung, summaries: dict[int, TimingSummary | None], reference: Rung | None
) -> tuple[float | None, str]:
    """Returns the percentage and the name of the reference: what was timed in between; else against the reference rung, where both were measured one way."""
    own = summaries[rung.kernel.number]
    if own is None:
        return None, ""
    if own.reference_pct is not None and rung.timed is not None:
        return own.reference_pct, _timed_reference(rung) or "its reference"
    theirs = summaries[reference.kernel.number] if reference else None
    if reference is None or theirs is None or _basis(reference) != _basis(rung):
        return None, ""
    return 100 * theirs.median_ns / own.median_ns, str(reference.kernel)


def _disturbed_reference(
    rung: Rung, summaries: dict[int, TimingSummary | None], reference: Rung | None
) -> list[str]:
    """Warns with the percentage of the reference that would be right where the rung slowed the one that was timed beside it."""
    own, alone = summaries[rung.kernel.number], summaries[reference.kernel.number] if reference else None
    name = _timed_reference(rung)
    if reference is None or rung is reference or not own or not alone or not name:
        return []
    beside_ns, alone_ns = own.reference_median_ns, alone.median_ns
    if beside_ns is None or own.reference_pct is None or _timed_reference(reference) != name:
        return []
    # The reference rung is timed beside its like, which is alone as well: what lies between the two is undisturbed.
    lowest_ns, highest_ns = sorted((alone_ns, alone.reference_median_ns or alone_ns))
    nearest_ns = min(max(beside_ns, lowest_ns), highest_ns)
    time_pct, points = 100 * (beside_ns / nearest_ns - 1), 100 * (beside_ns - nearest_ns) / own.median_ns
    if min(abs(time_pct), abs(points)) <= DISTURBED_REFERENCE_PCT:
        return []
    pct = 100 * alone_ns / own.median_ns
    return [
        f"{name} took {beside_ns:,.0f} ns beside rung {rung.kernel.number} and {alone_ns:,.0f} ns as rung "
        f"{reference.kernel.number}: {pct:.1f} % of the latter, not {own.reference_pct:.1f} %"
    ]


def _timed_reference(rung: Rung) -> str | None:
    """Returns what was timed in between, where something was."""
    provenance = rung.timed.manifest.provenance if rung.timed else None
    return provenance.reference if provenance else None


def _deltas(step: LadderStep, headline: Sequence[str]) -> dict[str, RungDelta]:
    """Returns the changes of the headline. The duration's is unprofiled where both were timed so."""
    if step.change is None:
        return {}
    deltas = {
        one.name: RungDelta(one.delta, one.verdict) for one in step.change.metrics if one.name in headline
    }
    speedup = step.change.speedup
    if speedup and speedup.basis == "unprofiled":
        before, after = typical_ns(step.before.profile, step.after.profile, speedup.basis)
        deltas[DURATION] = RungDelta(after - before, judge_speedup(speedup))
    return {name: deltas[name] for name in headline if name in deltas}


def _binding(rung: Rung, diagnosed: Diagnose | None) -> str | None:
    """Returns the cause whose removal would save most."""
    causes = diagnosed(rung.profile).causes if diagnosed and rung.profile.launches else []
    return causes[0].cause if causes else None
