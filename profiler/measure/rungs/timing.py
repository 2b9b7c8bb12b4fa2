"""Times a rung without the profiler: its program prints one JSON line for each timed repeat.

    {"repeat": 0, "kernel_ns": 2951232, "reference_ns": 2707424}

`reference_ns` may be null or absent. A line with `"summary": true` may name the reference and the runtime, for example
a version of PyTorch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from profiler.measure.rungs.program import RungJob, json_lines, output_invalid, run_program
from profiler.measure.tools.process import Finished


@dataclass(frozen=True)
class TimedRepeat:
    kernel_ns: float
    reference_ns: float | None


@dataclass(frozen=True)
class Timed:
    repeats: tuple[TimedRepeat, ...]
    reference: str | None  # the name that the program gives it
    runtime: str | None = None


def time_kernel(job: RungJob, timeout_s: float) -> Timed:
    """Returns the repeats that one process of the program timed."""
    return parse_timings(job, run_program(job, "time", timeout_s))


def parse_timings(job: RungJob, finished: Finished) -> Timed:
    """Returns the repeats that a program printed; raises OutputInvalid if there are none, or impossible ones."""
    repeats: list[TimedRepeat] = []
    summary: dict[str, object] = {}
    for line in json_lines(job, finished):
        if line.get("summary") is True:
            summary = line
        elif "kernel_ns" in line:
            kernel_ns, reference_ns = _duration(line["kernel_ns"]), _duration(line.get("reference_ns"))
            if kernel_ns is None or (reference_ns is None and line.get("reference_ns") is not None):
                raise output_invalid(job, finished, "a duration that is not a positive number")
            repeats.append(TimedRepeat(kernel_ns, reference_ns))
    if not repeats:
        raise output_invalid(job, finished, 'no timings: no line {"kernel_ns": ...}')
    if len({repeat.reference_ns is None for repeat in repeats}) > 1:
        raise output_invalid(job, finished, "a reference time for some repeats only")
    return Timed(tuple(repeats), _text(summary.get("reference")), _text(summary.get("runtime")))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _duration(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        duration = float(value)
    except OverflowError:
        return None
    return duration if math.isfinite(duration) and duration > 0 else None
