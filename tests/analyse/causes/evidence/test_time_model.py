"""The model of a kernel's time: what a change saves, and what it cannot save more than."""

import pytest
from hypothesis import given, strategies as st

from profiler.analyse.causes.evidence.latency import UNNAMED, Effect, WarpSlots
from profiler.analyse.causes.evidence.time_model import (
    NO_WARP,
    AtWork,
    TimeModel,
    reachable_of_dram,
    reachable_of_l2,
)

RESOURCES = ("dram", "l1", "fma", "issue")
REASONS = ("long_scoreboard", "mio_throttle", "barrier", "wait", UNNAMED)
fractions = st.floats(0, 1)


@st.composite
def models(draw):
    shares = [draw(st.floats(0.01, 1)) for _ in REASONS]
    return TimeModel(
        {name: draw(fractions) for name in RESOURCES},
        {name: share / sum(shares) for name, share in zip(REASONS, shares, strict=True)},
        {"dram": draw(fractions)},
        warp_slots=WarpSlots(
            {"long_scoreboard": draw(fractions)}, 0.2, 0.1, draw(fractions), draw(st.floats(1, 64))
        ),
    )


effects = st.builds(
    Effect,
    st.dictionaries(st.sampled_from(RESOURCES), fractions),
    st.dictionaries(st.sampled_from(REASONS), fractions),
    st.dictionaries(st.sampled_from(REASONS), fractions),
    st.floats(1, 16),
)
some_resources = st.sets(st.sampled_from(RESOURCES))


def test_a_kernel_that_only_computes_saves_what_its_pipe_no_longer_does():
    model = TimeModel({"fma": 1.0, "issue": 0.5}, {})
    assert model.saved(Effect({"fma": 0.25})) == pytest.approx(0.25)


def test_the_next_resource_is_what_remains_when_the_busiest_is_gone():
    model = TimeModel({"fma": 1.0, "issue": 0.5}, {})
    assert model.saved(Effect({"fma": 1.0})) == pytest.approx(0.5)


def test_a_kernel_without_a_busy_unit_shrinks_as_the_life_of_each_warp_does():
    model = TimeModel({"dram": 0.0}, {"wait": 0.75, "branch_resolving": 0.25}, issuing=0.2)
    assert model.saved(Effect(waits={"branch_resolving": 1.0})) == pytest.approx(0.8 * 0.25)


@pytest.mark.parametrize(("busy", "saved"), [(0.1, 0.5), (0.8, 0.2), (1.0, 0.0)])
def test_twice_the_warps_halve_the_time_unless_a_unit_is_full_before(busy, saved):
    """By Little's law, where no reason is known why warps wait."""
    model = TimeModel({"l1": busy}, {UNNAMED: 1.0})
    assert model.saved(Effect(warps=2.0)) == pytest.approx(saved, abs=0.005)


@pytest.mark.parametrize(("unit", "saved"), [("l1", 0.2), ("l2", 0.5)])
def test_a_unit_is_full_when_it_is_while_the_work_goes_on(unit, saved):
    """An SM has a warp for half of the time, and is at work beside the others for 80 % of that of the last one."""
    model = TimeModel({unit: 0.4}, {UNNAMED: 1.0}, at_work=AtWork(each=0.5, all_of_them=0.8))
    assert model.saved(Effect(warps=8.0)) == pytest.approx(saved, abs=0.005)


@pytest.mark.parametrize(("busy", "saved"), [(0.2, 0.2), (0.9, 0.9)])
def test_without_a_name_warps_queue_for_as_long_as_the_busiest_unit_works(busy, saved):
    model = TimeModel({"fp64": busy, "issue": 0.05}, {UNNAMED: 1.0})
    assert model.saved(Effect({"fp64": 1.0})) == pytest.approx(saved, abs=0.02)
    assert model.saved(Effect({"issue": 1.0})) == pytest.approx(0.0, abs=0.02)


def test_savings_leave_the_time_that_the_busiest_unit_needs():
    model = TimeModel({"dram": 0.6}, {"long_scoreboard": 1.0})
    assert model.saved(Effect(waits={"long_scoreboard": 1.0})) == pytest.approx(0.4)


def test_a_warp_waits_in_the_part_of_its_time_in_which_it_does_not_issue():
    model = TimeModel(
        {"dram": 0.9}, {"long_scoreboard": 0.4, "barrier": 0.4, NO_WARP: 0.2}, issuing=0.1, ready=0.1
    )
    assert model.life_share("barrier") == pytest.approx(0.8 * 0.4 / 0.8)


def test_no_change_shortens_how_a_launch_starts_and_ends():
    waiting = Effect(waits={"wait": 0.5})
    long, short = (TimeModel({"dram": 0.0}, {"wait": 1.0}, starting=part) for part in (0.0, 0.3))
    assert long.saved(waiting) == pytest.approx(0.5)
    assert short.saved(waiting) == pytest.approx(0.7 * 0.5)


def test_the_end_of_a_launch_without_warps_shrinks_with_the_work_before_it():
    waiting = Effect(waits={"wait": 0.5})
    whole = TimeModel({"dram": 0.0}, {"wait": 1.0})
    with_tail = TimeModel({"dram": 0.0}, {"wait": 0.7, NO_WARP: 0.3})
    assert with_tail.saved(waiting) == pytest.approx(whole.saved(waiting))


def test_a_bound_is_what_the_work_that_stays_leaves():
    model = TimeModel({"l1": 0.9, "dram": 0.4, "fma": 0.2}, {"short_scoreboard": 1.0})
    conflicts_gone = Effect({"l1": 0.5}, {"short_scoreboard": 0.5})
    assert model.bound(conflicts_gone, ("dram", "fma")) == (pytest.approx(0.6), "dram")


def test_traffic_that_no_code_needs_does_not_hold_a_bound_up():
    model = TimeModel({"dram": 0.8}, {"long_scoreboard": 1.0}, {"dram": 0.5})
    assert model.bound(Effect(), ("dram",))[0] == pytest.approx(0.6)


def test_what_a_cause_takes_does_not_depend_on_what_it_is_hidden_behind():
    """Removing it saves little while another unit is full."""
    idle = Effect({"issue": 0.5}, {"wait": 0.5})
    for l1, saved in ((1.0, 0.0), (0.0, 0.25)):
        model = TimeModel({"l1": l1, "issue": 0.8}, {"wait": 0.5, "barrier": 0.5})
        assert model.taken(idle) == pytest.approx(0.4)
        assert model.saved(idle) == pytest.approx(saved, abs=0.05)


def test_a_cause_takes_its_waiting_where_that_is_more_than_its_work_for_any_unit():
    model = TimeModel({"issue": 0.2}, {"long_scoreboard": 0.75, NO_WARP: 0.25}, issuing=0.1)
    assert model.taken(Effect({"issue": 0.5})) == pytest.approx(0.1)
    waiting = Effect({"issue": 0.5}, {"long_scoreboard": 0.5})
    assert model.taken(waiting) == pytest.approx(0.5 * model.life_share("long_scoreboard"))
    assert model.taken(Effect(lighter={"long_scoreboard": 0.5})) == model.taken(waiting)
    assert model.taken(Effect(waits={NO_WARP: 1.0})) == pytest.approx(model.wait_share(NO_WARP))
    assert model.taken(Effect()) == 0.0


@given(models())
def test_a_change_of_nothing_saves_nothing(model):
    assert model.saved(Effect()) == pytest.approx(0, abs=1e-9)


@given(models(), effects, some_resources)
def test_nothing_saves_more_than_its_bound_or_than_all_the_time(model, effect, leaves):
    assert 0 <= model.saved(effect) <= model.bound(effect, leaves)[0] <= 1


@given(models(), effects, some_resources, some_resources)
def test_a_bound_is_no_larger_where_a_change_leaves_more_as_it_is(model, effect, leaves, more):
    assert model.bound(effect, leaves | more)[0] <= model.bound(effect, leaves)[0] + 1e-12


@given(models(), effects, st.sampled_from(RESOURCES), st.sampled_from(REASONS))
def test_taking_more_away_saves_no_less(model, effect, resource, reason):
    more = Effect(
        {**effect.resources, resource: 1.0}, {**effect.waits, reason: 1.0}, effect.lighter, effect.warps
    )
    assert model.saved(more) >= model.saved(effect) - 1e-9


@pytest.mark.parametrize(("read", "written", "reachable"), [(8, 0, 0.94), (0, 8, 0.94), (8, 8, 0.89), (0, 0, 0.94)])  # fmt: skip
def test_device_memory_that_turns_between_reads_and_writes_reaches_less_of_its_peak(read, written, reachable):
    assert reachable_of_dram(read, written) == pytest.approx(reachable)


@pytest.mark.parametrize(
    ("l2", "dram", "reachable"),
    [
        (0.80, 0.2, 0.88),  # nine tenths of the most that a kernel reaches
        (0.79, 0.2, 1.0),  # not full: of what only reads, some kernels get further
        (0.80, 0.85, 1.0),  # full of what passes through it to device memory
    ],
)
def test_l2_that_is_full_by_itself_has_less_than_its_peak_within_reach(l2, dram, reachable):
    assert reachable_of_l2(l2, dram) == reachable
