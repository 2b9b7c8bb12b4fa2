"""Times a rung without the profiler: its program prints one JSON line for each timed repeat.

    {"repeat": 0, "kernel_ns": 2951232, "reference_ns": 2707424}

`reference_ns` may be null or absent. A line with `"summary": true` may name the reference and the runtime, for example
a version of PyTorch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from profiler.measure.rungs.program import (
    RungJob,
    json_lines,
    output_invalid,
    program_command,
    read_number,
    run_program,
)
from profiler.measure.tools.process import Finished, shown
from profiler.measure.tools.toolchain import Gpu
from profiler.store.reports.request import Timing
from profiler.store.runs.manifest import Provenance
from profiler.store.runs.timed_run import TimedRun


@dataclass(frozen=True)
class TimedRepeat:
    kernel_ns: float
    reference_ns: float | None


@dataclass(frozen=True)
class Timed:
    repeats: tuple[TimedRepeat, ...]
    reference: str | None  # the name that the program gives it
    runtime: str | None = None

    def rows(self, process: int) -> list[Timing]:
        """Returns the repeats as rows of the run's table."""
        return [
            Timing(process, repeat, one.kernel_ns, one.reference_ns)
            for repeat, one in enumerate(self.repeats)
        ]


def time_kernel(job: RungJob, timeout_s: float) -> Timed:
    """Returns the repeats that one process of the program timed."""
    return parse_timings(job, run_program(job, "time", timeout_s))


def timed_run(
    job: RungJob,
    gpu: Gpu,
    recorded: datetime,
    provenance: Provenance,
    timings: Sequence[Timing],
    collection: str | None = None,
) -> TimedRun:
    """Returns the run of a rung that was timed and not profiled."""
    command = program_command(job, "time", relative_to=job.ladder.folder.resolve())
    return TimedRun(
        ladder=job.ladder.name,
        kernel=job.kernel.number,
        workload=job.values,
        recorded=recorded,
        gpu=gpu.name,
        command_line=shown(command),
        provenance=provenance,
        timings=tuple(timings),
        collection=collection,
        function="" if job.ladder.name else job.kernel.name,
    )


def parse_timings(job: RungJob, finished: Finished) -> Timed:
    """Returns the repeats that a program printed; raises OutputInvalid if there are none, or impossible ones."""
    repeats: list[TimedRepeat] = []
    summary: dict[str, object] = {}
    for line in json_lines(job, finished):
        if line.get("summary") is True:
            summary = line
        elif "kernel_ns" in line:
            kernel_ns, reference_ns = read_number(line["kernel_ns"]), read_number(line.get("reference_ns"))
            if not kernel_ns or (not reference_ns and line.get("reference_ns") is not None):
                raise output_invalid(job, finished, "a duration that is not a positive number")
            repeats.append(TimedRepeat(kernel_ns, reference_ns))
    if not repeats:
        raise output_invalid(job, finished, 'no timings: no line {"kernel_ns": ...}')
    if len({repeat.reference_ns is None for repeat in repeats}) > 1:
        raise output_invalid(job, finished, "a reference time for some repeats only")
    return Timed(tuple(repeats), _text(summary.get("reference")), _text(summary.get("runtime")))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
