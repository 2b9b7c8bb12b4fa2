"""A verdict on a speedup, and pairs of recordings of which some were only timed."""

import pytest
from hypothesis import assume, given, strategies as st

from profiler.analyse.compare.changes import compare_pair, judge_speedup
from profiler.analyse.findings import Speedup
from profiler.analyse.recording.kernel_choice import KernelPairs, pair_kernels
from profiler.ask.check import kernels_to_check
from profiler.ask.named.settings import Settings
from profiler.errors import KernelAmbiguous, NotComparable

OPPOSITE = {"better": "worse", "worse": "better"}


def speedup(ratio, low=None, high=None):
    return Speedup(ratio, None if low is None else (low, high), "profiled")


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (speedup(1.10, 1.08, 1.12), "better"),
        (speedup(0.90, 0.88, 0.92), "worse"),
        (speedup(1.10, 0.95, 1.25), "unclear"),
        (speedup(1.10), "unclear"),
        (speedup(1.001, 0.998, 1.004), "same"),
        (speedup(1.005, 1.004, 1.006), "same"),
        (speedup(1.0, 0.5, 2.0), "unclear"),
        (speedup(1.0), "unclear"),
        (speedup(1.0, 1.0, 1.0), "same"),
    ],
)
def test_a_speedup_is_judged_as_metrics_are(found, verdict):
    assert judge_speedup(found) == verdict


@given(st.floats(0.01, 100), st.floats(1.0, 2.0), st.floats(1.0, 2.0))
def test_swapping_the_sides_of_a_certain_speedup_swaps_its_verdict(ratio, below, above):
    low, high = ratio / below, ratio * above
    assume(low > 1.02 or high < 0.98)
    swapped = speedup(1 / ratio, 1 / high, 1 / low)
    assert judge_speedup(swapped) == OPPOSITE[judge_speedup(speedup(ratio, low, high))]


# Pairs of runs


def runs_of(made):
    return [made.store.open(run_id) for run_id in made.store.ids()]


def test_runs_of_timings_alone_are_compared_by_time(made):
    made.time("made", 1, 100.0, 101.0, 99.0)
    made.time("made", 1, 50.0, 50.5, 49.5)
    ((before, after),) = kernels_to_check(runs_of(made), Settings(), None, every=False)
    change = compare_pair(before, after)
    assert change.speedup.basis == "unprofiled"
    assert change.speedup.ratio == pytest.approx(2.0)
    assert change.metrics == []


def test_timings_of_another_workload_are_refused(made):
    made.time("made", 1, 100.0, 101.0)
    made.time("made", 1, 100.0, 101.0, workload={"m": 1})
    ((before, after),) = kernels_to_check(runs_of(made), Settings(), None, every=False)
    with pytest.raises(NotComparable) as refused:
        compare_pair(before, after)
    assert "the workload differs" in "".join(refused.value.details)


def test_a_profile_and_timings_are_compared_by_the_time_that_both_have(made):
    made.profile("made-1", 200.0, 201.0, workload={"m": 4096}, timings=[100.0, 101.0])
    made.time("made", 1, 50.0, 50.5)
    ((before, after),) = kernels_to_check(runs_of(made), Settings(), None, every=False)
    assert compare_pair(before, after).speedup.ratio == pytest.approx(2.0, rel=0.01)


def test_a_comparison_of_times_does_not_warn_about_settings_and_launches_of_ncu(made):
    profiled = {"clock_control": "base", "cache_control": "none", "workload": {"m": 4096}}
    made.profile("made-1", 100.0, timings=[100.0, 101.0], **profiled)
    made.time("made", 1, 50.0, 50.5)
    ((before, after),) = kernels_to_check(runs_of(made), Settings(), None, every=False)
    assert not any("clock" in one or "launch" in one for one in compare_pair(before, after).warnings)


def test_every_pairs_the_only_kernels_of_two_runs_whatever_they_are_called(make_run):
    before, after = make_run({"kernel": "tile<8>"}, name="a"), make_run({"kernel": "tile<16>"}, name="b")
    ((left, right),) = kernels_to_check((before, after), Settings(), None, every=True)
    assert (left.kernel, right.kernel) == ("tile<8>", "tile<16>")
    assert pair_kernels(before, after).gone == []


def test_every_pairs_common_kernels_and_the_others_are_named(make_run):
    before = make_run({"kernel": "add"}, {"kernel": "gone"}, name="a")
    after = make_run({"kernel": "add"}, {"kernel": "new"}, name="b")
    ((left, right),) = kernels_to_check((before, after), Settings(), None, every=True)
    assert (left.kernel, right.kernel) == ("add", "add")
    assert pair_kernels(before, after) == KernelPairs([("add", "add")], ["gone"], ["new"])


def test_without_every_which_of_several_is_meant_must_be_said(make_run):
    runs = [make_run({"kernel": "add"}, {"kernel": "mul"}, name=name) for name in "ab"]
    with pytest.raises(KernelAmbiguous):
        list(kernels_to_check(runs, Settings(), None, every=False))
    ((left, _),) = kernels_to_check(runs, Settings(), "mul", every=False)
    assert left.kernel == "mul"
