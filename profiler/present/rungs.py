"""What became of the rungs of a ladder, as rows: built, verified and timed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from profiler.analyse.statistics.timings import TimingSummary
from profiler.catalog.ladders.ladder import Kernel, size_text
from profiler.measure.rungs.build import Built
from profiler.measure.rungs.verify import Checked
from profiler.text import number

if TYPE_CHECKING:
    from profiler.analyse.ladder.ladder import LadderFinding

Cell = str | float | int | None
Row = tuple[Cell, ...]

BUILD_HEADER = ("kernel", "name", "status", "registers", "spill_bytes", "seconds", "binary")
BUILD_RIGHT = (0, 3, 4, 5)
CHECK_HEADER = ("kernel", "name", "size", "relative_error", "threshold", "verdict", "seed")
CHECK_RIGHT = (0, 3, 4)
TIME_HEADER = (
    "kernel", "name", "size", "median_ns", "spread_pct", "gflops", "gbytes_per_s", "reference_ns", "reference_pct",
    "run_id",
)  # fmt: skip
TIME_RIGHT = (0, 3, 4, 5, 6, 7, 8)
_UNITS_NS = (("s", 1e9), ("ms", 1e6), ("us", 1e3))


def branches_text(finding: LadderFinding) -> str:
    """Beside words that say "the rung before", what they are not true of: ` (3, 4: rung 2)`."""
    told = [f"{', '.join(map(str, rungs))}: rung {before}" for before, rungs in finding.branches().items()]
    return f" ({'; '.join(told)})" if told else ""


def titles_of(header: Sequence[str]) -> list[str]:
    """Column names as people read them: durations carry their unit in each cell."""
    return [name.removesuffix("_ns").replace("_", " ").replace(" pct", " %") for name in header]


def build_row(built: Built, compiled: Mapping[str, int]) -> Row:
    """`compiled` is what the compiler says of the kernels that the ladder's regular expression means."""
    record, kernel = built.record, built.kernel
    return (
        kernel.number,
        kernel.name,
        built.status,
        compiled.get("registers"),
        compiled.get("spill_bytes"),
        record.seconds if record and built.status == "built" else None,
        _shortest(built.binary) if record else None,
    )


def check_row(checked: Checked) -> Row:
    job = checked.job
    return (
        job.kernel.number,
        job.kernel.name,
        size_text(job.values),
        checked.relative_error,
        checked.threshold,
        checked.verdict,
        job.seed,
    )


def check_cells(row: Row) -> list[str]:
    return [f"{cell:.2e}" if isinstance(cell, float) else _plain(cell) for cell in row]


def time_row(kernel: Kernel, values: Mapping[str, int], summary: TimingSummary, run_id: str) -> Row:
    return (
        kernel.number,
        kernel.name,
        size_text(values),
        summary.median_ns,
        summary.spread_pct,
        summary.gflops,
        summary.gbytes_per_s,
        summary.reference_median_ns,
        summary.reference_pct,
        run_id,
    )


def time_cells(row: Row) -> list[str]:
    cells = []
    for name, cell in zip(TIME_HEADER, row, strict=True):
        if not isinstance(cell, float):
            cells.append(_plain(cell))
        else:
            cells.append(duration(cell) if name.endswith("_ns") else number(cell))
    return cells


def duration(ns: float) -> str:
    """Four significant digits, also where the last are zeros: durations stand below each other."""
    shown_ns = float(f"{ns:.4g}") + 0.0  # first, so that 999,960 ns are 1.000 ms
    unit, unit_ns = next((one for one in _UNITS_NS if shown_ns >= one[1]), ("ns", 1.0))
    value = shown_ns / unit_ns
    return f"{f'{value:#.4g}' if value < 1000 else number(value)} {unit}"


def _shortest(path: Path) -> str:
    return min(str(path), os.path.relpath(path), key=len)


def _plain(cell: Cell) -> str:
    return "" if cell is None else str(cell)
