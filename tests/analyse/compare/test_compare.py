"""Two profiles in, one comparison out: swapped, with itself, with little or strange data."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from profiler.analyse.compare.compare import compare_profiles
from profiler.analyse.statistics.differences import Readings
from profiler.catalog.metrics import BY_NAME, CATALOGUE
from profiler.catalog.presets import more_launches
from profiler.errors import MetricNotFound
from profiler.present.document import Table
from profiler.present.documents.comparison import comparison_document, metric_row
from profiler.present.render.terminal import Window, document_text
from tests.profiles import profiles_in

OPPOSITE = {"better": "worse", "worse": "better"}
DURATION, ISSUE = (BY_NAME[name].ncu[0] for name in ("duration_ns", "issue_active_pct"))


@pytest.fixture(scope="module")
def profile_of(make_profile):
    """The profile of one launch per dictionary of metrics, by so many processes in turns."""

    def profile(*launches, processes=1, **fields):
        made = (
            {"process": number % processes, "metrics": metrics} for number, metrics in enumerate(launches)
        )
        return make_profile(*made, **fields)

    return profile


@pytest.fixture(scope="module")
def gemm(recorded):
    """Kernels 5 and 6 as recorded."""
    return profiles_in(recorded, "5", "6")


def metric_values():
    positive = st.floats(1e-3, 1e12)
    one = st.fixed_dictionaries({metric.ncu[0]: positive for metric in CATALOGUE[:6] if metric.ncu})
    return st.lists(one, min_size=1, max_size=4)


@given(before=metric_values(), after=metric_values(), processes=st.integers(1, 3))
def test_swapping_the_sides_inverts_every_sign_and_nothing_else(profile_of, before, after, processes):
    one = profile_of(*before, name="one", processes=processes)
    _assert_mirrored(one, profile_of(*after, name="other", processes=processes))


def test_swapping_the_recorded_kernels_inverts_every_sign_and_nothing_else(gemm):
    _assert_mirrored(*gemm)


def _assert_mirrored(one, other):
    forth, back = compare_profiles(one, other), compare_profiles(other, one)
    assert (back.before, back.after) == (forth.after, forth.before)
    assert back.comparable.ok == forth.comparable.ok
    assert len(back.comparable.warnings) == len(forth.comparable.warnings)
    if forth.speedup is None:
        assert back.speedup is None
    else:
        assert back.speedup.ratio == pytest.approx(1 / forth.speedup.ratio)
        assert (back.speedup.ci is None) == (forth.speedup.ci is None)
        if forth.speedup.ci:
            low, high = forth.speedup.ci
            assert back.speedup.ci == pytest.approx((1 / high, 1 / low))
    mirrored = {delta.name: delta for delta in back.metrics}
    assert set(mirrored) == {delta.name for delta in forth.metrics}
    for delta in forth.metrics:
        mirror = mirrored[delta.name]
        assert (mirror.before, mirror.after, mirror.delta) == (delta.after, delta.before, -delta.delta)
        assert mirror.ci == (delta.ci and (-delta.ci[1], -delta.ci[0]))
        assert mirror.verdict == OPPOSITE.get(delta.verdict, delta.verdict)
        assert (mirror.reason, mirror.unit, mirror.ncu) == (delta.reason, delta.unit, delta.ncu)
    counts = {(one.opcode, one.before, one.after, one.width_bits) for one in forth.instructions.opcodes}
    assert counts == {
        (one.opcode, one.after, one.before, one.width_bits) for one in back.instructions.opcodes
    }


def test_a_run_with_itself_is_the_same_everywhere(gemm):
    for profile in gemm:
        comparison = compare_profiles(profile, profile)
        assert {delta.verdict for delta in comparison.metrics} == {"same"}
        assert all(delta.delta == 0 for delta in comparison.metrics)
        assert comparison.speedup.ratio == 1.0
        assert all(opcode.before == opcode.after for opcode in comparison.instructions.opcodes)
        assert comparison.missing == []
        assert not any(confirmation.confirmed for confirmation in comparison.confirmations)


def test_the_speedup_of_kernel_6_over_5_agrees_with_the_durations_in_the_reports(gemm):
    comparison = compare_profiles(*(replace(one, timings_ns=Readings()) for one in gemm))
    logs = [[math.log(value) for value in one.raw[DURATION].values] for one in gemm]
    means = [sum(one) / len(one) for one in logs]
    assert comparison.speedup.ratio == pytest.approx(math.exp(means[0] - means[1]))
    low, high = comparison.speedup.ci
    assert 1 < low < comparison.speedup.ratio < high
    assert comparison.speedup.basis == "profiled"


def test_one_launch_a_side_is_unclear_and_says_why(profile_of):
    comparison = compare_profiles(profile_of({DURATION: 100.0}), profile_of({DURATION: 50.0}))
    (delta,) = comparison.metrics
    assert (delta.verdict, delta.reason, delta.ci) == ("unclear", "too_few_launches", None)
    assert comparison.speedup.ratio == pytest.approx(2.0)
    assert comparison.speedup.ci is None
    said = [text for text in comparison.comparable.warnings if "one launch only" in text]
    assert said == [f"each side has one launch only; {more_launches()}"]
    assert "prof collect" in more_launches()
    assert "ncu --launch-count" in more_launches()


def test_unprofiled_time_is_the_basis_of_the_speedup_where_both_sides_have_it(profile_of):
    launches = [{DURATION: 100.0}, {DURATION: 101.0}]
    before = profile_of(*launches, timings=[90.0, 91.0])
    after = profile_of(*launches, timings=[30.0, 30.2])
    assert compare_profiles(before, after).speedup.basis == "unprofiled"
    assert compare_profiles(before, after).speedup.ratio == pytest.approx(3, rel=0.01)
    assert compare_profiles(before, replace(after, timings_ns=Readings())).speedup.basis == "profiled"


def test_a_time_that_is_none_gives_no_speedup(profile_of):
    sound = profile_of({DURATION: 100.0})
    for damaged in (math.nan, 0.0, -1.0, math.inf):
        for sides in ((sound, profile_of({DURATION: damaged})), (profile_of({DURATION: damaged}), sound)):
            assert compare_profiles(*sides).speedup is None


def test_repeats_of_one_process_make_no_speedup_surer(profile_of):
    """However many repeats three processes are timed for, they are three."""
    before, after = ([100.0, 101.0, 103.0], [90.0, 91.5, 93.0])

    def speedup(repeats):
        sides = []
        for times in (before, after):
            values = [time + tick for time in times for tick in (-0.01, 0.01) * repeats]
            processes = [process for process in range(3) for _ in range(2 * repeats)]
            sides.append(replace(profile_of({}), timings_ns=Readings(values, processes)))
        return compare_profiles(*sides).speedup

    assert speedup(50).ci == pytest.approx(speedup(1).ci, rel=1e-6)
    assert 1 < speedup(50).ci[0] < 1.1 < speedup(50).ci[1]


def test_without_a_duration_there_is_no_speedup(profile_of):
    assert compare_profiles(profile_of({ISSUE: 50.0}), profile_of({ISSUE: 60.0})).speedup is None


@pytest.mark.parametrize("strange", [0.0, 1e-300, 1e99, 1e300, math.inf, -math.inf])
def test_a_value_that_no_gpu_can_yield_neither_crashes_nor_becomes_a_finding(profile_of, strange):
    normal = [{DURATION: 100.0, ISSUE: 50.0}, {DURATION: 101.0, ISSUE: 51.0}]
    damaged = [{DURATION: strange, ISSUE: strange}, {DURATION: 100.0, ISSUE: 50.0}]
    comparison = compare_profiles(profile_of(*normal), profile_of(*damaged))
    numbers = [
        value for delta in comparison.metrics for value in (delta.before, delta.after, *(delta.ci or ()))
    ]
    if comparison.speedup:
        numbers += [comparison.speedup.ratio, *(comparison.speedup.ci or ())]
    assert all(math.isfinite(value) for value in numbers)
    assert {delta.verdict for delta in comparison.metrics} <= {"same", "unclear"}


def test_a_metric_of_one_side_only_is_listed_as_missing_and_not_compared(profile_of):
    comparison = compare_profiles(profile_of({DURATION: 1.0, ISSUE: 2.0}), profile_of({DURATION: 1.0}))
    assert [(one.name, one.missing_in) for one in comparison.missing] == [("issue_active_pct", "after")]
    assert [delta.name for delta in comparison.metrics] == ["duration_ns"]


def test_two_recordings_are_compared_under_a_name_that_both_hold(profile_of):
    """Two names of one metric may differ in what they count: each is compared with itself alone."""
    newest, older, _ = BY_NAME["duration_ns"].ncu
    both = profile_of({newest: 120.0, older: 100.0})
    old, new = profile_of({older: 100.0}), profile_of({newest: 120.0})
    (delta,) = compare_profiles(both, old).metrics
    assert (delta.ncu, delta.before, delta.after) == (older, 100.0, 100.0)
    neither = compare_profiles(old, new)
    assert neither.metrics == []
    assert [(one.name, one.missing_in) for one in neither.missing] == [("duration_ns", "both")]
    told = "recorded under different names of ncu's, so not compared: duration_ns"
    assert told in document_text(comparison_document(neither), Window())
    with pytest.raises(MetricNotFound, match=f"was recorded as {older} and as {newest}"):
        compare_profiles(old, new, metrics=["duration_ns"])


def test_a_metric_asked_for_leads_the_list_by_our_name_or_by_ncus(gemm):
    by_ours = compare_profiles(*gemm, metrics=["l2_hit_pct"])
    by_ncus = compare_profiles(*gemm, metrics=[BY_NAME["l2_hit_pct"].ncu[0]])
    assert by_ours.metrics == by_ncus.metrics
    assert by_ours.metrics[0].name == "l2_hit_pct"


def test_a_metric_outside_the_catalogue_is_compared_under_ncus_name(gemm):
    name = "dram__bytes.max.per_second"
    assert name in gemm[0].raw, "the recorded runs changed: choose another metric"
    twice = compare_profiles(*gemm, metrics=[name, name])
    assert [delta.name for delta in twice.metrics].count(name) == 1
    assert (twice.metrics[0].name, twice.metrics[0].unit) == (name, "byte/s")


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ("issue_activ_pct", "nearest: issue_active_pct"),
        ("sm__issue_active.avg.pct_of_peak_sustained_elapse", f"nearest: {ISSUE}"),
        ("dram_bytes_read", "record it with ncu --metrics dram__bytes_read.sum"),
    ],
)
def test_a_metric_that_is_not_there_is_answered_with_what_helps(recorded, wrong, hint):
    few_metrics = profiles_in(recorded, *(f"textbook-{number}" for number in "56"))
    with pytest.raises(MetricNotFound, match="is not in this recording") as error:
        compare_profiles(*few_metrics, metrics=[wrong])
    assert hint in str(error.value)


def test_the_duration_comes_first_and_what_did_not_change_comes_last(gemm):
    duration, *others = compare_profiles(*gemm).metrics
    assert duration.name == "duration_ns"
    settled = [delta.verdict in ("same", "unclear") for delta in others]
    assert settled == sorted(settled)


def test_one_kernel_of_a_step_does_not_explain_the_time_of_the_step(profile_of):
    """An activation of 16 us after a product that was not profiled, against both in one kernel."""
    part = profile_of(*[{DURATION: 16_000.0, ISSUE: 46.0}] * 3, timings=[190_000.0] * 3, name="apart")
    whole = profile_of(*[{DURATION: 181_000.0, ISSUE: 18.0}] * 3, timings=[181_000.0] * 3, name="fused")
    for sides in ((part, whole), (whole, part)):
        found = compare_profiles(*sides)
        assert found.headline.why == (
            "The counters do not say. They are of one kernel alone, which takes only a part of the time of apart."
        )
        assert (found.attribution, found.causes_gone, found.causes_kept) == (None, [], [])
    untimed = profile_of(*[{DURATION: 181_000.0, ISSUE: 18.0}] * 3, name="fused")
    assert "do not say" not in compare_profiles(part, untimed).headline.why  # there, kernels are compared


def test_single_launches_that_lie_far_apart_are_likely_worse_in_words_and_unclear_to_a_program(profile_of):
    (delta,) = compare_profiles(profile_of({DURATION: 1e5}), profile_of({DURATION: 3e6})).metrics
    assert (delta.verdict, delta.reason) == ("unclear", "beyond_launches")
    assert metric_row(delta).values[-2:] == ("likely worse", "no interval, but more than launches differ")
    assert metric_row(delta, says_too_few=False).values[-2:] == ("likely worse", "")
    (faster,) = compare_profiles(profile_of({DURATION: 3e6}), profile_of({DURATION: 1e5})).metrics
    assert metric_row(faster).values[-2] == "likely better"


@pytest.mark.parametrize(("before", "said"), [(1e5, "likely worse"), (0.0, "likely changed")])
def test_a_first_use_of_shared_memory_is_not_even_likely_worse(profile_of, before, said):
    (delta,) = compare_profiles(
        *(profile_of({"shared_load_wavefronts": passes}) for passes in (before, 1e6))
    ).metrics
    assert metric_row(delta).values[-2] == said


@pytest.mark.parametrize(
    ("opcodes", "are_compared"),
    [(("FADD", "FADD"), False), (("FADD", "LDS.128"), True), (("FADD", None), True)],  # or none are recorded
)
def test_counters_of_shared_memory_are_compared_where_a_side_may_use_it(make_profile, opcodes, are_compared):
    """Elsewhere they count other traffic."""
    metrics = {"shared_conflicts": 8.0}
    sides = (make_profile({"metrics": metrics, "opcodes": {one: 9.0} if one else {}}) for one in opcodes)
    names = [one.name for one in compare_profiles(*sides).metrics]
    assert ("shared_conflicts" in names) == are_compared


@pytest.mark.parametrize(("launches", "times_said"), [(1, 0), (2, 1)])
def test_of_a_single_launch_the_table_does_not_repeat_the_doubt(profile_of, launches, times_said):
    """Two equal readings a side are few too, but no caution says that."""
    sides = (profile_of(*[{DURATION: time}] * launches) for time in (1e6, 1.05e6))
    document = comparison_document(compare_profiles(*sides))
    tables = [one for section in document.sections for one in section if isinstance(one, Table)]
    reasons = [row.values[-1] for row in tables[0].rows]
    assert reasons.count("too few launches to tell") == times_said


@pytest.mark.parametrize(("gpu", "clocks"), [("NVIDIA A100", "none"), ("NVIDIA H200", "base")])
def test_on_another_gpu_or_at_other_clocks_nothing_is_likely(profile_of, gpu, clocks):
    """How far launches lie apart is known of launches in one run."""
    before = profile_of({DURATION: 1e5}, clock_control="none")
    after = replace(profile_of({DURATION: 3e6}, clock_control=clocks), gpu=gpu)
    comparison = compare_profiles(before, after, force=True)
    assert [one.reason for one in comparison.metrics] == ["too_few_launches"]
    assert metric_row(comparison.metrics[0]).values[-2] == "unclear"
    assert comparison.headline.what.endswith("under the profiler). A single launch gives no interval.")
