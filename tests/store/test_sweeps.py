"""Stored sweeps: whole, verified, found again, and no concern of those who read runs."""

import math
from dataclasses import replace
from datetime import UTC, datetime

import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace as replace_struct

from profiler.errors import CollectBusy, RunDamaged, RunNotFound
from profiler.store.runs.manifest import Provenance
from profiler.store.runs.run_store import RunStore
from profiler.store.sweeps import MeasuredSweep, SweepFacts, SweepRepeat, SweepStore, SweptPoint, Visit
from tests.store.sql import run_query

POINTS = [
    SweptPoint(0, {"TILE": 8, "UNROLL": -1}, "correct", "", 40, 4352, 0, 1e-7, [SweepRepeat("screen", 0, 2000.0, 1900.0), SweepRepeat("final", 2, 2001.0, None)]),
    SweptPoint(1, {"TILE": 16, "UNROLL": 1}, "uncompiled", "static assertion failed"),
]  # fmt: skip
FACTS = SweepFacts({"TILE": [8, 16], "UNROLL": [-1, 1]}, ["TILE > 4"], 4, {"TILE > 4": 2}, None, 5, 20, 3, 5.0, 4, {"tile.cu": "0" * 64})  # fmt: skip
MEASURED = MeasuredSweep(
    "made", 7, {"n": 1024}, datetime(2026, 1, 2, tzinfo=UTC), "NVIDIA H200", "./tile time", Provenance(seed=3), FACTS, POINTS, "key"
)  # fmt: skip


@pytest.fixture
def sweeps(tmp_path):
    return SweepStore(tmp_path / "runs")


def test_a_committed_sweep_is_read_back(sweeps):
    run_id = sweeps.commit(MEASURED)
    assert run_id.startswith("20260102t000000z-made-7-tune-")
    stored = sweeps.open(run_id)
    assert stored.points == POINTS
    manifest = stored.manifest
    assert (manifest.ladder, manifest.kernel, manifest.workload) == ("made", 7, {"n": 1024})
    assert (manifest.sweep, manifest.collection, manifest.provenance) == (FACTS, "key", Provenance(seed=3))
    schema = pq.read_schema(stored.path / "points.parquet")
    assert schema.field("registers").metadata[b"unit"] == b"register"


def test_points_without_a_parameter_that_the_manifest_lists_are_damaged(sweeps):
    facts = replace_struct(FACTS, parameters={**FACTS.parameters, "PAD": [0]})
    run_id = sweeps.commit(replace(MEASURED, sweep=facts))
    with pytest.raises(RunDamaged, match="point 0 has other parameters"):
        sweeps.open(run_id)


@pytest.mark.parametrize(
    ("points", "fault"),
    [
        ([], "none of its points is correct"),
        (POINTS[1:], "none of its points is correct"),
        ([replace_struct(POINTS[0], repeats=[])], "point 0 is correct, and was not timed"),
        *(
            ([replace_struct(POINTS[0], repeats=[SweepRepeat("final", 0, ns, None)])], "no duration")
            for ns in (0.0, -1.0, math.nan, math.inf)
        ),
        ([replace_struct(POINTS[0], repeats=[SweepRepeat("final", 0, 1.0, 0.0)])], "no duration"),
    ],
)
def test_points_that_no_sweep_could_have_measured_are_damaged(sweeps, points, fault):
    """Somebody else may have written them, with hashes that fit; `prof tune --stored` would divide by zero."""
    run_id = sweeps.commit(replace(MEASURED, points=points))
    with pytest.raises(RunDamaged, match=fault):
        sweeps.open(run_id)


def test_it_is_found_by_its_name_and_by_what_was_asked_for_the_newest_first(sweeps):
    first = sweeps.commit(MEASURED)
    sweeps.commit(replace(MEASURED, key="another"))
    second = sweeps.commit(replace(MEASURED, recorded=datetime(2026, 1, 3, tzinfo=UTC)))
    assert [one.run_id for one in sweeps.find("made-7-tune", "key")] == [second, first]
    assert sweeps.find("made-8-tune", "key") == []


def test_the_newest_of_a_workload_is_found_whatever_was_asked_for(sweeps):
    sweeps.commit(MEASURED)
    newest = sweeps.commit(replace(MEASURED, recorded=datetime(2026, 1, 3, tzinfo=UTC), key="another"))
    sweeps.commit(replace(MEASURED, recorded=datetime(2026, 1, 4, tzinfo=UTC), workload={"n": 64}))
    assert sweeps.newest("made-7-tune", {"n": 1024}).manifest.run_id == newest
    with pytest.raises(RunNotFound, match="'made-7-tune' at n=8; there is one at n=64, one at n=1024"):
        sweeps.newest("made-7-tune", {"n": 8})
    with pytest.raises(RunNotFound, match="'made-8-tune' at n=1024") as none:
        sweeps.newest("made-8-tune", {"n": 1024})
    assert "on a machine with a GPU" in none.value.remedy


def test_runs_are_read_as_if_it_were_not_there(sweeps):
    sweeps.commit(MEASURED)
    runs = RunStore(sweeps.root.parent)
    assert runs.ids() == []
    assert run_query(runs, "select count(*) from timings")[1] == [(0,)]


@pytest.mark.parametrize("file", ["points.parquet", "run.json"])
def test_a_changed_file_is_damage(sweeps, file):
    path = sweeps.root / sweeps.commit(MEASURED) / file
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(RunDamaged, match=file):
        sweeps.open(path.parent.name)


def test_a_visit_is_kept_for_the_program_that_it_was_made_with(sweeps):
    visit = Visit("code", "correct", "", 1e-7, "the library", [SweepRepeat("full", 0, 2.0, 1.0)])
    with sweeps.unfinished("key") as unfinished:
        unfinished.keep_visit("full", 0, {"TILE": 8}, visit)
        with pytest.raises(CollectBusy), sweeps.unfinished("key"):
            pass
    with sweeps.unfinished("key") as unfinished:
        assert unfinished.visit("full", 0, {"TILE": 8}, "code") == visit
        assert unfinished.visit("full", 0, {"TILE": 8}, "changed") is None
        assert unfinished.visit("full", 1, {"TILE": 8}, "code") is None
        assert unfinished.visit("full", 0, {"TILE": 9}, "code") is None
        unfinished.discard()
    assert list(sweeps.root.glob(".unfinished/*")) == []
