"""A program that runs several kernels a step, of which one is profiled: said by every verb that shows both times."""

import json

import pytest

_LADDER = """
title = "Two operations"
command = ["program"]
bytes = "8 * n"
[workload]
n = 1000000
[[kernel]]
number = 1
name = "unfused"
idea = "an operation after the other; both are timed, the second is profiled"
regex = "second"
[[kernel]]
number = 2
name = "fused"
idea = "both at once"
regex = "fused"
expects = "faster"
"""
_COUNTERS = {
    "dram_throughput_pct": 90.0, "dram_bytes_per_s": 4e12, "dram_bytes_read": 4e6, "dram_bytes_written": 4e6,
    "inst_executed": 1e6, "issue_active_pct": 20.0,
}  # fmt: skip
SAID = "the profiled kernel takes 50.00 us, the step that was timed without the profiler 100.0 us"


@pytest.fixture
def here(tmp_path, make_run, prof_here):
    """`prof` over rung 1, of whose 100 us one kernel takes half, and rung 2, one kernel of 60 us."""
    path = tmp_path / "kernels" / "steps" / "ladder.toml"
    path.parent.mkdir(parents=True)
    path.write_text(_LADDER)
    for number, kernel_ns, step_ns in ((1, 5e4, 1e5), (2, 6e4, 6e4)):
        launch = {"ns": kernel_ns, "metrics": _COUNTERS}
        facts = {"ladder": "steps", "kernel": number, "workload": {"n": 1_000_000}}
        make_run(
            launch, launch, name=f"steps-{number}", root=tmp_path / "runs", timings=[step_ns] * 3, **facts
        )
    return lambda *words: prof_here("--runs", tmp_path / "runs", "--ladder", path, *words)


def test_the_ladder_says_so_and_holds_times_against_times(here):
    unfused, fused = json.loads(here("ladder", "--format", "json").stdout)["kernels"]
    assert (unfused["is_part_of_step"], fused["is_part_of_step"]) == (True, False)
    assert fused["speedup"]["ratio"] == pytest.approx(100 / 60, rel=1e-5)
    assert ("inst_per_byte" in unfused["metrics"], "inst_per_byte" in fused["metrics"]) == (False, True)
    page = here("ladder").stdout
    assert SAID in " ".join(page.split())
    assert "(its part)" in page


def test_so_do_a_sheet_and_a_comparison(here):
    assert SAID in " ".join(here("show", "1").stdout.split())
    assert SAID not in " ".join(here("show", "2").stdout.split())
    compared = here("compare", "1", "2").stdout
    assert SAID in " ".join(compared.split())
    assert "1.667x as fast" in compared
    assert "moved_per_useful_byte" not in compared


@pytest.mark.slow
def test_a_page_says_what_the_terminal_says(here, drawing, tmp_path):
    path = tmp_path / "page.html"
    assert here("report", "-o", path).returncode == 0
    page = path.read_text()
    assert "1.667x as fast" in page
    assert "moved_per_useful_byte" not in page


def test_and_what_the_idea_was_worth_is_by_the_times_alone(here):
    (idea,) = json.loads(here("ladder", "--ideas", "--format", "json").stdout)["ideas"]
    assert idea["story"] == "holds"
    assert idea["reason"] == "counters of one kernel alone, where steps 1 runs several"
