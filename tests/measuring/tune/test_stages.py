"""The stages of a sweep, with scripts as programs: how often each point is timed, and which points go on."""

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from profiler.catalog.ladders.ladder import Ladder
from profiler.catalog.ladders.ladder_file import read_ladder
from profiler.errors import GpuNotFound, LadderInvalid
from profiler.measuring.rungs.build import Built
from profiler.measuring.tools.gpus import Gpu
from profiler.measuring.tune.points import BuiltPoint, variant
from profiler.measuring.tune.stages import SweepStages, TuneObserver, TunePlan
from profiler.store.sweeps import SweepStore, SweptPoint

LADDER = """
title = "Made up"
command = ["{binary}"]
time = ["{binary}", "time", "{repeats}", "{seed}"]
check = ["{binary}", "check", "1", "{seed}"]
[[kernel]]
number = 7
name = "tile"
idea = "a tile"
regex = "tile"
source = "tile.cu"
[kernel.tune.parameters]
TILE = [1, 2, 3, 4, 5, 6]
"""

# A point takes TIME plus a little; what else it does is said by WHAT.
PROGRAM = """#!/bin/sh
echo "$1 TILE $3" >> "LOG"
case "WHAT $1" in
    wrong*check) echo '{"relative_error": 1.0, "threshold": 1e-5}'; exit 4;;
    refuses*check) exit 3;;
    fails*time) echo "too many resources requested for launch" >&2; exit 1;;
    late*time) [ $2 -gt 2 ] && { echo "an illegal access" >&2; exit 1; };;
    hangs*time) sleep 60;;
    gpuless*) echo "no CUDA device" >&2; exit 5;;
esac
[ "$1" = check ] && { echo '{"relative_error": 1e-7, "threshold": 1e-5}'; exit 0; }
i=0
while [ $i -lt $2 ]; do echo "{\\"kernel_ns\\": $((TIME + i % 3)), \\"reference_ns\\": 900}"; i=$((i + 1)); done
echo '{"summary": true, "reference": "the library"}'
"""


@dataclass
class Place:
    """`run({1: (1000, "works"), ...})`: the points of a sweep, each with its time and what it does."""

    folder: Path
    ladder: Ladder
    told: list[tuple[str, object]] = field(default_factory=list)

    @property
    def plan(self):
        gpu = Gpu("NVIDIA H200", "sm_90", "580.1", "GPU-0")
        return TunePlan(
            self.ladder, self.ladder.kernel(7), {}, gpu, "13.0.88", screen_repeats=2, repeats=3, processes=2,
            finalists=2, within_pct=10.0, timeout_s=20.0,
        )  # fmt: skip

    def run(self, points, *, current=None, seed=1, **changes):
        plan = replace(self.plan, **changes)
        candidates = [self._candidate(place, tile, *points[tile]) for place, tile in enumerate(points)]
        now = None if current is None else {"TILE": current}
        with SweepStore(self.folder / "runs").unfinished("key") as pending:
            codes = {one.point: "code" for one in candidates}
            tuning = SweepStages(plan, seed, candidates, codes, pending, self.observer(), now)
            tuning.run()
            known = [SweptPoint(one.point, one.settings, "correct") for one in candidates]
        return {one.settings["TILE"]: tuning.result(one) for one in known}

    def observer(self):
        def visited(candidate, visit, known):
            self.told.append(("known" if known else "measured", candidate.settings["TILE"]))

        def chosen(choice):
            raise AssertionError(choice)

        return TuneObserver(chosen, lambda what, total: self.told.append((what, total)), lambda built: None, visited)  # fmt: skip

    def calls(self, mode="time"):
        """The points that ran, in their order."""
        log = self.folder / "log"
        words = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
        return [int(tile) for what, tile, _ in words if what == mode]

    def _candidate(self, place, tile, time_ns, what):
        kernel = variant(self.ladder.kernel(7), {"TILE": tile})
        binary = self.folder / kernel.file_name
        text = PROGRAM.replace("WHAT", what).replace("LOG", str(self.folder / "log"))
        binary.write_text(text.replace("TIME", str(time_ns)).replace("TILE", str(tile)))
        binary.chmod(0o755)
        return BuiltPoint(place, {"TILE": tile}, Built(kernel, "built", binary))


@pytest.fixture
def place(tmp_path):
    (tmp_path / "ladder.toml").write_text(LADDER)
    return Place(tmp_path, read_ladder(tmp_path / "ladder.toml"))


def stages(point):
    return Counter(repeat.stage for repeat in point.repeats)


def test_hopeless_points_are_stopped_and_the_best_few_are_timed_again(place):
    points = place.run({1: (1000, ""), 2: (1010, ""), 3: (1050, ""), 4: (5000, "")})
    assert stages(points[1]) == stages(points[2]) == {"screen": 2, "full": 3, "final": 6}
    assert stages(points[3]) == {"screen": 2, "full": 3}
    assert stages(points[4]) == {"screen": 2}
    assert {repeat.process for repeat in points[1].repeats if repeat.stage == "final"} == {0, 1}
    assert points[1].relative_error == 1e-7
    assert {one.status for one in points.values()} == {"correct"}


@pytest.mark.slow
def test_the_finalists_take_turns(place):
    place.run({1: (1000, ""), 2: (1010, ""), 3: (5000, "")}, processes=3)
    turns = place.calls()[-6:]
    assert [sorted(turns[at : at + 2]) for at in (0, 2, 4)] == [[1, 2]] * 3


@pytest.mark.slow
def test_the_point_of_the_source_passes_through_all_stages_however_slow_it_is(place):
    points = place.run({1: (1000, ""), 2: (1010, ""), 3: (1020, ""), 4: (5000, "")}, current=4)
    assert stages(points[4]) == {"screen": 2, "full": 3, "final": 6}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "status", "reason"),
    [
        ("wrong", "wrong", "computes a wrong result, seed 1"),
        ("refuses", "refused", "the program refuses this shape"),
        ("fails", "failed", "exit code 1: too many resources requested for launch"),
        ("hangs", "hung", "did not end within 3 s and was killed"),
    ],
)
def test_a_point_that_does_not_work_is_recorded_with_its_reason(place, what, status, reason):
    points = place.run({1: (1, what), 2: (1000, "")}, timeout_s=3.0 if what == "hangs" else 20.0)
    assert (points[1].status, points[1].repeats) == (status, [])
    assert points[1].reason.startswith(reason)
    assert points[2].status == "correct"
    assert place.calls().count(1) <= 1


def test_one_that_fails_late_is_not_tried_further(place):
    points = place.run({1: (1000, "late"), 2: (1010, ""), 3: (1020, "")})
    assert (points[1].status, points[1].reason) == ("failed", "exit code 1: an illegal access")
    assert place.calls().count(1) == 2
    assert stages(points[3]) == {"screen": 2, "full": 3, "final": 6}


def test_no_point_is_timed_further_when_none_works(place):
    points = place.run({1: (1, "wrong"), 2: (1, "fails")})
    assert {one.status for one in points.values()} == {"wrong", "failed"}


def test_a_machine_without_a_gpu_ends_it(place):
    with pytest.raises(GpuNotFound):
        place.run({1: (1000, "gpuless")})


def test_points_that_were_measured_are_not_measured_again(place):
    points = {1: (1000, ""), 2: (1010, "wrong"), 3: (1020, "")}
    first = place.run(points)
    calls, place.told = place.calls(), []
    assert place.run(points) == first
    assert place.calls() == calls
    assert {what for what, _ in place.told} - {"screen", "full", "final"} == {"known"}


def test_each_process_of_a_finalist_gets_inputs_of_its_own(place):
    place.run({1: (1000, "")}, processes=3, seed=70)
    log = (place.folder / "log").read_text().splitlines()
    assert [line.split()[2] for line in log if line.startswith("check")] == ["70", "70", "71", "72"]


@pytest.mark.slow
def test_the_order_is_decided_by_the_seed(place):
    points = {tile: (1000 + tile, "") for tile in range(1, 6)}
    orders = []
    for seed in (1, 1, 2):
        place.told = []
        place.run(points, seed=seed, finalists=1, processes=1)
        order = [tile for what, tile in place.told if what in ("measured", "known")]
        orders.append(order[5:10])  # the promising ones; before them, points come as they were chosen
    assert orders[0] == orders[1] != orders[2]


def test_a_ladder_that_cannot_be_timed_is_refused_before_anything_is_measured(tmp_path):
    (tmp_path / "ladder.toml").write_text(LADDER.replace("time =", "flags = [] #"))
    ladder = read_ladder(tmp_path / "ladder.toml")
    with pytest.raises(LadderInvalid, match="has no 'time' command"):
        Place(tmp_path, ladder).plan.check()


def test_the_key_holds_all_that_is_asked_for(place):
    plan = place.plan
    others = [
        replace(plan, repeats=4), replace(plan, seed=1), replace(plan, limit=2), replace(plan, within_pct=3.0),
        replace(plan, nvcc_version="12"), replace(plan, gpu=replace(plan.gpu, name="NVIDIA L4")),
        replace(plan, kernel=replace(plan.kernel, flags=("-O1",))),
    ]  # fmt: skip
    assert len({plan.key(), *(one.key() for one in others)}) == 1 + len(others)
    assert replace(plan, timeout_s=1.0).key() == plan.key()
