"""Times the kernels of a ladder without the profiler, and stores each as a run.

With several processes for each kernel, the kernels of one size take turns, so that a drift of clocks or heat affects
all of them alike. A kernel that fails is reported and left out; the others go on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec

from profiler.catalog.ladders.ladder import Kernel, Ladder
from profiler.errors import GpuNotFound, ProfError, ShapeRefused
from profiler.measure.rungs.build import Built, build_folder
from profiler.measure.rungs.program import RungJob, fresh_seed
from profiler.measure.rungs.provenance import derive_provenance, read_commit
from profiler.measure.rungs.timing import Timed, time_kernel, timed_run, with_facts
from profiler.measure.tools.toolchain import Gpu
from profiler.store.reports.request import Timing
from profiler.store.runs.manifest import Provenance
from profiler.store.runs.run_store import RunStore
from profiler.store.runs.timed_run import commit_timings


@dataclass(frozen=True)
class TimingPlan:
    ladder: Ladder
    shapes: Sequence[dict[str, int]]
    gpu: Gpu
    repeats: int = 20
    warmup: int = 5
    processes: int = 3
    seed: int | None = None
    timeout_s: float = 600.0


@dataclass(frozen=True)
class TimingOutcome:
    """The result for one kernel at one size. `timings` and `run_id` are set unless `error` is."""

    kernel: Kernel
    values: dict[str, int]
    timings: tuple[Timing, ...] = ()
    run_id: str = ""
    error: ProfError | None = None


def time_ladder(
    plan: TimingPlan,
    kernels: Sequence[Kernel],
    built: Mapping[int, Built],
    store: RunStore,
    advance: Callable[[str, ProfError | None], None],
) -> Iterator[TimingOutcome]:
    """Yields one outcome for every kernel and size, as soon as all kernels of that size are timed."""
    # Read before anything is stored, so that prof's own files do not make the tree differ from the commit.
    commit = read_commit(plan.ladder.folder, store.local, build_folder(plan.ladder, plan.gpu.arch))
    for values in plan.shapes:
        recorded = datetime.now(UTC)
        turns = [_Turns(_job(plan, kernel, values, built.get(kernel.number))) for kernel in kernels]
        for _ in range(plan.processes):
            for one in turns:
                one.take(plan.timeout_s, advance)
        for one in turns:
            kernel = one.job.kernel
            if one.error is not None:
                yield TimingOutcome(kernel, values, error=one.error)
                continue
            origin = derive_provenance(plan.ladder, kernel, built.get(kernel.number), plan.gpu, commit)
            run = timed_run(one.job, plan.gpu, recorded, one.measured(origin), one.rows())
            (run_id,) = commit_timings(store, [run])
            yield TimingOutcome(kernel, values, tuple(run.timings), run_id)


@dataclass
class _Turns:
    """The processes of one kernel at one size, until one of them fails."""

    job: RungJob
    timed: list[Timed] = field(default_factory=list)
    seconds: float = 0.0
    error: ProfError | None = None

    def take(self, timeout_s: float, advance: Callable[[str, ProfError | None], None]) -> None:
        """Times one process, unless an earlier one failed; raises GpuNotFound, which every kernel would meet."""
        if self.error is not None:
            advance("", None)
            return
        started = time.monotonic()
        try:
            self.timed.append(time_kernel(self.job, timeout_s))
        except GpuNotFound:
            raise
        except ProfError as error:
            self.error = error
        self.seconds += time.monotonic() - started
        status = "refused" if isinstance(self.error, ShapeRefused) else "failed"
        advance(status if self.error is not None else "", self.error)

    def rows(self) -> list[Timing]:
        return [row for process, timed in enumerate(self.timed) for row in timed.rows(process)]

    def measured(self, origin: Provenance) -> Provenance:
        """Returns the origin with what only the measurement shows."""
        facts = with_facts(origin, [timed.facts for timed in self.timed])
        return msgspec.structs.replace(facts, seed=self.job.seed, seconds=round(self.seconds, 3))


def _job(plan: TimingPlan, kernel: Kernel, values: dict[str, int], built: Built | None) -> RungJob:
    return RungJob(
        ladder=plan.ladder,
        kernel=kernel,
        values=values,
        binary=built.binary if built is not None else None,
        seed=fresh_seed() if plan.seed is None else plan.seed,
        repeats=plan.repeats,
        warmup=plan.warmup,
    )
