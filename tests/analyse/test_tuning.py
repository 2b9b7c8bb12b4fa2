"""A sweep finds which point wins and how surely, what each parameter is worth, and what became of the rest."""

import random
from pathlib import Path

import pytest
from msgspec.structs import replace

from profiler.analyse.tuning import derive_tuning, slowest_correct
from profiler.store.runs.manifest import Provenance
from profiler.store.sweeps import StoredSweep, SweepFacts, SweepManifest, SweepRepeat, SweptPoint


def sweep_of(*points):
    names = dict.fromkeys(name for point in points for name in point.settings)
    parameters = {name: sorted({point.settings[name] for point in points}) for name in names}
    known = SweepFacts(parameters, [], len(points), {}, None, 5, 20, 3, 5.0, 4, {})
    manifest = SweepManifest(
        2, "id", "made-7-tune", "timed", "2026-01-02T00:00:00Z", [], [], {}, ladder="made", kernel=7, workload={"n": 64},
        gpus=["NVIDIA H200"], provenance=Provenance(seed=3, reference="the library"), sweep=known,
    )  # fmt: skip
    return StoredSweep(Path("id"), manifest, [replace(one, point=place) for place, one in enumerate(points)])


def repeats(stage, *processes, reference_ns=None):
    return [
        SweepRepeat(stage, number, ns, reference_ns) for number, times in enumerate(processes) for ns in times
    ]


def point(settings, *measured):
    return SweptPoint(0, settings, "correct", repeats=[repeat for group in measured for repeat in group])


def briefly(tile, ns, unroll=1):
    return point({"TILE": tile, "UNROLL": unroll}, repeats("screen", [ns] * 5))


A, B, C = {"TILE": 2}, {"TILE": 4}, {"TILE": 8}
FINAL_A = repeats("final", [1000, 1002], [1001, 1003], [1000, 1001])
FINAL_B = repeats("final", [1050, 1052], [1051, 1053], [1049, 1051])


def test_the_last_stage_alone_decides_who_wins():
    lucky = point(B, repeats("screen", [500.0]), repeats("full", [501.0]), FINAL_B)
    finding = derive_tuning(sweep_of(lucky, point(A, repeats("screen", [1200.0]), FINAL_A)))
    assert [one.settings for one in finding.points] == [A, B]
    assert finding.best.time_ns == 1001
    assert finding.best.repeats == 6
    assert finding.points[1].slower_pct == pytest.approx(100 * (1051 / 1001 - 1))


def test_a_point_that_was_not_timed_again_never_wins_and_shows_what_it_was_timed_at():
    finding = derive_tuning(sweep_of(point(A, FINAL_A), point(C, repeats("full", [900.0, 901.0]))))
    assert finding.best.settings == A
    assert (finding.points[1].stage, finding.points[1].slower_pct < 0) == ("full", True)


def test_the_certainty_that_the_second_is_slower_is_computed_over_processes():
    finding = derive_tuning(sweep_of(point(A, FINAL_A), point(B, FINAL_B)), current=B)
    step = finding.runner_up
    assert step.ci[0] < step.slower_pct < step.ci[1]
    assert step.slower_pct == pytest.approx(5.0, abs=0.1)
    assert step.is_sure
    assert finding.current == step
    apart = point(B, repeats("final", [990, 991], [1020, 1021], [1004, 1005]))
    unsure = derive_tuning(sweep_of(point(A, FINAL_A), apart)).runner_up
    assert not unsure.is_sure


def test_who_is_first_and_by_how_much_the_second_is_slower_do_not_contradict_each_other():
    """A few repeats of the best point were interrupted: by its mean, it would be the slower one."""
    interrupted = point(
        A, repeats("final", *([1000.0 + n, 1001.0, 1002.0, 3000.0, 3001.0] for n in range(3)))
    )
    step = derive_tuning(sweep_of(interrupted, point(B, FINAL_B))).runner_up
    assert step.settings == B
    assert step.slower_pct == pytest.approx(4.9, abs=0.1)


def test_with_one_process_each_the_second_is_not_surely_slower():
    one, other = (point(settings, repeats("final", times)) for settings, times in ((A, [10.0, 10.1]), (B, [12.0, 12.1])))  # fmt: skip
    step = derive_tuning(sweep_of(one, other)).runner_up
    assert (step.ci, step.is_sure) == (None, False)
    assert step.slower_pct == pytest.approx(100 * (12.05 / 10.05 - 1))


def test_equal_points_are_seldom_called_different():
    random_ = random.Random(8)
    sure = 0
    for _ in range(200):
        equal = [point({"TILE": tile}, repeats("final", *noisy_processes(random_))) for tile in (2, 4, 8, 16)]
        step = derive_tuning(sweep_of(*equal)).runner_up
        sure += step.is_sure
    assert sure <= 10


def noisy_processes(random_):
    """Three processes of five repeats; processes differ as well as repeats do."""
    centres = [random_.gauss(1000, 3) for _ in range(3)]
    return [[random_.gauss(centre, 2) for _ in range(5)] for centre in centres]


def test_the_point_of_the_source_is_marked_and_compared_unless_it_is_the_best():
    sweep = sweep_of(point(A, FINAL_A), point(B, FINAL_B))
    best = derive_tuning(sweep, current=A)
    assert (best.best.is_current, best.current) == (True, None)
    assert derive_tuning(sweep, current={"TILE": 64}).current is None
    assert [one.is_current for one in derive_tuning(sweep, current=B).points] == [False, True]


def test_a_value_is_worth_what_its_best_point_is():
    sweep = sweep_of(
        briefly(2, 100.0), briefly(2, 140.0, unroll=2), briefly(4, 110.0), briefly(4, 120.0, unroll=2),
        briefly(8, 300.0),
    )  # fmt: skip
    tile, unroll = derive_tuning(sweep).parameters
    assert (tile.name, tile.worth_pct) == ("TILE", pytest.approx(200))
    assert [(one.value, one.points, one.best_ns, one.median_ns) for one in tile.values] == [
        (2, 2, 100, 120), (4, 2, 110, 115), (8, 1, 300, 300),
    ]  # fmt: skip
    assert [one.slower_pct for one in tile.values] == pytest.approx([0, 10, 200])
    assert (unroll.name, unroll.worth_pct) == ("UNROLL", pytest.approx(20))


def test_an_incorrect_point_never_wins_and_the_reasons_are_counted():
    fast = SweptPoint(0, B, "wrong", "off by one", repeats=repeats("screen", [1.0]))
    excluded = [SweptPoint(0, {"TILE": tile}, "excluded", "spills") for tile in (16, 32, 64)]
    finding = derive_tuning(sweep_of(fast, point(A, FINAL_A), *excluded))
    assert [one.settings for one in finding.points] == [A]
    assert (finding.tried, finding.timed) == (5, 1)
    assert [(fate.status, fate.points) for fate in finding.fates] == [("excluded", 3), ("wrong", 1)]
    assert [value.value for value in finding.parameters[0].values] == [2]


def test_many_reasons_are_grouped_by_their_status():
    points = [SweptPoint(0, {"TILE": tile}, "failed", f"reason {tile}") for tile in range(8)]
    fates = derive_tuning(sweep_of(point(A, FINAL_A), *points)).fates
    assert sum(fate.points for fate in fates) == 8
    assert (fates[-1].reason, fates[-1].points) == ("for other reasons", 3)


def test_reasons_that_differ_in_what_the_compiler_counted_are_one_with_its_range():
    def fates(*reasons):
        points = [SweptPoint(0, {"TILE": place}, "excluded", reason) for place, reason in enumerate(reasons)]
        return [
            (fate.reason, fate.points) for fate in derive_tuning(sweep_of(point(A, FINAL_A), *points)).fates
        ]

    spills = "spill_bytes == 0, but spill_bytes is {}"
    assert fates(*map(spills.format, (40, 16, 40))) == [(spills.format("16 to 40"), 3)]
    assert fates(*map(spills.format, (40, 40))) == [(spills.format(40), 2)]
    both = "registers * threads <= 65536, but registers is {}, threads is {}"
    assert fates(both.format(255, 512), both.format(168, 512)) == [(both.format("168 to 255", 512), 2)]
    assert fates("it is 3", "it") == [("it", 1), ("it is 3", 1)]
    assert len(fates("error is 0.5", "error is 1.5", "block 3 failed", "block 4 failed")) == 4


def test_the_reference_shows_what_the_machine_did_meanwhile():
    sweep = sweep_of(
        point(A, repeats("screen", [10.0], reference_ns=100.0)), point(B, repeats("screen", [20.0], reference_ns=102.0))
    )  # fmt: skip
    finding = derive_tuning(sweep)
    assert finding.reference_spread_pct == pytest.approx(100 * 2 / 101)
    assert finding.best.reference_pct == pytest.approx(1000)
    bare = derive_tuning(sweep_of(point(A, FINAL_A)))
    assert (bare.reference_spread_pct, bare.best.reference_pct) == (None, None)


def test_the_best_are_shown_and_all_are_counted():
    sweep = sweep_of(*(briefly(tile, 100.0 + tile) for tile in range(30)))
    finding = derive_tuning(sweep, most=3)
    assert [one.settings["TILE"] for one in finding.points] == [0, 1, 2]
    assert finding.timed == finding.stages["screen"] == 30
    assert slowest_correct(sweep) == {"TILE": 29, "UNROLL": 1}
