"""The rungs of a ladder that were built, verified or timed, as documents."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from profiler.analyse.statistics.timings import TimingSummary
from profiler.catalog.ladders.ladder import Kernel, size_text
from profiler.measure.rungs.build import Built
from profiler.measure.rungs.verify import Checked
from profiler.present.document import Column, Document, Plain, Tone
from profiler.present.documents.parts.rows import rows_document

Record = tuple[Plain, ...]

BUILD_HEADER = ("kernel", "name", "status", "registers", "spill_bytes", "seconds", "binary")
CHECK_HEADER = ("kernel", "name", "size", "relative_error", "threshold", "worst_element", "verdict", "seed")
TIME_HEADER = (
    "kernel", "name", "size", "median_ns", "spread_pct", "gflops", "gbytes_per_s", "reference_ns", "reference_pct", "best_ns",
    "best_pct", "run_id",
)  # fmt: skip
_KERNEL = (Column("kernel", right=True), Column("name"))
_BUILD_COLUMNS = (
    *_KERNEL,
    Column("status"),
    Column("registers", right=True),
    Column("spill bytes", right=True),
    Column("seconds", right=True),
    Column("binary", folds=True),
)
_CHECK_COLUMNS = (
    *_KERNEL,
    Column("size"),
    Column("relative error", "scientific"),
    Column("threshold", "scientific"),
    Column("worst element", "scientific"),
    Column("verdict"),
    Column("seed", folds=True),
)
_TIME_COLUMNS = (
    *_KERNEL,
    Column("size"),
    Column("median", "duration"),
    Column("spread %", "number"),
    Column("gflops", "number"),
    Column("gbytes per s", "number"),
    Column("reference", "duration"),
    Column("reference %", "number"),
    Column("its best", "duration"),
    Column("best %", "number"),
    Column("run id", folds=True),
)
_TONES: dict[str, Tone] = {
    "correct": "good",
    "wrong": "bad",
    "failed": "bad",
    "refused": "warn",
    "unavailable": "warn",
}


def built_document(rows: Sequence[Record]) -> Document:
    """Returns a row for each rung that was built."""
    return rows_document(BUILD_HEADER, rows, _BUILD_COLUMNS)


def verified_document(rows: Sequence[Record]) -> Document:
    """Returns a row for each rung that was verified, in the colour of its verdict."""
    tones = [_TONES[str(row[CHECK_HEADER.index("verdict")])] for row in rows]
    return rows_document(CHECK_HEADER, rows, _CHECK_COLUMNS, tones)


def timed_document(rows: Sequence[Record]) -> Document:
    """Returns a row for each rung that was timed."""
    return rows_document(TIME_HEADER, rows, _TIME_COLUMNS)


def build_row(built: Built, compiled: Mapping[str, int]) -> Record:
    """Returns the row of one rung, in the order of `BUILD_HEADER`.

    `compiled` is the compiler's report on the kernels that the ladder means.
    """
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


def check_row(checked: Checked) -> Record:
    """Returns the row of one rung, in the order of `CHECK_HEADER`."""
    job = checked.job
    return (
        job.kernel.number,
        job.kernel.name,
        size_text(job.values),
        checked.relative_error,
        checked.threshold,
        checked.worst_element,
        checked.verdict,
        job.seed,
    )


def time_row(kernel: Kernel, values: Mapping[str, int], summary: TimingSummary, run_id: str) -> Record:
    """Returns the row of one rung, in the order of `TIME_HEADER`."""
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
        summary.best_median_ns,
        summary.best_pct,
        run_id,
    )


def _shortest(path: Path) -> str:
    return min(str(path), os.path.relpath(path), key=len)
