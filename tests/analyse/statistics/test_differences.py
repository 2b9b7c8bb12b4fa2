"""The interval behind every verdict, against SciPy; `test_calibration.py` holds it against known truth."""

from itertools import product
from statistics import fmean, stdev

import pytest
from hypothesis import given, strategies as st

from profiler.analyse.statistics.differences import (
    Interval,
    Readings,
    are_identical,
    discoveries,
    mean_difference,
    standard_deviation,
    student_quantile,
    student_tails,
)


@pytest.fixture(scope="session")
def stats():
    """SciPy's statistics; they take a second to load, which no other test should cost."""
    from scipy import stats

    return stats


FREEDOMS = [0.7, 1.0, 1.3, 2.0, 2.7, 4.0, 7.5, 14.0, 30.0, 118.3, 1000.0, 1e6, 1e9]


def of_processes(*groups):
    """Readings of as many processes as there are lists."""
    return Readings(
        [value for group in groups for value in group],
        [process for process, group in enumerate(groups) for _ in group],
    )


def interval(before, after):
    return mean_difference(before, after).interval()


@pytest.mark.parametrize("freedom", FREEDOMS)
def test_students_quantile_is_scipys(stats, freedom):
    for probability in (0.5, 0.6, 0.9, 0.95, 0.975, 0.995, 0.99995):
        ours, theirs = student_quantile(probability, freedom), stats.t.ppf(probability, freedom)
        assert ours == pytest.approx(theirs, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("freedom", FREEDOMS)
def test_the_tails_are_scipys_however_far_out(stats, freedom):
    for t in (0.0, 1e-3, 0.5, 2.0, 5.0, 1e5, 1e200):
        assert student_tails(t, freedom) == pytest.approx(2 * stats.t.sf(t, freedom), rel=1e-6, abs=1e-300)
        assert student_tails(-t, freedom) == student_tails(t, freedom)


@given(st.lists(st.floats(-1e12, 1e12, allow_subnormal=False), min_size=2, max_size=8))
def test_the_standard_deviation_is_the_librarys(values):
    largest = max(map(abs, values))
    assert standard_deviation(values) == pytest.approx(
        stdev(values), rel=1e-9, abs=max(1e-15 * largest, 1e-150)
    )
    assert standard_deviation([values[0]] * 3) == 0.0


FIVE_A_SIDE = [10.0, 11.0, 9.5, 10.2, 10.4], [12.0, 13.2, 11.9, 12.6, 12.9]


@pytest.mark.parametrize("readings", [Readings, lambda means: of_processes(*([mean] for mean in means))])
def test_the_interval_is_welchs_over_the_launches_of_one_process_or_over_processes(stats, readings):
    """Both sides of this example scatter about alike."""
    before, after = FIVE_A_SIDE
    theirs = stats.ttest_ind(after, before, equal_var=False)
    found = mean_difference(readings(before), readings(after))
    assert found.interval() == pytest.approx(tuple(theirs.confidence_interval(0.95)))
    assert found.errors[-1].freedom == pytest.approx(theirs.df)


def test_it_is_never_surer_than_if_the_quieter_side_were_known_exactly(stats):
    """For three processes a side with the same noise, Welch would give 4 degrees of freedom and a narrower interval."""
    before, after = [10.0, 11.0, 9.5], [14.0, 12.5, 13.2]
    found = mean_difference(*(of_processes(*([mean] for mean in side)) for side in (before, after)))
    noisier = max((before, after), key=stats.sem)
    reach = stats.t.ppf(0.975, 2) * stats.sem(noisier)
    theirs = stats.ttest_ind(after, before, equal_var=False)
    assert reach > theirs.confidence_interval(0.95).high - found.delta
    assert found.interval() == pytest.approx((found.delta - reach, found.delta + reach))
    assert found.p_value() == pytest.approx(stats.ttest_1samp(noisier, fmean(noisier) - found.delta).pvalue)
    assert found.p_value() > theirs.pvalue


def test_more_launches_of_the_same_processes_do_not_narrow_the_interval():
    def sides(launches):
        return [of_processes(*([mean - 0.1, mean + 0.1] * launches for mean in means)) for means in MEANS]

    assert interval(*sides(1)) == pytest.approx(interval(*sides(50)))


MEANS = ([10.0, 12.0, 11.0], [14.0, 17.0, 14.0])


def test_more_processes_do():
    few, many = (
        [of_processes(*([mean - 1, mean + 1] for mean in means * n)) for means in MEANS] for n in (1, 4)
    )
    assert interval(*many).high - interval(*many).low < 0.5 * (interval(*few).high - interval(*few).low)


def test_only_the_noisier_side_counts_its_processes(stats):
    """A side without noise is known: the degrees of freedom are those of the other."""
    quiet = of_processes([5.0, 5.0], [5.0, 5.0], [5.0, 5.0])
    noisy = of_processes([7.0, 7.2], [8.1, 8.0], [9.0, 9.4])
    reach = stats.t.ppf(0.975, 2) * stats.sem([fmean([7.0, 7.2]), fmean([8.1, 8.0]), fmean([9.0, 9.4])])
    found = mean_difference(quiet, noisy)
    assert found.interval() == pytest.approx((found.delta - reach, found.delta + reach))


def test_around_medians_a_process_keeps_its_noise_and_loses_what_a_few_repeats_move():
    readings = of_processes([10.0, 11.0, 10.5, 30.0], [12.0, 12.0], [9.0])
    assert readings.around_medians().mean == pytest.approx(fmean([10.75, 12.0, 9.0]))
    one = Readings([10.0, 11.0, 30.0])
    assert standard_deviation(one.around_medians()) == pytest.approx(standard_deviation(one))
    assert readings.around_medians().processes == readings.processes


@pytest.mark.parametrize(
    ("before", "after", "identical"),
    [
        ([[1.0, 2.0], [3.0]], [[3.0], [2.0, 1.0]], True),
        ([[1.0, 2.0], [3.0]], [[1.0], [2.0, 3.0]], False),
        ([[1.0, 1.0]], [[1.0], [1.0], [1.0]], True),
        ([[1.0, 3.0]], [[2.0, 2.0]], False),
    ],
)
def test_identical_is_what_has_the_same_readings_of_the_same_processes(before, after, identical):
    assert are_identical(of_processes(*before), of_processes(*after)) == identical


def test_a_process_counts_once_however_many_launches_it_made():
    assert of_processes([1.0], [3.0, 3.0, 3.0]).mean == 2.0


def test_processes_that_agree_by_accident_prove_nothing():
    """A ticking timer: every process saw one tick more, once."""
    before = of_processes([4000.0, 4000.0, 4032.0], [4000.0, 4032.0, 4000.0], [4032.0, 4000.0, 4000.0])
    after = of_processes([4000.0, 4032.0, 4032.0], [4032.0, 4032.0, 4000.0], [4032.0, 4000.0, 4032.0])
    low, high = interval(before, after)
    assert high - low > 10


def test_a_side_of_one_process_is_judged_by_its_launches_and_the_other_by_its_processes(stats):
    means, launches = [10.2, 12.2, 14.2, 11.2, 13.2], [20.0, 23.0, 19.0, 22.0, 21.0]
    several = of_processes(*([mean - 0.2, mean + 0.2] for mean in means))
    theirs = stats.ttest_ind(launches, means, equal_var=False).confidence_interval(0.95)
    assert interval(several, Readings(launches)) == pytest.approx(tuple(theirs))


def test_samples_without_spread_have_an_interval_without_width():
    for before, after in (
        (Readings([4.0, 4.0]), Readings([6.5, 6.5, 6.5])),
        (of_processes([0.1] * 3, [0.1] * 7), of_processes([2.6] * 5, [2.6] * 3)),
    ):
        found = mean_difference(before, after)
        assert found.interval() == (2.5, 2.5)
        assert found.p_value() == 0.0
        assert mean_difference(before, before).p_value() == 1.0


def test_one_side_without_spread_leaves_the_freedom_of_the_other(stats):
    reach = stats.t.ppf(0.975, 2) * stats.sem([7.0, 8.0, 9.0])
    found = interval(Readings([5.0] * 9), Readings([7.0, 8.0, 9.0]))
    assert found == pytest.approx((3.0 - reach, 3.0 + reach))


@pytest.mark.parametrize(("before", "after"), [([1.0], [1.0, 2.0]), ([1.0, 2.0], [3.0]), ([1.0], [3.0])])
def test_a_single_launch_shows_no_noise(before, after):
    assert mean_difference(Readings(before), Readings(after)) is None


@pytest.mark.parametrize("scale", [1e-150, 1e-90, 1.0, 1e40, 1e99])
def test_very_large_and_very_small_values_only_scale_the_interval(scale):
    for split in (lambda values: [values], lambda values: [values[:2], values[2:]]):
        before, after = [1.0, 2.0, 4.0, 4.5], [8.0, 9.0, 11.0, 8.5]
        plain = interval(*(of_processes(*split(side)) for side in (before, after)))
        scaled = interval(
            *(of_processes(*split([value * scale for value in side])) for side in (before, after))
        )
        assert [bound / scale for bound in scaled] == pytest.approx(list(plain))


def test_shifting_both_sides_does_not_move_the_interval():
    for shift, size in product((1e3, 1e9), (2, 6)):
        before, after = [float(i) for i in range(size)], [float(3 * i) for i in range(size)]
        moved = interval(*(Readings(value + shift for value in side) for side in (before, after)))
        assert moved == pytest.approx(interval(Readings(before), Readings(after)), rel=1e-6)


SIDES = st.lists(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=4), min_size=1, max_size=4)


@given(before=SIDES, after=SIDES)
def test_swapping_the_sides_turns_the_interval_and_nothing_else(before, after):
    forth, back = (
        mean_difference(of_processes(*one), of_processes(*other))
        for one, other in ((before, after), (after, before))
    )
    assert (forth is None) == (back is None)
    if forth and back:
        assert (back.delta, set(back.errors)) == (-forth.delta, set(forth.errors))
        assert back.interval() == Interval(-forth.interval().high, -forth.interval().low)
        assert back.p_value() == forth.p_value()


@given(before=SIDES, after=SIDES)
def test_the_interval_excludes_zero_where_the_p_value_is_below_5_per_cent(before, after):
    found = mean_difference(of_processes(*before), of_processes(*after))
    if found and not 0.0499 < found.p_value() < 0.0501:
        low, high = found.interval()
        assert (low <= 0 <= high) == (found.p_value() > 0.05)


@given(groups=SIDES, order=st.randoms(use_true_random=False))
def test_the_order_of_processes_does_not_matter(groups, order):
    shuffled = order.sample(groups, len(groups))
    other = of_processes([0.0, 1.0], [2.0, 2.5])
    one, same = (mean_difference(of_processes(*side), other) for side in (groups, shuffled))
    assert one == same


def test_values_and_processes_must_be_as_many():
    with pytest.raises(ValueError, match="3 values, but 2 processes"):
        Readings([1.0, 2.0, 3.0], [0, 1])


@given(st.lists(st.floats(0, 1), max_size=30))
def test_discoveries_are_scipys_at_a_false_discovery_rate_of_5_per_cent(stats, p_values):
    expected = {
        index
        for index, adjusted in enumerate(stats.false_discovery_control(p_values) if p_values else ())
        if adjusted <= 0.05 * (1 + 1e-9)
    }
    assert discoveries(p_values) == expected


def test_a_single_question_is_not_corrected_and_many_with_one_answer_are():
    assert discoveries([0.049]) == {0}
    assert discoveries([0.049] + [0.5] * 9) == set()
    assert discoveries([0.005] + [0.5] * 9) == {0}
    assert discoveries([0.049] * 10) == set(range(10))
