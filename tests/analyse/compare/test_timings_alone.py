"""Two recordings by their times alone: the speedup of a ladder's step, and nothing that was not timed."""

import pytest

from profiler.analyse.compare.changes import compare_pair
from profiler.analyse.compare.timings_alone import compare_timings
from profiler.analyse.recording.profile import profile_timings
from profiler.errors import NotComparable


def runs_of(made):
    return [made.store.open(run_id) for run_id in made.store.ids()]


def test_the_speedup_is_that_of_the_ladders_step(made):
    made.time("made", 1, 100.0, 102.0, 101.0, 99.0, processes=2)
    made.time("made", 2, 50.0, 50.5, 49.5, 51.0, processes=2)
    before, after = runs_of(made)
    found = compare_timings(before, after)
    assert found.speedup == compare_pair(profile_timings(before), profile_timings(after)).speedup
    assert found.speedup.ratio == pytest.approx(2.0, rel=0.01)
    assert found.speedup.ci[0] < found.speedup.ratio < found.speedup.ci[1]


def test_each_side_has_its_time_and_its_percent_of_the_reference_and_no_counter(made):
    made.time("made", 1, 100.0, 100.0, reference_ns=60.0, reference="the best there is")
    made.time("made", 2, 80.0, 80.0, reference_ns=60.0, reference="the best there is")
    found = compare_timings(*runs_of(made))
    assert [side.timing.reference_pct for side in (found.before, found.after)] == [60.0, 75.0]
    assert {side.reference for side in (found.before, found.after)} == {"the best there is"}
    assert (found.metrics, found.confirmations, found.attribution) == ([], [], None)
    caution = found.comparable.warnings[0]
    assert caution.startswith("no counters were recorded for either side: only the times are compared")


def test_a_longer_reference_in_another_runtime_is_left_out_of_the_speedup_and_said(made):
    made.time("made", 1, 100.0, 100.0, reference_ns=60.0, reference="a copy")
    made.time("made", 2, 50.0, 50.0, reference_ns=63.0, reference="a copy", runtime="PyTorch 2.11.0")
    found = compare_timings(*runs_of(made))
    assert found.speedup.ratio == pytest.approx(2.0 * 63 / 60)
    assert "(100.0 ns -> 50.00 ns " in found.headline.what  # as measured
    assert found.comparable.warnings[1] == (
        "the reference took 5.0 % longer beside made 2, in another runtime; the speedup leaves that out, "
        "and the times are as measured"
    )
    made.time("made", 3, 50.0, 50.0, reference_ns=63.0, reference="a copy")
    alike = compare_timings(runs_of(made)[0], runs_of(made)[2])
    assert alike.speedup.ratio == pytest.approx(2.0)
    assert not any("another runtime" in caution for caution in alike.comparable.warnings)


def test_beside_timings_a_profile_counts_with_its_whole_step(made, make_run):
    made.time("made", 1, 100.0, 101.0)
    several = [{"kernel": name, "ns": 1.0} for name in "ab"]
    make_run(*several, name="made-2", root=made.store.root, timings=[50.0, 50.5])
    found = compare_timings(*sorted(runs_of(made), key=lambda run: run.manifest.is_profiled))
    assert found.speedup.ratio == pytest.approx(2.0, rel=0.01)
    assert found.speedup.basis == "unprofiled"
    assert found.comparable.warnings[0].startswith("no counters were recorded for made 1:")


def test_a_profile_without_times_and_timings_have_nothing_in_common(made):
    made.profile("made-1", 100.0, 101.0)
    made.time("made", 2, 50.0)
    with pytest.raises(NotComparable, match="made-1 was profiled and not timed"):
        compare_timings(*runs_of(made))


def test_another_workload_is_refused_until_forced(made):
    made.time("made", 1, 100.0, 101.0)
    made.time("made", 1, 100.0, 101.0, workload={"m": 1})
    with pytest.raises(NotComparable) as refused:
        compare_timings(*runs_of(made))
    assert list(refused.value.details) == ["  the workload differs: m=4096 against m=1"]
    forced = compare_timings(*runs_of(made), force=True).comparable
    assert not forced.ok
    assert forced.warnings[0] == "the workload differs: m=4096 against m=1"
