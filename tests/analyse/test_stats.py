"""The interval behind every verdict, against SciPy and against simulation with known truth."""

from __future__ import annotations

import random
from itertools import product

import pytest
from scipy import stats

from profiler.analyse.stats import student_quantile, welch_interval


@pytest.mark.parametrize("freedom", [1.0, 1.3, 2.0, 2.7, 4.0, 7.5, 14.0, 30.0, 118.3, 1000.0, 1e6, 1e9])
def test_students_quantile_is_scipys(freedom):
    for probability in (0.6, 0.9, 0.95, 0.975, 0.995):
        ours, theirs = student_quantile(probability, freedom), stats.t.ppf(probability, freedom)
        assert ours == pytest.approx(theirs, rel=1e-6)


def test_the_interval_is_welchs():
    before, after = [10.0, 11.0, 9.5, 10.2], [12.0, 16.0, 13.5]
    theirs = stats.ttest_ind(after, before, equal_var=False).confidence_interval(0.95)
    assert welch_interval(before, after) == pytest.approx((theirs.low, theirs.high))


@pytest.mark.parametrize(("spread", "sizes"), [((1, 1), (5, 5)), ((1, 6), (8, 3)), ((5, 1), (4, 8))])
def test_the_interval_holds_the_true_difference_19_times_in_20_also_with_unequal_spread(spread, sizes):
    chance = random.Random(20260101)
    trials, held = 3000, 0
    for _ in range(trials):
        before = [chance.gauss(100, spread[0]) for _ in range(sizes[0])]
        after = [chance.gauss(103, spread[1]) for _ in range(sizes[1])]
        low, high = welch_interval(before, after)
        held += low <= 3 <= high
    assert held / trials == pytest.approx(0.95, abs=0.015)


def test_samples_without_spread_have_an_interval_without_width():
    assert welch_interval([4.0, 4.0], [6.5, 6.5, 6.5]) == (2.5, 2.5)


def test_one_side_without_spread_leaves_the_freedom_of_the_other():
    interval = welch_interval([5.0] * 9, [7.0, 8.0, 9.0])
    reach = stats.t.ppf(0.975, 2) * stats.sem([7.0, 8.0, 9.0])
    assert interval == pytest.approx((3.0 - reach, 3.0 + reach))


@pytest.mark.parametrize(("before", "after"), [([], [1.0, 2.0]), ([1.0], [1.0, 2.0]), ([1.0, 2.0], [3.0])])
def test_fewer_than_two_values_a_side_have_no_interval(before, after):
    assert welch_interval(before, after) is None


@pytest.mark.parametrize("scale", [1e-150, 1e-90, 1.0, 1e40, 1e99])
def test_very_large_and_very_small_values_only_scale_the_interval(scale):
    before, after = [1.0, 2.0, 4.0], [8.0, 9.0, 11.0]
    scaled = welch_interval([value * scale for value in before], [value * scale for value in after])
    assert [bound / scale for bound in scaled] == pytest.approx(list(welch_interval(before, after)))


def test_shifting_both_sides_does_not_move_the_interval():
    for shift, size in product((1e3, 1e9), (2, 6)):
        before, after = [float(i) for i in range(size)], [float(3 * i) for i in range(size)]
        moved = welch_interval([value + shift for value in before], [value + shift for value in after])
        assert moved == pytest.approx(welch_interval(before, after), rel=1e-6)
