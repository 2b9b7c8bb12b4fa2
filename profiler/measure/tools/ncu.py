"""Nsight Compute's command line: where it is, and the words that make it record what was asked for.

Nothing of the user's own ncu configuration takes part, so that a command line says all.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from profiler.catalog.presets import Preset
from profiler.errors import NcuTooOld, ToolNotFound
from profiler.measure.tools.process import command_details, run
from profiler.measure.tools.toolchain import toolkit_candidates

OLDEST = (2022, 3)  # the oldest whose reports were read, and whose options are these
_TOOL_TIMEOUT_S = 60.0
_RANGE_MODES = ("range", "app-range")


@dataclass(frozen=True)
class Ncu:
    path: Path
    version: str  # 2025.3.1.0


@dataclass(frozen=True)
class NcuOptions:
    """How ncu measures, whatever the kernel."""

    preset: Preset
    replay: str = "kernel"
    graphs: str = "node"
    clock: str = "none"
    cache: str = "all"
    extra: tuple[str, ...] = ()  # further words for ncu, as the user gave them

    @property
    def of_ranges(self) -> bool:
        return self.replay in _RANGE_MODES


@dataclass(frozen=True)
class Selection:
    """Which launches of a program count."""

    regex: str | None = None
    skip: int = 0
    launches: int | None = None  # None: all there are
    of_window: bool = False  # only of those between cudaProfilerStart and cudaProfilerStop


def ncu_command(
    ncu: Path, recording: NcuOptions, selection: Selection, report: str, program: list[str]
) -> list[str]:
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


def find_ncu(environment: Mapping[str, str] = os.environ) -> Ncu:
    candidates = list(_candidates(environment))
    path = next((path for path in candidates if path.is_file() and os.access(path, os.X_OK)), None)
    if path is None:
        raise ToolNotFound(
            "ncu was not found on the PATH, nor here:",
            details=[f"    {place}" for place in dict.fromkeys(candidates)],
            remedy="Install Nsight Compute (it comes with the CUDA toolkit) and put it on the PATH.",
        )
    path = path.absolute()  # the PATH may be relative, and ncu is started from elsewhere
    found = Ncu(path, read_version(path))
    if tuple(int(part) for part in found.version.split(".")[:2]) < OLDEST:
        raise NcuTooOld(
            f"{path}: Nsight Compute {found.version} is older than {'.'.join(map(str, OLDEST))}, the oldest that prof knows"
        )
    return found


def read_version(ncu: Path) -> str:
    answer = run([str(ncu), "--version"], timeout_s=_TOOL_TIMEOUT_S)
    version = re.search(r"^Version (\d+(?:\.\d+)+)", answer.stdout, re.MULTILINE)
    if answer.exit_code or version is None:
        raise ToolNotFound(
            f"{ncu}: does not tell its version ({answer.how})",
            details=command_details(answer.command, answer.stdout, answer.stderr),
        )
    return version[1]


def _candidates(environment: Mapping[str, str]) -> Iterator[Path]:
    yield from toolkit_candidates("ncu", environment)
    installed = glob.glob("/opt/nvidia/nsight-compute/*/ncu")
    yield from (Path(place) for place in sorted(installed, reverse=True))
