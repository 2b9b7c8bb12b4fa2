"""The rungs of a ladder that were built, verified or timed, and the runs that were collected, as documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from profiler.analyse.recording.overview import summarise_rung, times_of
from profiler.analyse.recording.profile import Profile
from profiler.analyse.statistics.timings import TimingSummary
from profiler.catalog import DEFAULT_LADDER
from profiler.catalog.ladders.ladder import Kernel, Ladder, size_text
from profiler.catalog.metrics import DURATION, HEADLINE
from profiler.measuring.rungs.build import Built
from profiler.measuring.rungs.verify import Checked
from profiler.present.document import Column, Document, Plain, Records, Tone, ValueKind
from profiler.present.documents.parts.rows import rows_document
from profiler.store.runs.manifest import Manifest
from profiler.store.runs.run import Run
from profiler.store.runs.run_id import DEFAULT_PRESET, preset_name, rung_name
from profiler.text import shortened, shortest_path

RungRow = tuple[Plain, ...]

_BUILD_HEADER = ("kernel", "name", "status", "registers", "spill_bytes", "seconds", "binary")
_CHECK_HEADER = ("kernel", "name", "size", "relative_error", "threshold", "worst_element", "verdict", "seed")
_TIME_HEADER = (
    "kernel", "name", "size", "median_ns", "spread_pct", "gflops", "gbytes_per_s", "reference_ns", "reference_pct", "best_ns",
    "best_pct", "run_id",
)  # fmt: skip
_TIMES = (  # fields of a `TimingSummary`
    "median_ns", "spread_pct", "gflops", "gbytes_per_s", "reference_median_ns", "reference_pct", "best_median_ns", "best_pct",
)  # fmt: skip
_WORK = ("gflops", "gbytes_per_s", "reference_pct", "best_pct")
_METRICS = HEADLINE[1:]
_KERNEL_WIDTH = 40
HEADER = (
    "status", "run", "kernel", "size", "launches", "unprofiled_ns", *_WORK, "profiled_ns", *_METRICS, "run_id",
)  # fmt: skip
# A narrow window leaves out the first of these first.
_OPTIONAL_TIMES = ("run_id", "best_ns", "gbytes_per_s", "reference_ns", "best_pct")
_OPTIONAL = (
    "kernel", "lsu_inst_share_pct", "run_id", "gbytes_per_s", "size", "stall_short_scoreboard", "stall_mio_throttle", "lsu_pipe_pct",
    "fma_pipe_pct", "issue_active_pct", "launches", "gflops", "best_pct",
)  # fmt: skip
_FIGURES_AS_TEXT = ("kernel", "registers", "spill_bytes", "seconds")  # of a rung, as they are
_TEXTS = ("status", "run", "name", "size", "binary", "verdict", "seed", "run_id", *_FIGURES_AS_TEXT)
_TITLES = {
    "gflops": "GFLOP/s", "gbytes_per_s": "GB/s", "reference_pct": "% ref", "best_ns": "its best", "best_pct": "% best",
}  # fmt: skip
_SCIENTIFIC = ("relative_error", "threshold", "worst_element")
_TONES: dict[str, Tone] = {
    "correct": "good",
    "wrong": "bad",
    "failed": "bad",
    "refused": "warn",
    "unavailable": "warn",
}


def _columns(header: Sequence[str], right: Sequence[str] = (), optional: Sequence[str] = ()) -> list[Column]:
    """Returns a column for each name; durations have their unit in each cell, and the path of a binary folds."""
    stays = {name: place for place, name in enumerate(optional)}
    columns = []
    for name in header:
        title = _TITLES.get(name, name.removesuffix("_ns").replace("_", " ").replace(" pct", " %"))
        kind: ValueKind = "duration" if name.endswith("_ns") else "number"
        kind = "text" if name in _TEXTS else "scientific" if name in _SCIENTIFIC else kind
        column = Column(
            title,
            kind,
            stays=stays.get(name),
            folds=name == "binary",
            right=name in right or None,
            judges=name in ("status", "verdict"),
        )
        columns.append(column)
    return columns


def built_document(rows: Sequence[RungRow]) -> Document:
    return rows_document(_BUILD_HEADER, rows, _columns(_BUILD_HEADER, _FIGURES_AS_TEXT))


def verified_document(rows: Sequence[RungRow]) -> Document:
    """Returns a row for each rung that was verified, in the colour of its verdict."""
    tones = [_TONES[str(row[_CHECK_HEADER.index("verdict")])] for row in rows]
    return rows_document(_CHECK_HEADER, rows, _columns(_CHECK_HEADER, _FIGURES_AS_TEXT), tones)


def timed_document(rows: Sequence[RungRow]) -> Document:
    return rows_document(_TIME_HEADER, rows, _columns(_TIME_HEADER, _FIGURES_AS_TEXT, _OPTIONAL_TIMES))


def build_row(built: Built, compiled: Mapping[str, int]) -> RungRow:
    """Returns the row of one rung, in the order of `_BUILD_HEADER`.

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
        shortest_path(built.binary) if record else None,
    )


def check_row(checked: Checked) -> RungRow:
    """Returns the row of one rung, in the order of `_CHECK_HEADER`."""
    job = checked.job
    found = (checked.relative_error, checked.threshold, checked.worst_element, checked.verdict)
    return (job.kernel.number, job.kernel.name, size_text(job.values), *found, job.seed)


def time_row(kernel: Kernel, values: Mapping[str, int], summary: TimingSummary, run_id: str) -> RungRow:
    """Returns the row of one rung, in the order of `_TIME_HEADER`."""
    times = (getattr(summary, name) for name in _TIMES)
    return (kernel.number, kernel.name, size_text(values), *times, run_id)


def collected_document(rows: Sequence[RungRow]) -> Document:
    """Returns a row for each kernel. Names are shortened; `prof show` prints them in full."""
    place = HEADER.index("kernel")
    shown = [[*row[:place], shortened(str(row[place]), _KERNEL_WIDTH), *row[place + 1 :]] for row in rows]
    document = rows_document(HEADER, shown, _columns(HEADER, optional=_OPTIONAL))
    return replace(document, records=Records(HEADER, rows))


def collected_row(status: str, run: Run, profile: Profile, kernel: Kernel | None) -> RungRow:
    """Returns the row of one kernel of one run, in the order of `HEADER`."""
    manifest, timings = run.manifest, run.table("timings")
    workload = manifest.workload or {}
    summary = summarise_rung(kernel, workload, *times_of(timings)) if timings.num_rows else None
    duration_ns = profile.mean(DURATION)
    alone_ns = None if manifest.has_counters else duration_ns
    return (
        status,
        manifest.name,
        profile.kernel if len(manifest.kernels) > 1 else "",
        size_text(workload),
        profile.launches,
        summary.median_ns if summary else alone_ns,
        *(getattr(summary, name, None) for name in _WORK),
        duration_ns if alone_ns is None else None,
        *(profile.mean(name) for name in _METRICS),
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
