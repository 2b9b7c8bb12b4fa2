"""The counters that a ladder's table shows for each rung, which differ between compute and memory kernels.

A column is data: its title, the kind of its values, when a narrow window leaves it out, the metrics that fill
it, and how to compute a rung's value. `documents/ladder.py` makes the table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from profiler.analyse.ladder.ladder import LadderFinding, LadderView, RungFinding
from profiler.present.document import Column, Kind, Legend, Marked, Meaning, Value
from profiler.present.documents.comparison import VERDICT_MARK
from profiler.present.documents.recording import width_text


@dataclass(frozen=True)
class CounterColumn:
    """A column of the table. `value` fills it if one of the `metrics` is recorded."""

    column: Column
    metrics: tuple[str, ...]
    value: Callable[[RungFinding], Value]


def counter_columns(finding: LadderFinding) -> list[CounterColumn]:
    """Returns the columns of the finding's view that any rung fills."""
    recorded = {name for rung in finding.kernels for name in rung.metrics}
    return [one for one in _VIEWS[finding.view] if recorded.intersection(one.metrics)]


def counter_legend(finding: LadderFinding) -> list[Legend]:
    """Returns the meaning of the counters' titles; empty if there are no counters."""
    columns = counter_columns(finding)
    titles = [one.column.title for one in columns]
    entries = [
        Meaning([title for title in group if title in titles], meaning)
        for group, meaning in _LEGENDS[finding.view]
        if any(title in titles for title in group)
    ]
    marked = [one.column.title for one in columns if one.value is not _width]
    entries += [Meaning(marked, _MARKS_LEGEND, named=False)] if marked else []
    return [Legend(entries)] if entries else []


def _counter(title: str, metric: str, stays: int, kind: Kind) -> CounterColumn:
    def value(rung: RungFinding) -> Value:
        mean = rung.metrics.get(metric)
        return None if mean is None else Marked(mean, f" {_mark(rung, metric)}")

    return CounterColumn(Column(title, kind, stays), (metric,), value)


def _mark(rung: RungFinding, metric: str) -> str:
    """Returns the direction of the change from the rung that this one follows.

    It is a space if nothing was compared, so that figures stay aligned.
    """
    change = rung.delta.get(metric)
    if change is None:
        return " "
    return VERDICT_MARK.get(change.verdict) or ("↑" if change.delta > 0 else "↓")


def _width(rung: RungFinding) -> str:
    """Returns the bits of a load and of a store, once if they are alike; blocks have no width."""
    sides = [width_text(rung.metrics, kind) for kind in ("load", "store")]
    if sides == ["-", "-"] and "bulk_loads" not in rung.metrics:
        return ""  # not recorded
    return sides[0] if sides[0] == sides[1] else "/".join(sides)


_WIDTH = ("load_width_bits", "store_width_bits", "bulk_loads")
_VIEWS: dict[LadderView, tuple[CounterColumn, ...]] = {
    "compute": (
        _counter("issue", "issue_active_pct", 4, "tenths"),
        _counter("FMA", "fma_pipe_pct", 3, "tenths"),
        _counter("LSU", "lsu_pipe_pct", 1, "tenths"),
        _counter("MIO", "stall_mio_throttle", 2, "hundredths"),
        _counter("short", "stall_short_scoreboard", 0, "hundredths"),
    ),
    "memory": (
        _counter("DRAM", "dram_bytes_per_s", 5, "giga"),
        _counter("max bw", "max_bandwidth_pct", 4, "tenths"),
        _counter("L1 hit", "l1_hit_pct", 2, "tenths"),
        _counter("L2 hit", "l2_hit_pct", 3, "tenths"),
        _counter("pipes", "mem_pipes_busy_pct", 1, "tenths"),
        _counter("inst/B", "inst_per_byte", 0, "thousandths"),
        CounterColumn(Column("width", stays=6, right=True), _WIDTH, _width),
    ),
}
# Titles, and the meaning that they share.
_LEGENDS: dict[LadderView, tuple[tuple[tuple[str, ...], str], ...]] = {
    "compute": (
        (("issue", "FMA", "LSU"), "% of their peak"),
        (("MIO", "short"), "cycles per issue that a warp waits for the MIO queue, for shared memory"),
    ),
    "memory": (
        (("DRAM",), "GB/s of device memory"),
        (("max bw",), "Max Bandwidth, %"),
        (("L1 hit", "L2 hit"), "hit rates, %"),
        (("pipes",), "Mem Pipes Busy, %"),
        (("inst/B",), "instructions of all lanes per useful byte"),
        (("width",), "bits of a thread's global loads/stores, bulk for copies of blocks"),
    ),
}
_MARKS_LEGEND = "arrows, = and ?: compared with the rung it follows"
