"""Surveys a function in a fresh process: calls it until it is settled, times it, verifies it, and lists its kernels.

`choose` says which of the kernels to profile.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

from profiler.catalog.patterns import search_as_ncu
from profiler.errors import KernelNotFound, ResultWrong
from profiler.measuring.functions.function_device import FunctionDevice
from profiler.measuring.functions.plan import FunctionPlan
from profiler.measuring.rungs import program
from profiler.measuring.rungs.timing import parse_timings
from profiler.measuring.rungs.verify import parse_check
from profiler.measuring.tools.clocks import sampled_clocks
from profiler.measuring.tools.exit_codes import EXIT_WRONG
from profiler.measuring.tools.mangling import demangled
from profiler.store.process_timings import ProcessTimings


@dataclass(frozen=True)
class LaunchedKernel:
    """A kernel of a function: its launches in one call, and the time that they take together, without the profiler."""

    name: str
    launches: int
    ns: float


@dataclass(frozen=True)
class Chosen:
    """The kernel to profile: a pattern or further words for ncu, and how many launches of one call fit, if that is known."""

    regex: str | None
    words: tuple[str, ...]
    launches: int | None


def choose(label: str, kernels: Sequence[LaunchedKernel], wanted: str | None) -> Chosen:
    """Returns the kernels that fit the regular expression `wanted`, or the one that takes most of the time."""
    if wanted is None:
        longest = max(kernels, key=lambda one: one.ns)
        # Demanglers spell template arguments in different ways, so the kernel is named as the binary names it.
        words = ("--kernel-name-base", "mangled", "--kernel-name", longest.name)
        return Chosen(None, words, longest.launches)
    names = [demangled(one.name) for one in kernels]
    found = list(compress(kernels, search_as_ncu(wanted, names)))
    if not found:
        raise KernelNotFound(
            f"{label} launches no kernel that matches '{wanted}'; it launches:",
            details=[f"  {name[:200]}" for name in names],
        )
    return Chosen(wanted, (), sum(one.launches for one in found))


@dataclass(frozen=True)
class Survey:
    """The findings of the first process, which also timed the function; `left_out` are bytes of arguments that are not put back."""

    calls: int
    kernels: tuple[LaunchedKernel, ...]
    relative_error: float | None
    timed: ProcessTimings
    left_out: int

    @property
    def cautions(self) -> list[str]:
        """Returns what to know before believing the times of the function."""
        if not self.left_out:
            return []
        return [
            f"{self.left_out / 1e9:.3g} GB of the arguments are not put back, because they are too many or cannot "
            "be written: a function that changes them meets in each call what the call before has left"
        ]


Surveyed = Callable[[tuple[LaunchedKernel, ...], list[str]], None]


def survey_function(
    device: FunctionDevice, job: program.RungJob, plan: FunctionPlan, surveyed: Surveyed
) -> Survey:
    """Lets compilation and autotuning end, times the function, and refuses a wrong result.

    `surveyed` receives the kernels, and the modules that calls need, as soon as they are known.
    """

    def hear(line: dict[str, Any]) -> None:
        surveyed(_kernels(line), line["modules"])

    with sampled_clocks(job.environment) as clocks:
        finished = device.run(job, "check", plan.timeout_s, (0, EXIT_WRONG), _FirstLine(hear).feed)
    line = next((line for line in program.json_lines(job, finished) if line.get("survey")), None)
    if line is None:
        raise program.output_invalid(job, finished, "no line about its kernels")
    checked = parse_check(job, finished)
    if checked.error is not None and plan.verify:
        raise ResultWrong(
            f"{job.label} computes a wrong result: relative error {checked.relative_error:.1e}, at most "
            f"{checked.threshold:.1e} allowed, seed {job.seed}"
            if checked.relative_error is not None and checked.threshold is not None
            else f"{job.label} computes a wrong result, seed {job.seed}",
            remedy="Correct it, allow more with tolerance=..., or measure it all the same with verify=False.",
        )
    timed = parse_timings(job, finished, clocks)
    return Survey(line["calls"], _kernels(line), checked.relative_error, timed, line["left_out"])


def _kernels(line: dict[str, Any]) -> tuple[LaunchedKernel, ...]:
    return tuple(LaunchedKernel(one["name"], one["launches"], one["ns"]) for one in line["kernels"])


@dataclass
class _FirstLine:
    """Hears the pieces of a program's output until its first line is whole, which is that of the survey."""

    then: Callable[[dict[str, Any]], None]
    text: str = ""
    is_over: bool = False

    def feed(self, piece: str) -> None:
        self.text += piece
        if not self.is_over and "\n" in self.text:
            self.is_over = True
            self.then(json.loads(self.text.partition("\n")[0]))
