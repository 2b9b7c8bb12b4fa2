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
from threading import Lock, Thread
from time import monotonic

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
from profiler.machine import available_cores
from profiler.measuring.collect.collection import CollectObserver, CollectPlan, CollectStep, steps_of
from profiler.measuring.collect.device import Device
from profiler.measuring.collect.target import Target
from profiler.measuring.collect.turns import CollectOutcome, Turns
from profiler.measuring.fleet.groups import GroupQueue, TargetGroup
from profiler.measuring.fleet.on_cluster import ClusterFleet
from profiler.measuring.tools.gpus import Gpu
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
        shared = _Shared(plan, queue, fleet, store, observer, staging, sandbox, finishing)
        collection = _FleetCollection(shared, left)
        try:
            yield from collection.outcomes()
        finally:
            collection.stop()


@dataclass(frozen=True)
class _Lost:
    """A driver reports this when its worker is lost: the others go on. A `WorkerLost` by itself ends the collection, as any error does."""

    error: WorkerLost


@dataclass(frozen=True)
class _Shared:
    """Everything that several threads use at once: the caller's, and one for each worker."""

    plan: CollectPlan
    groups: GroupQueue
    fleet: ClusterFleet
    store: RunStore
    observer: FleetObserver
    staging: Staging
    sandbox: Sandbox
    finishing: ThreadPoolExecutor
    # An outcome; a worker that is lost; or an error, which ends the whole collection.
    results: SimpleQueue[CollectOutcome | _Lost | BaseException] = field(default_factory=SimpleQueue)
    _unfit: set[str] = field(default_factory=set)  # hosts that cannot measure
    _lock: Lock = field(default_factory=Lock)

    def is_unfit(self, host: str) -> bool:
        with self._lock:
            return host in self._unfit

    def leave_out(self, host: str) -> bool:
        """Gives no more work to this host; returns False if no other is left."""
        hosts = {other.host for other in self.fleet.workers()}
        with self._lock:
            self._unfit.add(host)
            return not hosts <= self._unfit


class _FleetCollection:
    """Starts a thread for each worker that comes, and hands on what they report. All of it runs in the caller's thread."""

    def __init__(self, shared: _Shared, left: int) -> None:
        self._shared, self._left = shared, left  # targets without an outcome
        self._drivers: dict[Worker, _Driver] = {}
        self._last_loss: WorkerLost | None = None

    def outcomes(self) -> Iterator[CollectOutcome]:
        alone_since: float | None = None
        while self._left:
            for worker in self._shared.fleet.workers():
                if worker not in self._drivers:
                    self._drivers[worker] = _Driver(self._shared, worker)
                    self._drivers[worker].start()
                    alone_since = None
            with suppress(Empty):
                match self._shared.results.get(timeout=_LOOK_S):
                    case _Lost(error):
                        self._last_loss = error
                    case BaseException() as error:
                        raise error
                    case outcome:
                        self._left -= 1
                        yield outcome
            if self._shared.groups.is_empty or self._is_at_work or self._shared.fleet.coming():
                alone_since = None
            else:
                alone_since = alone_since or monotonic()
                if monotonic() - alone_since > ALONE_S:
                    raise self._no_worker_left()

    @property
    def _is_at_work(self) -> bool:
        return any(driver.is_alive() for driver in self._drivers.values())

    def stop(self) -> None:
        self._shared.groups.close()
        while self._is_at_work:
            self._shared.fleet.interrupt()  # again and again: a thread may be about to start one more call
            for driver in self._drivers.values():
                driver.join(_ENDING_S)

    def _no_worker_left(self) -> NoWorkerLeft:
        details = [f"    {self._last_loss.message}"] if self._last_loss is not None else []
        return NoWorkerLeft(
            f"no worker is left, and none came for {ALONE_S:g} s: {self._left} kernels are not collected",
            details=details,
        )


class _Driver(Thread):
    """The thread of one worker: measures group after group on its GPU. A group that it took is its own until it gives it back."""

    def __init__(self, shared: _Shared, worker: Worker) -> None:
        super().__init__(daemon=True)
        self._shared, self._worker = shared, worker

    def run(self) -> None:
        shared = self._shared
        try:
            self._measure_groups()
        except WorkerLost as error:
            shared.results.put(_Lost(error))
            if not shared.groups.is_closed:
                wait = f"its unfinished kernels wait {RETURN_S:g} s for its GPU to come back"
                shared.observer.note(f"lost        {error.message}; {wait}")
        except _Unfit as unfit:
            shared.observer.note(f"left out    worker {self._worker.name}: {unfit.error.message}")
        except _Stopped:
            pass
        except BaseException as error:
            shared.results.put(error)
        finally:
            shared.observer.left(self._worker.name)

    def _measure_groups(self) -> None:
        """Measures group after group on the worker's GPU, as long as one is left and its host can measure."""
        shared, host = self._shared, self._worker.host
        device = shared.fleet.device_of(self._worker)
        if device is None or not shared.groups.arrive(device.gpu.uuid):
            return
        try:
            while not shared.is_unfit(host) and (group := shared.groups.take(device.gpu.uuid)):
                turns = self._measure(device, group)
                if turns is not None:
                    shared.finishing.submit(_finish, turns, shared)
        finally:
            shared.groups.leave(device.gpu.uuid)

    def _measure(self, device: Device, group: TargetGroup) -> Turns | None:
        """Returns the group's kernels, measured but not yet committed; None if the group has moved too often."""
        shared = self._shared
        observer = shared.observer.observer(self._worker.name, device.gpu)
        if group.moves > _MOST_LOSSES:
            reason = f"was begun on {group.moves} GPUs, and each was lost"
            self._give_up(group, group.targets, reason, observer)
            return None
        under_way: list[CollectStep] = []

        def begin(step: CollectStep) -> None:
            if shared.groups.is_closed:
                raise _Stopped
            under_way[:] = [step]
            observer.begin(step)

        plan = replace(shared.plan, device=device, keep=group.is_begun)
        turns = Turns(plan, group.targets, shared.store, replace(observer, begin=begin))
        try:
            self._measure_turns(turns, group)
        except WorkerLost:
            self._lose(group, under_way, observer)
            raise
        except _OF_ONE_HOST as error:
            if not shared.leave_out(self._worker.host):
                raise
            group.home = None
            self._lose(group, (), observer)
            raise _Unfit(error) from None
        shared.groups.done()
        return turns

    def _measure_turns(self, turns: Turns, group: TargetGroup) -> None:
        """Reports the kernels that have a run already, and measures the others; closes the turns if anything goes wrong."""
        try:
            for outcome in turns.known():
                group.targets.remove(outcome.target)
                self._shared.results.put(outcome)
            turns.measure(self._shared.sandbox, self._shared.staging)
        except BaseException:
            turns.close()
            raise

    def _lose(self, group: TargetGroup, under_way: Sequence[CollectStep], observer: CollectObserver) -> None:
        """Puts the group back. A kernel during which worker after worker is lost may be the cause: it is given up."""
        if self._shared.groups.is_closed:
            return
        group.is_begun = True
        self._shared.observer.again(group.targets)
        for step in under_way:
            group.losses[step.label] += 1
            if group.losses[step.label] >= _MOST_LOSSES:
                blamed = [target for target in group.targets if target.label == step.label]
                reason = f"{group.losses[step.label]} workers were lost while they measured it"
                self._give_up(group, blamed, reason, observer)
        self._shared.groups.give_back(group)

    def _give_up(
        self, group: TargetGroup, targets: Sequence[Target], reason: str, observer: CollectObserver
    ) -> None:
        for target in list(targets):
            group.targets.remove(target)
            error = KernelGivenUp(f"{target.label}: {reason}")
            observer.end(steps_of(self._shared.plan, target)[-1], "", error)
            self._shared.results.put(CollectOutcome(target, "failed", error=error))
        if not group.targets:
            self._shared.groups.done()


def _finish(turns: Turns, shared: _Shared) -> None:
    """Commits what was measured. Runs in a thread of its own, so that the worker can begin its next group."""
    try:
        with turns:
            for outcome in turns.finish(shared.staging):
                shared.results.put(outcome)
    except BaseException as error:
        shared.results.put(error)


class _Unfit(Exception):
    """Ends the thread of a worker that cannot measure while others can; never shown."""

    def __init__(self, error: ProfError) -> None:
        super().__init__(error.message)
        self.error = error


class _Stopped(Exception):
    """Ends the threads of the other workers after one failed for good; never shown."""
