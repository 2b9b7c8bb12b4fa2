"""Finds Nsight Compute's command line tool `ncu`, and makes the command that records a preset.

The command ignores the user's own ncu configuration, so that the command line alone decides what is recorded.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from profiler.catalog.presets import Preset
from profiler.errors import NcuTooOld
from profiler.measuring.tools.toolchain import first_executable, tool_version, toolkit_candidates
from profiler.store.reports.ncu_command import version_of
from profiler.text import newest_first

LAUNCHES = 5  # profiled in each process, unless the user gives another number
_OLDEST = (2022, 3)  # the oldest version whose reports were read, and whose options are those used here
Replay = Literal["kernel", "application", "range", "app-range"]
Graphs = Literal["node", "graph"]
ClockControl = Literal["none", "base", "boost", "reset"]
CacheControl = Literal["all", "none"]
_RANGE_MODES = ("range", "app-range")


@dataclass(frozen=True)
class Ncu:
    path: Path
    version: str  # 2025.3.1.0


NO_NCU = Ncu(Path("ncu"), "")  # stands for one that is not here, or not needed


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
    if version_of(found.version)[:2] < _OLDEST:
        raise NcuTooOld(
            f"{path}: Nsight Compute {found.version} is older than {'.'.join(map(str, _OLDEST))}, the oldest that prof knows"
        )
    return found


def ncu_candidates(environment: Mapping[str, str]) -> Iterator[Path]:
    """Yields the places where ncu may be, the preferred one first."""
    yield from toolkit_candidates("ncu", environment)
    installed = glob.glob("/opt/nvidia/nsight-compute/*/ncu")
    yield from map(Path, newest_first(installed))
