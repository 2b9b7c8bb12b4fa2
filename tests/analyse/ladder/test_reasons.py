"""A step's reason is short, and every figure in it is the counters'."""

import pytest

from profiler.analyse.ladder.reasons import explain_step
from profiler.analyse.recording.profile import profile_kernel


@pytest.fixture
def reason(make_profile):
    """The reason of a step between two launches with these counters."""

    def explain(before, after, opcodes=({}, {}), causes=(None, None)):
        sides = zip((before, after), opcodes, strict=True)
        return explain_step(*(make_profile({"metrics": one, "opcodes": two}) for one, two in sides), causes)

    return explain


def test_the_first_causes_of_both_sides_are_named(reason):
    told = reason({}, {}, causes=("uncoalesced-stores", "bank-conflicts"))
    assert told == "uncoalesced-stores, then bank-conflicts"
    assert reason({}, {}, causes=("barriers", "barriers")) == "barriers before and after"
    assert reason({}, {}, causes=("barriers", None)) == "barriers, then no cause"


def test_bytes_count_where_memory_is_busy_and_widths_and_instructions_follow(reason):
    moved = {"dram_throughput_pct": 90.0, "dram_bytes_read": 2e9, "dram_bytes_written": 1e9}
    before = {**moved, "inst_executed": 8e6}
    after = {**before, "dram_bytes_read": 1e9, "inst_executed": 2e6}
    opcodes = ({"LDG.E": 4.0}, {"LDG.E.128": 1.0})
    told = reason(before, after, opcodes)
    assert told == "1.50x fewer DRAM bytes, loads 32 -> 128 bits"
    idle = {"dram_throughput_pct": 10.0, "lsu_pipe_pct": 70.0}
    assert reason(before | idle, after | idle, opcodes) == ("loads 32 -> 128 bits, 4.00x fewer instructions")


def test_a_few_wider_loads_among_many_are_no_change(reason):
    busy = {"dram_throughput_pct": 90.0}
    few = ({"LDG.E": 100.0}, {"LDG.E": 95.0, "LDG.E.64": 5.0})
    assert reason(busy, busy, few) == ""


def test_loads_that_become_bulk_copies_are_reported(reason):
    threads, blocks = {"LDG.E.128": 8.0}, {"UBLKCP.S.G": 1.0}
    assert reason({}, {}, (threads, blocks)) == "loads by bulk copies"
    assert reason({}, {}, (blocks, threads)) == "loads no longer by bulk copies"
    assert reason({}, {}, (blocks, blocks)) == ""


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ({"inst_executed": 1e6}, {"inst_executed": 1.04e6}, ""),
        ({"inst_executed": 1e6}, {"inst_executed": 1.3e6}, "1.30x more instructions"),
        ({"inst_executed": 0.0}, {"inst_executed": 1e6}, ""),
        ({"occupancy_pct": 95.0}, {"occupancy_pct": 50.0}, "occupancy 95 -> 50 %"),
        ({"l1_hit_pct": 50.0}, {"l1_hit_pct": 2.9}, "L1 hit rate 50 -> 3 %"),
        ({"l1_hit_pct": 50.0}, {"l1_hit_pct": 48.0}, ""),
        ({"l1_hit_pct": 50.0}, {}, ""),
        ({}, {}, ""),
    ],
)
def test_metrics_that_did_not_change_or_were_not_recorded_are_not_mentioned(reason, before, after, told):
    assert reason(before, after) == told


def test_a_side_without_counters_is_named(make_run, make_profile):
    profiled = make_profile({}, name="profiled")
    timed = profile_kernel(make_run(name="timed", timings=[5.0]), "timed")
    assert explain_step(timed, profiled, (None, None)) == "no counters of timed: timed, not profiled"
    assert explain_step(timed, timed, (None, None)) == "no counters of timed and timed: timed, not profiled"
