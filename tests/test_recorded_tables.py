"""The tables of the documentation, from made-up runs whose figures are known."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from profiler.catalog.ladders.ladder_file import read_ladder
from profiler.catalog.metrics import BY_NAME
from profiler.store.reports.request import Timing
from profiler.store.runs.manifest import Provenance
from profiler.store.runs.run_store import RunStore
from profiler.store.runs.timed_run import TimedRun, commit_timings

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "docs"))
import recorded_tables

_ROWS = """
title = "Rows"
reference = 0
command = ["program"]
bytes = "8 * n"
[workload]
n = 1000000
[[kernel]]
number = 0
name = "memcpy"
idea = "the device's own copy"
regex = "."
[[kernel]]
number = 1
name = "scalar"
idea = "a float a thread"
regex = "."
published = [{ gpu = "NVIDIA A100 80GB", gbytes_per_s = 1420 }]
[[kernel]]
number = 2
name = "float4"
idea = "four floats a thread"
regex = "."
published = [{ gpu = "NVIDIA A100 80GB", gbytes_per_s = 1870 }]
[[kernel]]
number = 3
name = "staged"
idea = "through shared memory"
regex = "."
expects = "same"
"""
_COUNTERS = {
    "dram_bytes_per_s": 3.9e12, "max_bandwidth_pct": 81.25, "l1_hit_pct": 0.0, "l2_hit_pct": 33.4,
    "mem_pipes_busy_pct": 9.0, "inst_executed": 250_000.0, "dram_throughput_pct": 81.25,
}  # fmt: skip


@pytest.fixture
def rows_ladder(tmp_path, make_run):
    """A ladder in a folder `kernels`, and its runs: a copy that was timed, and three kernels."""
    path = tmp_path / "kernels" / "rows" / "ladder.toml"
    path.parent.mkdir(parents=True)
    path.write_text(_ROWS)
    (tmp_path / "kernels" / "empty").mkdir()
    (tmp_path / "kernels" / "empty" / "ladder.toml").write_text(_ROWS)
    store, workload = RunStore(tmp_path / "runs"), {"n": 1_000_000}
    for number, time_ns in ((0, 2000.0), (1, 2500.0), (2, 1990.0), (3, 1991.0)):
        timings = [Timing(0, repeat, time_ns + repeat, 2000.0 + repeat) for repeat in range(3)]
        provenance = Provenance(reference="memcpy")
        timed = TimedRun("rows", number, workload, datetime(2026, 1, 1, tzinfo=UTC), "NVIDIA H200", "", provenance, timings)  # fmt: skip
        commit_timings(store, [timed])
        if number:
            metrics = {BY_NAME[name].ncu[0]: value for name, value in _COUNTERS.items()}
            metrics["gpu__time_duration.sum"] = (time_ns, "ns")
            opcodes = {"LDG.E" if number == 1 else "LDG.E.128": 8, "STG.E.128": 2}
            make_run({"kernel": "k", "metrics": metrics, "opcodes": opcodes}, name=f"rows-{number}", root=store.root, workload=workload)  # fmt: skip
    return read_ladder(path), store


def cells(table):
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


def test_a_ladder_that_moves_bytes_has_a_row_a_rung_with_the_figures_of_memory(rows_ladder):
    header, _, *rows = cells(recorded_tables.memory_table(*rows_ladder))
    assert header[3] == "% of memcpy"
    assert rows[0] == ["0", "the device's own copy", "3,998 ± 0.05 %", "100.0", *[""] * 4]
    assert rows[1] == [
        "1", "a float a thread", "3,199 ± 0.04 %", "80.0", "81.2", "1", "32/128", "1,420 GB/s on A100 80GB",
    ]  # fmt: skip
    assert rows[2][2:4] == ["4,018 ± 0.05 %", "100.5"]
    assert rows[2][6] == "128"


def test_every_step_with_a_claim_is_one_row(rows_ladder):
    ladder, store = rows_ladder
    header, _, *rows = cells(recorded_tables.ideas_table(ladder.folder.parent, store))
    assert header == ["ladder", "rung", "idea", "from", "claimed", "here", "story", "counters"]
    assert [row[:5] for row in rows] == [
        ["rows", "2 float4", "four floats a thread", "1", "1.317x on A100 80GB"],
        ["rows", "3 staged", "through shared memory", "2", "no gain"],
    ]
    assert [row[6] for row in rows] == ["holds", "holds"]
    assert rows[0][5].startswith("1.256x ± ")
    assert rows[0][7] == "DRAM 81 % busy both before and after; loads 32 -&gt; 128 bits"
    assert rows[1][5].endswith(" =")
