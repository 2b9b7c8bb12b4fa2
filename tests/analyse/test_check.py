"""A regression is worse beyond noise and beyond the limit; a result that noise hides is unclear."""

from random import Random

import msgspec
import pytest
from hypothesis import example, given, strategies as st

from profiler.analyse.causes.cause import Diagnosis
from profiler.analyse.check import check_pair
from profiler.analyse.check_summary import MORE_LAUNCHES, derive_finding
from profiler.analyse.recording.profile import profile_kernel
from profiler.catalog.metrics import BY_NAME
from profiler.catalog.project import Threshold
from profiler.errors import MetricNotFound
from tests.made_causes import cause_of

SLOWER_2 = Threshold(BY_NAME["duration_ns"], "rise", 2.0)


@pytest.fixture(scope="module")
def profile_of(make_profile):
    """The profile of a kernel whose launches took so long; of other metrics, one value a launch."""

    def profile(*durations, kernel="k", metrics=None, **fields):
        columns = (metrics or {}).items()
        return make_profile(
            *(
                {"kernel": kernel, "ns": ns, "metrics": {name: values[index] for name, values in columns}}
                for index, ns in enumerate(durations)
            ),
            **fields,
        )

    return profile


def noisy(middle, noise=0.001, count=8, seed=1):
    random = Random(f"{middle} {noise} {seed}")
    return [middle * (1 + random.gauss(0, noise)) for _ in range(count)]


def check(before, after, *limits):
    return check_pair("made", before, after, (SLOWER_2, *limits))


# The duration


@pytest.mark.parametrize(
    ("change", "noise", "outcome"),
    [
        (+0.10, 0.001, "regression"),
        (+0.03, 0.001, "regression"),
        (+0.015, 0.001, "passed"),
        (-0.10, 0.001, "passed"),
        (-0.50, 0.001, "passed"),
        (+0.05, 0.30, "unclear"),
        (0.0, 0.30, "unclear"),
    ],
)
def test_slower_beyond_noise_and_limit_is_a_regression(profile_of, change, noise, outcome):
    before, after = profile_of(*noisy(1000, noise)), profile_of(*noisy(1000 * (1 + change), noise, seed=2))
    found = check(before, after)
    assert found.outcome == outcome
    assert found.checks[0].outcome == outcome


def test_faster_and_certain_passes_also_where_no_limit_is_left(profile_of):
    zero = Threshold(BY_NAME["duration_ns"], "rise", 0.0)
    assert check_pair("made", profile_of(*noisy(1000)), profile_of(*noisy(900)), [zero]).outcome == "passed"


def test_a_metric_that_failed_is_what_the_answer_says_before_how_much_faster_it_got(profile_of):
    before, after = (
        profile_of(*noisy(ns), metrics={"registers": [count] * 8}) for ns, count in ((1000, 40), (500, 122))
    )
    limit = Threshold(BY_NAME["registers"], "rise", 0.0)
    found = check(before, after, limit)
    assert found.outcome == "regression"
    assert found.what.startswith("registers 40 -> 122 (+205.00 %, allowed 0 %). made is ")
    assert (found.why, found.next) == ("", ""), "which would be of the time"
    slower = check(after, before, Threshold(BY_NAME["registers"], "fall", 0.0))
    assert "takes" in slower.what
    assert slower.what.endswith("Besides: registers 122 -> 40 (-67.21 %, allowed 0 %).")


@pytest.fixture
def timings_of(make_run):
    """What was timed, and not profiled, and took about so long."""
    return lambda middle: profile_kernel(make_run(timings=noisy(middle)), "k")


def test_a_gain_says_how_much_faster_and_what_is_no_gain_says_nothing(profile_of, timings_of):
    faster = check(profile_of(*noisy(1000)), profile_of(*noisy(900)))
    assert faster.checks[0].verdict == "better"
    assert "1.11" in faster.what
    assert "as fast as" in faster.what
    assert (faster.why, faster.next) == ("", "")
    timed = timings_of(1000), timings_of(900)
    assert "as fast as" in check(*timed).what
    for after in (noisy(999, seed=2), noisy(900, 0.3), noisy(1015)):
        found = check(profile_of(*noisy(1000)), profile_of(*after))
        assert found.checks[0].verdict != "better"
        assert found.what == ""


def test_a_limit_below_what_matters_holds_where_the_change_is_certain(profile_of):
    half = Threshold(BY_NAME["duration_ns"], "rise", 0.5)
    before, after = profile_of(*noisy(1000, 1e-4)), profile_of(*noisy(1008, 1e-4))
    assert check_pair("made", before, after, [half]).outcome == "regression"


def test_noise_smaller_than_what_matters_is_not_held_against_a_limit_of_zero(profile_of):
    zero = Threshold(BY_NAME["duration_ns"], "rise", 0.0)
    readings = noisy(1000, 0.002)
    before, after = profile_of(*readings), profile_of(*readings[:-1], readings[-1] + 0.01)
    assert check_pair("made", before, after, [zero]).outcome == "passed"


def test_a_run_against_itself_passes_however_noisy(profile_of):
    profile = profile_of(*noisy(1000, 0.2))
    (one,) = check(profile, profile).checks
    assert (one.outcome, one.reason, one.change_pct) == ("passed", "identical", 0.0)


def test_equal_means_of_unequal_readings_do_not_pass_as_identical(profile_of):
    (one,) = check(profile_of(1.0, 4.0, 2.0), profile_of(2.0, 2.0, 2.0)).checks
    assert one.change_pct == pytest.approx(0.0)
    assert (one.outcome, one.reason) == ("unclear", "interval_spans_zero")


@pytest.mark.parametrize(
    ("after", "outcome", "reason"),
    [
        (1.07e6, "unclear", "too_few_launches"),
        (1.08e6, "regression", "beyond_launches"),  # more than launches of one kernel differ by
        (0.94e6, "unclear", "too_few_launches"),  # the next launch may be slower than the baseline
        (0.93e6, "passed", "beyond_launches"),
    ],
)
def test_single_launches_decide_if_they_differ_by_more_than_launches_do(profile_of, after, outcome, reason):
    (one,) = check(profile_of(1e6), profile_of(after)).checks
    assert (one.outcome, one.reason, one.ci_pct) == (outcome, reason, None)


def test_single_launches_of_equal_readings_pass(profile_of):
    (one,) = check(profile_of(1e6), profile_of(1e6)).checks
    assert (one.outcome, one.reason) == ("passed", "identical")


@pytest.mark.parametrize(("limit_pct", "outcome"), [(49.0, "regression"), (51.0, "unclear")])
def test_single_launches_fail_beyond_what_is_allowed(profile_of, limit_pct, outcome):
    limit = Threshold(BY_NAME["duration_ns"], "rise", limit_pct)
    assert check_pair("made", profile_of(1e6), profile_of(1.5e6), [limit]).outcome == outcome


@pytest.mark.parametrize(
    ("way", "limit_pct", "before", "after", "outcome"),
    [
        ("rise", 0.0, 0.0, 5000.0, "regression"),
        ("rise", 150.0, 0.0, 5000.0, "regression"),  # any percentage of zero is zero
        ("fall", 0.0, 0.0, 5000.0, "passed"),
        ("fall", 50.0, 5000.0, 0.0, "regression"),
        ("rise", 0.0, 5000.0, 0.0, "passed"),
        ("rise", 0.0, 0.0, 0.0, "passed"),
    ],
)
def test_the_way_of_a_limit_judges_single_launches(profile_of, way, limit_pct, before, after, outcome):
    passes = "shared_load_wavefronts"
    sides = (profile_of(1e6, metrics={passes: [value]}) for value in (before, after))
    assert check(*sides, Threshold(BY_NAME[passes], way, limit_pct)).checks[1].outcome == outcome


def test_single_launches_at_other_clocks_are_unclear_however_far_apart(profile_of):
    """How far launches lie apart is known of launches in one run."""
    sides = (profile_of(1e6, clock_control="none"), profile_of(2e6, clock_control="unknown"))
    assert check(*sides).outcome == "unclear"


def test_an_unclear_outcome_says_by_how_much(profile_of):
    said = derive_finding([check(profile_of(1e6), profile_of(1.07e6))], []).headline.what
    figures = "duration_ns 1.000 ms -> 1.070 ms (+7.00 %, allowed +2 %)"
    assert said == f"unclear: {figures} in k (made), because the launches do not decide it"


@pytest.mark.parametrize(("after", "is_said"), [(0.94e6, False), (0.80e6, True)])
def test_a_single_launch_that_got_much_faster_is_named(profile_of, after, is_said):
    said = derive_finding([check(profile_of(1e6), profile_of(after))], []).headline.what
    assert ("faster: k (made) takes 20.00 % less time in a single launch" in said) is is_said


def test_a_regression_of_a_single_launch_that_was_accepted_is_not_called_faster(profile_of):
    (one,) = check(profile_of(1e6), profile_of(1.5e6)).checks
    assert not msgspec.structs.replace(one, outcome="passed", accepted="me").is_faster


def test_single_launches_that_do_not_decide_it_are_answered_with_more_launches(profile_of):
    """Times without the profiler decide whether it got slower; that its launches did not get faster, single ones leave open."""
    sides = (profile_of(one, timings=noisy(500, seed=one)) for one in (1e6, 1.07e6))
    found = check(*sides, Threshold(BY_NAME["duration_ns"], "fall", 2.0))
    outcomes = [(one.outcome, one.reason) for one in found.checks]
    assert outcomes == [("passed", ""), ("unclear", "too_few_launches")]
    assert derive_finding([found], []).headline.next == MORE_LAUNCHES


def test_unprofiled_times_decide_where_both_sides_have_them(profile_of):
    before = profile_of(*noisy(1000), timings=noisy(500))
    after = profile_of(*noisy(1500), timings=noisy(500, seed=2))
    (one,) = check(before, after).checks
    assert (one.outcome, one.basis) == ("passed", "unprofiled")
    assert one.before == pytest.approx(500, rel=0.01)


def test_the_interval_holds_the_change_and_lies_on_its_scale(profile_of):
    (one,) = check(profile_of(*noisy(1000)), profile_of(*noisy(1100))).checks
    low, high = one.ci_pct
    assert low < one.change_pct < high
    assert one.change_pct == pytest.approx(10, abs=0.5)
    assert one.after / one.before == pytest.approx(1 + one.change_pct / 100)


@given(
    middle=st.floats(1, 1e9),
    change=st.floats(-0.9, 9),
    noise=st.floats(0, 0.5),
    limit=st.floats(0, 100),
    seed=st.integers(0, 99),
)
def test_a_pair_and_its_mirror_are_never_both_regressions(profile_of, middle, change, noise, limit, seed):
    """A pair and its mirror image are never both regressions, and a looser limit never fails more."""
    limits = [Threshold(BY_NAME["duration_ns"], "rise", limit)]
    one = profile_of(*(abs(value) + 1e-6 for value in noisy(middle, noise, seed=seed)))
    other = profile_of(*(abs(value) + 1e-6 for value in noisy(middle * (1 + change), noise, seed=seed + 100)))
    forth, back = check_pair("made", one, other, limits), check_pair("made", other, one, limits)
    assert {forth.outcome, back.outcome} != {"regression"}
    looser = check_pair("made", one, other, [Threshold(BY_NAME["duration_ns"], "rise", limit + 1)])
    assert looser.outcome != "regression" or forth.outcome == "regression"


@pytest.mark.parametrize("name", ["duration_ns", "stall_wait"])
@given(
    change=st.floats(-0.01, 0.03),
    noise=st.floats(0, 0.03),
    limit=st.floats(0, 4),
    more=st.floats(0, 0.03),
    seed=st.integers(0, 99),
)
@example(change=0.005, noise=0.012, limit=2.0, more=0.005, seed=8)
@example(change=0.005, noise=0.006, limit=1.0, more=0.004, seed=0)
def test_what_is_worse_in_every_launch_is_never_better(profile_of, name, change, noise, limit, more, seed):

    def recorded(readings):
        durations = readings if name == "duration_ns" else noisy(1000)
        return profile_of(*durations, metrics={name: readings})

    def outcome(readings):
        limits = [SLOWER_2, Threshold(BY_NAME[name], "rise", limit)]
        return check_pair("made", before, recorded(readings), limits).checks[-1].outcome

    before = recorded(noisy(1000, noise, seed=seed))
    readings = noisy(1000 * (1 + change), noise, seed=seed + 100)
    best_first = ("passed", "unclear", "regression")
    sooner, later = outcome(readings), outcome([one * (1.0 + more) for one in readings])
    assert best_first.index(sooner) <= best_first.index(later)


def test_worse_by_less_than_the_limit_is_unclear_where_the_interval_reaches_beyond_it(profile_of):
    (one,) = check(profile_of(*noisy(1000, 0.008)), profile_of(*noisy(1016, 0.008, seed=3))).checks
    assert one.ci_pct[0] > 0
    assert one.change_pct < 2.0 < one.ci_pct[1]
    assert (one.outcome, one.reason) == ("unclear", "interval_spans_limit")


def test_a_small_change_that_is_certain_is_unclear_for_the_limit_and_not_for_its_size(profile_of):
    waits = noisy(1000, 0.006)
    before, after = (
        profile_of(*noisy(1000), metrics={"stall_wait": [factor * one for one in waits]})
        for factor in (1.0, 1.008)
    )
    one = check(before, after, Threshold(BY_NAME["stall_wait"], "rise", 1.0)).checks[1]
    assert one.ci_pct[0] > 0
    assert one.verdict == "same"
    assert (one.outcome, one.reason) == ("unclear", "interval_spans_limit")


@pytest.mark.parametrize("count", [100, pytest.param(400, marks=pytest.mark.campaign)])
def test_few_pairs_of_equal_kernels_are_called_regressions(profile_of, count):
    """With a limit of nothing, many pairs of recordings of one kernel: at most 5 % by chance, a side of it each."""
    zero = Threshold(BY_NAME["duration_ns"], "rise", 0.0)
    pairs = [(noisy(1000, 0.01, seed=2 * one), noisy(1000, 0.01, seed=2 * one + 1)) for one in range(count)]
    found = [check_pair("made", profile_of(*a), profile_of(*b), [zero]).outcome for a, b in pairs]
    assert found.count("regression") <= 0.05 * count


# Other metrics


def test_a_metric_without_a_limit_cannot_fail(profile_of):
    before = profile_of(*noisy(1000), metrics={"local_spill_inst": [0.0] * 8})
    after = profile_of(*noisy(1000, seed=2), metrics={"local_spill_inst": [9e9] * 8})
    assert check(before, after).outcome == "passed"


def test_a_metric_with_a_limit_fails_the_pair_though_the_duration_passed(profile_of):
    before = profile_of(*noisy(1000), metrics={"local_spill_inst": [0.0] * 8})
    after = profile_of(*noisy(1000, seed=2), metrics={"local_spill_inst": [64.0] * 8})
    found = check(before, after, Threshold(BY_NAME["local_spill_inst"], "rise", 50.0))
    duration, spills = found.checks
    assert (found.outcome, duration.outcome, spills.outcome) == ("regression", "passed", "regression")
    assert spills.change_pct is None, "there is no percentage of zero"


@pytest.mark.parametrize(
    ("way", "after", "outcome"),
    [
        ("fall", 70.0, "regression"),
        ("fall", 90.0, "passed"),
        ("rise", 90.0, "regression"),
        ("rise", 70.0, "passed"),
    ],
)
def test_the_limit_holds_for_its_own_way_alone(profile_of, way, after, outcome):
    one = profile_of(*noisy(1000), metrics={"l2_hit_pct": noisy(80, 1e-4)})
    other = profile_of(*noisy(1000, seed=2), metrics={"l2_hit_pct": noisy(after, 1e-4)})
    assert check(one, other, Threshold(BY_NAME["l2_hit_pct"], way, 5.0)).checks[1].outcome == outcome


def test_a_metric_with_a_limit_that_was_not_recorded_is_an_error(profile_of):
    profile = profile_of(*noisy(1000))
    with pytest.raises(MetricNotFound, match="l2_hit_pct"):
        check(profile, profile, Threshold(BY_NAME["l2_hit_pct"], "fall", 5.0))


def test_a_recording_without_a_duration_is_an_error(make_profile):
    untimed = make_profile({"metrics": {"l2_hit_pct": 5.0}})
    with pytest.raises(MetricNotFound, match="duration_ns"):
        check(untimed, untimed)


def test_a_change_that_is_trifling_beside_its_whole_does_not_make_a_check_unclear(profile_of):
    """Two conflicts or none in a million wavefronts: chance, which no number of launches would settle."""
    limit = Threshold(BY_NAME["shared_load_conflicts"], "rise", 10.0)
    steady, counts = noisy(1000), ([1.0, 2.0, 0.0], [2.0, 0.0, 3.0])

    def outcome(**more):
        sides = [
            profile_of(*steady[:3], metrics={"shared_load_conflicts": values, **more}) for values in counts
        ]
        return check(*sides, limit).checks[1].outcome

    assert outcome() == "unclear"
    assert outcome(shared_load_wavefronts=[1e6] * 3) == "passed"


# Pairs


def test_a_pair_that_was_measured_in_different_ways_is_refused_with_the_reasons(profile_of):
    found = check(profile_of(*noisy(1000)), profile_of(*noisy(1000), clock_control="base"))
    assert (found.outcome, found.checks) == ("not_comparable", [])
    assert found.refused == ["clock control differs: none against base"]


def test_a_duration_that_is_not_above_zero_is_not_comparable(profile_of):
    found = check(profile_of(*noisy(1000)), profile_of(-1.0, 2.0, 3.0))
    assert found.outcome == "not_comparable"
    assert "not above zero" in found.refused[0]


def test_kernels_of_different_names_are_a_caution(profile_of):
    found = check(profile_of(*noisy(1000), kernel="add"), profile_of(*noisy(1000), kernel="mul"))
    first, *others = found.warnings
    assert "different names: add and mul" in first
    assert others, "nothing stands behind it, so its place is not tested"


@pytest.mark.parametrize("chosen", [True, False])
def test_a_regression_of_unpaired_names_is_explained_by_the_seconds_first_cause(profile_of, chosen):
    sides = [
        profile_of(*noisy(ns), kernel=name, workload=None) for ns, name in ((1000, "add"), (1500, "mul"))
    ]
    narrow = cause_of("narrow-accesses")
    of_each = {"add": Diagnosis([], []), "mul": Diagnosis([narrow], [])}
    found = check_pair("made", *sides, [SLOWER_2], lambda one: of_each[one.kernel], chosen=chosen)
    assert found.outcome == "regression"
    of_itself = "narrow-accesses: Warps wait."
    assert found.why == ("narrow-accesses appeared." if chosen else of_itself)
    assert "Wait less." in found.next
    assert ("two different kernels" in found.what) != chosen


def test_that_names_differ_is_said_once(profile_of):
    sides = (profile_of(*noisy(1000), kernel=name, workload=None) for name in ("add", "mul"))
    found = check_pair("made", *sides, [SLOWER_2], chosen=True)
    assert any("may differ: the workload" in line for line in found.warnings)
    (line,) = [line for line in found.warnings if "add and mul" in line]
    assert "different names" in line


@pytest.mark.parametrize(
    ("names", "recorded", "chosen", "outcome"),
    [
        (("add", "mul"), {"workload": None}, False, "unclear"),
        (("add", "mul"), {"workload": None}, True, "passed"),
        (("add", "mul"), {"workload": {"n": 8}}, False, "passed"),
        (("void ns::add<(int)4>(int)", "void add<(int)8>(int)"), {"workload": None}, False, "passed"),
    ],
    ids=["nothing-says-it-is-one-work", "chosen", "of-one-workload", "other-template-arguments"],
)
def test_kernels_of_different_names_need_a_reason_to_be_a_pair(profile_of, names, recorded, chosen, outcome):
    sides = (profile_of(*noisy(1000), kernel=name, **recorded) for name in names)
    found = check_pair("made", *sides, [SLOWER_2], chosen=chosen)
    assert (found.outcome, bool(found.doubt)) == (outcome, outcome == "unclear")


def test_with_timings_alone_only_the_duration_is_checked_and_a_note_says_so(timings_of):
    found = check(timings_of(1000), timings_of(1100), Threshold(BY_NAME["l2_hit_pct"], "fall", 5.0))
    assert [one.outcome for one in found.checks] == ["regression"]
    assert any("timings alone" in line for line in found.warnings)


def test_the_worst_of_several_pairs_is_the_outcome(profile_of):
    steady = noisy(1000)
    passed = check(profile_of(*steady), profile_of(*steady))
    unclear = check(profile_of(1000.0), profile_of(1400.0))
    refused = check(profile_of(*steady), profile_of(*steady, clock_control="base"))
    slower = check(profile_of(*steady), profile_of(*noisy(1500)))
    assert derive_finding([passed, passed], []).outcome == "passed"
    assert derive_finding([passed, unclear], []).outcome == "unclear"
    assert derive_finding([refused, unclear], []).outcome == "not_comparable"
    assert derive_finding([slower, refused, unclear, passed], []).outcome == "regression"


def test_a_limit_on_a_time_that_falls_needs_the_duration_under_the_profiler(make_profile):
    before, after = (
        make_profile({"metrics": {"l2_hit_pct": 5.0}}, timings=noisy(middle)) for middle in (1000, 1010)
    )
    with pytest.raises(MetricNotFound, match="duration_ns"):
        check(before, after, Threshold(BY_NAME["duration_ns"], "fall", 2.0))
