"""Measures a sweep in three stages: every point briefly, the promising ones in full, the best few once more.

A stage begins when the one before is complete, so all points are judged by the same measurements. The last stage times
the best afresh, in processes that take turns, so that the winner is not just the luckiest of many. The results of each
process are kept at once, so that the next call goes on after a kill.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from statistics import median
from typing import Literal

import msgspec

from profiler.catalog.ladders.ladder import Kernel, Ladder
from profiler.catalog.ladders.sweep import SweepPoint, SweepSpace
from profiler.errors import GpuNotFound, ProfError, ProgramTimedOut, ResultWrong, ShapeRefused
from profiler.measuring.rungs.build import Built, build_flags
from profiler.measuring.rungs.program import RungJob, program_command
from profiler.measuring.rungs.timing import time_kernel
from profiler.measuring.rungs.verify import check_kernel
from profiler.measuring.tools.gpus import Gpu
from profiler.measuring.tune.points import BuiltPoint, Choice, failure_of, sweep_of
from profiler.store.runs.run_id import facts_sha256
from profiler.store.sweeps import Stage, Status, SweepFacts, SweepRepeat, SweptPoint, UnfinishedSweep, Visit

_STATUS: dict[type[ProfError], Status] = {
    ResultWrong: "wrong",
    ShapeRefused: "refused",
    ProgramTimedOut: "hung",
}


@dataclass(frozen=True)
class TunePlan:
    """The kernel, workload and GPU of a sweep, and how thoroughly each stage measures."""

    ladder: Ladder
    kernel: Kernel
    values: dict[str, int]
    gpu: Gpu
    nvcc_version: str
    limit: int | None = None
    seed: int | None = None  # the user's; None: a random one
    screen_repeats: int = 5
    screen_warmup: int = 2
    repeats: int = 20
    warmup: int = 5
    within_pct: float = 5.0  # points within so many percent of the best are timed in full
    finalists: int = 4
    processes: int = 3  # for each finalist
    timeout_s: float = 120.0

    @property
    def sweep(self) -> SweepSpace:
        return sweep_of(self.kernel, self.ladder)

    def check(self) -> None:
        """Raises LadderInvalid if the ladder lacks a sweep or a command that tuning needs."""
        sweep_of(self.kernel, self.ladder)
        for mode in ("check", "time"):
            program_command(self.job(self.kernel, 0), mode)

    def job(self, kernel: Kernel, seed: int) -> RungJob:
        return RungJob(self.ladder, kernel, self.values, seed=seed)

    def key(self) -> str:
        """Returns the hash of everything that was asked for. The sources are compared point by point."""
        facts = [
            self.ladder.name, self.kernel.number, self.values, self.gpu.name, self.gpu.driver_version, self.nvcc_version,
            build_flags(self.kernel, self.gpu.arch), self.kernel.commands["check"], self.kernel.commands["time"],
            self.facts(None, {}), [(name, one.text) for name, one in self.sweep.derived.items()], self.seed,
            self.screen_warmup, self.warmup,
        ]  # fmt: skip
        return facts_sha256(facts)

    def facts(self, choice: Choice | None, sources: Mapping[str, str]) -> SweepFacts:
        return SweepFacts(
            parameters={name: list(values) for name, values in self.sweep.parameters.items()},
            constraints=[constraint.text for constraint in self.sweep.constraints],
            combinations=choice.combinations if choice else 0,
            excluded=choice.excluded if choice else {},
            limit=self.limit,
            screen_repeats=self.screen_repeats,
            repeats=self.repeats,
            processes=self.processes,
            within_pct=self.within_pct,
            finalists=self.finalists,
            sources=dict(sources),
        )


@dataclass(frozen=True)
class TuneObserver:
    """Callbacks that receive the progress of building, then of each stage.

    The last argument of `visited` is true if an earlier call measured the point. `note` receives a
    line that is about no point, such as that another prof has the GPU.
    """

    chosen: Callable[[Choice], None]
    begin: Callable[[Literal["build"] | Stage, int], None]
    built: Callable[[Built], None]
    visited: Callable[[BuiltPoint, Visit, bool], None]
    note: Callable[[str], None] = lambda _: None


@dataclass
class SweepStages:
    """Takes the points that compiled through the stages."""

    plan: TunePlan
    seed: int
    candidates: Sequence[BuiltPoint]
    codes: Mapping[int, str]  # by point: the hash of what it was compiled from
    pending: UnfinishedSweep
    observer: TuneObserver
    current: SweepPoint | None = None  # the source's own values, which stay to the end for comparison
    reference: str | None = field(default=None, init=False)
    visits: dict[int, list[Visit]] = field(init=False)  # by point

    def __post_init__(self) -> None:
        self.visits = {one.point: [] for one in self.candidates}

    def run(self) -> None:
        plan = self.plan
        self._stage("screen", self.candidates)
        self._stage("full", self._shuffled(self._promising(), 1))
        finalists = self._finalists()
        turns = [one for turn in range(plan.processes) for one in self._shuffled(finalists, 2 + turn)]
        self._stage("final", turns)

    def result(self, known: SweptPoint) -> SweptPoint:
        """Returns the point with its timings, and with its failure if it had one."""
        visits = self.visits.get(known.point, [])
        failed = next((visit for visit in visits if visit.status != "correct"), None)
        errors = [visit.relative_error for visit in visits if visit.relative_error is not None]
        return msgspec.structs.replace(
            known,
            status=failed.status if failed else known.status,
            reason=failed.reason if failed else known.reason,
            relative_error=max(errors, default=None),
            repeats=[repeat for visit in visits for repeat in visit.repeats],
        )

    def _stage(self, stage: Stage, turns: Sequence[BuiltPoint]) -> None:
        self.observer.begin(stage, len(turns))
        made: dict[int, int] = dict.fromkeys(self.visits, 0)
        for candidate in turns:
            process = made[candidate.point]
            made[candidate.point] += 1
            if any(visit.status != "correct" for visit in self.visits[candidate.point]):
                continue  # it cannot win, and might hang again
            code = self.codes[candidate.point]
            known = self.pending.visit(stage, process, candidate.settings, code)
            visit = known or self._visit(stage, process, candidate)
            if known is None:
                self.pending.keep_visit(stage, process, candidate.settings, visit)
            self.visits[candidate.point].append(visit)
            self.reference = visit.reference or self.reference
            self.observer.visited(candidate, visit, known is not None)

    def _visit(self, stage: Stage, process: int, candidate: BuiltPoint) -> Visit:
        """Verifies and times one point. The full stage only times, since the screening has just verified the point."""
        plan, code = self.plan, self.codes[candidate.point]
        brief = stage == "screen"
        job = replace(
            plan.job(candidate.built.kernel, (self.seed + process) % 2**64),
            binary=candidate.built.binary,
            repeats=plan.screen_repeats if brief else plan.repeats,
            warmup=plan.screen_warmup if brief else plan.warmup,
        )
        relative_error = None
        try:
            if stage != "full":
                checked = check_kernel(job, plan.timeout_s)
                relative_error = checked.relative_error
                if checked.error is not None:
                    raise checked.error
            timed = time_kernel(job, plan.timeout_s)
        except GpuNotFound:
            raise  # no other point can run either
        except ProfError as failure:
            status = _STATUS.get(type(failure), "failed")
            return Visit(code, status, failure_of(failure, job.label), relative_error)
        repeats = [SweepRepeat(stage, process, one.kernel_ns, one.reference_ns) for one in timed.timings]
        return Visit(code, "correct", "", relative_error, timed.facts.reference, repeats)

    def _promising(self) -> list[BuiltPoint]:
        """Returns the points within `within_pct` of the best, and that of the source."""
        ranked = self._ranked("screen")
        if not ranked:
            return []
        bound_ns = self._median_ns(ranked[0], "screen") * (1 + self.plan.within_pct / 100)
        times_ns = {one.point: self._median_ns(one, "screen") for one in ranked}
        return [one for one in ranked if times_ns[one.point] <= bound_ns or one.settings == self.current]

    def _finalists(self) -> list[BuiltPoint]:
        """Returns as many points as the plan has finalists, the fastest ones, and that of the source if it is none of them."""
        ranked = self._ranked("full")
        behind = ranked[self.plan.finalists :]
        return ranked[: self.plan.finalists] + [one for one in behind if one.settings == self.current]

    def _ranked(self, stage: Stage) -> list[BuiltPoint]:
        """Returns the correct points that a stage timed, fastest first."""
        correct = [
            one
            for one in self.candidates
            if all(visit.status == "correct" for visit in self.visits[one.point])
        ]
        measured = [one for one in correct if self._times_ns(one, stage)]
        return sorted(measured, key=lambda one: (self._median_ns(one, stage), one.point))

    def _median_ns(self, candidate: BuiltPoint, stage: Stage) -> float:
        return median(self._times_ns(candidate, stage))

    def _times_ns(self, candidate: BuiltPoint, stage: Stage) -> list[float]:
        repeats = chain.from_iterable(visit.repeats for visit in self.visits[candidate.point])
        return [repeat.kernel_ns for repeat in repeats if repeat.stage == stage]

    def _shuffled(self, candidates: Sequence[BuiltPoint], turn: int) -> list[BuiltPoint]:
        order = sorted(candidates, key=lambda one: one.point)
        random.Random(self.seed + turn).shuffle(order)
        return order
