"""Collects on several GPUs, here or on a cluster: decides which one measures what, also when a worker dies.

Kernels that will be compared with each other form a group and stay on one GPU, since no two GPUs are equally fast.
One thread for each worker takes group after group. When a worker is lost, its group waits a while for the GPU to
come back, and goes on there with what is kept. After that, another GPU begins the group anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic

from profiler.cluster.worker_pool import Worker
from profiler.errors import (
    CountersBusy,
    CountersRefused,
    GpuNotFound,
    KernelGivenUp,
    NoWorkerLeft,
    ProfError,
    WorkerLost,
)
from profiler.machine import available_cores
from profiler.measuring.collect.collection import CollectObserver, CollectPlan, CollectStep, steps_of
from profiler.measuring.collect.target import Target
from profiler.measuring.collect.turns import CollectOutcome, Turns
from profiler.measuring.devices.device import Device
from profiler.measuring.devices.groups import GroupQueue, TargetGroup
from profiler.measuring.devices.on_cluster import ClusterFleet
from profiler.measuring.tools.toolchain import Gpu
from profiler.store.reports.sandbox import Sandbox
from profiler.store.runs.commit import Staging
from profiler.store.runs.run_store import RunStore

RETURN_S = 10.0  # how long a group waits for its GPU to come back
ALONE_S = 60.0  # how long a collection waits for any worker
_LOOK_S = 0.5
_ENDING_S = 0.05
_OF_ONE_HOST = (GpuNotFound, CountersRefused, CountersBusy)  # another host may well be able to measure
_MOST_LOSSES = 3  # workers that may be lost during one kernel; and times that a group may start over


@dataclass(frozen=True)
class FleetObserver:
    """Callbacks that receive the progress of a collection on several GPUs."""

    observer: Callable[[str, Gpu], CollectObserver]  # returns the observer for the worker of this name
    note: Callable[[str], None]  # a line that the user should read
    again: Callable[[Sequence[Target]], None]  # these targets are measured again
    left: Callable[[str], None]  # this worker reports nothing more


def collect_on_fleet(
    plan: CollectPlan,
    groups: Sequence[TargetGroup],
    fleet: ClusterFleet,
    store: RunStore,
    observer: FleetObserver,
) -> Iterator[CollectOutcome]:
    """Collects every target once, on any worker; raises errors that would meet all of them."""
    if not groups:
        return
    with ExitStack() as stack:
        staging = stack.enter_context(store.staging())
        finishing = ThreadPoolExecutor(available_cores(), thread_name_prefix="finish")
        stack.callback(finishing.shutdown, cancel_futures=True)
        sandbox = stack.enter_context(Sandbox(workers=min(available_cores(), len(groups))))
        queue, left = GroupQueue(groups, RETURN_S), sum(len(group.targets) for group in groups)
        collection = _FleetCollection(plan, queue, left, fleet, store, observer, staging, sandbox, finishing)
        try:
            yield from collection.outcomes()
        finally:
            collection.stop()


@dataclass
class _FleetCollection:
    """The threads that each drive one worker, and the outcomes that they hand to the caller's thread."""

    _plan: CollectPlan
    _groups: GroupQueue
    _left: int  # targets without an outcome
    _fleet: ClusterFleet
    _store: RunStore
    _observer: FleetObserver
    _staging: Staging
    _sandbox: Sandbox
    _finishing: ThreadPoolExecutor
    _threads: dict[Worker, Thread] = field(default_factory=dict)
    _results: SimpleQueue[CollectOutcome | BaseException] = field(default_factory=SimpleQueue)
    _last_loss: WorkerLost | None = None
    _unfit: set[str] = field(default_factory=set)  # hosts that cannot measure

    def outcomes(self) -> Iterator[CollectOutcome]:
        alone_since: float | None = None
        while self._left:
            for worker in self._fleet.workers():
                if worker not in self._threads:
                    self._threads[worker] = Thread(target=self._drive, args=(worker,), daemon=True)
                    self._threads[worker].start()
                    alone_since = None
            with suppress(Empty):
                result = self._results.get(timeout=_LOOK_S)
                if isinstance(result, BaseException):
                    raise result
                self._left -= 1
                yield result
            at_work = any(thread.is_alive() for thread in self._threads.values())
            if self._groups.is_empty or at_work or self._fleet.coming():
                alone_since = None
            else:
                alone_since = alone_since or monotonic()
                if monotonic() - alone_since > ALONE_S:
                    raise self._no_worker_left()

    def stop(self) -> None:
        self._groups.close()
        while any(thread.is_alive() for thread in self._threads.values()):
            self._fleet.interrupt()  # again and again: a thread may be about to start one more call
            for thread in self._threads.values():
                thread.join(_ENDING_S)

    def _no_worker_left(self) -> NoWorkerLeft:
        details = [f"    {self._last_loss.message}"] if self._last_loss is not None else []
        return NoWorkerLeft(
            f"no worker is left, and none came for {ALONE_S:g} s: {self._left} kernels are not collected",
            details=details,
        )

    # The methods below run in the thread of one worker.

    def _drive(self, worker: Worker) -> None:
        try:
            self._measure_groups(worker)
        except WorkerLost as error:
            self._last_loss = error
            if not self._groups.is_closed:
                wait = f"its unfinished kernels wait {RETURN_S:g} s for its GPU to come back"
                self._observer.note(f"lost        {error.message}; {wait}")
        except _Unfit as unfit:
            self._observer.note(f"left out    worker {worker.name}: {unfit.error.message}")
        except _Stopped:
            pass
        except BaseException as error:  # any other error ends the whole collection
            self._results.put(error)
        finally:
            self._observer.left(worker.name)

    def _measure_groups(self, worker: Worker) -> None:
        """Measures group after group on the worker's GPU, as long as one is left and its host can measure."""
        device = self._fleet.device_of(worker)
        if device is None or not self._groups.arrive(device.gpu.uuid):
            return
        try:
            while worker.host not in self._unfit and (group := self._groups.take(device.gpu.uuid)):
                turns = self._measure(worker, device, group)
                if turns is not None:
                    self._finishing.submit(self._finish, turns)
        finally:
            self._groups.leave(device.gpu.uuid)

    def _measure(self, worker: Worker, device: Device, group: TargetGroup) -> Turns | None:
        """Returns the group's kernels, measured but not yet committed; None if the group has moved too often."""
        observer = self._observer.observer(worker.name, device.gpu)
        if group.moves > _MOST_LOSSES:
            reason = f"was begun on {group.moves} GPUs, and each was lost"
            self._give_up(group, group.targets, reason, observer)
            return None
        under_way: list[CollectStep] = []

        def begin(step: CollectStep) -> None:
            if self._groups.is_closed:
                raise _Stopped
            under_way[:] = [step]
            observer.begin(step)

        plan = replace(self._plan, device=device, keep=group.is_begun)
        turns = Turns(plan, group.targets, self._store, replace(observer, begin=begin))
        try:
            self._measure_turns(turns, group)
        except WorkerLost:
            self._lose(group, under_way, observer)
            raise
        except _OF_ONE_HOST as error:
            self._unfit.add(worker.host)
            if all(other.host in self._unfit for other in self._fleet.workers()):
                raise
            group.home = None
            self._lose(group, (), observer)
            raise _Unfit(error) from None
        self._groups.done()
        return turns

    def _measure_turns(self, turns: Turns, group: TargetGroup) -> None:
        """Reports the kernels that have a run already, and measures the others; closes the turns if anything goes wrong."""
        try:
            for outcome in turns.known():
                group.targets.remove(outcome.target)
                self._results.put(outcome)
            turns.measure(self._sandbox, self._staging)
        except BaseException:
            turns.close()
            raise

    def _finish(self, turns: Turns) -> None:
        try:
            with turns:
                for outcome in turns.finish(self._staging):
                    self._results.put(outcome)
        except BaseException as error:
            self._results.put(error)

    def _lose(self, group: TargetGroup, under_way: Sequence[CollectStep], observer: CollectObserver) -> None:
        """Puts the group back. A kernel during which worker after worker is lost may be the cause: it is given up."""
        if self._groups.is_closed:
            return
        group.is_begun = True
        self._observer.again(group.targets)
        for step in under_way:
            group.losses[step.label] += 1
            if group.losses[step.label] >= _MOST_LOSSES:
                blamed = [target for target in group.targets if target.label == step.label]
                reason = f"{group.losses[step.label]} workers were lost while they measured it"
                self._give_up(group, blamed, reason, observer)
        self._groups.give_back(group)

    def _give_up(
        self, group: TargetGroup, targets: Sequence[Target], reason: str, observer: CollectObserver
    ) -> None:
        for target in list(targets):
            group.targets.remove(target)
            error = KernelGivenUp(f"{target.label}: {reason}")
            observer.end(steps_of(self._plan, target)[-1], "", error)
            self._results.put(CollectOutcome(target, "failed", error=error))
        if not group.targets:
            self._groups.done()


class _Unfit(Exception):
    """Ends the thread of a worker that cannot measure while others can; never shown."""

    def __init__(self, error: ProfError) -> None:
        super().__init__(error.message)
        self.error = error


class _Stopped(Exception):
    """Ends the threads of the other workers after one failed for good; never shown."""
