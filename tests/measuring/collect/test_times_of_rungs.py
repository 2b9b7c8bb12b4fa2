"""Timing a ladder: kernels take turns, failures are reported, and each run is committed once."""

import subprocess
from pathlib import Path

import pytest

from profiler.catalog.ladders.ladder_file import read_ladder
from profiler.catalog.presets import find_preset
from profiler.errors import GpuNotFound, ProfError, ProgramFailed, RunDamaged
from profiler.measuring.collect.collection import CollectPlan
from profiler.measuring.collect.device import LocalDevice
from profiler.measuring.collect.target import timed_target
from profiler.measuring.collect.turns import time_here
from profiler.measuring.rungs.program import RungJob
from profiler.measuring.tools.gpus import Gpu
from profiler.measuring.tools.ncu import NO_NCU, NcuOptions
from profiler.store.runs.run_store import RunStore
from profiler.store.tables.schema import TABLES
from tests.store.sql import run_query

GPU = Gpu("NVIDIA H200", "sm_90", "580.1", "GPU-0")


@pytest.fixture
def ladder(make_ladder, tmp_path):
    return read_ladder(make_ladder(tmp_path / "kernels" / "scripts", "works", "fails", "works2"))


def timed(ladder, folder, numbers=None, sizes=(100, 200), advance=lambda line, error: None, **changes):
    options = {"repeats": 3, "processes": 2, "timeout_s": 60, "again": True, **changes}
    plan = CollectPlan(LocalDevice(GPU, NO_NCU), NcuOptions(find_preset("default")), verify=False, **options)
    shapes = [ladder.workload.values(size) for size in sizes]
    return [
        outcome
        for values in shapes
        for targets in [[timed_target(RungJob(ladder, one, values), None) for one in ladder.choose(numbers)]]
        for outcome in time_here(plan, targets, RunStore(folder), advance, print)
    ]


@pytest.mark.slow
def test_each_kernel_and_size_becomes_a_run(ladder, tmp_path):
    outcomes = timed(ladder, tmp_path / "runs", seed=7)
    assert [(one.target.job.kernel.number, one.target.job.values["size"]) for one in outcomes] == [
        (1, 100), (2, 100), (3, 100), (1, 200), (2, 200), (3, 200),
    ]  # fmt: skip
    stored = RunStore(tmp_path / "runs")
    assert {str(run_id) for run_id in stored.ids()} == {one.run_id for one in outcomes if one.run_id}
    run = stored.find(outcomes[0].run_id, "scripts")
    run.verify()
    manifest = run.manifest
    assert (manifest.origin, manifest.name, manifest.reports) == ("timed", "scripts-1-timed", [])
    assert (manifest.ladder, manifest.kernel, manifest.workload) == ("scripts", 1, {"size": 100})
    assert manifest.gpus == ["NVIDIA H200"]
    assert manifest.launches == 0
    assert manifest.command_line.endswith("./program.py works time 100 3 7")
    assert str(tmp_path) not in manifest.command_line
    provenance = manifest.provenance
    assert (provenance.driver_version, provenance.seed, provenance.reference) == ("580.1", 7, "the best")
    assert provenance.runtime == "Script 1"
    assert provenance.seconds is not None
    rows = run.table("timings").to_pylist()
    assert [(row["process"], row["repeat"], row["kernel_ns"]) for row in rows] == [
        (0, 0, 1000), (0, 1, 1100), (0, 2, 1200), (1, 0, 1000), (1, 1, 1100), (1, 2, 1200),
    ]  # fmt: skip
    assert {row["reference_ns"] for row in rows} == {900}
    assert {name: run.table(name).num_rows for name in TABLES if name != "timings"} == dict.fromkeys(
        set(TABLES) - {"timings"}, 0
    )


def test_a_kernel_that_fails_is_left_out_and_stores_nothing(ladder, tmp_path):
    told = []
    outcomes = timed(
        ladder,
        tmp_path / "runs",
        sizes=[100],
        repeats=1,
        advance=lambda line, error: told.append((line, error)),
    )
    assert [bool(one.run_id) for one in outcomes] == [True, False, True]
    assert isinstance(outcomes[1].error, ProgramFailed)
    assert len(told) == 6
    assert [line for line, _ in told if line] == ["failed"]
    assert len(RunStore(tmp_path / "runs").ids()) == 2


def test_a_refused_shape_is_reported_as_such(make_ladder, tmp_path):
    ladder = read_ladder(make_ladder(tmp_path / "kernels" / "scripts", "refuses", "fails"))
    told = []
    timed(
        ladder,
        tmp_path / "runs",
        sizes=[100],
        repeats=1,
        processes=1,
        advance=lambda line, error: told.append(line),
    )
    assert told == ["refused", "failed"]


def test_the_kernels_of_a_size_take_turns(ladder, tmp_path, monkeypatch):
    log = tmp_path / "started"
    monkeypatch.setenv("PROGRAM_LOG", str(log))
    timed(ladder, tmp_path / "runs", [1, 3])
    assert log.read_text().splitlines() == [
        "works 100", "works2 100", "works 100", "works2 100",
        "works 200", "works2 200", "works 200", "works2 200",
    ]  # fmt: skip


def test_without_a_gpu_it_ends_at_once(make_ladder, tmp_path):
    ladder = read_ladder(make_ladder(tmp_path / "kernels" / "scripts", "no_gpu", "works"))
    with pytest.raises(GpuNotFound):
        timed(ladder, tmp_path / "runs")
    assert not RunStore(tmp_path / "runs").ids()


@pytest.mark.slow
def test_two_measurements_are_two_runs(ladder, tmp_path):
    for _ in range(3):
        timed(ladder, tmp_path / "runs", [1])
    assert len(RunStore(tmp_path / "runs").ids()) == 6


def test_a_number_finds_the_timings_of_what_was_never_profiled(ladder, tmp_path):
    timed(ladder, tmp_path / "runs", [1])
    store = RunStore(tmp_path / "runs")
    assert store.find("1", "scripts").manifest.origin == "timed"
    with pytest.raises(ProfError, match="no run of kernel 3"):
        store.find("3", "scripts")
    assert store.find("scripts-1-timed", "scripts").manifest.origin == "timed"


def test_they_are_queried_as_any_run_is(ladder, tmp_path):
    timed(ladder, tmp_path / "runs", [1])
    _, rows = run_query(
        RunStore(tmp_path / "runs"),
        "select r.name, r.report_sha256, count(*), min(t.kernel_ns) from timings t join runs r using (run_id) "
        "group by r.run_id, r.name, r.report_sha256 order by 4",
    )
    assert rows == [("scripts-1-timed", None, 6, 1000.0), ("scripts-1-timed", None, 6, 2000.0)]


def test_a_changed_table_is_damage(ladder, tmp_path):
    run_id = timed(ladder, tmp_path / "runs", [1])[0].run_id
    path = tmp_path / "runs" / run_id / "timings.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(RunDamaged, match=r"timings\.parquet"):
        RunStore(tmp_path / "runs").find(run_id, "scripts").verify()


def test_a_folder_renamed_is_damage(ladder, tmp_path):
    run_id = timed(ladder, tmp_path / "runs", [1])[0].run_id
    other = run_id[:-12] + "0" * 12
    (tmp_path / "runs" / run_id).rename(tmp_path / "runs" / other)
    with pytest.raises(RunDamaged, match="do not belong together"):
        RunStore(tmp_path / "runs").find(other, "scripts")


@pytest.mark.slow
@pytest.mark.needs("git")
def test_files_that_prof_writes_do_not_count_as_changes_of_the_git_tree(ladder, tmp_path, monkeypatch):
    git = ["git", "-C", str(tmp_path), "-c", "user.name=t", "-c", "user.email=t@example.com"]
    for words in (["init", "-q"], ["add", "kernels"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    (tmp_path / "build" / "scripts" / "sm_90").mkdir(parents=True)
    (tmp_path / "build" / "scripts" / "sm_90" / "01_works").write_text("compiled")
    store = RunStore(tmp_path / "out" / "[runs]")
    for _ in range(2):
        timed(ladder, store.root, [1, 3])
    monkeypatch.chdir(tmp_path / "out")
    timed(ladder, Path("[runs]"), [1])
    facts = [manifest.provenance for manifest in store.manifests()]
    assert len(facts) == 10
    assert [one and one.git_dirty for one in facts] == [False] * 10
    (tmp_path / "out" / "mine").write_text("not of prof")
    timed(ladder, store.root, [1])
    assert sum(bool(one.provenance and one.provenance.git_dirty) for one in store.manifests()) == 2
