"""Finds Nsight Compute's command line tool `ncu`, and makes the command that records a preset.

The command ignores the user's own ncu configuration, so that the command line alone decides what is recorded.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from profiler.catalog.presets import Preset
from profiler.errors import (
    CountersBusy,
    CountersRefused,
    DeviceMemoryFull,
    GpuNotFound,
    LaunchesMissing,
    NcuFailed,
    NcuTooOld,
    NothingProfiled,
    ProfError,
    ProgramFailed,
    ReportNotWritten,
    ResultWrong,
    ShapeRefused,
)
from profiler.measure.tools.process import Finished
from profiler.measure.tools.toolchain import first_executable, tool_version, toolkit_candidates
from profiler.store.reports.controls import version_of

LAUNCHES = 5  # profiled in each process, unless the user gives another number
OLDEST = (2022, 3)  # the oldest version whose reports were read, and whose options are those used here
Replay = Literal["kernel", "application", "range", "app-range"]
Graphs = Literal["node", "graph"]
ClockControl = Literal["none", "base", "boost", "reset"]
CacheControl = Literal["all", "none"]
_RANGE_MODES = ("range", "app-range")


@dataclass(frozen=True)
class Ncu:
    path: Path
    version: str  # 2025.3.1.0


@dataclass(frozen=True)
class NcuOptions:
    """The options of ncu that do not depend on the kernel."""

    preset: Preset
    replay: Replay = "kernel"
    graphs: Graphs = "node"
    clock: ClockControl = "none"
    cache: CacheControl = "all"
    extra: tuple[str, ...] = ()  # further words for ncu, as the user gave them

    @property
    def of_ranges(self) -> bool:
        return self.replay in _RANGE_MODES


@dataclass(frozen=True)
class Selection:
    """The launches of a program that are recorded."""

    regex: str | None = None
    skip: int = 0
    launches: int | None = None  # None: all
    of_window: bool = False  # only launches between cudaProfilerStart and cudaProfilerStop


def ncu_command(
    ncu: Path, recording: NcuOptions, selection: Selection, report: str, program: list[str]
) -> list[str]:
    """Returns the command that records `program` into `report`."""
    preset = recording.preset
    words = [str(ncu), "--config-file", "off", "--force-overwrite"]
    words += ["--clock-control", recording.clock, "--cache-control", recording.cache]
    words += ["--replay-mode", recording.replay]
    if recording.graphs != "node":
        words += ["--graph-profiling", recording.graphs]
    if preset.set is not None:
        words += ["--set", preset.set]
    for section in preset.sections:
        words += ["--section", section]
    if preset.metrics:
        words += ["--metrics", ",".join(preset.metrics)]
    if preset.import_source:
        words += ["--import-source", "yes"]
    if selection.regex is not None and not recording.of_ranges:  # ncu refuses to filter ranges by name
        words += ["--kernel-name-base", "demangled", "--kernel-name", f"regex:{selection.regex}"]
    if selection.of_window:
        words += ["--profile-from-start", "off"]
    if selection.skip:
        words += ["--launch-skip", str(selection.skip)]
    if selection.launches is not None:
        words += ["--launch-count", str(selection.launches)]
    return [*words, *recording.extra, "--export", report, *program]


def nvtx_words(names: Sequence[str]) -> list[str]:
    """Returns the options that record only what is launched inside one of these push/pop ranges.

    A slash ends the name of such a range; ncu reads the other signs unless they are escaped.
    """
    escaped = [re.sub(r"([\\@,\[\]/*+])", r"\\\1", name) for name in names]
    return [
        *(["--nvtx"] if names else []),
        *(word for name in escaped for word in ("--nvtx-include", f"{name}/")),
    ]


def find_ncu(environment: Mapping[str, str] = os.environ) -> Ncu:
    """Returns the first ncu that is installed; raises ToolNotFound or NcuTooOld."""
    remedy = "Install Nsight Compute (it comes with the CUDA toolkit) and put it on the PATH."
    path = first_executable("ncu", ncu_candidates(environment), remedy)
    path = path.absolute()  # the PATH may be relative, and ncu is started from another folder
    found = Ncu(path, tool_version(path, r"^Version (\d+(?:\.\d+)+)"))
    if version_of(found.version)[:2] < OLDEST:
        raise NcuTooOld(
            f"{path}: Nsight Compute {found.version} is older than {'.'.join(map(str, OLDEST))}, the oldest that prof knows"
        )
    return found


def ncu_candidates(environment: Mapping[str, str]) -> Iterator[Path]:
    """Yields the places where ncu may be, the preferred one first."""
    yield from toolkit_candidates("ncu", environment)
    installed = glob.glob("/opt/nvidia/nsight-compute/*/ncu")
    yield from (Path(place) for place in sorted(installed, reverse=True))


# Reads what ncu prints: its progress while it profiles, and afterwards whether the recording succeeded.
#
# ncu passes over much in silence. It exits with 0 when no kernel matches, and leaves a plausible report when the program
# failed half-way. Only its output together with the number of results shows the failure.

_ERROR = "==ERROR=="
_STARTED = '==PROF== Profiling "'
_PASSES = re.compile(r"100% - (\d+) pass(?:es)?\s*$")
_REPLAYED = re.compile(r"Application replay pass (\d+)\s*$")
_FRACTION_STEPS = 8  # dots that ncu prints between 0% and 100%
_EXIT_CODE = re.compile(r"The application returned an error code \((\d+)\)")
_KERNEL_LINE = re.compile(r"^\d+\. (.+)$")
_MOST_KERNELS = 12
_NOT_WRITTEN = ("Unable to write to file", "Failed to save the report", "already exists. Use '-f'")
_BUSY = ("driver resource was unavailable", "tool (like DCGM)")


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
    said = f"{finished.stdout}\n{finished.stderr}"
    # ncu's message may follow an unfinished line of the program.
    errors = [line[line.index(_ERROR) :] for line in said.splitlines() if _ERROR in line]
    details = finished.details
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
        remedy = "Give the program's path as seen from that folder, for example ./mine, or its whole path; --cwd changes the folder."
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
    """Returns the kernels that the program launched, as ncu lists them."""
    _, found, listing = said.partition("Available Kernels:")
    names = [match[1] for line in listing.splitlines() if (match := _KERNEL_LINE.match(line))]
    if not found or not names:
        return ["    the program launched no kernel at all"]
    more = [f"    and {len(names) - _MOST_KERNELS} more"] if len(names) > _MOST_KERNELS else []
    return ["    it launched:", *(f"      {name[:200]}" for name in names[:_MOST_KERNELS]), *more]


# The meaning of the exit codes of a rung's program, as `kernels/README.md` defines them.
#
# 0: done; 3: a shape that the rung cannot run; 4: a wrong result; 6: out of device memory. Every other code is a failure.

EXIT_SHAPE, EXIT_WRONG, EXIT_MEMORY = 3, 4, 6
NO_MEMORY = re.compile(r"out of (device )?memory", re.IGNORECASE)
_NO_DEVICE = re.compile(r"no CUDA.{0,20} device|CUDA driver version is insufficient", re.IGNORECASE)


def program_failure(label: str, exit_code: int | None, how: str, details: list[str]) -> ProfError:
    """Returns the error that an exit code stands for; `exit_code` is None for a program without such codes.

    `details` holds the command and the last lines that it printed.
    """
    printed = "\n".join(details[1:])
    if exit_code == EXIT_MEMORY or NO_MEMORY.search(printed):
        return DeviceMemoryFull(f"{label}: out of device memory", details=details)
    if exit_code == EXIT_SHAPE:
        return ShapeRefused(f"{label}: the program refuses this shape", details=details)
    if exit_code == EXIT_WRONG:
        return ResultWrong(f"{label}: the program says that its result is wrong", details=details)
    if _NO_DEVICE.search(printed):
        return GpuNotFound(f"{label}: the program sees no GPU", details=details)
    return ProgramFailed(f"{label} failed ({how})", details=details)
