"""Times the kernels of a ladder without the profiler, and stores each as a run.

With several processes for each kernel, the kernels of one size take turns, so that a drift of clocks or heat affects
all of them alike. A kernel that fails is reported and left out; the others go on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from profiler.catalog.ladders.ladder import Kernel, Ladder
from profiler.errors import GpuNotFound, ProfError, ShapeRefused
from profiler.measure.rungs.build import Built, build_folder
from profiler.measure.rungs.program import RungJob, fresh_seed, program_command
from profiler.measure.rungs.provenance import derive_provenance, read_commit
from profiler.measure.rungs.timing import Timed, time_kernel
from profiler.measure.tools.process import shown
from profiler.measure.tools.toolchain import Gpu
from profiler.store.reports.request import Timing
from profiler.store.runs.manifest import Provenance
from profiler.store.runs.run_store import RunStore
from profiler.store.runs.timed_run import TimedRun, commit_timings


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
        jobs = [_job(plan, kernel, values, built.get(kernel.number)) for kernel in kernels]
        timed: dict[int, list[Timed]] = {job.kernel.number: [] for job in jobs}
        failed: dict[int, ProfError] = {}
        recorded = datetime.now(UTC)
        seconds = dict.fromkeys(timed, 0.0)
        for _ in range(plan.processes):
            for job in jobs:
                number = job.kernel.number
                if number in failed:
                    advance("", None)
                    continue
                started = time.monotonic()
                try:
                    timed[number].append(time_kernel(job, plan.timeout_s))
                    advance("", None)
                except GpuNotFound:
                    raise  # no other kernel can run either
                except ProfError as error:
                    failed[number] = error
                    advance("refused" if isinstance(error, ShapeRefused) else "failed", error)
                seconds[number] += time.monotonic() - started
        for job in jobs:
            number = job.kernel.number
            if number in failed:
                yield TimingOutcome(job.kernel, values, error=failed[number])
                continue
            measured = msgspec.structs.replace(
                derive_provenance(plan.ladder, job.kernel, built.get(number), plan.gpu, commit),
                seed=job.seed,
                reference=timed[number][0].reference,
                runtime=timed[number][0].runtime,
                seconds=round(seconds[number], 3),
            )
            run = _timed_run(plan, job, timed[number], recorded, measured)
            (run_id,) = commit_timings(store, [run])
            yield TimingOutcome(job.kernel, values, tuple(run.timings), run_id)


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


def _timed_run(
    plan: TimingPlan,
    job: RungJob,
    timed: Sequence[Timed],
    recorded: datetime,
    provenance: Provenance,
) -> TimedRun:
    return TimedRun(
        ladder=plan.ladder.name,
        kernel=job.kernel.number,
        workload=job.values,
        recorded=recorded,
        gpu=plan.gpu.name,
        command_line=shown(program_command(job, "time", relative_to=plan.ladder.folder.resolve())),
        provenance=provenance,
        timings=tuple(
            Timing(process, repeat, one.kernel_ns, one.reference_ns)
            for process, group in enumerate(timed)
            for repeat, one in enumerate(group.repeats)
        ),
    )
