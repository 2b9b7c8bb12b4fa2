"""What one metric's values allow to say, and what they do not."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiler.analyse.compare import judge
from profiler.analyse.findings import REASONS
from profiler.catalog.metrics import BY_NAME, CATALOGUE

DURATION = BY_NAME["duration_ns"]  # lower is better
DIVERGENCE = BY_NAME["threads_per_inst"]  # higher is better
UTILISATION = BY_NAME["issue_active_pct"]  # no better direction
FIXED = BY_NAME["registers"]
COUNTED = BY_NAME["inst_executed"]
OPPOSITE = {"better": "worse", "worse": "better"}

values = st.lists(st.floats(-1e12, 1e12, allow_subnormal=False), min_size=1, max_size=8)
metrics = st.sampled_from(CATALOGUE)


@pytest.mark.parametrize(
    ("metric", "before", "after", "verdict", "reason"),
    [
        (DURATION, [100, 101, 99], [80, 81, 79], "better", ""),
        (DURATION, [80, 81, 79], [100, 101, 99], "worse", ""),
        (DIVERGENCE, [16, 16.1], [32, 31.9], "better", ""),
        (UTILISATION, [50, 50.2, 49.9], [60, 60.3, 59.8], "changed", ""),
        (DURATION, [100, 101, 99], [99, 100, 101], "same", "identical"),
        (DURATION, [100], [50], "unclear", "too_few_launches"),
        (DURATION, [100, 101, 99], [50], "unclear", "too_few_launches"),
        (DURATION, [100, 140, 60], [110, 60, 150], "unclear", "interval_spans_zero"),
        (DURATION, [1000, 1001, 999, 1000], [1000.5, 1001, 999, 1000.2], "same", "within_effect_size"),
        (DURATION, [1000, 1000.1, 999.9], [1005, 1005.1, 1004.9], "same", "below_effect_size"),
        (UTILISATION, [0.01, 0.011, 0.012], [0.05, 0.051, 0.052], "same", "below_effect_size"),
        (DURATION, [4000, 4000], [4064, 4064], "unclear", "too_few_launches"),  # two ticks of a timer
        (DURATION, [4000] * 5, [4064] * 5, "worse", ""),
        (COUNTED, [4000, 4000], [4064, 4064], "worse", ""),
        (COUNTED, [4000], [4064], "unclear", "too_few_launches"),
        (FIXED, [64], [128], "changed", ""),
        (FIXED, [64, 64], [64], "same", "identical"),
    ],
)
def test_each_verdict_and_its_reason(metric, before, after, verdict, reason):
    assert judge(metric, before, after)[1:] == (verdict, reason)


def test_the_table_above_reaches_every_verdict_and_every_reason():
    (table,) = (mark for mark in test_each_verdict_and_its_reason.pytestmark if mark.name == "parametrize")
    cases = table.args[1]
    assert {case[3] for case in cases} == {"better", "worse", "same", "unclear", "changed"}
    assert {case[4] for case in cases} == set(REASONS)


def test_a_property_of_the_binary_is_decided_by_one_launch_a_side():
    interval, verdict, _ = judge(FIXED, [64], [128])
    assert (interval, verdict) == ((64, 64), "changed")


@pytest.mark.parametrize("metric", [FIXED, BY_NAME["local_spill_inst"], DURATION])
def test_equal_values_are_the_same_however_many_launches_each_side_has(metric):
    assert judge(metric, [0, 0, 0], [0])[1:] == ("same", "identical")


def test_a_property_that_varies_between_launches_is_judged_like_any_other():
    assert judge(FIXED, [64, 32], [128])[1:] == ("unclear", "too_few_launches")


@given(metric=metrics, before=values, after=values)
def test_swapping_the_sides_inverts_the_interval_and_the_verdict_and_nothing_else(metric, before, after):
    interval, verdict, reason = judge(metric, before, after)
    swapped, swapped_verdict, swapped_reason = judge(metric, after, before)
    assert swapped_verdict == OPPOSITE.get(verdict, verdict)
    assert swapped_reason == reason
    assert (interval is None) == (swapped is None)
    if interval:
        assert (swapped.low, swapped.high) == (-interval.high, -interval.low)


@given(metric=metrics, sample=values)
def test_anything_against_itself_is_the_same(metric, sample):
    assert judge(metric, sample, list(reversed(sample)))[1:] == ("same", "identical")


@given(before=values, after=values)
def test_a_utilisation_is_never_called_better(before, after):
    for metric in CATALOGUE:
        if metric.unit == "%" and not metric.fixed:
            assert judge(metric, before, after)[1] not in ("better", "worse")


@pytest.mark.parametrize("noise", [0.003, 0.03])
def test_two_recordings_of_one_kernel_are_called_different_at_most_once_in_20(noise):
    chance = random.Random(7)
    for metric, level in ((DURATION, 4e6), (UTILISATION, 55.0), (BY_NAME["stall_barrier"], 0.8)):
        trials, false = 1500, 0
        for _ in range(trials):
            before, after = ([chance.gauss(level, noise * level) for _ in range(5)] for _ in range(2))
            false += judge(metric, before, after)[1] in ("better", "worse", "changed")
        assert false / trials <= 0.05 + 0.012, metric.name


def test_a_real_change_of_five_per_cent_is_seen_through_one_per_cent_of_noise():
    chance = random.Random(11)
    found = 0
    for _ in range(300):
        before, after = ([chance.gauss(level, 1.0) for _ in range(8)] for level in (100, 95))
        found += judge(DURATION, before, after)[1] == "better"
    assert found > 290
