"""Takes any program to a run of the times of its kernels, without counters: it is run and listened to several times."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from profiler.errors import KernelNotFound, LaunchesMissing, NothingProfiled
from profiler.measure.collect.collection import find_program_provenance
from profiler.measure.collect.listening import listen
from profiler.measure.collect.target import Target
from profiler.measure.tools.process import shown
from profiler.measure.tools.toolchain import Gpu
from profiler.store.runs.run_store import RunStore
from profiler.store.runs.timed_run import TimedLaunch, TimedRun, commit_timings


def collect_times(
    target: Target,
    gpu: Gpu,
    processes: int,
    timeout_s: float,
    cwd: Path | None,
    store: RunStore,
    note: Callable[[str], None],
) -> str:
    """Runs the program in several processes, commits the times of its launches, and returns the id of the run."""
    recorded, started = datetime.now(UTC), time.monotonic()
    folder = cwd or Path.cwd()
    origin = find_program_provenance(target, gpu, folder, store)
    launches: list[TimedLaunch] = []
    for process in range(processes):
        began = time.monotonic()
        heard = listen(target.program, folder, timeout_s, process)
        chosen = _chosen(target, heard)
        launches += chosen
        seconds = time.monotonic() - began
        note(
            f"timed       {target.label}, process {process + 1} of {processes}: {len(chosen)} launches, {seconds:.1f} s"
        )
    run = TimedRun(
        ladder="",
        kernel=0,
        workload=None,
        recorded=recorded,
        gpu=gpu.name,
        command_line=shown(target.program_text),
        provenance=msgspec.structs.replace(origin, seconds=round(time.monotonic() - started, 3)),
        timings=(),
        function=target.name,
        launches=launches,
    )
    return commit_timings(store, [run])[0]


def _chosen(target: Target, heard: list[TimedLaunch]) -> list[TimedLaunch]:
    """Returns the launches that were asked for, as ncu would choose them: by their name, then by number."""
    selection = target.selection
    try:
        fitting = [one for one in heard if re.search(selection.regex or "", one.kernel)]
    except re.error as error:
        raise KernelNotFound(f"'{selection.regex}' is not a regular expression: {error}") from None
    names = [f"  {name[:200]}" for name in dict.fromkeys(one.kernel for one in heard)]
    if not fitting:
        raise NothingProfiled(
            f"{target.label}: no kernel's name matches '{selection.regex}'; launched were:", details=names
        )
    last = None if selection.launches is None else selection.skip + selection.launches
    chosen = fitting[selection.skip : last]
    if len(chosen) < (target.required_launches or 1):
        raise LaunchesMissing(
            f"{target.label}: {len(fitting)} launches match, and {selection.skip} of them are skipped",
            details=names,
        )
    return chosen
