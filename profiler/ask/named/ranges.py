"""Reduces a run to the launches within an NVTX range, so that every question can be asked of a part of a program."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from profiler.analyse.recording.profile import nearest_words
from profiler.catalog.patterns import search_typed
from profiler.errors import KernelNotFound
from profiler.store.runs.manifest import KernelCount
from profiler.store.runs.run_store import Run
from profiler.store.tables.schema import TABLES

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_LISTED = 20


def within_range(run: Run, pattern: str) -> Run:
    """Returns the run with the launches that some NVTX range with a matching name encloses.

    Raises KernelNotFound if there are none. Times without the profiler are those of the whole program, so they
    are left out.
    """
    launches = run.table("launches").select(["launch", "kernel", "nvtx"]).to_pylist()
    names = list(dict.fromkeys(one["name"] or "" for launch in launches for one in launch["nvtx"] or ()))
    try:
        found = search_typed(pattern, names)
    except ValueError as error:
        raise KernelNotFound(str(error)) from None
    wanted = {name for name, fits in zip(names, found, strict=True) if fits}
    inside = [
        one for one in launches if any((range_["name"] or "") in wanted for range_ in one["nvtx"] or ())
    ]
    if not inside:
        raise _nothing_inside(run, pattern, names)
    numbers = {one["launch"] for one in inside}
    kernels = Counter(one["kernel"] for one in inside)
    manifest = msgspec.structs.replace(
        run.manifest, kernels=[KernelCount(name, count) for name, count in kernels.items()]
    )
    return replace(run, manifest=manifest, _tables={name: _rows(run, name, numbers) for name in TABLES})


def _rows(run: Run, name: str, launches: set[int]) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    table = run.table(name)
    if "launch" not in table.column_names:
        return table.slice(0, 0)
    column = table.column("launch")
    return table.filter(pc.is_in(column, pa.array(sorted(launches), column.type)))


def _nothing_inside(run: Run, pattern: str, names: list[str]) -> KernelNotFound:
    shown = [f"  {name or '(unnamed)'}" for name in names[:_MOST_LISTED]]
    more = len(names) - len(shown)
    return KernelNotFound(
        f"{run.label}: no launch is in an NVTX range that matches '{pattern}'{nearest_words(pattern, names)}",
        details=[*shown, *([f"  and {more} more"] if more else [])],
        remedy="These are its ranges."
        if names
        else "It holds no NVTX ranges: record it with `ncu --nvtx`, and name ranges in the program.",
    )
