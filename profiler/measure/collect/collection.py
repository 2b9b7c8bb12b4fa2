"""One target on its way to a run: verified, timed, profiled process by process, read, committed.

What a process recorded is kept at once (`store/runs/unfinished.py`): whoever calls again after a kill goes on
from there. `collect.py` lets several of them take turns.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Literal

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
from profiler.measure.collect.target import Target, collection_key, program_provenance, typed_command
from profiler.measure.devices.bench import Bench, Order
from profiler.measure.rungs.build import build_folder
from profiler.measure.rungs.program import Job, fresh_seed, program_command
from profiler.measure.tools.ncu import Ncu, Recording
from profiler.measure.tools.neutral import neutral_folder
from profiler.measure.tools.process import command_details, shown
from profiler.measure.tools.provenance import derive_provenance, read_commit
from profiler.measure.tools.toolchain import Gpu
from profiler.measure.tools.transcript import Transcript
from profiler.store.reports.request import Collected, Request, Timing
from profiler.store.reports.sandbox import Extracted, Sandbox, outcome
from profiler.store.runs.commit import Staging
from profiler.store.runs.manifest import Manifest, Provenance
from profiler.store.runs.run_id import path_name, preset_name
from profiler.store.runs.run_store import RunStore
from profiler.store.runs.timed_run import TimedRun, stage_timings
from profiler.store.runs.unfinished import CollectionPlan, ProcessTimings, UnfinishedCollection

# What meets every kernel alike: no other will fare better.
FATAL = (GpuNotFound, CountersRefused, CountersBusy, DiskFull, StoreNotWritable, SchedulerLost)


@dataclass(frozen=True)
class CollectPlan:
    bench: Bench
    recording: Recording
    processes: int = 3
    repeats: int = 20  # timed, per process; 0: not timed
    warmup: int = 5
    verify: bool = True
    timeout_s: float = 600.0
    cwd: Path | None = None
    force: bool = False
    resume: bool = False  # also what prof did not compile, and so cannot know to be unchanged
    keep: bool = False  # go on with what was kept a moment ago, whatever is said of older things

    @property
    def gpu(self) -> Gpu:
        return self.bench.gpu

    @property
    def ncu(self) -> Ncu:
        return self.bench.ncu


@dataclass(frozen=True)
class Step:
    label: str
    what: Literal["verify", "time", "profile"]
    process: int = 0


@dataclass(frozen=True)
class Observer:
    """Who wants to know how far it is. `end` gets a line worth reading, or the error."""

    begin: Callable[[Step], None]
    at: Callable[[Step, Transcript], None]
    end: Callable[[Step, str, ProfError | None], None]


def steps_of(plan: CollectPlan, target: Target) -> list[Step]:
    """What collecting it takes, from nothing."""
    steps = [Step(target.label, "verify")] if _is_verified(plan, target) else []
    for process in range(plan.processes):
        if _is_timed(plan, target):
            steps.append(Step(target.label, "time", process))
        if target.is_profiled:
            steps.append(Step(target.label, "profile", process))
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
    reference: str | None = None
    runtime: str | None = None
    relative_error: float | None = None
    seconds: float = 0.0
    began: datetime = field(default_factory=lambda: datetime.now(UTC))
    pending: UnfinishedCollection = field(init=False)
    key: str = field(init=False)
    provenance: Provenance = field(init=False)
    extracting: tuple[Request, Future[Extracted]] | None = None

    def __post_init__(self) -> None:
        plan, target = self.plan, self.target
        self.provenance = _provenance(plan, target, self.store)
        timed = (plan.repeats, plan.warmup) if _is_timed(plan, target) else None
        self.key = collection_key(
            target, plan.recording, self.provenance, plan.gpu.name, plan.ncu, plan.processes, timed
        )

    @property
    def run_name(self) -> str:
        if not self.target.is_profiled:
            return self.target.name
        return path_name(preset_name(self.target.name, self.plan.recording.preset.name))

    def known_run(self) -> str | None:
        if not self.goes_on:
            return None
        for run_id in reversed(self.store.ids()):
            if run_id.name == self.run_name and self._is_answered_by(self.store.open(run_id).manifest):
                return str(run_id)
        return None

    def _is_answered_by(self, run: Manifest) -> bool:
        lacking = set(run.missing_metrics) & set(self.plan.recording.preset.required)
        return run.collection == self.key and not lacking

    @property
    def goes_on(self) -> bool:
        """Whether what an earlier call recorded of it is of use."""
        return not self.plan.force and (self.plan.resume or self.target.is_compiled)

    def open(self) -> None:
        if not (self.plan.keep or self.goes_on):
            self.pending.discard()
        plan = self.pending.plan(CollectionPlan(self.run_name, fresh_seed(), self.plan.gpu.uuid))
        if self.target.job is not None:
            self.target = replace(self.target, job=replace(self.target.job, seed=plan.seed))

    def attempt(self, step: Callable[[Observer], None], observer: Observer) -> None:
        """A failure ends this target's way, unless it would meet all of them, or its bench is what was lost."""
        if self.error is not None:
            return
        started = time.monotonic()
        try:
            step(observer)
        except (*FATAL, WorkerLost):
            raise
        except ProfError as error:
            self.error = error
        self.seconds += time.monotonic() - started

    def verify(self, observer: Observer) -> None:
        job = self.target.job
        if job is None or not _is_verified(self.plan, self.target):
            return
        with _Told(observer, Step(self.target.label, "verify")) as told:
            self.relative_error = self.plan.bench.verify(job, self.plan.timeout_s)
            told.line = f"verified    {self.target.label}"
            if self.relative_error is not None:
                told.line += f": relative error {self.relative_error:.1e}"

    def time(self, process: int, observer: Observer) -> None:
        job = self.target.job
        if job is None or not _is_timed(self.plan, self.target):
            return
        with _Told(observer, Step(self.target.label, "time", process)) as told:
            known = self.pending.timings(process)
            if known is None:
                timed = self.plan.bench.time(self._timing_job(job), self.plan.timeout_s)
                rows = [
                    Timing(process, repeat, one.kernel_ns, one.reference_ns)
                    for repeat, one in enumerate(timed.repeats)
                ]
                known = ProcessTimings(timed.reference, rows, timed.runtime)
                self.pending.keep_timings(process, known)
                alone = "" if self.target.is_profiled else "; it is not profiled"
                told.line = (
                    f"timed       {self.target.label}, process {process + 1} of {self.plan.processes}: "
                    f"{len(rows)} repeats, {told.seconds:.1f} s{alone}"
                )
            self.timings += known.timings
            self.reference, self.runtime = known.reference, known.runtime

    def profile(self, process: int, observer: Observer) -> None:
        if not self.target.is_profiled:
            return
        step = Step(self.target.label, "profile", process)
        with _Told(observer, step) as told, neutral_folder() as scratch:
            kept = self.pending.report(process)
            if kept is None:
                plan = self.plan
                order = Order(self.target, plan.recording, plan.timeout_s, plan.cwd)
                recorded = plan.bench.record(order, scratch, partial(observer.at, step))
                kept = self.pending.keep_report(process, recorded.report)
                passes = f", {recorded.passes} passes" if recorded.passes else ""
                told.line = (
                    f"profiled    {self.target.label}, process {process + 1} of {plan.processes}: "
                    f"{recorded.launches} launches{passes}, {told.seconds:.1f} s"
                )
            self.reports.append(kept)

    def submit(self, sandbox: Sandbox, staging: Staging) -> None:
        """Its reports are read meanwhile, where there are any."""
        if not self.target.is_profiled:
            return
        plan, job = self.plan, self.target.job
        preset = plan.recording.preset
        request = Request(
            reports=tuple(self.reports),
            folder=staging.folder(),
            name=self.target.name,
            ladder=job.ladder.name if job is not None else None,
            kernel=job.kernel.number if job is not None else None,
            collected=Collected(
                key=self.key,
                preset=preset.name,
                provenance=self._measured(),
                program="" if job is not None else shown(self.target.program_text),
                workload=job.values if job is not None else None,
                metrics=preset.metrics,
                required=preset.required,
                timings=tuple(self.timings),
            ),
        )
        self.extracting = (request, sandbox.submit(request))

    def commit(self, staging: Staging) -> str:
        """The id of the run, which now exists whole."""
        if not self.target.is_profiled:
            run_id = stage_timings(staging, self._timed_run())
            self.pending.discard()
            return run_id
        assert self.extracting is not None
        request, future = self.extracting
        try:
            extracted = outcome(future, request.report)
        except (MetricsMissing, ReportDamaged) as error:
            self.pending.discard()  # it will be no better next time
            command = typed_command(self.target, self.plan.ncu, self.plan.recording)
            details = [*error.details, *command_details(command)]
            raise type(error)(error.message, details=details, remedy=error.remedy) from None
        assert isinstance(extracted, Manifest)  # it was told of no hash that is stored already
        staging.commit(request.folder, extracted.run_id)
        self.pending.discard()
        return extracted.run_id

    def _timing_job(self, job: Job) -> Job:
        return replace(job, repeats=self.plan.repeats, warmup=self.plan.warmup)

    def _measured(self) -> Provenance:
        job = self.target.job
        return msgspec.structs.replace(
            self.provenance,
            seed=job.seed if job is not None else None,
            reference=self.reference,
            runtime=self.runtime,
            relative_error=self.relative_error,
            seconds=round(self.seconds, 3),
        )

    def _timed_run(self) -> TimedRun:
        job = self.target.job
        assert job is not None  # only a ladder says that a kernel is not profiled
        folder = job.ladder.folder.resolve()
        return TimedRun(
            ladder=job.ladder.name,
            kernel=job.kernel.number,
            workload=job.values,
            recorded=self.began,
            gpu=self.plan.gpu.name,
            command_line=shown(program_command(self._timing_job(job), "time", relative_to=folder)),
            provenance=self._measured(),
            timings=tuple(self.timings),
            collection=self.key,
        )


@dataclass
class _Told:
    """Tells the observer that a step begins and how it ended."""

    observer: Observer
    step: Step
    line: str = ""
    _started: float = 0.0

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    def __enter__(self) -> _Told:
        self._started = time.monotonic()
        self.observer.begin(self.step)
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            self.observer.end(self.step, self.line, None)
        elif isinstance(error, ProfError) and not isinstance(error, WorkerLost):
            self.observer.end(self.step, "", error)


def _is_verified(plan: CollectPlan, target: Target) -> bool:
    return plan.verify and target.job is not None and "check" in target.job.kernel.commands


def _is_timed(plan: CollectPlan, target: Target) -> bool:
    return plan.repeats > 0 and target.job is not None and "time" in target.job.kernel.commands


def _provenance(plan: CollectPlan, target: Target, store: RunStore) -> Provenance:
    job = target.job
    if job is None:
        commit = read_commit(Path.cwd(), store.local)
        facts = Provenance(
            driver_version=plan.gpu.driver_version, git_commit=commit.sha, git_dirty=commit.dirty
        )
        return program_provenance(target, facts, plan.cwd or target.folder)
    commit = read_commit(job.ladder.folder, store.local, build_folder(job.ladder, plan.gpu.arch))
    return derive_provenance(job.ladder, job.kernel, target.built, plan.gpu, commit)
