"""What is stored, as rows: one per name, or one per run."""

from __future__ import annotations

from collections import defaultdict

from profiler.store.manifest import Manifest, RunId
from profiler.store.runs import RunStore

HEADER = ("name", "runs", "recorded", "launches", "gpu", "ncu", "origin", "latest run")
RIGHT = (1, 3)
Row = tuple[str, int, str, int, str, str, str, str]


def kernel_rows(store: RunStore) -> list[Row]:
    """One row per name: how many runs, and the newest of them. Reads one manifest a name."""
    by_name: dict[str, list[RunId]] = defaultdict(list)
    for run_id in store.ids():
        by_name[run_id.name].append(run_id)
    return [
        _row(store.open(run_ids[-1]).manifest, len(run_ids))
        for _, run_ids in sorted(by_name.items(), key=lambda item: _natural(item[0]))
    ]


def run_rows(store: RunStore, part: str) -> list[Row]:
    """One row per run whose name contains `part`, oldest first."""
    return [_row(store.open(run_id).manifest, 1) for run_id in store.ids() if part in run_id.name]


def _row(manifest: Manifest, runs: int) -> Row:
    return (
        manifest.name,
        runs,
        manifest.recorded,
        manifest.launches,
        ", ".join(manifest.gpus),
        manifest.ncu_version,
        manifest.origin,
        manifest.run_id,
    )


def _natural(name: str) -> tuple[str, int, str]:
    """gemm-9 before gemm-10."""
    head, _, tail = name.rpartition("-")
    return (head, int(tail), "") if tail.isdecimal() else (name, -1, "")
