"""A ladder shows where every rung stands and what changed from the rung it follows, made-up or recorded."""

import math
from dataclasses import replace

import pytest

import profiler
from profiler.analyse.ladder.climb import delta_rows
from profiler.analyse.ladder.ladder import choose_view, derive_ladder, derive_steps
from profiler.analyse.ladder.rungs import choose_conditions, group_runs
from profiler.ask.rungs import find_runs, gather_rungs
from profiler.catalog.ladders.ladder import find_ladder
from profiler.catalog.ladders.ladder_file import read_ladder
from profiler.present.render.deltas import DELTAS
from tests.profiles import around


def climb(ladder, store, workload=None):
    """The finding, and the rows of its deltas."""
    groups = group_runs(find_runs(store, ladder))
    conditions = choose_conditions(groups, workload)
    rungs = gather_rungs(ladder, groups[conditions])
    steps = derive_steps(ladder, rungs)
    finding = derive_ladder(ladder, conditions, rungs, steps)
    return finding, delta_rows(finding, steps)


def rung(finding, number):
    return next(one for one in finding.kernels if one.kernel == number)


def following(ladder, before):
    """The ladder, in which some rungs say which one they follow."""
    kernels = (replace(one, against=before.get(one.number)) for one in ladder.kernels)
    return replace(ladder, kernels=tuple(kernels))


# Time and work


def test_without_timings_the_profiled_duration_is_the_time_and_says_so(made, made_ladder):
    made.profile("made-1", 100.0, 102.0, workload={"m": 4096})
    one = rung(climb(made_ladder, made.store)[0], 1)
    assert (one.duration_ns, one.basis, one.timed_run_id) == (101.0, "profiled", None)
    assert one.gflops == pytest.approx(2 * 4096 / 101)
    assert one.gbytes_per_s == pytest.approx(8 * 4096 / 101)


def test_with_timings_the_typical_one_is_the_time_and_the_profile_stands_beside_it(made, made_ladder):
    profiled = made.profile("made-1", 100.0, 102.0, workload={"m": 4096})
    timed = made.time("made", 1, 80.0, 81.0, 99.0, reference_ns=40.5, reference="the library")
    one = rung(climb(made_ladder, made.store)[0], 1)
    assert (one.duration_ns, one.basis) == (pytest.approx((80 * 81 * 99) ** (1 / 3)), "unprofiled")
    assert one.metrics["duration_ns"] == 101.0
    assert one.gflops == pytest.approx(2 * 4096 / 81)
    assert one.reference_pct == pytest.approx(50.0)
    assert (one.reference, one.run_id, one.timed_run_id) == ("the library", profiled, timed)


def test_work_is_unknown_where_the_workload_is(made, made_ladder):
    made.profile("made-1", 100.0, workload=None)
    one = rung(climb(made_ladder, made.store)[0], 1)
    assert (one.gflops, one.gbytes_per_s) == (None, None)


def test_a_rung_without_a_duration_has_no_time(made, made_ladder, make_run):
    make_run({"kernel": "k", "metrics": {"issue_active_pct": 5.0}}, name="made-1", root=made.store.root)
    one = rung(climb(made_ladder, made.store)[0], 1)
    assert (one.duration_ns, one.gflops, one.reference_pct) == (None, None, None)
    assert one.metrics == {"issue_active_pct": 5.0}


# The reference


def test_a_rung_not_timed_beside_the_reference_is_held_against_the_reference_rung(made, made_ladder):
    made.profile("made-0", 50.0)
    made.profile("made-1", 100.0)
    finding, _ = climb(made_ladder, made.store)
    assert [one.reference_pct for one in finding.kernels] == [100.0, 50.0]
    assert rung(finding, 1).reference == "kernel 0 (rung_0)"


def test_times_measured_two_ways_make_no_percentage(made, made_ladder):
    made.profile("made-0", 50.0, workload={"m": 4096})
    made.time("made", 0, 40.0)
    made.profile("made-1", 100.0, workload={"m": 4096})
    assert rung(climb(made_ladder, made.store)[0], 1).reference_pct is None


SLOWED = "its percentage is of the library alone, which it slows"


def test_a_rung_that_slows_its_reference_in_every_process_is_held_against_it_alone(made, made_ladder):
    made.time("made", 0, 100.0, 100.2, processes=2, reference_ns=[100.1, 99.9], reference="the library")
    slower, once = [100.6, 100.8], [100.6, 100.1]
    for number, reference_ns in ((1, slower), (2, once), (3, 98.0)):
        made.time("made", number, 50.0, 50.0, processes=2, reference_ns=reference_ns, reference="the library")
    kernels = climb(made_ladder, made.store)[0].kernels
    assert [one.reference_pct for one in kernels[1:]] == pytest.approx([200.2, 200.7, 196.0])
    assert [SLOWED in one.warnings for one in kernels] == [False, True, False, False]


def test_the_reference_at_its_best_is_held_against_its_best_alone(made, made_ladder):
    made.time("made", 0, 100.0, reference_ns=100.0, best_ns=80.0, reference="the library")
    made.time("made", 1, 50.0, reference_ns=100.0, best_ns=81.0, reference="the library")
    one = rung(climb(made_ladder, made.store)[0], 1)
    assert (one.reference_pct, one.best_pct) == (200.0, 160.0)
    assert one.strongest == (160.0, "the library at its best")
    assert one.warnings == [SLOWED]


def test_without_a_best_the_default_is_the_strongest(made, made_ladder):
    made.time("made", 1, 50.0, reference_ns=100.0, reference="the library")
    one = rung(climb(made_ladder, made.store)[0], 1)
    assert (one.best_pct, one.strongest) == (None, (200.0, "the library"))


@pytest.mark.parametrize(
    ("read", "reference_ns", "reference", "said"),
    [
        (2e6, 105.0, "cudaMemcpy of as many bytes", True),
        (1e6, 105.0, "cudaMemcpy of as many bytes", False),  # it writes as much as it reads
        (2e6, 100.5, "cudaMemcpy of as many bytes", False),  # it does not pass the copy
        (2e6, 105.0, "cuBLAS", False),
    ],
)
def test_a_kernel_that_mostly_reads_is_not_praised_for_passing_a_copy(
    made, made_ladder, make_run, read, reference_ns, reference, said
):
    made.time("made", 1, 100.0, 100.0, reference_ns=reference_ns, reference=reference)
    counters = {"dram_bytes_read": read, "dram_bytes_written": 1e6}
    make_run({"ns": 100.0, "metrics": counters}, name="made-1", root=made.store.root)
    one = rung(climb(made_ladder, made.store)[0], 1)
    warning = f"it mostly reads, so it can pass {reference}, which writes half of them"
    assert (warning in one.warnings) == said


def test_the_reference_in_a_process_of_another_kind_is_not_slowed_by_the_rung(made, made_ladder):
    made.time("made", 0, 100.0, reference_ns=100.0, reference="a copy")
    made.time("made", 1, 50.0, reference_ns=100.6, reference="a copy", runtime="PyTorch 2.11.0")
    one = rung(climb(made_ladder, made.store)[0], 1)
    assert (one.reference_pct, one.warnings) == (pytest.approx(201.2), [])


def test_the_reference_of_another_precision_is_not_held_against_the_reference_rung(made, made_ladder):
    made.time("made", 0, 100.0, reference_ns=100.0, reference="the library")
    made.time("made", 1, 50.0, reference_ns=40.0, reference="the library in halves")
    assert rung(climb(made_ladder, made.store)[0], 1).warnings == []


def test_the_rule_finds_the_recorded_rungs_at_8192_that_slow_their_reference(recorded):
    finding = profiler.ladder("gemm", recorded, workload=dict.fromkeys("mnk", 8192)).ladder
    slow = {
        one.kernel: round(one.reference_pct, 1)
        for one in finding.kernels
        if any("which it slows" in warning for warning in one.warnings)
    }
    assert slow == {7: 91.1, 9: 99.5, 13: 255.4, 14: 101.3}


def test_a_reference_numbered_0_is_no_step_of_the_climb(made, made_ladder):
    for number in (0, 1, 2):
        made.profile(f"made-{number}", *around(100.0 - number))
    finding, _ = climb(made_ladder, made.store)
    assert [one.before for one in finding.kernels] == [None, None, 1]


# Steps


def test_a_delta_is_against_the_rung_before_that_has_runs(made, made_ladder):
    made.profile("made-1", *around(100.0), counters={"issue_active_pct": 40.0})
    made.profile("made-3", *around(50.0), counters={"issue_active_pct": 60.0})
    finding, _ = climb(made_ladder, made.store)
    one = rung(finding, 3)
    assert one.before == 1
    assert one.speedup.ratio == pytest.approx(2.0)
    assert one.verdict == "better"
    assert (one.delta["duration_ns"].delta, one.delta["duration_ns"].verdict) == (-50.0, "better")
    assert (one.delta["issue_active_pct"].delta, one.delta["issue_active_pct"].verdict) == (20.0, "changed")
    assert rung(finding, 1).delta == {}


def test_a_rung_may_follow_another_than_the_one_before(made, made_ladder):
    """Rung 2 is slower than rung 1, and rung 3 is a change of rung 1."""
    for number, time in ((1, 100.0), (2, 150.0), (3, 50.0)):
        made.profile(f"made-{number}", *around(time), counters={"issue_active_pct": time / 2})
    finding, rows = climb(following(made_ladder, {3: 1}), made.store)
    one = rung(finding, 3)
    assert (one.before, finding.branches()) == (1, {1: [3]})
    assert one.speedup.ratio == pytest.approx(2.0)
    assert one.delta["issue_active_pct"].delta == pytest.approx(-25.0)
    assert {row["kernel_before"] for row in rows if row["kernel"] == 3} == {1}


def test_it_may_follow_the_reference_itself(made, made_ladder):
    for number in (0, 1, 2):
        made.profile(f"made-{number}", *around(100.0 / (1 + number)))
    finding, _ = climb(following(replace(made_ladder, reference=0), {2: 0}), made.store)
    assert [one.before for one in finding.kernels] == [None, None, 0]


def test_the_first_rung_may_follow_the_reference_too(made, made_ladder):
    for number in (0, 1):
        made.profile(f"made-{number}", *around(100.0))
    finding, _ = climb(following(replace(made_ladder, reference=0), {1: 0}), made.store)
    assert [one.before for one in finding.kernels] == [None, 0]


def test_without_runs_of_that_rung_there_is_no_step_and_it_says_so(made, made_ladder):
    """Against rung 2, which it does not follow, it would say something else."""
    for number in (2, 3):
        made.profile(f"made-{number}", *around(100.0))
    finding, _ = climb(following(made_ladder, {3: 1}), made.store)
    one = rung(finding, 3)
    assert (one.before, one.speedup, one.delta, finding.branches()) == (None, None, {}, {})
    assert one.warnings == ["it follows rung 1, which has no run here"]


def test_the_deltas_time_is_the_unprofiled_one_where_both_have_it(made, made_ladder):
    for number, profiled, timed in ((1, 100.0, 90.0), (2, 60.0, 30.0)):
        made.profile(f"made-{number}", *around(profiled), workload={"m": 4096})
        made.time("made", number, *around(timed))
    finding, rows = climb(made_ladder, made.store)
    one = rung(finding, 2)
    assert one.speedup.basis == "unprofiled"
    assert one.speedup.ratio == pytest.approx(3.0)
    assert one.delta["duration_ns"].delta == pytest.approx(-60.0, rel=1e-5)
    by_metric = {row["metric"]: row for row in rows}
    assert (by_metric["time_ns"]["before"], by_metric["time_ns"]["after"]) == pytest.approx(
        (90.0, 30.0), rel=1e-5
    )
    assert by_metric["duration_ns"]["delta"] == pytest.approx(-40.0)


def test_repeats_that_were_interrupted_turn_no_step(made, made_ladder):
    """Two of five took three times as long: the mean of the first is above the second's, its median below."""
    interrupted = [10.0, 10.1, 9.9, 30.0, 30.1]
    made.time("made", 1, *interrupted * 3, processes=3)
    made.time("made", 2, *[11.0, 11.1, 10.9, 11.0, 11.1] * 3, processes=3)
    finding, rows = climb(made_ladder, made.store)
    one, (row,) = rung(finding, 2), rows
    assert one.speedup.ratio < 1
    assert one.delta["duration_ns"].delta == row["delta"] == row["after"] - row["before"] > 0
    assert one.verdict == row["verdict"] == one.delta["duration_ns"].verdict != "better"


def test_a_step_compares_profiles_when_one_side_was_only_profiled(made, made_ladder):
    made.profile("made-1", *around(100.0), workload={"m": 4096})
    made.profile("made-2", *around(50.0), workload={"m": 4096})
    made.time("made", 2, *around(10.0))
    one = rung(climb(made_ladder, made.store)[0], 2)
    assert (one.duration_ns, one.basis) == (pytest.approx(10.0, rel=1e-5), "unprofiled")
    assert (one.speedup.basis, one.delta["duration_ns"].delta) == ("profiled", -50.0)


def test_a_pair_that_was_measured_in_different_ways_is_refused_and_the_others_stand(made, made_ladder):
    made.profile("made-1", *around(100.0))
    made.profile("made-2", *around(50.0), clock_control="base")
    made.profile("made-3", *around(25.0), clock_control="base")
    finding, rows = climb(made_ladder, made.store)
    assert rung(finding, 2).refused == ["clock control differs: none against base"]
    assert (rung(finding, 2).speedup, rung(finding, 2).delta) == (None, {})
    assert rung(finding, 3).speedup.ratio == pytest.approx(2.0)
    assert {row["kernel"] for row in rows} == {3}


def test_single_launches_are_unclear(made, made_ladder):
    made.profile("made-1", 100.0)
    made.profile("made-2", 50.0)
    one = rung(climb(made_ladder, made.store)[0], 2)
    assert one.verdict == "unclear"
    assert one.delta["duration_ns"].verdict == "unclear"


# Rows for Parquet


def test_every_row_has_the_declared_columns_and_no_other(made, made_ladder):
    for number in (1, 2):
        made.profile(f"made-{number}", *around(100.0), workload={"m": 4096})
        made.time("made", number, *around(50.0))
    _, rows = climb(made_ladder, made.store)
    names = {column.name for column in DELTAS.columns}
    required = {column.name for column in DELTAS.columns if not column.nullable}
    assert rows
    for row in rows:
        assert set(row) <= names
        assert all(row.get(name) is not None for name in required)


# The view


@pytest.fixture(scope="module")
def moving_ladder(made_ladder):
    """The same kernels, of which only the bytes are declared that they move."""
    return replace(made_ladder, kernels=tuple(replace(one, flops=None) for one in made_ladder.kernels))


def test_bytes_alone_are_moved_and_operations_are_computed(made_ladder, moving_ladder):
    assert choose_view(made_ladder) == "compute"
    assert choose_view(moving_ladder) == "memory"
    neither = replace(moving_ladder, kernels=tuple(replace(one, bytes=None) for one in moving_ladder.kernels))
    assert choose_view(neither) == "compute"


def test_rungs_that_move_bytes_show_the_figures_of_memory(made, moving_ladder):
    for number, executed in ((1, 4096.0), (2, 1024.0)):
        counters = {"max_bandwidth_pct": 50.0, "l2_hit_pct": 50.0, "inst_executed": executed}
        made.profile(f"made-{number}", *around(1e5), workload={"m": 4096}, counters=counters)
    finding, _ = climb(moving_ladder, made.store)
    first, second = finding.kernels
    assert finding.view == "memory"
    assert set(first.metrics) == {"duration_ns", "max_bandwidth_pct", "l2_hit_pct", "inst_per_byte"}
    assert first.metrics["inst_per_byte"] == 32 * 4096 / (8 * 4096)
    assert (second.delta["inst_per_byte"].delta, second.delta["inst_per_byte"].verdict) == (-3.0, "better")
    assert second.delta["l2_hit_pct"].verdict == "same"


# Rungs that were timed alone, and steps of several kernels


def test_a_rung_that_was_only_timed_has_a_step_to_one_that_was_profiled(made, moving_ladder):
    made.time("made", 1, *around(200.0))
    made.profile("made-2", *around(90.0), workload={"m": 4096}, timings=around(100.0))
    first, second = climb(moving_ladder, made.store)[0].kernels
    assert (first.duration_ns, first.metrics, first.binding) == (pytest.approx(200.0, rel=1e-5), {}, None)
    assert (second.speedup.ratio, second.speedup.basis) == (pytest.approx(2.0), "unprofiled")
    assert set(second.delta) == {"duration_ns"}


@pytest.mark.parametrize("others_profiled", [True, False])
def test_a_kernel_that_is_a_part_of_its_step_is_marked_everywhere(made, moving_ladder, others_profiled):
    """Rung 1, the first of the ladder, is a program of two kernels, of which one was profiled."""
    facts = {"workload": {"m": 4096}, "counters": {"inst_executed": 4096.0}}
    made.profile("made-1", *around(50.0), timings=around(100.0), **facts)
    if others_profiled:
        made.profile("made-2", *around(80.0), timings=around(80.0), **facts)
    else:
        made.time("made", 2, *around(80.0))
    first, second = climb(moving_ladder, made.store)[0].kernels
    assert (first.duration_ns, first.metrics["duration_ns"]) == (pytest.approx(100.0, rel=1e-5), 50.0)
    assert (first.is_part_of_step, second.is_part_of_step) == (True, False)
    assert "inst_per_byte" not in first.metrics, "its instructions, but the bytes of both"
    assert second.speedup.ratio == pytest.approx(100 / 80)
    for one in (first, second):
        (said,) = [warning for warning in one.warnings if "a step runs other kernels too" in warning]
        assert said.startswith("made-1: the profiled kernel takes 50.00 ns")


# As recorded


@pytest.fixture(scope="module")
def recorded_climb(recorded):
    ladder = read_ladder(find_ladder("gemm", recorded.root))
    run = recorded.find("5", "gemm")
    return climb(ladder, recorded, run.manifest.workload if run.manifest.workload else None)


@pytest.mark.parametrize("last", [13, 14])
def test_the_steps_of_the_recorded_ladder_add_up(recorded_climb, last):
    """The product of the speedups is the ratio of first and last, but for medians against means."""
    finding, _ = recorded_climb
    first = last = rung(finding, last)
    steps = []
    while first.before is not None:
        steps.append(first)
        first = rung(finding, first.before)
    assert first.kernel == 1
    product = math.prod(one.speedup.ratio for one in steps)
    assert product == pytest.approx(first.duration_ns / last.duration_ns, rel=0.02)
    assert sum(one.delta["duration_ns"].delta for one in steps) == pytest.approx(
        last.duration_ns - first.duration_ns
    )


def test_a_step_has_the_same_figures_as_a_comparison(recorded):
    """The same figures as `prof compare`, under the same names."""
    from profiler.analyse.compare.compare import compare_profiles
    from profiler.analyse.recording.profile import profile_kernel
    from profiler.analyse.recording.work import declared_work, with_work

    runs = [recorded.find(number, "gemm") for number in "56"]
    ladder = read_ladder(find_ladder("gemm", recorded.root))
    moved = [declared_work(ladder.kernel(run.manifest.kernel).bytes, run.manifest.workload) for run in runs]
    profiles = [profile_kernel(run, run.manifest.kernels[0].name) for run in runs]
    compared = compare_profiles(*map(with_work, profiles, moved))
    groups = group_runs(run for run in find_runs(recorded, ladder) if run.manifest.is_profiled)
    rungs = gather_rungs(ladder, next(iter(groups.values())))
    steps = derive_steps(ladder, rungs)
    step = next(one for one in steps if one.after.kernel.number == 6)
    assert step.change.metrics == compared.metrics
