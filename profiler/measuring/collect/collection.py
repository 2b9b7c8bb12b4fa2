"""Takes one target to a run: verifies it, times it, profiles it process by process, reads the reports, commits.

Each process's results are kept at once (`store/runs/unfinished.py`), so that the next call goes on after a kill.
`turns.py` lets several targets take turns.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from profiler.errors import (
    CountersBusy,
    CountersRefused,
    DiskFull,
    GpuNotFound,
    MetricsMissing,
    ProfError,
    ReportDamaged,
    SchedulerLost,
    StoreNotWritable,
    WorkerLost,
)
from profiler.measuring.collect.device import Device, Order
from profiler.measuring.collect.provenance import find_provenance
from profiler.measuring.collect.target import Target, collection_key, typed_command
from profiler.measuring.rungs.program import RungJob, fresh_seed, program_command
from profiler.measuring.rungs.timing import with_facts
from profiler.measuring.tools.ncu import NcuOptions
from profiler.measuring.tools.neutral import neutral_folder
from profiler.measuring.tools.process import command_details, shown
from profiler.measuring.tools.transcript import Transcript
from profiler.store.process_timings import ProcessFacts, Timing
from profiler.store.reports.request import CollectionFacts, Request
from profiler.store.runs.commit import Staging
from profiler.store.runs.manifest import Manifest, Provenance
from profiler.store.runs.run_id import path_name, preset_name
from profiler.store.runs.run_store import RunStore
from profiler.store.runs.timed_run import TimedRun, stage_timings
from profiler.store.runs.unfinished import UnfinishedCollection, UnfinishedPlan

if TYPE_CHECKING:
    from profiler.store.reports.sandbox import Extracted, Sandbox

# Errors that every other kernel would meet too.
FATAL = (GpuNotFound, CountersRefused, CountersBusy, DiskFull, StoreNotWritable, SchedulerLost)


@dataclass(frozen=True)
class CollectPlan:
    """The settings that all targets of one call share: the device, ncu's options, and how often each step runs."""

    device: Device
    recording: NcuOptions
    processes: int = 3
    repeats: int = 20  # timed repeats in each process; 0: no timing
    warmup: int = 5
    seed: int | None = None  # the user's; None: a random one
    verify: bool = True
    timeout_s: float = 600.0
    cwd: Path | None = None
    again: bool = False
    resume: bool = False  # trust that programs which prof did not compile are unchanged
    keep: bool = False  # go on with what this very call kept, whatever `again` and `resume` say


@dataclass(frozen=True)
class CollectStep:
    """One step of a collection: the target's label, what is done, and in which process."""

    label: str
    what: Literal["verify", "time", "profile"]
    process: int = 0

    @property
    def turn(self) -> tuple[int, int]:
        """Returns what the steps of several targets are sorted by: all are verified, then timed and profiled process by process."""
        return self.process, ("verify", "time", "profile").index(self.what)


@dataclass(frozen=True)
class CollectObserver:
    """Callbacks that receive the progress.

    `end` receives a line for the user, or the error. `note` receives a line that is about no single step, such as that another prof has the GPU.
    """

    begin: Callable[[CollectStep], None]
    at: Callable[[CollectStep, Transcript], None]
    end: Callable[[CollectStep, str, ProfError | None], None]
    note: Callable[[str], None] = lambda _: None


def timing_job(plan: CollectPlan, job: RungJob) -> RungJob:
    return replace(job, repeats=plan.repeats, warmup=plan.warmup)


def steps_of(plan: CollectPlan, target: Target) -> list[CollectStep]:
    """Returns the steps that collecting the target takes if nothing of it is kept."""
    steps = [CollectStep(target.label, "verify")] if _is_verified(plan, target) else []
    for process in range(plan.processes):
        if _is_timed(plan, target):
            steps.append(CollectStep(target.label, "time", process))
        if target.is_profiled:
            steps.append(CollectStep(target.label, "profile", process))
    return steps


@dataclass
class Collection:
    """One target on its way to a run."""

    plan: CollectPlan
    target: Target
    store: RunStore
    error: ProfError | None = None
    timings: list[Timing] = field(default_factory=list)
    reports: list[Path] = field(default_factory=list)
    facts: list[ProcessFacts] = field(default_factory=list)
    relative_error: float | None = None
    seconds: float = 0.0
    began: datetime = field(default_factory=lambda: datetime.now(UTC))
    pending: UnfinishedCollection = field(init=False)
    key: str = field(init=False)
    provenance: Provenance = field(init=False)
    extracting: tuple[Request, Future[Extracted]] | None = None

    def __post_init__(self) -> None:
        plan, device = self.plan, self.plan.device
        self.provenance = find_provenance(self.target, device.gpu, plan.cwd or Path.cwd(), self.store)
        timed = (plan.repeats, plan.warmup) if _is_timed(plan, self.target) else None
        self.key = collection_key(
            self.target,
            plan.recording,
            provenance=self.provenance,
            gpu=device.gpu.name,
            ncu=device.ncu,
            processes=plan.processes,
            timed=timed,
        )

    @property
    def run_name(self) -> str:
        if not self.target.is_profiled:
            return self.target.name
        return path_name(preset_name(self.target.name, self.plan.recording.preset.name))

    def known_run(self) -> str | None:
        """Returns the id of a run of the very same collection, if one exists and may be used."""
        if not self.goes_on:
            return None
        runs = self.store.open_all(one for one in self.store.ids() if one.name == self.run_name)
        answers = (run.manifest.run_id for run in reversed(runs) if self._is_answered_by(run.manifest))
        return next(answers, None)

    def _is_answered_by(self, run: Manifest) -> bool:
        lacking = set(run.missing_metrics) & set(self.plan.recording.preset.required)
        return run.collection == self.key and not lacking

    @property
    def goes_on(self) -> bool:
        """Returns whether the results of an earlier call may be used."""
        return not self.plan.again and (self.plan.resume or self.target.is_compiled)

    def open(self) -> None:
        """Takes the seed of the kept results, or discards them and begins anew."""
        if not (self.plan.keep or self.goes_on):
            self.pending.discard()
        seed = fresh_seed() if self.plan.seed is None else self.plan.seed
        plan = self.pending.plan(UnfinishedPlan(self.run_name, seed, self.plan.device.gpu.uuid))
        if self.target.job is not None:
            self.target = replace(self.target, job=replace(self.target.job, seed=plan.seed))

    def attempt(self, step: CollectStep, observer: CollectObserver) -> None:
        """Takes one step. A failure skips the rest of this target; fatal errors and lost workers propagate."""
        if self.error is not None:
            return
        started = time.monotonic()
        try:
            self.take(step, observer)
        except (*FATAL, WorkerLost):
            raise
        except ProfError as error:
            self.error = error
        self.seconds += time.monotonic() - started

    def take(self, step: CollectStep, observer: CollectObserver) -> None:
        """Takes one of the steps that `steps_of` lists, unless its result is kept."""
        take = {"verify": self._verify, "time": self._time, "profile": self._profile}[step.what]
        observer.begin(step)
        try:
            line = take(step, observer)
        except WorkerLost:
            raise
        except ProfError as error:
            observer.end(step, "", error)
            raise
        observer.end(step, line, None)

    def _verify(self, step: CollectStep, _: CollectObserver) -> str:
        assert self.target.job is not None
        self.relative_error = self.plan.device.verify(self.target.job, self.plan.timeout_s)
        found = "" if self.relative_error is None else f": relative error {self.relative_error:.1e}"
        return f"verified    {step.label}{found}"

    def _time(self, step: CollectStep, _: CollectObserver) -> str:
        started, line = time.monotonic(), ""
        known = self.pending.timings(step.process)
        if known is None:
            assert self.target.job is not None
            timed = self.plan.device.time(timing_job(self.plan, self.target.job), self.plan.timeout_s)
            known = timed.of_process(step.process)
            self.pending.keep_timings(step.process, known)
            alone = "" if self.target.is_profiled else "; it is not profiled"
            line = (
                f"timed       {step.label}, process {step.process + 1} of {self.plan.processes}: "
                f"{len(known.timings)} repeats, {time.monotonic() - started:.1f} s{alone}"
            )
        self.timings += known.timings
        self.facts.append(known.facts)
        return line

    def _profile(self, step: CollectStep, observer: CollectObserver) -> str:
        started, line, plan = time.monotonic(), "", self.plan
        kept = self.pending.report(step.process)
        if kept is None:
            with neutral_folder() as scratch:
                order = Order(self.target, plan.recording, plan.timeout_s, plan.cwd)
                recorded = plan.device.record(order, scratch, partial(observer.at, step))
                kept = self.pending.keep_report(step.process, recorded.report)
            passes = f", {recorded.passes} passes" if recorded.passes else ""
            line = (
                f"profiled    {step.label}, process {step.process + 1} of {plan.processes}: "
                f"{recorded.launches} launches{passes}, {time.monotonic() - started:.1f} s"
            )
        self.reports.append(kept)
        return line

    def submit(self, sandbox: Sandbox, staging: Staging) -> None:
        """Starts to read the reports, in another process."""
        if not self.target.is_profiled:
            return
        plan, job, rung = self.plan, self.target.job, self.target.rung
        preset = plan.recording.preset
        request = Request(
            reports=tuple(self.reports),
            folder=staging.folder(),
            name=self.target.name,
            ladder=rung.ladder.name if rung is not None else None,
            kernel=rung.kernel.number if rung is not None else None,
            collected=CollectionFacts(
                key=self.key,
                preset=preset.name,
                provenance=self._measured(),
                program=shown(self.target.program_text),
                workload=job.values if job is not None and (rung or job.values) else None,
                metrics=preset.metrics,
                required=preset.required,
                timings=tuple(self.timings),
            ),
        )
        self.extracting = (request, sandbox.submit(request))

    def commit(self, staging: Staging) -> str:
        """Commits the run and returns its id."""
        if not self.target.is_profiled:
            run_id = stage_timings(staging, self._timed_run())
            self.pending.discard()
            return run_id
        from profiler.store.reports.sandbox import outcome  # which takes long to import

        assert self.extracting is not None
        request, future = self.extracting
        try:
            extracted = outcome(future, request.report)
        except (MetricsMissing, ReportDamaged) as error:
            self.pending.discard()  # the next call would fail with these reports too
            command = typed_command(
                self.target, self.plan.device.ncu, self.plan.recording, self.target.report_name()
            )
            raise error.changed(details=[*error.details, *command_details(command)]) from None
        assert isinstance(extracted, Manifest)  # the request names no hash that is stored already
        staging.commit(request.folder, extracted.run_id)
        self.pending.discard()
        return extracted.run_id

    def _measured(self) -> Provenance:
        job, origin = self.target.job, with_facts(self.provenance, self.facts)
        return msgspec.structs.replace(
            origin,
            seed=job.seed if job is not None else None,
            relative_error=origin.relative_error if self.relative_error is None else self.relative_error,
            seconds=round(self.seconds, 3),
        )

    def _timed_run(self) -> TimedRun:
        job = self.target.job
        assert job is not None  # only a ladder can declare that a kernel is not profiled
        folder = job.ladder.folder.resolve()
        return TimedRun(
            ladder=job.ladder.name,
            kernel=job.kernel.number,
            workload=job.values,
            recorded=self.began,
            gpu=self.plan.device.gpu.name,
            command_line=shown(program_command(timing_job(self.plan, job), "time", relative_to=folder)),
            provenance=self._measured(),
            timings=self.timings,
            collection=self.key,
            function="" if job.ladder.name else job.kernel.name,
        )


def _is_verified(plan: CollectPlan, target: Target) -> bool:
    return plan.verify and target.job is not None and "check" in target.job.kernel.commands


def _is_timed(plan: CollectPlan, target: Target) -> bool:
    return plan.repeats > 0 and target.job is not None and "time" in target.job.kernel.commands
