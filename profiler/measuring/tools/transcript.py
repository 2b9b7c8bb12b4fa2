"""Reads what ncu prints: its progress while it profiles, and afterwards whether the recording succeeded.

ncu passes over much in silence. It exits with 0 when no kernel matches, and leaves a plausible report when the program
failed half-way. Only its output together with the number of results shows the failure.
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
from profiler.measuring.tools.exit_codes import NO_MEMORY, program_failure
from profiler.measuring.tools.process import Finished
from profiler.text import lines_of_first

_ERROR = "==ERROR=="
_STARTED = '==PROF== Profiling "'
_PASSES = re.compile(r"100% - (\d+) pass(?:es)?\s*$")
_REPLAYED = re.compile(r"Application replay pass (\d+)\s*$")
_FRACTION_STEPS = 8  # dots that ncu prints between 0% and 100%
_EXIT_CODE = re.compile(r"The application returned an error code \((\d+)\)")
_KERNEL_LINE = re.compile(r"^\d+\. (.+)$")
_MOST_KERNELS = 12
# What ncu prints when it cannot work itself, and the error that this means.
_REFUSALS: tuple[tuple[tuple[str, ...], type[ProfError], str], ...] = (
    (("ERR_NVGPUCTRPERM",), CountersRefused, "the driver does not let this user read counters"),
    (
        ("driver resource was unavailable", "tool (like DCGM)"),
        CountersBusy,
        "another tool holds the counters",
    ),
    (
        ("Unable to write to file", "Failed to save the report", "already exists. Use '-f'"),
        ReportNotWritten,
        "ncu could not write its report",
    ),
)
_NO_PROGRAM = "does not exist or is not an executable"


@dataclass
class Transcript:
    """The progress of a recording, read from ncu's output piece by piece."""

    launches: int = 0  # begun
    finished: int = 0
    passes: int | None = None  # of the launch that finished last
    replay: int = 0  # the pass of an application replay
    steps: int = 0  # dots printed for the launch under way
    _line: str = field(default="", repr=False)

    def feed(self, piece: str) -> None:
        """Reads the next piece of output, which may end within a line."""
        for part in re.split(r"(?<=\n)", piece):
            self._line += part
            if self._line.endswith("\n"):
                self._end_line(self._line)
                self._line = ""
            elif _STARTED in self._line:
                self._in_launch(self._line)

    @property
    def fraction(self) -> float:
        """Returns the part of the launch under way that is done, from 0 to 1."""
        return min(self.steps / _FRACTION_STEPS, 1.0)

    def _in_launch(self, line: str) -> None:
        progress = line.rpartition(": ")[2]
        self.launches = max(self.launches, self.finished + 1)
        self.steps = progress.count(".") if progress.startswith("0%") else 0

    def _end_line(self, line: str) -> None:
        if _STARTED not in line:
            return
        self._in_launch(line)  # the line of an interrupted launch shows no more than this
        if replayed := _REPLAYED.search(line):
            number = int(replayed[1])
            self.finished = self.finished + 1 if number == self.replay else 1
            self.replay, self.launches = number, self.finished
        elif passes := _PASSES.search(line):
            self.finished += 1
            self.launches, self.steps, self.passes = self.finished, 0, int(passes[1])


def recording_error(
    label: str, finished: Finished, results: int | None, wanted: int | None, *, is_rung: bool = False
) -> ProfError | None:
    """Returns the error of a recording, or None. `results` is the number of launches in its report, None without one.

    A rung's exit codes have the meanings below; those of any other program only show that it failed.
    """
    details = finished.details
    if error := _failure(label, finished, is_rung):
        return error
    said = f"{finished.stdout}\n{finished.stderr}"
    if "==WARNING== No kernels were profiled" in said:
        return NothingProfiled(
            f"{label}: ncu found no launch to profile", details=[details[0], *_available(said)]
        )
    if results is None:
        return ReportNotWritten(f"{label}: ncu left no report", details=details)
    if wanted is not None and results < wanted:
        return LaunchesMissing(f"{label}: {results} of {wanted} launches were profiled", details=details)
    return None


def _failure(label: str, finished: Finished, is_rung: bool) -> ProfError | None:
    """Returns the error of a recording in which ncu or its program failed; None if ncu says of neither that it did."""
    said, details = f"{finished.stdout}\n{finished.stderr}", finished.details
    # ncu's message may follow an unfinished line of the program.
    errors = [line[line.index(_ERROR) :] for line in said.splitlines() if _ERROR in line]
    if not errors and not finished.exit_code:
        return None
    text = "\n".join(errors)
    for signs, error, meaning in _REFUSALS:
        if any(sign in text for sign in signs):
            return error(f"{label}: {meaning}", details=details)
    if failed := _EXIT_CODE.search(text):
        code = int(failed[1]) if is_rung else None
        return program_failure(label, code, f"exit code {failed[1]} under ncu", details)
    if _NO_PROGRAM in text:
        remedy = "Give the program's path as seen from that folder, for example ./mine, or its whole path; --cwd changes the folder."
        return ProgramFailed(f"{label}: there is no such program", details=details, remedy=remedy)
    if NO_MEMORY.search(said):
        return DeviceMemoryFull(f"{label}: out of device memory under ncu", details=details)
    what = errors[0].removeprefix(_ERROR).strip() if errors else f"ncu failed ({finished.how})"
    return NcuFailed(f"{label}: {what}", details=details)


def _available(said: str) -> list[str]:
    """Returns the kernels that the program launched, as ncu lists them."""
    _, found, listing = said.partition("Available Kernels:")
    names = [match[1] for line in listing.splitlines() if (match := _KERNEL_LINE.match(line))]
    if not found or not names:
        return ["    the program launched no kernel at all"]
    listed = lines_of_first([f"  {name[:200]}" for name in names], _MOST_KERNELS, indent="    ")
    return ["    it launched:", *listed]
