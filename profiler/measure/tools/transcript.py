"""What ncu says while it profiles: how far it is, and afterwards whether it did what it was asked to.

ncu is silent about much. It exits with 0 when no kernel fits, and leaves a plausible report when the
program failed half-way; only its lines together with the number of results tell.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from profiler.errors import (
    CountersBusy,
    CountersRefused,
    DeviceMemoryFull,
    LaunchesMissing,
    NcuFailed,
    NothingProfiled,
    ProfError,
    ProgramFailed,
    ReportNotWritten,
)
from profiler.measure.rungs.program import NO_MEMORY, program_failure
from profiler.measure.tools.process import Finished, command_details

_ERROR = "==ERROR=="
_STARTED = '==PROF== Profiling "'
_PASSES = re.compile(r"100% - (\d+) pass(?:es)?\s*$")
_REPLAYED = re.compile(r"Application replay pass (\d+)\s*$")
_FRACTION_STEPS = 8  # dots that ncu prints between 0% and 100%, the 50% left out
_EXIT_CODE = re.compile(r"The application returned an error code \((\d+)\)")
_KERNEL_LINE = re.compile(r"^\d+\. (.+)$")
_MOST_KERNELS = 12
_NOT_WRITTEN = ("Unable to write to file", "Failed to save the report", "already exists. Use '-f'")
_BUSY = ("driver resource was unavailable", "tool (like DCGM)")


@dataclass
class Transcript:
    """Fed piece by piece, as ncu writes; says at any time where it is."""

    launches: int = 0  # begun
    finished: int = 0
    passes: int | None = None  # of the launch that finished last
    replay: int = 0  # the pass of an application replay
    steps: int = 0  # of the launch that is under way
    _line: str = field(default="", repr=False)

    def feed(self, piece: str) -> None:
        for part in re.split(r"(?<=\n)", piece):
            self._line += part
            if self._line.endswith("\n"):
                self._end_line(self._line)
                self._line = ""
            elif _STARTED in self._line:
                self._in_launch(self._line)

    @property
    def fraction(self) -> float:
        """Of the launch under way."""
        return min(self.steps / _FRACTION_STEPS, 1.0)

    def _in_launch(self, line: str) -> None:
        progress = line.rpartition(": ")[2]
        self.launches = max(self.launches, self.finished + 1)
        self.steps = progress.count(".") if progress.startswith("0%") else 0

    def _end_line(self, line: str) -> None:
        if _STARTED not in line:
            return
        self._in_launch(line)  # all that is known of one that was cut short
        if replayed := _REPLAYED.search(line):
            number = int(replayed[1])
            self.finished = self.finished + 1 if number == self.replay else 1
            self.replay, self.launches = number, self.finished
        elif passes := _PASSES.search(line):
            self.finished += 1
            self.launches, self.steps, self.passes = self.finished, 0, int(passes[1])


def judge(
    label: str, finished: Finished, results: int | None, wanted: int | None, *, is_rung: bool = False
) -> ProfError | None:
    """What is wrong with a recording, or None. `results` is what its report holds, None without one.

    A rung's exit codes have the meanings that its ladder agreed to; any other program's just say that it failed.
    """
    said = f"{finished.stdout}\n{finished.stderr}"
    # A program may have left a line of its own unfinished before ncu's.
    errors = [line[line.index(_ERROR) :] for line in said.splitlines() if _ERROR in line]
    details = command_details(finished.command, finished.stdout, finished.stderr)
    if any("ERR_NVGPUCTRPERM" in line for line in errors):
        return CountersRefused(f"{label}: the driver does not let this user read counters", details=details)
    if any(sign in line for line in errors for sign in _BUSY):
        return CountersBusy(f"{label}: another tool holds the counters", details=details)
    if any(sign in line for line in errors for sign in _NOT_WRITTEN):
        return ReportNotWritten(f"{label}: ncu could not write its report", details=details)
    if failed := _EXIT_CODE.search("\n".join(errors)):
        code = int(failed[1]) if is_rung else None
        return program_failure(label, code, f"exit code {failed[1]} under ncu", details)
    if any("does not exist or is not an executable" in line for line in errors):
        remedy = "Give the program as it is found from there, for example ./mine, or its whole path; --cwd changes the folder."
        return ProgramFailed(f"{label}: there is no such program", details=details, remedy=remedy)
    if errors or finished.exit_code:
        what = errors[0].removeprefix(_ERROR).strip() if errors else f"ncu failed ({finished.how})"
        if NO_MEMORY.search(said):
            return DeviceMemoryFull(f"{label}: out of device memory under ncu", details=details)
        return NcuFailed(f"{label}: {what}", details=details)
    if "==WARNING== No kernels were profiled" in said:
        return NothingProfiled(
            f"{label}: ncu found no launch to profile", details=[details[0], *_available(said)]
        )
    if results is None:
        return ReportNotWritten(f"{label}: ncu left no report", details=details)
    if wanted is not None and results < wanted:
        return LaunchesMissing(f"{label}: {results} of {wanted} launches were profiled", details=details)
    return None


def _available(said: str) -> list[str]:
    """The kernels that the program did launch, as ncu lists them."""
    _, found, listing = said.partition("Available Kernels:")
    names = [match[1] for line in listing.splitlines() if (match := _KERNEL_LINE.match(line))]
    if not found or not names:
        return ["    the program launched no kernel at all"]
    more = [f"    and {len(names) - _MOST_KERNELS} more"] if len(names) > _MOST_KERNELS else []
    return ["    it launched:", *(f"      {name[:200]}" for name in names[:_MOST_KERNELS]), *more]
