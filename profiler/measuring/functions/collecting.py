"""Times and profiles a function that was surveyed, in a fresh process each time, and commits its run.

The run keeps the cautions: what to know before believing its figures.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import msgspec

from profiler.errors import CountersRefused
from profiler.measuring.collect.collection import (
    Collection,
    CollectObserver,
    CollectPlan,
    CollectStep,
    steps_of,
)
from profiler.measuring.collect.device import LocalDevice
from profiler.measuring.collect.target import Target
from profiler.measuring.functions.arrays import described
from profiler.measuring.functions.call import Call
from profiler.measuring.functions.child import SHAPE, kernel_with_shape
from profiler.measuring.functions.plan import FunctionPlan
from profiler.measuring.functions.survey import Survey
from profiler.measuring.tools.ncu import NcuOptions
from profiler.store.reports.sandbox import Sandbox
from profiler.store.runs.run import Run
from profiler.store.runs.run_store import RunStore
from profiler.store.runs.unfinished import UnfinishedCollection
from profiler.text import shortened

_WIDTH = 500  # of a text about values of the user's, which may be long
_STEPS = {"time": "times", "profile": "profiles"}


@dataclass(frozen=True)
class Collecting:
    """Profiles and times a function after its survey, and commits the run. It adds to `cautions` what a reader must know."""

    plan: FunctionPlan
    call: Call
    device: LocalDevice
    recording: NcuOptions
    survey: Survey
    cautions: list[str]
    store: RunStore
    sandbox: Sandbox
    say: Callable[[str], None]

    def collect(self, target: Target) -> str:
        """Times and profiles the function, and returns the id of its run: of times alone if counters are refused."""
        try:
            return self._commit(target)
        except CountersRefused as error:
            self.cautions.append(f"times alone: {error.message}. {error.remedy}")
            return self._commit(without_profile(target))

    def _commit(self, target: Target) -> str:
        started = time.monotonic()
        one = self._collection(target)
        observer = CollectObserver(self._say_step, lambda *_: None, lambda *_: None)
        with self.store.staging() as staging, UnfinishedCollection(self.store.local, one.key) as one.pending:
            try:
                one.open()
                one.pending.keep_timings(0, self.survey.timed)
                if target.is_profiled:
                    self.sandbox.start()  # while the first process is profiled
                for step in steps_of(one.plan, target):
                    one.take(step, observer)
                    if step.what == "profile" and not step.process and self.plan.processes > 1:
                        self.sandbox.warm_up(one.reports[0])  # while the next process is timed
                self.cautions.extend(unlike_configurations("timed", [facts.kernels for facts in one.facts]))
                cautions = [shortened(caution, _WIDTH) for caution in self.cautions]
                one.provenance = msgspec.structs.replace(one.provenance, cautions=cautions)
                one.seconds = time.monotonic() - started
                one.submit(self.sandbox, staging)
                return one.commit(staging)
            except BaseException:
                one.pending.discard()  # nothing of a failed measurement is kept
                raise

    def _say_step(self, step: CollectStep) -> None:
        self.say(f"{_STEPS[step.what]} it in process {step.process + 1} of {self.plan.processes}")

    def _collection(self, target: Target) -> Collection:
        assert target.job is not None
        settings = CollectPlan(
            device=self.device,
            recording=self.recording,
            processes=self.plan.processes,
            repeats=self.plan.repeats,
            seed=target.job.seed,  # the survey has used it
            verify=False,  # the survey has done it
            timeout_s=self.plan.timeout_s,
            again=True,
        )
        one = Collection(settings, target, self.store)
        one.relative_error = self.survey.relative_error
        one.provenance = msgspec.structs.replace(
            one.provenance,
            arguments=shortened(described(self.call.arguments), _WIDTH),
            bytes=self.plan.bytes,
            flops=self.plan.flops,
        )
        return one


def unlike_configurations(what: str, ran: Sequence[Iterable[str]]) -> Iterator[str]:
    """Yields a caution if processes launched kernels of other configurations, as autotuners may choose them."""
    common = set.intersection(*map(set, ran)) if ran else set()
    differing = dict.fromkeys(" and ".join(sorted(set(one) - common)) for one in ran if set(one) - common)
    if differing:
        yield f"the processes that were {what} ran different configurations of its kernels: {'; '.join(differing)}"


def profiled_configurations(run: Run) -> list[set[str]]:
    """Returns the kernels that each profiled process launched, with their configurations."""
    found: dict[int, set[str]] = {}
    for one in run.table("launches").to_pylist():
        launched = kernel_with_shape(one["mangled"], [one[name] for name in SHAPE])
        found.setdefault(one["process"], set()).add(launched)
    return list(found.values())


def without_profile(target: Target) -> Target:
    """Returns the target without its profile: it is timed alone."""
    assert target.job is not None
    return replace(target, job=replace(target.job, kernel=replace(target.job.kernel, is_profiled=False)))
