"""Kernels into committed runs, taking turns.

Several kernels are interleaved process by process, so that a drift of clocks or heat meets all of
them alike. A kernel that fails is left out and told; the others go on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Literal

from profiler.errors import ProfError
from profiler.measure.collection import FATAL, Collection, CollectPlan, Observer, steps_of
from profiler.measure.target import Target
from profiler.store.pending import Pending, discard_pending
from profiler.store.runs import RunStore
from profiler.store.sandbox import Sandbox
from profiler.store.staging import Staging


@dataclass(frozen=True)
class Outcome:
    """`status` is collected, known (the same was collected before) or failed."""

    target: Target
    status: Literal["collected", "known", "failed"]
    run_id: str = ""
    error: ProfError | None = None


def collect(
    plan: CollectPlan,
    targets: Sequence[Target],
    store: RunStore,
    staging: Staging,
    sandbox: Sandbox,
    observer: Observer,
) -> Iterator[Outcome]:
    """One outcome a target, as soon as its run is committed or is known to fail."""
    with ExitStack() as stack:
        under_way: list[Collection] = []
        for target in targets:
            one = Collection(plan, target, store)
            if run_id := one.known_run():
                discard_pending(store.root, one.key)
                for step in steps_of(plan, target):
                    observer.end(step, "", None)
                yield Outcome(target, "known", run_id)
            else:
                one.pending = stack.enter_context(Pending(store.root, one.key))
                under_way.append(one)
        for one in under_way:
            one.open()
            one.attempt(one.verify, observer)
        for process in range(plan.processes):
            for one in under_way:
                one.attempt(partial(one.time, process), observer)
            for one in under_way:
                one.attempt(partial(one.profile, process), observer)
                if process + 1 == plan.processes and one.error is None:
                    one.submit(sandbox, staging)  # read while the next kernel is profiled
        for one in under_way:
            yield _finish(one, staging, observer)


def _finish(one: Collection, staging: Staging, observer: Observer) -> Outcome:
    if one.error is None:
        try:
            return Outcome(one.target, "collected", one.commit(staging))
        except FATAL:
            raise
        except ProfError as error:
            one.error = error
            observer.end(steps_of(one.plan, one.target)[-1], "", error)
    return Outcome(one.target, "failed", error=one.error)
