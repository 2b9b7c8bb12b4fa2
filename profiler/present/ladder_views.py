"""Which counters a ladder's table shows of each rung: of kernels that compute, or of kernels that move bytes.

A column is data: its title, the metrics that fill it, how a rung's cell is made of them, and when it
gives way to a narrow window. `present/ladder.py` makes the table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from profiler.analyse.ladder.ladder import LadderFinding, LadderView, RungFinding
from profiler.present.memory import width_text
from profiler.present.terminal import VERDICT_MARK
from profiler.text import number


@dataclass(frozen=True)
class CounterColumn:
    """Of the columns that do not fit, the one of lowest `stays` goes first."""

    title: str
    metrics: tuple[str, ...]
    stays: int
    cell: Callable[[RungFinding], str]


def counter_columns(finding: LadderFinding) -> list[CounterColumn]:
    """Those of the finding's view that any rung fills."""
    recorded = {name for rung in finding.kernels for name in rung.metrics}
    return [column for column in _VIEWS[finding.view] if recorded.intersection(column.metrics)]


def counter_legend(finding: LadderFinding, shown: Sequence[str]) -> str:
    """What the titles `shown` mean; empty where none of them is a counter's."""
    told = []
    for titles, meaning in _LEGENDS[finding.view]:
        here = [title for title in titles if title in shown]
        told += [f"{', '.join(here)}: {meaning}"] if here else []
    marked = [column.title for column in _VIEWS[finding.view] if column.cell is not _width]
    if any(title in shown for title in marked):
        told.append(_MARKS_LEGEND)
    return "; ".join(told)


def _counter(title: str, metric: str, stays: int, form: Callable[[float], str]) -> CounterColumn:
    def cell(rung: RungFinding) -> str:
        value = rung.metrics.get(metric)
        return "" if value is None else f"{form(value)} {_mark(rung, metric)}"

    return CounterColumn(title, (metric,), stays, cell)


def _mark(rung: RungFinding, metric: str) -> str:
    """Where it went from the rung that this one follows; a space where nobody asked, so that figures stand in line."""
    change = rung.delta.get(metric)
    if change is None:
        return " "
    return VERDICT_MARK.get(change.verdict) or ("↑" if change.delta > 0 else "↓")


def _width(rung: RungFinding) -> str:
    """Bits of a load and of a store, once where they are alike; blocks have no width to tell."""
    sides = [width_text(rung.metrics, kind) for kind in ("load", "store")]
    if sides == ["-", "-"] and "bulk_loads" not in rung.metrics:
        return ""  # not recorded
    return sides[0] if sides[0] == sides[1] else "/".join(sides)


def _tenths(value: float) -> str:
    return f"{value:.1f}"


def _hundredths(value: float) -> str:
    return f"{value:.2f}"


def _thousandths(value: float) -> str:
    return f"{value:.3f}" if value < 100 else number(value)


def _giga(value: float) -> str:
    return number(value / 1e9)


_VIEWS: dict[LadderView, tuple[CounterColumn, ...]] = {
    "compute": (
        _counter("issue", "issue_active_pct", 4, _tenths),
        _counter("FMA", "fma_pipe_pct", 3, _tenths),
        _counter("LSU", "lsu_pipe_pct", 1, _tenths),
        _counter("MIO", "stall_mio_throttle", 2, _hundredths),
        _counter("short", "stall_short_scoreboard", 0, _hundredths),
    ),
    "memory": (
        _counter("DRAM", "dram_bytes_per_s", 5, _giga),
        _counter("max bw", "max_bandwidth_pct", 4, _tenths),
        _counter("L1 hit", "l1_hit_pct", 2, _tenths),
        _counter("L2 hit", "l2_hit_pct", 3, _tenths),
        _counter("pipes", "mem_pipes_busy_pct", 1, _tenths),
        _counter("inst/B", "inst_per_byte", 0, _thousandths),
        CounterColumn("width", ("load_width_bits", "store_width_bits", "bulk_loads"), 6, _width),
    ),
}
# Titles, and what they mean together; of each group those that are shown.
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
