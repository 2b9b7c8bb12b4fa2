"""What has just been collected, as rows, and what one would type next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from profiler.analyse.recording.overview import summarise_rung
from profiler.analyse.recording.profile import Profile
from profiler.catalog import DEFAULT_LADDER
from profiler.catalog.ladders.ladder import Kernel, Ladder, size_text
from profiler.catalog.metrics import HEADLINE
from profiler.present.rungs import Cell, Row, duration
from profiler.store.runs.manifest import DEFAULT_PRESET, Manifest, preset_name, rung_name
from profiler.store.runs.run_store import Run
from profiler.text import number, shortened

_METRICS = HEADLINE[1:]
_KERNEL_WIDTH = 40
HEADER = (
    "status", "run", "kernel", "size", "launches", "unprofiled_ns", "gflops", "gbytes_per_s", "reference_pct", "profiled_ns",
    *_METRICS, "run_id",
)  # fmt: skip
RIGHT = tuple(range(4, len(HEADER) - 1))
OPTIONAL = tuple(HEADER.index(name) for name in (
    "kernel", "lsu_inst_share_pct", "gbytes_per_s", "size", "stall_short_scoreboard", "stall_mio_throttle", "lsu_pipe_pct",
    "fma_pipe_pct", "issue_active_pct", "launches", "gflops",
))  # fmt: skip


def collected_row(status: str, run: Run, profile: Profile, kernel: Kernel | None) -> Row:
    manifest = run.manifest
    timings = run.table("timings")
    summary = None
    if timings.num_rows:
        columns = [timings.column(name).to_pylist() for name in ("kernel_ns", "reference_ns")]
        summary = summarise_rung(kernel, manifest.workload or {}, *columns)
    return (
        status,
        manifest.name,
        profile.kernel if len(manifest.kernels) > 1 else "",
        size_text(manifest.workload or {}),
        profile.launches,
        summary.median_ns if summary else None,
        summary.gflops if summary else None,
        summary.gbytes_per_s if summary else None,
        summary.reference_pct if summary else None,
        _mean(profile, HEADLINE[0]),
        *(_mean(profile, name) for name in _METRICS),
        manifest.run_id,
    )


def cells(row: Row) -> list[str]:
    """A kernel is named where a run holds several, and cut: `prof show` has its whole name."""
    return [_cell(name, value) for name, value in zip(HEADER, row, strict=True)]


def next_command(runs: Sequence[Manifest], ladder: Ladder | None, names: Iterable[str]) -> str:
    """The comparison that is most likely meant: the last rung with the nearest one below that has such a run."""
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


def _cell(name: str, value: Cell) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return duration(value) if name.endswith("_ns") else number(value)
    return shortened(str(value), _KERNEL_WIDTH) if name == "kernel" else str(value)
