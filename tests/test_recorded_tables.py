"""The tables of the documentation, from made-up runs whose figures are known."""

import pytest
import recorded_tables

from profiler.catalog.ladders.ladder_file import read_ladder
from profiler.store.runs.run_store import RunStore
from tests.rows_ladder import WORKLOAD, commit_times, write_rows_ladder

_COUNTERS = {
    "dram_bytes_per_s": 3.9e12, "max_bandwidth_pct": 81.25, "l1_hit_pct": 0.0, "l2_hit_pct": 33.4,
    "mem_pipes_busy_pct": 9.0, "inst_executed": 250_000.0, "dram_throughput_pct": 81.25,
}  # fmt: skip


@pytest.fixture
def rows_ladder(tmp_path, make_run):
    """A ladder in a folder `kernels`, and its runs: a copy that was timed, and three kernels."""
    path = write_rows_ladder(tmp_path / "kernels" / "rows")
    write_rows_ladder(tmp_path / "kernels" / "empty")
    store, times_ns = RunStore(tmp_path / "runs"), (2000.0, 2500.0, 1990.0, 1991.0)
    commit_times(store, times_ns, processes=1)
    for number, time_ns in enumerate(times_ns):
        if number:
            opcodes = {"LDG.E" if number == 1 else "LDG.E.128": 8, "STG.E.128": 2}
            launch = {"ns": time_ns, "metrics": _COUNTERS, "opcodes": opcodes}
            make_run(launch, name=f"rows-{number}", root=store.root, workload=WORKLOAD)
    return read_ladder(path), store


def cells(table):
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


def test_a_ladder_that_moves_bytes_has_a_row_a_rung_with_the_figures_of_memory(rows_ladder):
    header, _, *rows = cells(recorded_tables.memory_table(*rows_ladder))
    assert header[3] == "% of memcpy"
    assert rows[0] == ["0", "the device's own copy", "3,998 ± 0.05 %", "100.0", *[""] * 4]
    assert rows[1] == [
        "1", "a float a thread", "3,199 ± 0.04 %", "80.0", "81.2", "1", "32/128", "1,400 GB/s on A100 80GB",
    ]  # fmt: skip
    assert rows[2][2:4] == ["4,018 ± 0.05 %", "100.5"]
    assert rows[2][6] == "128"


def test_every_step_with_a_claim_is_one_row(rows_ladder):
    ladder, store = rows_ladder
    header, _, *rows = cells(recorded_tables.ideas_table(ladder.folder.parent, store))
    assert header == ["ladder", "rung", "idea", "from", "claimed", "here", "story", "counters"]
    assert [row[:5] for row in rows] == [
        ["rows", "2 wide", "four floats a thread", "1", "1.300x on A100 80GB"],
        ["rows", "3 staged", "through shared memory", "2", "no gain"],
    ]
    assert [row[6] for row in rows] == ["holds", "holds"]
    assert rows[0][5].startswith("1.256x ± ")
    assert rows[0][7] == "launch-too-short before and after; loads 32 -&gt; 128 bits"
    assert rows[1][5].endswith(" =")
