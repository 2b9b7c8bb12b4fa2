"""A ladder gathered for its charts: the stalls of every rung, and every step with its intervals."""

from dataclasses import replace

import pytest

import profiler
from profiler.analyse.ladder.climb import derive_ladder_sheet
from profiler.analyse.ladder.ideas import derive_ideas
from profiler.ask.ladder import find_climb, find_workloads
from profiler.catalog.metrics import HEADLINE
from profiler.errors import RunNotFound


@pytest.fixture(scope="module")
def sheet(recorded_ladder):
    return recorded_ladder


def test_the_stalls_of_a_rung_are_the_latency_of_its_warps(sheet, recorded):
    assert sheet.rungs
    for rung in sheet.rungs:
        table = recorded.find(str(rung.kernel), ladder="gemm").to_pandas("metrics")
        latency = table[table.metric == "smsp__average_warp_latency_per_inst_issued.ratio"].value.mean()
        assert sum(rung.stalls.values()) == pytest.approx(latency, rel=0.01)


def test_a_step_is_the_comparison_of_its_rungs(sheet, recorded):
    """Neighbours on the ladder and any two runs are compared in one way."""
    compared = profiler.compare(recorded.find("5", ladder="gemm"), recorded.find("6", ladder="gemm"))
    (step,) = [step for step in sheet.steps if step.kernel == 6]
    assert (step.before, step.refused) == (5, [])
    shown = {one.name: one for one in step.metrics if one.name in HEADLINE}
    assert shown == {one.name: one for one in compared.metrics if one.name in HEADLINE}
    assert set(shown) == set(HEADLINE)


def test_both_are_data_frames(sheet):
    rungs, steps = sheet.to_pandas(), sheet.steps_to_pandas()
    assert list(rungs.index) == [rung.kernel for rung in sheet.ladder.kernels]
    assert rungs.loc[6, "profiled_issue_active_pct"] == sheet.ladder.kernels[6].metrics["issue_active_pct"]
    low, high = steps.loc[(6, "issue_active_pct"), ["ci_low", "ci_high"]]
    assert low < steps.loc[(6, "issue_active_pct"), "delta"] < high


def test_a_workload_may_be_asked_for(recorded):
    small = profiler.ladder("gemm", recorded, workload=dict.fromkeys("mnk", 1024))
    assert small.ladder.workload == dict.fromkeys("mnk", 1024)
    assert all(rung.stalls == {} for rung in small.rungs), "timed, never profiled"
    with pytest.raises(RunNotFound, match="m=n=k=3"):
        profiler.ladder("gemm", recorded, workload=dict.fromkeys("mnk", 3))


def test_the_workload_asked_for_stands_among_the_five_that_most_rungs_were_timed_at(made, made_ladder):
    for m in (1, 2, 4, 8, 16, 32):
        for number in (0, 1) if m > 1 else (1,):
            made.time("made", number, 100.0, workload={"m": m})

    def sizes(workload):
        climb = find_climb(made.store, made_ladder, workload)
        return [finding.workload["m"] for finding in find_workloads(made.store, climb)]

    assert sizes({"m": 1}) == [1, 4, 8, 16, 32], "of two rungs each, the newest"
    assert sizes(None) == [2, 4, 8, 16, 32]


def test_workloads_stand_in_the_order_of_their_size_whatever_is_large_about_them(made, made_ladder):
    for workload in ({"m": 8, "k": 8}, {"m": 1, "k": 32}, {"m": 16, "k": 1}):
        made.time("made", 1, 100.0, workload=workload)
    found = find_workloads(made.store, find_climb(made.store, made_ladder))
    assert [finding.workload["m"] * finding.workload["k"] for finding in found] == [16, 32, 64]


def test_missing_rungs_are_listed_with_the_reason(made, made_ladder, make_run):
    made.profile("made-1", 100.0)
    made.profile("made-2", 100.0)
    make_run({"kernel": "kernel_a"}, {"kernel": "kernel_b"}, name="made-3", root=made.store.root)
    made.time("made", 0, 100.0, workload={"m": 1})
    climb = find_climb(made.store, made_ladder)
    missing = {one.kernel: (one.name, one.why) for one in climb.finding.missing}
    assert set(missing) == {0, 3}
    assert missing[0] == ("rung_0", "stored only with other conditions: NVIDIA H200, m=1")
    assert "made-3" in missing[3][1]
    assert derive_ideas(climb).missing == climb.finding.missing


def test_a_rung_without_any_run_is_missing_with_what_it_needs(made, made_ladder):
    made.profile("made-1", 100.0)
    needy = replace(made_ladder.kernels[3], needs=("cublas",))
    ladder = replace(made_ladder, kernels=(*made_ladder.kernels[:3], needy))
    whys = {one.kernel: one.why for one in find_climb(made.store, ladder).finding.missing}
    assert whys[2] == "no run is stored"
    assert whys[3] == "no run is stored; it is built only where there is cublas"


def test_a_rung_recorded_only_with_other_presets_is_missing_with_their_names(made, made_ladder):
    """As of a number that finds no run for the same reason."""
    for name in (
        "made-1",
        "made-2-counters",
        "made-2-roofline",
        "made-2-5",
    ):  # the last is of ladder `made-2`
        made.profile(name, 100.0)
    whys = {one.kernel: one.why for one in find_climb(made.store, made_ladder).finding.missing}
    assert whys[2] == "no run with the default preset; there is made-2-counters, made-2-roofline"
    assert whys[3] == "no run is stored"
    with pytest.raises(RunNotFound) as not_found:
        made.store.find("2", "made")
    assert str(not_found.value).endswith(whys[2].removeprefix("no run"))


def test_a_step_between_runs_that_cannot_be_compared_gives_the_reason(made, made_ladder):
    made.profile("made-1", 100.0, ncu_version="2024.1")
    made.profile("made-2", 90.0, ncu_version="2026.1")
    (step,) = derive_ladder_sheet(find_climb(made.store, made_ladder)).steps
    assert step.metrics == []
    assert step.refused == find_climb(made.store, made_ladder).finding.kernels[1].refused != []


def test_one_rung_alone_makes_no_step(made, made_ladder):
    made.time("made", 1, 100.0)
    sheet = derive_ladder_sheet(find_climb(made.store, made_ladder))
    assert sheet.steps == []
    assert sheet.steps_to_pandas().empty


@pytest.mark.parametrize("reference", [None, 1])
def test_the_sheet_says_which_rung_the_ladder_declares_as_its_reference(made, made_ladder, reference):
    for number in (1, 2):
        made.profile(f"made-{number}", 100.0, 101.0, 99.0)
    climb = find_climb(made.store, replace(made_ladder, reference=reference))
    assert derive_ladder_sheet(climb).reference == reference
