"""Gathers what `prof show` prints about one recording."""

from __future__ import annotations

from contextlib import suppress

from profiler.analyse.ladder.climb import derive_stalls
from profiler.analyse.recording.kernel_choice import choose_kernel, choose_kernels
from profiler.analyse.recording.overview import (
    RecordingOverview,
    SheetFinding,
    TimingSheet,
    derive_sheet,
    derive_timing_sheet,
)
from profiler.analyse.recording.profile import Profile
from profiler.analyse.recording.source_lines import SourceLines, find_source_lines
from profiler.ask.named.ladders import work_of
from profiler.ask.named.references import open_named
from profiler.ask.named.settings import Settings
from profiler.ask.named.sizes import how_to_profile, is_choice
from profiler.ask.profiles import diagnose_once, profile_one, profile_run
from profiler.catalog.ladders.ladder import size_text
from profiler.errors import RunUnusable
from profiler.store.runs.run_store import Run

_MOST_ALIKE = 200  # each is a manifest to read


def show(
    source: str,
    settings: Settings,
    *,
    kernel_name: str | None = None,
    nvtx: str | None = None,
    full: bool = False,
    timed: bool = True,
    size: str | int | None = None,
) -> RecordingOverview:
    """Returns the sheets of a recording, with every metric if `full`. A run of timings alone is refused unless `timed`."""
    (run,) = open_named([source], settings, timed=timed, size=size, nvtx=nvtx)
    return show_run(run, settings, kernel_name, full=full)


def show_run(
    run: Run, settings: Settings, kernel_name: str | None = None, *, full: bool = False
) -> RecordingOverview:
    """Returns the sheets of an open run, as `show` does."""
    if not run.manifest.is_profiled:
        return RecordingOverview(run, [], timing_of(run, settings))
    (kernels,) = choose_kernels([run], kernel_name)
    sheets: list[SheetFinding] = []
    for kernel in kernels:
        if len(kernels) > 1:
            settings.progress(f"examining {len(sheets) + 1} of {len(kernels)} kernels")
        sheets.append(sheet_of(run, kernel, settings, full=full))
    settings.progress("")
    return RecordingOverview(run, sheets, timing_of(run, settings) if run.table("timings").num_rows else None)


def sheet_of(run: Run, kernel: str, settings: Settings, *, full: bool = True) -> SheetFinding:
    """Returns the sheet of the kernel with exactly this name, with every metric if `full`."""
    return derive_sheet(run, profile_run(run, kernel, settings), full, diagnose_once)


def timing_of(run: Run, settings: Settings) -> TimingSheet:
    """Returns the times of a run without the profiler, with the work per second by the work that its ladder declares."""
    return derive_timing_sheet(run, work_of(run, settings), how_to_profile(run, settings))


def find_hot_lines(
    run: Run, settings: Settings, kernel_name: str | None
) -> tuple[Profile, dict[str, float], SourceLines | None]:
    """Returns the profile of the one kernel meant, its stalls, and its source lines or None."""
    profile = profile_one(run, settings, kernel_name)
    return profile, derive_stalls(profile), find_lines(run, kernel_name)


def find_lines(run: Run, kernel_name: str | None) -> SourceLines | None:
    """Returns the instructions and stalls of each source line of one kernel, or None if the run holds no lines."""
    return find_source_lines(run, choose_kernel(run, kernel_name)) if run.manifest.is_profiled else None


def find_other_workloads(source: str, run: Run, settings: Settings) -> list[str]:
    """Returns the other sizes stored under the run's name, newest first; nothing if the user gave a run id or a file."""
    if not is_choice(source, run, settings):
        return []
    store = settings.open_store()
    alike = [run_id for run_id in store.ids() if run_id.name == run.manifest.name][-_MOST_ALIKE:]
    store.read_ahead(alike)
    found: dict[str, None] = {}
    for run_id in reversed(alike):
        with suppress(RunUnusable):  # other runs were not asked for, so their damage is not reported
            found[size_text(store.open(run_id).manifest.workload or {})] = None
    return [size for size in found if size and size != size_text(run.manifest.workload or {})]
