"""Shares of a kernel's time: they add up, and what cannot be computed is left out."""

from __future__ import annotations

import pytest

from profiler.analyse.causes.evidence.time_shares import DERIVED, derive_figures, metrics_behind
from profiler.analyse.recording.profile import profile_kernel
from profiler.catalog.metrics import BY_NAME

SCHEDULERS = {
    "issue_active_pct": 40.0, "issue_rate": 0.5, "warp_latency": 10.0, "stall_selected": 1.0,
    "stall_not_selected": 1.0, "stall_long_scoreboard": 6.0, "stall_short_scoreboard": 1.0, "stall_wait": 0.5,
    "stall_gmma": 0.5,
}  # fmt: skip


@pytest.fixture
def figures_of(make_run):
    def derive(**values: float) -> dict[str, float]:
        metrics = {BY_NAME[name].ncu[0]: value for name, value in values.items()}
        return derive_figures(profile_kernel(make_run({"kernel": "k", "metrics": metrics}), "k"))

    return derive


def test_a_scheduler_issues_or_stalls_or_is_empty(figures_of):
    figures = figures_of(**SCHEDULERS)
    assert (figures["empty_pct"], figures["stalled_pct"]) == pytest.approx((20, 40))
    assert figures["issue_active_pct"] + figures["empty_pct"] + figures["stalled_pct"] == 100


def test_stalled_time_is_divided_as_the_cycles_of_waiting_warps_are(figures_of):
    figures = figures_of(**SCHEDULERS)
    waits = [figures[name] for name in ("global_wait_pct", "shared_wait_pct", "math_wait_pct")]
    assert waits == pytest.approx([30, 5, 5])
    assert figures["latency_pct"] == pytest.approx(
        figures["stalled_pct"]
    )  # these are all the stalls there are


def test_the_busiest_resource_leaves_the_rest(figures_of):
    assert figures_of(issue_active_pct=40.0, fma_pipe_pct=30.0)["left_pct"] == 60
    assert figures_of(issue_active_pct=40.0, dram_throughput_pct=90.0)["left_pct"] == 10


def test_shared_memory_makes_one_pass_a_cycle_at_most(figures_of):
    """400 instructions at 2 a cycle are 200 cycles of SMs: 100 passes fill half of them."""
    figures = figures_of(
        shared_wavefronts=100.0, inst_executed=400.0, inst_per_cycle=2.0, shared_conflicts=75.0
    )
    assert figures["shared_pct"] == 50
    assert figures["conflict_share_pct"] == 75
    assert figures["conflict_pct"] == pytest.approx(37.5)


def test_passes_that_neither_loads_nor_stores_make_are_copies(figures_of):
    figures = figures_of(
        shared_wavefronts=100.0, shared_load_wavefronts=50.0, shared_store_wavefronts=10.0,
        shared_conflicts=55.0, shared_load_conflicts=25.0, shared_store_conflicts=0.0,
    )  # fmt: skip
    ways = [figures[name] for name in ("load_ways", "store_ways", "copy_ways")]
    assert ways == pytest.approx([2, 1, 4])


def test_without_any_access_there_is_no_conflict(figures_of):
    assert figures_of(shared_load_wavefronts=0.0, shared_load_conflicts=0.0)["load_ways"] == 1


@pytest.mark.parametrize(
    ("known", "memory"),
    [
        ({"dram_throughput_pct": 80.0}, None),
        ({"dram_throughput_pct": 79.5}, None),  # the same reading from another pass
        ({"dram_throughput_pct": 70.0}, 80.0),
        ({"lsu_pipe_pct": 80.0}, None),
        ({}, 80.0),
    ],
)
def test_the_busiest_unit_is_unknown_unless_a_known_one_reads_the_same(figures_of, known, memory):
    figures = figures_of(mem_busy_pct=50.0, max_bandwidth_pct=80.0, **known)
    assert figures.get("memory_pct") == memory


@pytest.mark.parametrize(("l2_throughput_pct", "l2"), [(95.0, 80.0), (79.5, 80.0), (60.0, None)])
def test_l2_is_as_busy_as_the_busiest_unit_that_it_may_be(figures_of, l2_throughput_pct, l2):
    figures = figures_of(mem_busy_pct=80.0, max_bandwidth_pct=50.0, l2_throughput_pct=l2_throughput_pct)
    assert figures.get("l2_pct") == l2


def test_a_share_of_nothing_is_left_out(figures_of):
    assert "conflict_share_pct" not in figures_of(shared_conflicts=0.0, shared_wavefronts=0.0)
    assert "active_pct" not in figures_of(issue_active_pct=0.0, issue_rate=0.0)


def test_every_derived_figure_rests_on_the_catalogue():
    for derived in DERIVED:
        assert derived.doc.endswith(".")
        assert derived.name not in BY_NAME
        assert set(metrics_behind([derived.name])) <= set(BY_NAME)


def test_metrics_are_named_once_each():
    behind = metrics_behind(["stalled_pct", "issue_rate", "empty_pct"])
    assert behind == ["issue_active_pct", "issue_rate"]
