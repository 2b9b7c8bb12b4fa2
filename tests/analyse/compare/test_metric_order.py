"""Which changes of a comparison stand first, and which only repeat another."""

import pytest

from profiler.analyse.compare.compare import compare_profiles
from profiler.analyse.compare.metric_order import in_telling_order, repeated, way_of
from profiler.analyse.findings import MetricDelta
from profiler.catalog.metrics import BY_NAME
from profiler.present.documents.comparison import shown_metrics
from tests.profiles import profiles_in


def moved(name, before, after, **fields):
    verdict = {"lower": "better", "higher": "worse", None: "changed"}[BY_NAME[name].better]
    if verdict != "changed" and after > before:
        verdict = {"better": "worse", "worse": "better"}[verdict]
    settled = {"verdict": verdict, "reason": "", **fields}
    return MetricDelta(name, name, BY_NAME[name].unit, before, after, after - before, None, **settled)


def same(name, value):
    return moved(name, value, value, verdict="same", reason="identical")


def order(*deltas, wanted=()):
    return [one.name for one in in_telling_order(deltas, wanted)]


def test_the_headline_stands_first_in_its_own_order_as_far_as_it_moved():
    found = order(
        moved("stall_long_scoreboard", 10.0, 1.0),
        moved("stall_mio_throttle", 0.1, 0.3),
        same("issue_active_pct", 40.0),
        moved("fma_pipe_pct", 20.0, 21.0),
        moved("duration_ns", 9.0, 8.0),
    )
    assert found == ["duration_ns", "fma_pipe_pct", "stall_mio_throttle", "stall_long_scoreboard", "issue_active_pct"]  # fmt: skip


def test_the_longest_waits_stand_behind_the_duration_whatever_part_of_themselves_changed():
    found = order(
        moved("inst_executed", 100.0, 10.0),
        moved("stall_drain", 0.1, 0.9),
        moved("stall_long_scoreboard", 10.0, 13.0),
        moved("duration_ns", 9.0, 8.0),
    )
    assert found == ["duration_ns", "stall_long_scoreboard", "stall_drain", "inst_executed"]


def test_a_wait_that_changes_less_than_a_hundredth_of_a_warps_time_is_none_of_the_longest():
    others = (same("stall_wait", 100.0), moved("inst_executed", 100.0, 50.0))
    assert order(moved("stall_drain", 0.0, 0.9), *others)[0] == "inst_executed"
    assert order(moved("stall_drain", 0.0, 1.1), *others)[0] == "stall_drain"


def test_a_wait_of_the_headline_that_is_next_to_nothing_of_a_warps_time_stands_among_the_others():
    """On an H200, 3.6x as fast with larger tiles: of 40 cycles from issue to issue, this wait took 0.05, and then 0.4 of 9."""
    tiny, shorter = moved("stall_mio_throttle", 0.05, 0.41), moved("stall_long_scoreboard", 40.0, 9.0)
    fewer = moved("inst_executed", 100.0, 33.0)
    assert order(tiny, shorter, fewer) == ["stall_long_scoreboard", "inst_executed", "stall_mio_throttle"]
    notable = moved("stall_mio_throttle", 0.05, 0.46)
    assert order(notable, shorter, fewer)[0] == "stall_mio_throttle"


def test_the_pipe_that_does_the_arithmetic_of_a_side_stands_before_the_other_pipes():
    others = (
        moved("fma_pipe_pct", 30.0, 3.0),
        moved("lsu_pipe_pct", 13.0, 12.0),
        moved("duration_ns", 9.0, 8.0),
    )
    tensor = moved("tensor_pipe_pct", 0.0, 20.0)
    assert order(*others, tensor)[:3] == ["duration_ns", "tensor_pipe_pct", "fma_pipe_pct"]
    assert order(*others, moved("alu_pipe_pct", 31.0, 9.0))[1] == "alu_pipe_pct"
    assert order(*others, moved("alu_pipe_pct", 29.0, 9.0))[-1] == "alu_pipe_pct"


def test_a_warp_that_is_ready_waits_for_nothing():
    found = order(moved("stall_not_selected", 0.0, 5.0), moved("stall_wait", 5.0, 4.0))
    assert found == ["stall_wait", "stall_not_selected"]


def test_what_got_worse_is_not_hidden_by_larger_gains_nor_the_other_way_round():
    large = [
        moved(name, 100.0, 10.0)
        for name in ("inst_executed", "l2_sectors", "shared_load_conflicts", "shared_store_conflicts")
    ]
    small = moved("dram_bytes_read", 100.0, 105.0)
    assert order(*large, small).index("dram_bytes_read") == 1
    swapped = [moved(one.name, one.after, one.before) for one in (*large, small)]
    assert order(*swapped).index("dram_bytes_read") == 0


def test_all_of_a_tiny_part_is_tiny():
    conflicts = moved("shared_load_conflicts", 9.0, 0.0)
    found = order(conflicts, same("shared_load_wavefronts", 1000.0), moved("l2_sectors", 100.0, 80.0))
    assert found[:2] == ["l2_sectors", "shared_load_conflicts"]
    assert order(conflicts, moved("l2_sectors", 100.0, 80.0))[0] == "shared_load_conflicts"


def test_what_did_not_move_comes_last_the_headline_first():
    found = order(same("l2_hit_pct", 5.0), same("fma_pipe_pct", 5.0), moved("registers", 32, 64))
    assert found == ["registers", "fma_pipe_pct", "l2_hit_pct"]


def test_what_was_asked_for_comes_first():
    assert order(moved("duration_ns", 2.0, 1.0), same("l2_hit_pct", 5.0), wanted=["l2_hit_pct"]) == [
        "l2_hit_pct",
        "duration_ns",
    ]


def test_a_change_of_what_it_follows_makes_it_a_repetition_and_any_other_change_does_not():
    executed = moved("inst_executed", 1000.0, 800.0)
    assert repeated([executed, moved("inst_issued", 1010.0, 809.0)]) == {"inst_issued"}
    assert repeated([executed, moved("inst_issued", 1010.0, 900.0)]) == set()  # replays took their place
    assert repeated([same("inst_executed", 1000.0), moved("inst_issued", 1010.0, 900.0)]) == set()
    passes = moved("shared_load_wavefronts", 1000.0, 800.0)
    assert repeated([passes, moved("shared_load_conflicts", 200.0, 0.0)]) == {"shared_load_wavefronts"}
    assert repeated([passes, moved("shared_load_conflicts", 200.0, 20.0)]) == set()


def test_cycles_repeat_the_duration_unless_the_clock_moved():
    shorter = moved("duration_ns", 776.0, 496.0)
    assert repeated([shorter, moved("cycles", 1535.0, 974.0)]) == {"cycles"}
    assert repeated([shorter, moved("cycles", 1535.0, 900.0)]) == set()


def test_loads_and_stores_that_became_as_wide_are_two_facts():
    assert repeated([moved("load_width_bits", 32, 128), moved("store_width_bits", 32, 128)]) == set()


def test_no_metric_follows_itself_or_one_that_is_unknown():
    for metric in BY_NAME.values():
        assert metric.name not in metric.follows
        assert set(metric.follows) <= set(BY_NAME), metric.name


def test_the_direction_of_a_change_needs_no_certainty():
    likely = moved("inst_executed", 1.0, 2.0, verdict="unclear", reason="beyond_launches")
    assert [way_of(one) for one in (likely, moved("registers", 1, 2))] == ["worse", "changed"]


def test_wider_loads_of_shared_memory_show_the_conflicts_that_they_cost(recorded):
    """On an H200: fewer passes of loads, for more of stores; 12.5 % less time, and as many cycles."""
    found = compare_profiles(*profiles_in(recorded, "5", "6"))
    shown, hidden = ([one.name for one in part] for part in shown_metrics(found))
    assert "shared_store_conflicts" in shown
    assert {"cycles", "inst_issued", "mem_pipes_busy_pct"} <= set(hidden)
    checked = {check.metric for one in found.confirmations for check in one.checks}
    assert checked, "nothing is checked, so nothing has to be shown for it"
    assert checked <= set(shown)


@pytest.mark.parametrize(
    ("pair", "is_said"), [(("5", "6"), True), (("13", "14"), True), (("10", "11"), False)]
)
def test_what_the_why_says_of_bank_conflicts_stands_in_the_table(recorded, pair, is_said):
    """Also where it only repeats what is said of stores, or where stores have fewer although all together have more."""
    found = compare_profiles(*profiles_in(recorded, *pair))
    assert ("passes for bank conflicts" in found.headline.why) == is_said
    assert ("shared_conflicts" in [one.name for one in shown_metrics(found)[0]]) == is_said
