"""The README and other generated pages show what the commands print."""

from __future__ import annotations

import importlib.util
import re
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest

from profiler.catalog.ladders.ladder_file import read_ladder
from profiler.catalog.metrics import BY_NAME
from profiler.store.reports.request import Timing
from profiler.store.runs.manifest import Provenance
from profiler.store.runs.run_store import RunStore
from profiler.store.runs.timed_run import TimedRun, commit_timings

ROOT = Path(__file__).resolve().parent.parent


@cache
def _generator():
    spec = importlib.util.spec_from_file_location("readme", ROOT / "tests" / "readme.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", ["README.md", "docs/memory.md", "kernels/gemm/NOTES.md"])
def test_the_output_shown_on_a_page_is_what_the_commands_print_today(page):
    text = (ROOT / page).read_text()
    assert re.search("<!-- (output|ladder): ", text)
    assert _generator().generated_readme(text) == text, "run `just docs`"


def test_every_page_that_is_generated_is_checked_above():
    assert [str(page.relative_to(ROOT)) for page in _generator().PAGES] == [
        "README.md", "docs/memory.md", "kernels/gemm/NOTES.md",
    ]  # fmt: skip


def test_every_ladder_that_moves_bytes_has_its_table():
    generator = _generator()
    text = (ROOT / "docs" / "memory.md").read_text()
    for climb in generator.recorded_climbs(ROOT / "kernels", RunStore(ROOT / "runs")):
        if climb.ladder.reference == 0 and climb.ladder.name != "gemm":
            assert f"<!-- ladder: {climb.ladder.name} -->" in text


def test_the_picture_in_the_readme_is_what_the_command_prints_today():
    generator = _generator()
    assert generator.PICTURE.read_text() == generator.generated_picture(), "run `just docs`"
    assert f"({generator.PICTURE.relative_to(ROOT)})" in (ROOT / "README.md").read_text()


def test_the_picture_of_the_climb_is_drawn_from_the_runs_that_are_there():
    generator = _generator()
    assert generator.CLIMB.read_bytes() == generator.generated_climb(), "run `just docs`"
    assert f"({generator.CLIMB.relative_to(ROOT)})" in (ROOT / "README.md").read_text()
    assert f"({generator.CLIMB.name})" in (generator.CLIMB.parent / "NOTES.md").read_text()


def test_the_picture_of_the_sweep_is_drawn_from_the_one_that_is_stored():
    generator = _generator()
    assert generator.TUNING.read_bytes() == generator.generated_tuning(), "run `just docs`"
    assert f"({generator.TUNING.relative_to(ROOT)})" in (ROOT / "README.md").read_text()


def test_the_picture_loads_nothing_from_elsewhere():
    addresses = re.findall(r"https?://[^\"' )]+", _generator().PICTURE.read_text())
    assert set(addresses) <= {"http://www.w3.org/2000/svg", "https://www.textualize.io"}, addresses


# Tables of ladders whose kernels move bytes, from made-up runs

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
    header, _, *rows = cells(_generator().memory_table(*rows_ladder))
    assert header[3] == "% of memcpy"
    assert rows[0] == ["0", "the device's own copy", "3,998 ± 0.05 %", "100.0", *[""] * 8]
    assert rows[1] == [
        "1", "a float a thread", "3,199 ± 0.04 %", "80.0", "3,900", "81.2", "0.0", "33.4", "9.0", "1", "32/128",
        "1,420 GB/s on A100 80GB",
    ]  # fmt: skip
    assert rows[2][2:4] == ["4,018 ± 0.05 %", "100.5"]
    assert rows[2][10] == "128"


def test_every_claimed_step_of_every_ladder_with_runs_is_one_row(rows_ladder):
    ladder, store = rows_ladder
    header, _, *rows = cells(_generator().ideas_table(ladder.folder.parent, store))
    assert header == ["ladder", "rung", "idea", "from", "claimed", "here", "story", "counters"]
    assert [row[:5] for row in rows] == [
        ["rows", "2 float4", "four floats a thread", "1", "1.317x on A100 80GB"],
        ["rows", "3 staged", "through shared memory", "2", "no gain"],
    ]
    assert [row[6] for row in rows] == ["holds", "holds"]
    assert rows[0][5].startswith("1.256x ± ")
    assert rows[0][7] == "DRAM 81 % busy both before and after; loads 32 -&gt; 128 bits"
    assert rows[1][5].endswith(" =")
