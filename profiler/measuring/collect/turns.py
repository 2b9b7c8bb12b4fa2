"""Collects several kernels on one device: they take turns, process by process.

So a drift of clocks or heat affects all of them alike. A kernel that fails is reported and left out; the others go on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

from profiler.errors import ProfError, ShapeRefused
from profiler.measuring.collect.collection import (
    FATAL,
    Collection,
    CollectObserver,
    CollectPlan,
    CollectStep,
    steps_of,
)
from profiler.measuring.collect.gpu_turn import gpu_turn
from profiler.measuring.collect.target import Target
from profiler.store.process_timings import Timing
from profiler.store.runs.commit import Staging
from profiler.store.runs.run_store import RunStore
from profiler.store.runs.unfinished import (
    UnfinishedCollection,
    discard_unfinished,
    has_unfinished,
    planned_gpu,
)

if TYPE_CHECKING:
    from profiler.store.reports.sandbox import Sandbox


@dataclass(frozen=True)
class CollectOutcome:
    """The result for one target. `known` means that the same was collected before; `timings` are those of this call."""

    target: Target
    status: Literal["collected", "known", "failed"]
    run_id: str = ""
    error: ProfError | None = None
    timings: Sequence[Timing] = ()


class Turns:
    """Kernels that take turns on one device; use it in a `with` statement, or close it.

    A measured target can be finished in another thread, while the device goes on to others.
    """

    def __init__(
        self, plan: CollectPlan, targets: Sequence[Target], store: RunStore, observer: CollectObserver
    ) -> None:
        self._plan, self._targets, self._store, self._observer = plan, tuple(targets), store, observer
        self._under_way: list[Collection] = []
        self._open = ExitStack()

    def known(self) -> Iterator[CollectOutcome]:
        """Yields the targets that need not be measured. Call this first, and read it to the end."""
        for target in self._targets:
            one = Collection(self._plan, target, self._store)
            if run_id := one.known_run():
                discard_unfinished(self._store.local, one.key)
                for step in steps_of(self._plan, target):
                    self._observer.end(step, "", None)
                yield CollectOutcome(target, "known", run_id)
            else:
                one.pending = self._open.enter_context(UnfinishedCollection(self._store.local, one.key))
                self._under_way.append(one)

    def measure(self, sandbox: Sandbox, staging: Staging) -> None:
        """Verifies, times and profiles the other targets."""
        for one in self._under_way:
            one.open()
        steps = [(one, step) for one in self._under_way for step in steps_of(self._plan, one.target)]
        for one, step in sorted(steps, key=lambda pair: pair[1].turn):
            one.attempt(step, self._observer)
            if step == steps_of(self._plan, one.target)[-1] and one.error is None:
                one.submit(sandbox, staging)  # read while the next kernel is profiled

    def finish(self, staging: Staging) -> Iterator[CollectOutcome]:
        """Yields one outcome for each target, as soon as its run is committed or has failed."""
        for one in self._under_way:
            yield self._finish(one, staging)

    def _finish(self, one: Collection, staging: Staging) -> CollectOutcome:
        if one.error is None:
            try:
                return CollectOutcome(one.target, "collected", one.commit(staging), timings=one.timings)
            except FATAL:
                raise
            except ProfError as error:
                one.error = error
                self._observer.end(steps_of(one.plan, one.target)[-1], "", error)
        return CollectOutcome(one.target, "failed", error=one.error)

    def close(self) -> None:
        """Releases the kept results, so that another process may go on with them."""
        self._open.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def collect_here(
    plan: CollectPlan, targets: Sequence[Target], store: RunStore, observer: CollectObserver
) -> Iterator[CollectOutcome]:
    """Collects the targets on the plan's own device, in this thread, while no other prof measures there."""
    from profiler.store.reports.sandbox import Sandbox  # which takes long to import

    if not targets:
        return
    with (
        store.staging() as staging,
        Sandbox(workers=1) as sandbox,
        Turns(plan, targets, store, observer) as turns,
    ):
        yield from turns.known()
        with gpu_turn(plan.device.gpu, observer.note):
            turns.measure(sandbox, staging)
        yield from turns.finish(staging)


def time_here(
    plan: CollectPlan,
    targets: Sequence[Target],
    store: RunStore,
    advance: Callable[[str, ProfError | None], None],
    note: Callable[[str], None],
) -> Iterator[CollectOutcome]:
    """Times the targets as `collect_here` does. Calls `advance` once for each process, also for one that is left out."""

    def end(step: CollectStep, _line: str, error: ProfError | None) -> None:
        status = "refused" if isinstance(error, ShapeRefused) else "failed"
        advance(status if error else "", error)
        for _ in range(step.process + 1, plan.processes if error else 0):
            advance("", None)

    observer = CollectObserver(begin=lambda _: None, at=lambda *_: None, end=end, note=note)
    return collect_here(plan, targets, store, observer)


def recorded_on(plan: CollectPlan, targets: Sequence[Target], store: RunStore) -> str | None:
    """Returns the UUID of the GPU on which an earlier, interrupted call began most of the targets."""
    if not has_unfinished(store.local):
        return None
    under_way = [Collection(plan, target, store) for target in targets]
    kept = [planned_gpu(store.local, one.key) for one in under_way if one.goes_on]
    found = Counter(uuid for uuid in kept if uuid)
    return max(found, key=found.__getitem__, default=None)
