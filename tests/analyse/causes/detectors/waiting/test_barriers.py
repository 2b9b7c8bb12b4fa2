"""Barriers at which warps wait, and for what."""

import pytest
from made_evidence import LOAD, evidence_of, names

from profiler.analyse.causes.detectors.waiting import barriers


def test_barriers_count_less_where_warps_come_late_because_of_loads():
    lines = (LOAD, "STS [R8], R4", "BAR.SYNC.DEFER_BLOCKING 0x0", "LDS R6, [R8]")
    alone = evidence_of(*lines, facts={3: {"waits": {"barrier": 10}}})
    behind = evidence_of(*lines, facts={3: {"waits": {"barrier": 10}}, 1: {"waits": {"long_scoreboard": 10}}})
    (one,), (other,) = barriers.detect_barriers(alone), barriers.detect_barriers(behind)
    assert one.effect.waits["barrier"] == pytest.approx(7 / 8)
    assert other.effect.waits["barrier"] == pytest.approx(7 / 16)


@pytest.mark.parametrize(("at_barrier", "found"), [(2, []), (4, ["barriers"])])
def test_barriers_at_which_nobody_waits_are_no_cause(at_barrier, found):
    """Whatever the values cost that are exchanged between them."""
    lines = ("STS [R8], R4", "BAR.SYNC.DEFER_BLOCKING 0x0", "LDS R6, [R8+0x4]", "FADD R6, R6, R7")
    facts = {1: {"waits": {"short_scoreboard": 100 - at_barrier}}, 3: {"waits": {"barrier": at_barrier}}}
    assert names(barriers.detect_barriers, evidence_of(*lines, facts=facts)) == found


@pytest.mark.parametrize(("fenced", "are_fences"), [(5, False), (6, True)])
def test_a_fence_waits_for_memory_and_not_for_other_threads(fenced, are_fences):
    lines = ("STG.E [R8.64], R4", "MEMBAR.SC.GPU", "BAR.SYNC.DEFER_BLOCKING 0x0", "FADD R6, R6, R7")
    facts = {2: {"waits": {"membar": fenced}}, 3: {"waits": {"barrier": 5}}}
    (candidate,) = barriers.detect_barriers(evidence_of(*lines, facts=facts))
    assert ("at memory fences, until others can see" in candidate.sentence) == are_fences
    assert ("at barriers, waiting for the others" in candidate.sentence) != are_fences
    assert candidate.advice.startswith("Fence less often") == are_fences
    assert ('sem="relaxed"' in candidate.in_triton) == are_fences


@pytest.mark.parametrize(("passes", "saved"), [(200.0, 7 / 16), (3200.0, 0.0)])
def test_a_warp_that_reads_a_column_of_a_tile_gets_it_by_no_shuffle(passes, saved):
    """Rows that several warps store, and of which each warp reads a column, go through shared memory with or without conflicts."""
    lines = ("STS [R8], R4", "BAR.SYNC.DEFER_BLOCKING 0x0", "LDS R6, [R9]", "FADD R6, R6, R7")
    facts = {2: {"passes": passes, "ideal_passes": 100.0}, 3: {"waits": {"barrier": 10}}}
    (candidate,) = barriers.detect_barriers(evidence_of(*lines, facts=facts))
    assert candidate.effect.resources["lsu"] == pytest.approx(saved)


def test_a_barrier_is_judged_by_the_loads_since_the_one_before_it():
    barrier, late = "BAR.SYNC.DEFER_BLOCKING 0x0", {"waits": {"barrier": 10}}
    lines = (LOAD, "STS [R8], R4", barrier, "LDS R6, [R8]", barrier, "FADD R6, R6, R7")
    facts = {1: {"waits": {"long_scoreboard": 10}}, 3: late, 5: late}
    (candidate,) = barriers.detect_barriers(evidence_of(*lines, facts=facts))
    assert candidate.effect.waits["barrier"] == pytest.approx((7 / 16 + 7 / 8) / 2)


@pytest.mark.parametrize(
    ("stores", "lanes_that_store", "loads", "saved"),
    [
        (100, 32, 100, 100 / 200 * 7 / 8),  # a value is stored, and read by another thread, by a shuffle
        (50, 32, 50, 50 / 100 * 7 / 8),  # between two barriers
        (100, 32, 200, (100 + 200 / 2) / 300 * 7 / 8),  # and by its own
        (100, 32, 300, (100 + 300 / 3) / 400 * 7 / 8),  # on either side
        (100, 32, 400, 0.0),  # a tile: read by many
        (200, 16, 200, 0.0),  # stored by several accesses
        (100, 8, 200, 0.0),  # a tree: in most of its steps, few threads store
    ],
)
def test_values_exchanged_between_barriers_could_stay_in_registers(stores, lanes_that_store, loads, saved):
    lines = (("STS [R8], R4", stores), "BAR.SYNC.DEFER_BLOCKING 0x0", ("LDS R6, [R8+0x4]", loads), "FADD R6, R6, R7")  # fmt: skip
    facts = {0: {"acting": lanes_that_store}, 3: {"waits": {"barrier": 10}}}
    (candidate,) = barriers.detect_barriers(evidence_of(*lines, facts=facts))
    assert candidate.effect.resources["lsu"] == pytest.approx(saved)


@pytest.mark.parametrize(("own", "saved"), [("[R8]", (200 + 200) / 600 * 7 / 8), ("[R8+0x8]", 0.0)])
def test_values_that_are_swapped_in_place_stay_in_registers_however_many_a_thread_has(own, saved):
    """Two values a thread: it loads both, and stores them where they were."""
    lines = (
        (f"LDS R4, {own}", 200),
        ("LDS R6, [R10]", 200),
        ("STS [R8], R6", 100),
        ("STS [R10+0x4], R4", 90),
        ("STS [R8], R4", 10),
        "BAR.SYNC.DEFER_BLOCKING 0x0",
        "FADD R6, R6, R7",
    )
    facts = {6: {"waits": {"barrier": 10}}}
    (candidate,) = barriers.detect_barriers(evidence_of(*lines, facts=facts))
    assert candidate.effect.resources["lsu"] == pytest.approx(saved)


@pytest.mark.parametrize(
    ("between", "saved"),
    [("FADD R6, R6, R4", 7 / 16), ("IADD3 R2, R2, 0x4, RZ", 0.0), ("ATOMS.ADD RZ, [R8], R6", 0.0)],
)
def test_a_barrier_alone_makes_a_thread_load_from_shared_memory_what_it_holds_already(between, saved):
    """Half of the loads repeat the other one, unless its address has changed or something was stored."""
    load = "LDS R4, [R2]"
    whole = {"passes": 100.0, "ideal_passes": 100.0}
    lines = (load, "BAR.SYNC.DEFER_BLOCKING 0x0", between, load, "FADD R7, R7, R4")
    facts = {0: whole, 2: {"waits": {"barrier": 10}}, 3: whole}
    (candidate,) = barriers.detect_barriers(
        evidence_of(*lines, facts=facts, figures={"shared_of_l1_pct": 100.0})
    )
    assert candidate.effect.resources["l1"] == pytest.approx(saved)


@pytest.mark.parametrize(
    ("barriers_met", "loads", "end", "advice"),
    [
        (1, 400, "EXIT", "Each warp meets a single barrier"),  # for a tile that the whole block needs
        (1, 400, "@P0 BRA 0x0", "Synchronise less often"),
        (2, 400, "EXIT", "Synchronise less often"),
        (1, 100, "EXIT", "Keep the values in registers"),  # a shuffle brings the one value of another thread
    ],
)
def test_a_barrier_that_each_warp_meets_once_cannot_be_met_less_often(barriers_met, loads, end, advice):
    lines = ["STS [R8], R4", *["BAR.SYNC.DEFER_BLOCKING 0x0"] * barriers_met, ("LDS R6, [R8+0x4]", loads), end]  # fmt: skip
    evidence = evidence_of(*lines, facts={len(lines) - 2: {"waits": {"barrier": 10}}})
    (candidate,) = barriers.detect_barriers(evidence)
    assert candidate.advice.startswith(advice)
