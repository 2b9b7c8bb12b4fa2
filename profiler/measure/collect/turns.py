"""Kernels into committed runs, taking turns.

Several kernels are interleaved process by process, so that a drift of clocks or heat meets all of
them alike. A kernel that fails is left out and told; the others go on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Literal, Self

from profiler.errors import ProfError
from profiler.measure.collect.collection import FATAL, Collection, CollectPlan, Observer, steps_of
from profiler.measure.collect.target import Target
from profiler.store.reports.sandbox import Sandbox
from profiler.store.runs.commit import Staging
from profiler.store.runs.run_store import RunStore
from profiler.store.runs.unfinished import (
    UnfinishedCollection,
    discard_unfinished,
    has_unfinished,
    planned_gpu,
)


@dataclass(frozen=True)
class Outcome:
    """`status` is collected, known (the same was collected before) or failed."""

    target: Target
    status: Literal["collected", "known", "failed"]
    run_id: str = ""
    error: ProfError | None = None


class Turns:
    """Kernels that take turns on one bench; use it in a `with` statement, or close it.

    What is measured can be finished in another thread, while the bench goes on to others.
    """

    def __init__(
        self, plan: CollectPlan, targets: Sequence[Target], store: RunStore, observer: Observer
    ) -> None:
        self._plan, self._targets, self._store, self._observer = plan, tuple(targets), store, observer
        self._under_way: list[Collection] = []
        self._open = ExitStack()

    def known(self) -> Iterator[Outcome]:
        """Those that need not be measured; call it first, and to the end."""
        for target in self._targets:
            one = Collection(self._plan, target, self._store)
            if run_id := one.known_run():
                discard_unfinished(self._store.local, one.key)
                for step in steps_of(self._plan, target):
                    self._observer.end(step, "", None)
                yield Outcome(target, "known", run_id)
            else:
                one.pending = self._open.enter_context(UnfinishedCollection(self._store.local, one.key))
                self._under_way.append(one)

    def measure(self, sandbox: Sandbox, staging: Staging) -> None:
        for one in self._under_way:
            one.open()
        for one in self._under_way:
            one.attempt(one.verify, self._observer)
        for process in range(self._plan.processes):
            for one in self._under_way:
                one.attempt(partial(one.time, process), self._observer)
            for one in self._under_way:
                one.attempt(partial(one.profile, process), self._observer)
                if process + 1 == self._plan.processes and one.error is None:
                    one.submit(sandbox, staging)  # read while the next kernel is profiled

    def finish(self, staging: Staging) -> Iterator[Outcome]:
        """One outcome a target, as soon as its run is committed or is known to fail."""
        for one in self._under_way:
            yield self._finish(one, staging)

    def _finish(self, one: Collection, staging: Staging) -> Outcome:
        if one.error is None:
            try:
                return Outcome(one.target, "collected", one.commit(staging))
            except FATAL:
                raise
            except ProfError as error:
                one.error = error
                self._observer.end(steps_of(one.plan, one.target)[-1], "", error)
        return Outcome(one.target, "failed", error=one.error)

    def close(self) -> None:
        """Whoever collects the same may go on with what is kept."""
        self._open.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def collect(
    plan: CollectPlan,
    targets: Sequence[Target],
    store: RunStore,
    staging: Staging,
    sandbox: Sandbox,
    observer: Observer,
) -> Iterator[Outcome]:
    with Turns(plan, targets, store, observer) as turns:
        yield from turns.known()
        turns.measure(sandbox, staging)
        yield from turns.finish(staging)


def recorded_on(plan: CollectPlan, targets: Sequence[Target], store: RunStore) -> str | None:
    """The UUID of the GPU on which most of them were begun by an earlier call, which kept what it had."""
    if not has_unfinished(store.local):
        return None
    under_way = [Collection(plan, target, store) for target in targets]
    kept = [planned_gpu(store.local, one.key) for one in under_way if one.goes_on]
    found = Counter(uuid for uuid in kept if uuid)
    return max(found, key=found.__getitem__, default=None)
