"""What is stored, as rows: one per name, or one per run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Annotated

from msgspec import Struct

from profiler.analyse.baseline import natural_order
from profiler.analyse.findings import SCHEMA_VERSION, LeftOut
from profiler.analyse.importance import Importance
from profiler.catalog.ladders.ladder import Ladder, size_text
from profiler.errors import RunDamaged
from profiler.store.runs.manifest import RunId, rung_name, sweep_name, timed_name
from profiler.store.runs.run_store import RunStore

NAMES_HEADER = ("name", "runs", "recorded", "launches", "gpu", "ncu", "origin", "run_id")
NAMES_RIGHT = (1, 3)
RUNS_HEADER = ("name", "workload", *NAMES_HEADER[2:])
RUNS_RIGHT = (3,)
DAMAGED = "damaged"
LADDER_HEADER = ("kernel", "name", "profiled", "timed", "tuned", "idea")
LADDER_RIGHT = (0, 2, 3, 4)
LadderRow = tuple[int, str, int, int, int, str]
Row = tuple[str, str | int, str, int, str, str, str, str]


class Listing(Struct, frozen=True):
    """A ladder's kernels, and the stored runs: the newest of each name, or every run that fits a name."""

    ladder: str | None
    kernels: Annotated[list[dict[str, str | int]], Importance(99, each=2)]
    runs: Annotated[
        list[dict[str, str | int]],
        Importance(
            100, each=2, by=lambda run, *_: str(run["recorded"]), largest_first=True, keeps_order=True
        ),
    ]
    schema_version: int = SCHEMA_VERSION
    left_out: LeftOut = {}


def derive_listing(
    store: RunStore, ladder: Ladder | None, is_meant: Callable[[str], bool], *, every: bool
) -> Listing:
    """Of the names meant `every` run; or the newest of each, and the ladder's kernels."""
    if every:
        rows = run_rows(store, is_meant)
        return Listing(None, [], [dict(zip(RUNS_HEADER, row, strict=True)) for row in rows])
    rungs = ladder_rows(ladder, store) if ladder else []
    return Listing(
        ladder.name if ladder else None,
        [dict(zip(LADDER_HEADER, row, strict=True)) for row in rungs],
        [dict(zip(NAMES_HEADER, row, strict=True)) for row in kernel_rows(store, is_meant)],
    )


def kernel_rows(store: RunStore, is_meant: Callable[[str], bool]) -> list[Row]:
    """One row per name: how many runs, and the newest of them. Reads one manifest a name."""
    by_name: dict[str, list[RunId]] = defaultdict(list)
    for run_id in store.ids():
        by_name[run_id.name].append(run_id)
    meant = {name: run_ids for name, run_ids in by_name.items() if is_meant(name)}
    store.read_ahead(run_ids[-1] for run_ids in meant.values())
    return [
        _row(store, run_ids[-1], len(run_ids))
        for _, run_ids in sorted(meant.items(), key=lambda item: natural_order(item[0]))
    ]


def run_rows(store: RunStore, is_meant: Callable[[str], bool]) -> list[Row]:
    """One row per run of the names meant, oldest first."""
    run_ids = [run_id for run_id in store.ids() if is_meant(run_id.name)]
    store.read_ahead(run_ids)
    return [_row(store, run_id) for run_id in run_ids]


def ladder_rows(ladder: Ladder, store: RunStore) -> list[LadderRow]:
    """A ladder's kernels, and how many runs and sweeps are stored of each. Reads nothing."""
    runs = Counter(run_id.name for run_id in (*store.ids(), *store.sweep_ids()))
    return [
        (
            kernel.number,
            kernel.name,
            runs[rung_name(ladder.name, kernel.number)],
            runs[timed_name(ladder.name, kernel.number)],
            runs[sweep_name(ladder.name, kernel.number)],
            kernel.idea,
        )
        for kernel in ladder.kernels
    ]


def _row(store: RunStore, run_id: RunId, runs: int | None = None) -> Row:
    """With the run's own workload, or how many `runs` there are.

    One damaged manifest does not hide the other runs: what its folder's name says stays.
    """
    try:
        manifest = store.open(run_id).manifest
    except RunDamaged:
        return (run_id.name, "" if runs is None else runs, "", 0, "", "", DAMAGED, str(run_id))
    return (
        manifest.name,
        size_text(manifest.workload or {}) if runs is None else runs,
        manifest.recorded,
        manifest.launches,
        ", ".join(manifest.gpus),
        manifest.ncu_version,
        manifest.origin,
        manifest.run_id,
    )
