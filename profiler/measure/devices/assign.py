"""Collecting on several GPUs, here or on a cluster: who measures what, and what becomes of it when a worker dies.

Kernels that will be compared with each other are a group, and stay on one GPU, since no two are equally fast. Each
worker is led by a thread of its own, which takes group after group. What a lost worker had begun waits a while for
its GPU to come back, and goes on there with what is kept; after that another GPU begins it anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import Literal, Protocol

from profiler.catalog.ladders.ladder import size_text
from profiler.cluster.watch import Worker
from profiler.errors import (
    CountersBusy,
    CountersRefused,
    GpuNotFound,
    KernelGivenUp,
    NoWorkerLeft,
    ProfError,
    WorkerLost,
)
from profiler.measure.collect.collection import CollectPlan, Observer, Step, steps_of
from profiler.measure.collect.target import Target
from profiler.measure.collect.turns import Outcome, Turns, collect
from profiler.measure.devices.bench import Bench
from profiler.measure.devices.groups import Group, Groups
from profiler.measure.tools.toolchain import Gpu
from profiler.store.reports.sandbox import Sandbox, available_cores
from profiler.store.runs.commit import Staging
from profiler.store.runs.run_store import RunStore

SpreadBy = Literal["workloads", "kernels"]
_LOOK_S = 0.5
_ENDING_S = 0.05
_OF_ONE_HOST = (GpuNotFound, CountersRefused, CountersBusy)  # another may well be able to
_MOST_LOSSES = 3  # of workers while they measure one kernel; and a group may start over as often


class Fleet(Protocol):
    """Workers that come and go."""

    def workers(self) -> Sequence[Worker]:
        """Those that are there now; raises what is wrong when that cannot be known."""

    def enlist(self, worker: Worker) -> Bench | None:
        """Its bench, or None where it is not used; raises WorkerLost."""

    def coming(self) -> bool:
        """Whether others are on their way, however long that takes."""

    def interrupt(self) -> None:
        """Whatever the benches are doing ends, and the threads that wait for them go on."""


@dataclass(frozen=True)
class Audience:
    """Who wants to know how they all get on."""

    observer: Callable[[str, Gpu], Observer]  # of the worker of this name
    note: Callable[[str], None]  # a line worth reading
    again: Callable[[Sequence[Target]], None]  # these are measured again, from the beginning or what is kept
    left: Callable[[str], None]  # no more is heard of this worker


@dataclass(frozen=True)
class Patience:
    """How long a GPU may be gone before another takes over its work, and all of them before it is given up."""

    return_s: float = 10.0
    alone_s: float = 60.0


def choose_gpus(given: str, gpus: Sequence[Gpu]) -> list[Gpu]:
    """`all`, or numbers and UUIDs separated by commas; numbers count the visible ones from 0."""
    if given == "all":
        return list(gpus)
    chosen = []
    for name in given.split(","):
        found = [gpu for index, gpu in enumerate(gpus) if name.strip() in (str(index), gpu.uuid)]
        if not found:
            raise GpuNotFound(
                f"--gpus {given}: there is no GPU '{name.strip()}'; {len(gpus)} are visible, from 0",
                remedy="Give numbers such as 0,1, UUIDs, or all.",
            )
        chosen += found
    return list(dict.fromkeys(chosen))


def group_targets(targets: Sequence[Target], by: SpreadBy) -> list[tuple[Target, ...]]:
    """Those that must stay together, what takes longest first.

    Each begins at another of its kernels. The driver serves one GPU after the other, so that one which
    computes for long is best measured while another GPU needs the driver.
    """
    groups: dict[str, list[Target]] = {}
    for index, target in enumerate(targets):
        workload = size_text(target.job.values) if target.job is not None else ""
        groups.setdefault(workload if by == "workloads" else str(index), []).append(target)
    longest_first = sorted(groups.values(), key=_cost, reverse=True)
    starts = [len(group) * place // len(longest_first) for place, group in enumerate(longest_first)]
    return [(*group[start:], *group[:start]) for group, start in zip(longest_first, starts, strict=True)]


def _cost(group: Sequence[Target]) -> tuple[int, float]:
    """To compare groups by: what a kernel takes is mostly the same for all, then it is the work."""
    return len(group), sum(target.job.work for target in group if target.job is not None)


def collect_here(
    plan: CollectPlan, targets: Sequence[Target], store: RunStore, observer: Observer
) -> Iterator[Outcome]:
    """On the plan's own bench, in this thread."""
    if not targets:
        return
    with store.staging() as staging, Sandbox(workers=1) as sandbox:
        yield from collect(plan, targets, store, staging, sandbox, observer)


def collect_spread(
    plan: CollectPlan,
    groups: Sequence[Group],
    fleet: Fleet,
    store: RunStore,
    audience: Audience,
    patience: Patience | None = None,
) -> Iterator[Outcome]:
    """Every target once, on whichever worker; what is fatal to all of them ends it."""
    if not groups:
        return
    with ExitStack() as stack:
        staging = stack.enter_context(store.staging())
        finishing = ThreadPoolExecutor(available_cores(), thread_name_prefix="finish")
        stack.callback(finishing.shutdown, cancel_futures=True)
        readers = min(available_cores(), len(groups))
        sandbox = stack.enter_context(Sandbox(workers=readers))
        spreading = _Spreading(plan, groups, fleet, store, audience, patience or Patience())
        try:
            yield from spreading.outcomes(staging, sandbox, finishing)
        finally:
            spreading.stop()


class _Spreading:
    def __init__(
        self,
        plan: CollectPlan,
        groups: Sequence[Group],
        fleet: Fleet,
        store: RunStore,
        audience: Audience,
        patience: Patience,
    ) -> None:
        self._plan, self._fleet, self._store, self._audience = plan, fleet, store, audience
        self._patience = patience
        self._left = sum(len(group.targets) for group in groups)
        self._groups = Groups(groups, patience.return_s)
        self._threads: dict[Worker, Thread] = {}
        self._told: SimpleQueue[Outcome | BaseException] = SimpleQueue()
        self._last_loss: WorkerLost | None = None
        self._unfit: set[str] = set()  # hosts that cannot measure

    def outcomes(
        self, staging: Staging, sandbox: Sandbox, finishing: ThreadPoolExecutor
    ) -> Iterator[Outcome]:
        alone_since: float | None = None
        while self._left:
            for worker in self._fleet.workers():
                if worker not in self._threads:
                    arguments = (worker, staging, sandbox, finishing)
                    self._threads[worker] = Thread(target=self._lead, args=arguments, daemon=True)
                    self._threads[worker].start()
                    alone_since = None
            with suppress(Empty):
                told = self._told.get(timeout=_LOOK_S)
                if isinstance(told, BaseException):
                    raise told
                self._left -= 1
                yield told
            at_work = any(thread.is_alive() for thread in self._threads.values())
            if self._groups.is_empty or at_work or self._fleet.coming():
                alone_since = None
            else:
                alone_since = alone_since or monotonic()
                if monotonic() - alone_since > self._patience.alone_s:
                    raise self._nobody_left()

    def stop(self) -> None:
        self._groups.close()
        while any(thread.is_alive() for thread in self._threads.values()):
            self._fleet.interrupt()  # again and again: a thread may be about to ask for one more thing
            for thread in self._threads.values():
                thread.join(_ENDING_S)

    def _nobody_left(self) -> NoWorkerLeft:
        details = [f"    {self._last_loss.message}"] if self._last_loss is not None else []
        return NoWorkerLeft(
            f"no worker is left, and none came for {self._patience.alone_s:g} s: "
            f"{self._left} kernels are not collected",
            details=details,
        )

    # What follows runs in the thread of one worker

    def _lead(
        self, worker: Worker, staging: Staging, sandbox: Sandbox, finishing: ThreadPoolExecutor
    ) -> None:
        try:
            bench = self._fleet.enlist(worker)
            if bench is None or not self._groups.arrive(bench.gpu.uuid):
                return
            try:
                while worker.host not in self._unfit:
                    group = self._groups.take(bench.gpu.uuid)
                    if group is None:
                        return
                    turns = self._measure(worker, bench, group, staging, sandbox)
                    if turns is not None:
                        finishing.submit(self._finish, turns, staging)
            finally:
                self._groups.leave(bench.gpu.uuid)
        except WorkerLost as error:
            self._last_loss = error
            if not self._groups.is_closed:
                wait = f"what it had begun waits {self._patience.return_s:g} s for its GPU"
                self._audience.note(f"lost        {error.message}; {wait}")
        except _Unfit as unfit:
            self._audience.note(f"left out    worker {worker.name}: {unfit.error.message}")
        except _Stopped:
            pass
        except BaseException as error:  # whatever it is, it ends all
            self._told.put(error)
        finally:
            self._audience.left(worker.name)

    def _measure(
        self, worker: Worker, bench: Bench, group: Group, staging: Staging, sandbox: Sandbox
    ) -> Turns | None:
        """Its kernels, measured and not yet committed; None where it has moved too often."""
        observer = self._audience.observer(worker.name, bench.gpu)
        if group.moves > _MOST_LOSSES:
            reason = f"was begun on {group.moves} GPUs, and each was lost"
            self._give_up(group, group.targets, reason, observer)
            return None
        under_way: list[Step] = []

        def begin(step: Step) -> None:
            if self._groups.is_closed:
                raise _Stopped
            under_way[:] = [step]
            observer.begin(step)

        plan = replace(self._plan, bench=bench, keep=group.is_begun)
        turns = Turns(plan, group.targets, self._store, replace(observer, begin=begin))
        try:
            for outcome in turns.known():
                group.targets.remove(outcome.target)
                self._told.put(outcome)
            turns.measure(sandbox, staging)
        except WorkerLost:
            turns.close()
            self._lose(group, under_way, observer)
            raise
        except _OF_ONE_HOST as error:
            turns.close()
            self._unfit.add(worker.host)
            if all(other.host in self._unfit for other in self._fleet.workers()):
                raise
            group.home = None
            self._lose(group, (), observer)
            raise _Unfit(error) from None
        except BaseException:
            turns.close()
            raise
        self._groups.done()
        return turns

    def _finish(self, turns: Turns, staging: Staging) -> None:
        try:
            with turns:
                for outcome in turns.finish(staging):
                    self._told.put(outcome)
        except BaseException as error:
            self._told.put(error)

    def _lose(self, group: Group, under_way: Sequence[Step], observer: Observer) -> None:
        """The kernel that was under way may be what ended the worker: not for ever."""
        if self._groups.is_closed:
            return
        group.is_begun = True
        self._audience.again(group.targets)
        for step in under_way:
            group.losses[step.label] += 1
            if group.losses[step.label] >= _MOST_LOSSES:
                blamed = [target for target in group.targets if target.label == step.label]
                reason = f"{group.losses[step.label]} workers were lost while they measured it"
                self._give_up(group, blamed, reason, observer)
        self._groups.give_back(group)

    def _give_up(self, group: Group, targets: Sequence[Target], reason: str, observer: Observer) -> None:
        for target in list(targets):
            group.targets.remove(target)
            error = KernelGivenUp(f"{target.label}: {reason}")
            observer.end(steps_of(self._plan, target)[-1], "", error)
            self._told.put(Outcome(target, "failed", error=error))
        if not group.targets:
            self._groups.done()


class _Unfit(Exception):
    """Raised in the thread of a worker that others can do without; never shown."""

    def __init__(self, error: ProfError) -> None:
        super().__init__(error.message)
        self.error = error


class _Stopped(Exception):
    """Raised in the other threads where one has failed for good; never shown."""
