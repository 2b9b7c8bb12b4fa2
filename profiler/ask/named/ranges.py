"""Reduces a run to the launches within an NVTX range, so that every question can be asked of a part of a program."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import msgspec

from profiler.analyse.recording.kernel_choice import nearest_words
from profiler.errors import KernelNotFound
from profiler.store.runs.manifest import KernelCount
from profiler.store.runs.run_store import Run
from profiler.store.tables.columns import labels_of
from profiler.store.tables.launch_choice import LaunchChoice, rows_of_launches
from profiler.store.tables.schema import TABLES

_MOST_LISTED = 20


def within_range(run: Run, pattern: str) -> Run:
    """Returns the run with the launches that some NVTX range with a matching name encloses.

    Raises KernelNotFound if there are none. Times without the profiler are those of the whole program, so they
    are left out.
    """
    table = run.table("launches")
    try:
        numbers = LaunchChoice(nvtx=pattern).launches(table)
    except ValueError as error:
        raise KernelNotFound(str(error)) from None
    if not numbers:
        raise _nothing_inside(run, pattern)
    kernels = Counter(labels_of(rows_of_launches(table, numbers), "kernel"))
    manifest = msgspec.structs.replace(
        run.manifest, kernels=[KernelCount(name, count) for name, count in kernels.items()]
    )
    return replace(
        run, manifest=manifest, _tables={name: rows_of_launches(run.table(name), numbers) for name in TABLES}
    )


def _nothing_inside(run: Run, pattern: str) -> KernelNotFound:
    ranges = run.table("launches").column("nvtx").to_pylist()
    names = list(dict.fromkeys(one["name"] or "" for around in ranges for one in around or ()))
    shown = [f"  {name or '(unnamed)'}" for name in names[:_MOST_LISTED]]
    more = len(names) - len(shown)
    return KernelNotFound(
        f"{run.label}: no launch is in an NVTX range that matches '{pattern}'{nearest_words(pattern, names)}",
        details=[*shown, *([f"  and {more} more"] if more else [])],
        remedy="These are its ranges."
        if names
        else "It holds no NVTX ranges: record it with `ncu --nvtx`, and name ranges in the program.",
    )
