"""Which runs a ladder is drawn from: one GPU and one workload, the newest of each rung."""

import pytest

from profiler.analyse.ladder.rungs import choose_conditions, group_runs
from profiler.analyse.recording.doubts import is_part_of_step
from profiler.ask.ladder import find_climb
from profiler.ask.rungs import find_runs, gather_rungs
from profiler.errors import KernelAmbiguous, KernelNotFound, RunNotFound


@pytest.fixture
def draw(made, made_ladder):
    """The rungs that the store holds of one workload."""

    def rungs(workload=None):
        groups = group_runs(find_runs(made.store, made_ladder))
        conditions = choose_conditions(groups, workload)
        return conditions, gather_rungs(made_ladder, groups[conditions])

    return rungs


def test_a_folder_without_a_run_of_the_ladder_is_an_error(made, made_ladder):
    made.profile("other", 100.0)
    with pytest.raises(RunNotFound, match="no run of any kernel of ladder 'made'"):
        find_runs(made.store, made_ladder)


def test_the_newest_run_of_each_rung_in_the_ladders_order(made, draw):
    made.profile("made-2", 90.0)
    made.profile("made-1", 100.0)
    newest = made.profile("made-1", 101.0, counters={"x": 1.0}, kernel="other")
    _, rungs = draw()
    assert [rung.kernel.number for rung in rungs] == [1, 2]
    assert rungs[0].profile.manifest.run_id == newest


def test_the_workload_that_most_rungs_share_is_taken(made, draw):
    made.profile("made-1", 100.0, workload={"m": 1024})
    made.profile("made-2", 100.0, workload={"m": 1024})
    made.profile("made-3", 100.0, workload={"m": 2048})
    conditions, rungs = draw()
    assert str(conditions) == "NVIDIA H200, m=1024"
    assert len(rungs) == 2


def test_the_newest_of_equally_common_workloads_is_chosen(made, draw):
    for size in (4096, 1024, 2048):
        for rung in (1, 2):
            made.profile(f"made-{rung}", 100.0, workload={"m": size}, program=str(size))
    assert str(draw()[0]) == "NVIDIA H200, m=2048"


def test_profiles_weigh_more_than_newer_timings(made, draw):
    made.profile("made-1", 100.0, workload={"m": 1024})
    made.time("made", 1, 100.0, workload={"m": 2048})
    assert str(draw()[0]) == "NVIDIA H200, m=1024"


def test_the_order_in_which_parameters_were_written_is_no_difference(made, draw):
    made.profile("made-1", 100.0, workload={"n": 1, "m": 2})
    made.profile("made-2", 100.0, workload={"m": 2, "n": 1})
    conditions, rungs = draw()
    assert str(conditions) == "NVIDIA H200, n=1 m=2"
    assert len(rungs) == 2


def test_another_gpu_is_another_ladder(made, draw):
    made.profile("made-1", 100.0, gpus=["NVIDIA A100"])
    made.profile("made-2", 100.0)
    made.profile("made-3", 100.0)
    conditions, rungs = draw()
    assert conditions.gpu == "NVIDIA H200"
    assert [rung.kernel.number for rung in rungs] == [2, 3]


def test_the_workload_asked_for_is_taken(made, draw):
    made.profile("made-1", 100.0, workload={"m": 1024})
    made.profile("made-2", 100.0, workload={"m": 2048})
    assert [rung.kernel.number for rung in draw({"m": 2048})[1]] == [2]


def test_one_that_is_not_stored_is_an_error_that_lists_those_that_are(made, draw):
    made.profile("made-1", 100.0, workload=None)
    made.profile("made-2", 100.0, workload={"m": 2048})
    with pytest.raises(RunNotFound, match="no run of m=7") as refused:
        draw({"m": 7})
    assert sorted(refused.value.details) == ["  NVIDIA H200, m=2048", "  NVIDIA H200, workload not recorded"]


# Timings


def test_a_profile_takes_the_newest_timings_of_its_workload(made, draw):
    made.profile("made-1", 100.0, workload={"m": 4096})
    made.time("made", 1, 70.0, 71.0)
    newest = made.time("made", 1, 80.0, 81.0)
    made.time("made", 1, 9.0, workload={"m": 1024})
    (rung,) = draw({"m": 4096})[1]
    assert rung.timed.manifest.run_id == newest
    assert tuple(rung.profile.timings_ns) == (80.0, 81.0)


def test_newer_timings_go_before_its_own_and_older_ones_do_not(made, draw):
    made.time("made", 1, 90.0, 91.0)
    own = made.profile("made-1", 100.0, workload={"m": 4096}, timings=[60.0, 61.0])
    (rung,) = draw()[1]
    assert rung.timed.manifest.run_id == own
    assert tuple(rung.profile.timings_ns) == (60.0, 61.0)
    newer = made.time("made", 1, 80.0, 81.0)
    (rung,) = draw()[1]
    assert rung.timed.manifest.run_id == newer
    assert tuple(rung.profile.timings_ns) == (80.0, 81.0)


def test_the_time_of_another_build_is_not_this_ones(made, draw):
    from profiler.store.runs.manifest import Provenance

    made.profile("made-1", 100.0, workload={"m": 4096}, provenance=Provenance(binary_sha256="new"))
    same = made.time("made", 1, 70.0, binary_sha256="new")
    made.time("made", 1, 80.0, binary_sha256="old")
    (rung,) = draw()[1]
    assert rung.timed.manifest.run_id == same


def test_the_time_of_the_same_sources_built_again_is_this_ones(made, draw):
    from profiler.store.runs.manifest import Provenance

    sources = {"kernel.cu": "0" * 64}
    first, again, other = (
        {"binary_sha256": binary, "sources": made_of}
        for binary, made_of in (("one", sources), ("two", sources), ("three", {"kernel.cu": "1" * 64}))
    )
    made.profile("made-1", 100.0, workload={"m": 4096}, provenance=Provenance(**first))
    same = made.time("made", 1, 70.0, **again)
    made.time("made", 1, 80.0, **other)
    (rung,) = draw()[1]
    assert rung.timed.manifest.run_id == same


def test_a_rung_that_was_only_timed_is_a_rung(made, draw):
    run_id = made.time("made", 1, 80.0)
    (rung,) = draw()[1]
    assert (rung.timed.manifest.run_id, rung.profile.launches) == (run_id, 0)


# Which kernel of a run


def test_the_only_kernel_of_a_run_is_meant_whatever_it_is_called(made, draw):
    made.profile("made-1", 100.0, kernel="renamed")
    assert draw()[1][0].profile.kernel == "renamed"


def test_the_ladders_expression_chooses_one_kernel_of_several(made, draw, make_run):
    make_run({"kernel": "kernel_1"}, {"kernel": "memset"}, name="made-1", root=made.store.root)
    assert draw()[1][0].profile.kernel == "kernel_1"


def test_an_expression_that_matches_two_kernels_means_the_one_launched_more_often(made, draw, make_run):
    launches = [{"kernel": "kernel_1_reduce"}, {"kernel": "kernel_1_split"}, {"kernel": "kernel_1_split"}]
    make_run(*launches, name="made-1", root=made.store.root)
    assert draw()[1][0].profile.kernel == "kernel_1_split"


def test_timings_beside_several_kernels_are_the_rungs_time_and_one_kernel_is_part_of_it(made, draw, make_run):
    durations = {"kernel_1_split": [100.0, 100.0], "kernel_1_reduce": [300.0]}
    launches = [{"kernel": name, "ns": ns} for name, times_ns in durations.items() for ns in times_ns]
    make_run(*launches, name="made-1", root=made.store.root, timings=[500.0] * 5)
    (rung,) = draw()[1]
    assert (rung.profile.kernel, rung.profile.timings_ns.mean) == ("kernel_1_split", 500.0)
    assert rung.timed is not None
    assert is_part_of_step(rung.profile)


@pytest.mark.parametrize(
    ("kernels", "error"),
    [(("kernel_1a", "kernel_1b"), KernelAmbiguous), (("memset", "copy"), KernelNotFound)],
    ids=["two fit", "none fits"],
)
def test_a_run_with_an_unclear_kernel_leaves_out_only_its_rung(made, made_ladder, make_run, kernels, error):
    make_run(*({"kernel": one} for one in kernels), name="made-1", root=made.store.root)
    with pytest.raises(error):
        find_climb(made.store, made_ladder)
    made.profile("made-2", 100.0)
    climb = find_climb(made.store, made_ladder)
    assert [rung.kernel for rung in climb.finding.kernels] == [2]
    assert "made-1" in next(one.why for one in climb.finding.missing if one.kernel == 1)
