"""Shares of a kernel's time: they add up, and what cannot be computed is left out."""

import pytest

from profiler.analyse.causes.evidence.time_shares import derive_figures


@pytest.fixture
def figures_of(make_profile):
    return lambda **counters: derive_figures(make_profile({"metrics": counters}))


def test_a_scheduler_issues_or_stalls_or_is_empty(figures_of):
    figures = figures_of(issue_active_pct=40.0, issue_rate=0.5)
    assert (figures["empty_pct"], figures["stalled_pct"]) == pytest.approx((20, 40))
    assert figures["issue_active_pct"] + figures["empty_pct"] + figures["stalled_pct"] == 100


def test_shared_memory_makes_one_pass_a_cycle_at_most(figures_of):
    """400 instructions at 2 a cycle are 200 cycles of SMs: 100 passes fill half of them."""
    assert figures_of(shared_wavefronts=100.0, inst_executed=400.0, inst_per_cycle=2.0)["shared_pct"] == 50


def test_the_share_of_l1_is_of_the_elapsed_time_and_so_is_that_of_shared_memory_in_it(figures_of):
    """An SM has warps for 80 % of the time, and L1 is busy for half of that."""
    figures = figures_of(
        issue_active_pct=40.0, issue_rate=0.5, l1_throughput_pct=50.0, lsu_pipe_pct=10.0,
        shared_wavefronts=20.0, inst_executed=400.0, inst_per_cycle=2.0,
    )  # fmt: skip
    shares = [figures[name] for name in ("l1_pct", "l1_cycles_per_access", "shared_of_l1_pct")]
    assert shares == pytest.approx([40, 4, 25])


ISSUED = {"issue_active_pct": 40.0, "issue_rate": 0.5}


@pytest.mark.parametrize(
    ("counted", "share"),
    [
        ({"sm__cycles_active.avg": 880.0}, 88.0),  # as `ncu` records it with its default sections
        ({"l1tex__cycles_active.avg": 880.0} | ISSUED, 88.0),
        (ISSUED, 72.0),  # a scheduler may have no warp while another of its SM has one: more is not known
    ],
)
def test_l1_works_while_its_sm_has_a_warp_on_any_scheduler(figures_of, counted, share):
    metrics = {"l1_throughput_pct": 90.0, "gpc__cycles_elapsed.max": 900.0}
    assert figures_of(**metrics, **counted)["l1_pct"] == pytest.approx(share)


def test_shares_that_were_not_recorded_and_shares_of_nothing_are_left_out(figures_of):
    assert "active_pct" not in figures_of(issue_active_pct=0.0, issue_rate=0.0)
    assert "empty_pct" not in figures_of(issue_active_pct=40.0)


@pytest.mark.parametrize(
    "metrics",
    [
        {"sm__cycles_elapsed.max": 1_000.0, "launch__sm_count": 40.0},
        {"gpc__cycles_elapsed.max": 1_000.0, "device__attribute_multiprocessor_count": 40.0},
    ],
)
def test_the_cycles_of_all_sms_are_found_in_reports_of_older_versions_of_ncu_too(figures_of, metrics):
    figures = figures_of(**metrics)
    assert (figures["sms"], figures["sm_cycles"]) == (40, 40_000)


def test_the_alu_pipe_is_found_under_the_name_that_nsight_computes_own_sections_use(make_profile):
    metrics = {"sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_elapsed": 62.0}
    assert make_profile({"metrics": metrics}).mean("alu_pipe_pct") == 62
