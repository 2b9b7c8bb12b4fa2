"""The runs that were just collected, as a document, and the command that a user would type next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from profiler.analyse.recording.overview import summarise_rung, times_of
from profiler.analyse.recording.profile import Profile
from profiler.catalog import DEFAULT_LADDER
from profiler.catalog.ladders.ladder import Kernel, Ladder, size_text
from profiler.catalog.metrics import DURATION, HEADLINE
from profiler.present.document import Column, Document, Kind, Records
from profiler.present.documents.parts.rows import rows_document
from profiler.present.documents.rungs import Record
from profiler.store.runs.manifest import Manifest
from profiler.store.runs.run import Run
from profiler.store.runs.run_id import DEFAULT_PRESET, preset_name, rung_name
from profiler.text import shortened

_METRICS = HEADLINE[1:]
_KERNEL_WIDTH = 40
HEADER = (
    "status", "run", "kernel", "size", "launches", "unprofiled_ns", "gflops", "gbytes_per_s", "reference_pct", "best_pct", "profiled_ns",
    *_METRICS, "run_id",
)  # fmt: skip
# A narrow window leaves out the first of these first.
_OPTIONAL = (
    "kernel", "lsu_inst_share_pct", "gbytes_per_s", "size", "stall_short_scoreboard", "stall_mio_throttle", "lsu_pipe_pct",
    "fma_pipe_pct", "issue_active_pct", "launches", "gflops", "best_pct",
)  # fmt: skip
_TEXTS = ("status", "run", "kernel", "size", "run_id")


def collected_document(rows: Sequence[Record]) -> Document:
    """Returns a row for each kernel. Names are shortened; `prof show` prints them in full."""
    place = HEADER.index("kernel")
    shown = [[*row[:place], shortened(str(row[place]), _KERNEL_WIDTH), *row[place + 1 :]] for row in rows]
    document = rows_document(HEADER, shown, [_column(name) for name in HEADER])
    return replace(document, records=Records(HEADER, rows))


def _column(name: str) -> Column:
    """Returns the column for a name of `HEADER`; durations have their unit in each cell."""
    title = name.removesuffix("_ns").replace("_", " ").replace(" pct", " %")
    kind: Kind = "text" if name in _TEXTS else "duration" if name.endswith("_ns") else "number"
    return Column(title, kind, _OPTIONAL.index(name) if name in _OPTIONAL else None, folds=name == HEADER[-1])


def collected_row(status: str, run: Run, profile: Profile, kernel: Kernel | None) -> Record:
    """Returns the row of one kernel of one run, in the order of `HEADER`."""
    manifest = run.manifest
    timings = run.table("timings")
    summary = None
    duration_ns = _mean(profile, DURATION)
    alone_ns = None if manifest.has_counters else duration_ns
    if timings.num_rows:
        summary = summarise_rung(kernel, manifest.workload or {}, *times_of(timings))
    return (
        status,
        manifest.name,
        profile.kernel if len(manifest.kernels) > 1 else "",
        size_text(manifest.workload or {}),
        profile.launches,
        summary.median_ns if summary else alone_ns,
        summary.gflops if summary else None,
        summary.gbytes_per_s if summary else None,
        summary.reference_pct if summary else None,
        summary.best_pct if summary else None,
        duration_ns if alone_ns is None else None,
        *(_mean(profile, name) for name in _METRICS),
        manifest.run_id,
    )


def next_command(runs: Sequence[Manifest], ladder: Ladder | None, names: Iterable[str]) -> str:
    """Returns the most likely next command, in general a comparison of the last rung with one below it.

    It picks the nearest rung below that has such a run; if there is none, it returns `prof show`.
    """
    last = runs[-1]
    if ladder is None or last.kernel is None or last.preset is None:
        return f"prof show {last.name}"
    stored = set(names)
    below = [kernel.number for kernel in ladder.kernels if kernel.number < last.kernel]
    for rung in reversed(below):
        before = preset_name(rung_name(ladder.name, rung), last.preset)
        if before in stored and last.preset == DEFAULT_PRESET:
            flag = "" if ladder.name == DEFAULT_LADDER else f" --ladder {ladder.name}"
            return f"prof compare {rung} {last.kernel}{flag}"
        if before in stored:
            return f"prof compare {before} {last.name}"
    return f"prof show {last.name}"


def _mean(profile: Profile, name: str) -> float | None:
    series = profile.series.get(name)
    return series.mean if series else None
