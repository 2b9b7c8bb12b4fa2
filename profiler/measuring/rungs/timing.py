"""Times a rung without the profiler: its program prints one JSON line for each timed repeat.

    {"repeat": 0, "kernel_ns": 2951232, "reference_ns": 2707424, "best_ns": 2705312}

`reference_ns` and `best_ns` may be null or absent: the reference as one calls it, and the fastest algorithm that its library
offers. A line with `"summary": true` may name the reference, its `library`, the `algorithm`, and the runtime, such as
a version of PyTorch. It may also say when the repeats `began` and `ended`, and how far off the last timed result was.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import Any

import msgspec

from profiler.measuring.rungs import program
from profiler.measuring.tools.clocks import sampled_clocks
from profiler.measuring.tools.process import Finished, run
from profiler.store.process_timings import ClockSample, ProcessFacts, ProcessTimings, Timing
from profiler.store.runs.manifest import Clocks, Provenance, Spread

_DURATIONS = ("kernel_ns", "reference_ns", "best_ns")


def time_kernel(job: program.RungJob, timeout_s: float, runner: program.Runner = run) -> ProcessTimings:
    """Returns the repeats that one process of the program timed."""
    with sampled_clocks(job.environment) as clocks:
        finished = program.run_program(job, "time", timeout_s, runner=runner)
    return parse_timings(job, finished, clocks)


def with_facts(origin: Provenance, facts: Sequence[ProcessFacts]) -> Provenance:
    """Returns the origin with what the processes that timed a kernel reported."""
    if not facts:
        return origin
    errors = [one.relative_error for one in facts if one.relative_error is not None]
    elements = [one.worst_element for one in facts if one.worst_element is not None]
    return msgspec.structs.replace(
        origin,
        reference=facts[0].reference,
        runtime=facts[0].runtime,
        library=facts[0].library,
        algorithms=[one.algorithm for one in facts if one.algorithm is not None],
        relative_error=max(errors, default=None),
        worst_element=max(elements, default=None),
        clocks=_summarised([sample for one in facts for sample in one.clocks]),
    )


def _summarised(samples: Sequence[ClockSample]) -> Clocks | None:
    if not samples:
        return None
    measured = ([one.sm_mhz for one in samples], [one.power_w for one in samples])
    return Clocks(len(samples), *(Spread(min(one), median(one), max(one)) for one in measured))


def parse_timings(
    job: program.RungJob, finished: Finished, clocks: Sequence[ClockSample] = ()
) -> ProcessTimings:
    """Returns the repeats that a program printed; raises OutputInvalid if there are none, or impossible ones."""
    repeats: list[Timing] = []
    summary: dict[str, object] = {}
    for line in program.json_lines(job, finished):
        if line.get("summary") is True:
            summary = line
        elif "kernel_ns" in line:
            kernel_ns, *others = (program.read_number(line.get(name)) for name in _DURATIONS)
            given = [line[name] for name in _DURATIONS if line.get(name) is not None]
            if not kernel_ns or not all(map(program.read_number, given)):
                raise program.output_invalid(job, finished, "a duration that is not a positive number")
            repeats.append(Timing(0, len(repeats), kernel_ns, *others))
    if not repeats:
        raise program.output_invalid(job, finished, 'no timings: no line {"kernel_ns": ...}')
    if len({(repeat.reference_ns is None, repeat.best_ns is None) for repeat in repeats}) > 1:
        raise program.output_invalid(job, finished, "a reference time for some repeats only")
    return ProcessTimings(_facts(summary, clocks), repeats)


def _facts(summary: dict[str, Any], clocks: Sequence[ClockSample]) -> ProcessFacts:
    began = program.read_number(summary.get("began")) or 0.0
    ended = program.read_number(summary.get("ended")) or math.inf
    algorithm = summary.get("algorithm")
    return ProcessFacts(
        reference=_text(summary.get("reference")),
        runtime=_text(summary.get("runtime")),
        library=_text(summary.get("library")),
        algorithm=_whole_numbers(algorithm) if isinstance(algorithm, dict) else None,
        relative_error=program.read_number(summary.get("relative_error")),
        worst_element=program.read_number(summary.get("worst_element")),
        clocks=[one for one in clocks if began <= one.unix_s <= ended],
        kernels=[str(one) for one in summary.get("kernels") or ()],
    )


def _whole_numbers(values: dict[str, Any]) -> dict[str, int]:
    return {name: value for name, value in values.items() if type(value) is int and abs(value) < 1 << 53}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
