"""The circle of warps on an SM: what a change of its latencies, queues, slots and launches makes of its speed."""

import pytest
from hypothesis import example, given, strategies as st
from made_evidence import evidence_of

from profiler.analyse.causes.evidence.latency import Circle, Effect, WarpSlots, find_root
from profiler.analyse.causes.evidence.measured_time import hits_of_loads_in_l2, latency_of_hits

LOADED = {"long_scoreboard": 1.0}
FEW, MANY = WarpSlots(warps=4), WarpSlots(warps=64)


def circle(busy=None, waits=None, issuing=0.0, warp_slots=MANY):
    return Circle(busy or {}, issuing, waits or {"wait": 1.0 - issuing}, warp_slots)


def test_without_a_change_the_circle_turns_as_before():
    loads = {"long_scoreboard": 0.5, "not_selected": 0.1, "barrier": 0.2}
    same = circle(
        {"dram": 0.7, "issue": 0.3}, loads, 0.1, WarpSlots({"long_scoreboard": 0.4}, 0.1, 0.05, 0.6)
    )
    assert same.speedup(Effect()) == pytest.approx(1.0)


def test_warps_that_wait_for_nothing_but_latency_turn_twice_as_often_when_there_are_twice_as_many():
    assert circle({"fma": 0.1}).speedup(Effect(warps=2.0)) == pytest.approx(2.0, rel=0.05)


def test_more_warps_fill_the_busiest_unit_and_no_more():
    assert circle({"fma": 0.5}).speedup(Effect(warps=16.0)) == pytest.approx(2.0, rel=0.001)
    assert (
        1.3 < circle({"fma": 0.5}).speedup(Effect(warps=2.0)) < 2.0
    )  # they queue for it, the more as it fills


def test_few_warps_queue_less_for_each_other():
    alone, crowded = (circle({"dram": 0.5}, warp_slots=one).speedup(Effect(warps=1.5)) for one in (FEW, MANY))
    assert 1.0 < alone < crowded  # of many, each finds the unit free until it is nearly full


def test_a_warp_that_was_alone_finds_others_in_the_queue_when_more_are_there():
    alone = circle({"dram": 0.5}, warp_slots=WarpSlots(warps=1))
    assert 1.4 < alone.speedup(Effect(warps=2.0)) < 1.8
    assert alone.speedup(Effect(waits={"wait": 0.5})) == pytest.approx(2.0)  # as often, and still alone


def test_who_is_left_alone_queues_for_nobody_and_gets_less_done_than_those_before():
    alone = circle({"dram": 0.1}, LOADED, warp_slots=WarpSlots({"long_scoreboard": 0.5}, warps=4))
    assert alone.speedup(Effect(waits={"long_scoreboard": 0.75}, warps=1 / 64)) == 1.0
    assert 1.0 < alone.speedup(Effect(waits={"long_scoreboard": 0.75}, warps=1 / 4)) <= 2.0


@pytest.mark.parametrize(("reason", "faster"), [("wait", 2.0), ("dispatch", 2 / 1.4)])
def test_more_warps_wait_longer_for_a_dispatcher_that_holds_all_of_them_back(reason, faster):
    waiting = circle(waits={reason: 0.4, "long_scoreboard": 0.6}, warp_slots=WarpSlots(LOADED))
    assert waiting.speedup(Effect(warps=2.0)) == pytest.approx(faster)


def test_requests_that_are_lighter_shorten_queues_and_requests_that_are_fewer_their_latency_too():
    half = {"long_scoreboard": 0.5}
    queued, unloaded = (circle({"dram": 0.1}, LOADED, warp_slots=WarpSlots(one)) for one in ({}, LOADED))
    assert queued.speedup(Effect(lighter=half)) == pytest.approx(2.0, rel=0.05)
    assert queued.speedup(Effect(waits=half)) == pytest.approx(2.0, rel=0.05)
    assert unloaded.speedup(Effect(lighter=half)) == pytest.approx(1.0)
    assert unloaded.speedup(Effect(waits=half)) == pytest.approx(2.0, rel=0.05)


def test_a_queue_gets_shorter_for_all_when_less_is_asked_of_its_unit():
    """Half of the work of L1 goes: those who still ask for it wait less, until warps that come sooner fill it again."""
    queueing = circle({"l1": 0.9, "dram": 0.1}, {"mio_throttle": 0.8, "wait": 0.2})
    assert 1.5 < queueing.speedup(Effect({"l1": 0.5})) < 1 / 0.45


def test_a_queue_of_warps_that_come_together_is_long_enough_for_a_busier_unit():
    """Load alone makes warps wait for less than half of an instruction each; these wait for eight."""
    waits = {"wait": 0.3, "not_selected": 0.6}
    together = circle({"issue": 0.4}, waits, 0.1).speedup(Effect(waits={"wait": 0.5}))
    apart = circle({"issue": 0.4}, {"wait": 0.9}, 0.1).speedup(Effect(waits={"wait": 1 / 6}))
    assert together == pytest.approx(1 / 0.85)
    assert apart < together


def test_a_queue_for_another_unit_stays():
    queueing = circle({"l1": 0.9, "issue": 0.1}, {"mio_throttle": 0.8, "wait": 0.2})
    assert queueing.speedup(Effect({"issue": 0.5})) == pytest.approx(1.0, rel=0.02)


def test_who_waits_at_a_barrier_waits_as_much_less_as_warps_take_shorter_turns():
    waits = {"barrier": 0.4, "mio_throttle": 0.4, "wait": 0.2}
    both = circle({"l1": 0.3}, waits).speedup(Effect(lighter={"mio_throttle": 0.5}, resources={"l1": 0.5}))
    assert both == pytest.approx(1 / (0.2 + 0.2 + 0.2), rel=0.2)
    alone = circle(waits=waits).speedup(Effect(waits={"wait": 0.5}))  # a latency is the same for all of them
    assert alone == pytest.approx(1 / 0.9, rel=0.01)


def test_the_next_warp_comes_no_sooner_however_short_the_one_before_it_is():
    short_lived = circle(waits={"wait": 0.5}, warp_slots=WarpSlots(empty=0.5, refilling=0.5))
    assert short_lived.speedup(Effect(waits={"wait": 1.0})) == pytest.approx(2.0)
    uneven = circle(
        waits={"wait": 0.5}, warp_slots=WarpSlots(empty=0.5)
    )  # the rest of the block is still at work
    assert uneven.speedup(Effect(waits={"wait": 0.75})) == pytest.approx(4.0)


def test_a_gpu_that_is_busy_with_launching_blocks_gets_faster_by_launching_fewer():
    tiny = circle(waits={"wait": 0.2}, warp_slots=WarpSlots(empty=0.8, refilling=0.1, launching=1.0))
    tiny = Circle({"launch": 1.0}, 0.0, tiny.waits, tiny.warp_slots)
    assert tiny.speedup(Effect(waits={"wait": 1.0})) == pytest.approx(1.0)
    assert tiny.speedup(Effect({"launch": 7 / 8})) > 2.5


@pytest.mark.parametrize("warps", [64.0, 2.0**60])
def test_a_full_unit_has_a_queue_however_many_share_it(warps):
    circle = Circle({"dram": 1.0}, 0.1, {"long_scoreboard": 0.9}, WarpSlots(warps=warps))
    assert circle.speedup(Effect({"dram": 0.5})) > 1.0


@pytest.mark.parametrize(("of_some", "faster"), [(0.0, 1 / 0.9), (1.0, 1 / 0.7)])
def test_others_wait_at_a_barrier_for_a_latency_that_only_some_warps_have(of_some, faster):
    """Of five parts of a turn, a load takes one, of which half goes; others wait two at a barrier, which half goes with it or stays."""
    slots = WarpSlots({"long_scoreboard": 1.0}, of_some={"long_scoreboard": of_some})
    waiting = circle(waits={"barrier": 0.4, "wait": 0.4, "long_scoreboard": 0.2}, warp_slots=slots)
    assert waiting.speedup(Effect(waits={"long_scoreboard": 0.5})) == pytest.approx(faster, rel=0.01)


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(1e-6, 1e6)), min_size=1, max_size=6), st.floats(0, 1))
@example([(99.0, 11.0)], 1.0)  # the root stands at a jump
def test_a_root_is_found_of_whatever_rises_with_bends_and_jumps(bends, zero):
    """Each bend adds a slope where it begins, and a jump; the bracket is from 1 to 100, and the root somewhere in it."""

    def height(place):
        return (
            sum(slope * max(0.0, place - begins) + (place > begins) * slope for begins, slope in bends)
            + place
        )

    calls = []

    def rising(place):
        calls.append(place)
        return height(place) - height(1 + 98 * zero)

    root = find_root(rising, 1.0, 100.0)
    assert rising(root * (1 - 1e-9)) <= 0 <= rising(root * (1 + 1e-9))
    assert len(calls) < 200


def test_what_is_above_zero_everywhere_has_its_root_where_the_search_begins():
    assert find_root(lambda place: place, 1.0, 2.0) == 1.0


@pytest.mark.parametrize(
    ("hit_pct", "stored", "of_loads"),
    [
        (50.0, 400.0, 0.0),  # a copy: every store hits, and no load
        (50.0, 0.0, 50.0),
        (75.0, 400.0, 50.0),
        (49.0, 400.0, 0.0),  # the counters differ a little
        (50.0, 800.0, None),  # nothing is loaded
    ],
)
def test_stores_are_no_hits_of_loads(hit_pct, stored, of_loads):
    sites = evidence_of("STG.E [R2.64], R5", facts={0: {"sectors": stored}}).sites
    found = hits_of_loads_in_l2({"l2_sectors": 800.0, "l2_hit_pct": hit_pct}, sites)
    assert found == ({} if of_loads is None else {"l2_hits_of_loads_pct": of_loads})


def test_a_load_that_misses_l2_beside_stores_waits_for_device_memory():
    """Half of what a copy looks up are stores, and a load of it takes 698 cycles rather than the mean of 287 and 698."""
    counted = {"l1_hit_pct": 50.0, "l2_hit_pct": 50.0}
    of_a_copy = latency_of_hits(counted | {"l2_hits_of_loads_pct": 0.0})
    assert of_a_copy == pytest.approx(40 / (40 + 698))
    assert latency_of_hits(counted) == pytest.approx(40 / (40 + (698 + 287) / 2))
