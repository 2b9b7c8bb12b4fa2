"""A run comes to exist whole, once, or not at all."""

import multiprocessing
import os
import random
import shutil
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from profiler.errors import StoreNotWritable
from profiler.store.remote.places import FolderPlace
from profiler.store.runs.commit import STAGING_FOLDER, Staging
from profiler.store.runs.manifest import Manifest, read_manifest, write_manifest
from profiler.store.runs.run_id import RunId

RUN_ID = "20260101t000000z-name-0123456789ab"


def run_id(number, name="name"):
    return f"20260101t000000z-{name}-{number:012x}"


def prepared(staging, run=RUN_ID):
    """A run that says of itself what its id says."""
    folder = staging.folder()
    folder.mkdir()
    run_id = RunId.parse(run)
    recorded = datetime.strptime(run_id.time, "%Y%m%dt%H%M%Sz").replace(tzinfo=UTC).isoformat()
    facts = {"name": run_id.name, "recorded": recorded, "content_sha256": run_id.hash.ljust(64, "0")}
    write_manifest(Manifest(3, run, origin="timed", reports=[], kernels=[], tables={}, **facts), folder)
    return folder


def test_a_commit_moves_the_folder_into_place_and_leaves_nothing(tmp_path):
    with Staging(tmp_path / "a" / "runs") as staging:
        target = staging.commit(prepared(staging, RUN_ID), RUN_ID)

    assert target == tmp_path / "a" / "runs" / RUN_ID
    assert read_manifest(target).run_id == RUN_ID
    assert sorted(path.name for path in target.parent.iterdir()) == [".lock", RUN_ID]


def test_a_second_run_of_the_same_report_is_not_committed(tmp_path):
    with Staging(tmp_path) as staging:
        assert staging.commit(prepared(staging, RUN_ID), RUN_ID)
        other_name = RUN_ID.replace("name", "other")
        folder = prepared(staging, other_name)

        assert staging.commit(folder, other_name) is None
        assert not folder.exists()
    assert not (tmp_path / other_name).exists()


def test_the_runs_are_listed_again_only_where_another_changed_the_folder(tmp_path, monkeypatch):
    """Else each commit to a folder of many thousand runs would take longer than the one before."""
    names, listings = FolderPlace.names, []
    monkeypatch.setattr(FolderPlace, "names", lambda folder: listings.append(1) or names(folder))
    with Staging(tmp_path) as ours, Staging(tmp_path) as other:
        for number in range(5):
            assert ours.commit(prepared(ours, run_id(number)), run_id(number))
        assert len(listings) == 1

        assert other.commit(prepared(other, run_id(5)), run_id(5))
        assert ours.commit(prepared(ours, run_id(5)), run_id(5)) is None
        assert len(listings) == 3

        assert ours.commit(prepared(ours, run_id(6)), run_id(6))
        prepared(other, run_id(7)).rename(tmp_path / run_id(7))  # by hand
        assert ours.commit(prepared(ours, run_id(7)), run_id(7)) is None

        shutil.rmtree(tmp_path / run_id(7))
        assert ours.commit(prepared(ours, run_id(7)), run_id(7))


@pytest.mark.parametrize("step_ns", [100, 4_000_000, 1_000_000_000])
def test_coarse_file_times_do_not_hide_the_commit_of_another_process(tmp_path, monkeypatch, step_ns):
    utime = os.utime
    monkeypatch.setattr(
        os, "utime", lambda path, ns: utime(path, ns=tuple(one // step_ns * step_ns for one in ns))
    )
    with Staging(tmp_path) as ours, Staging(tmp_path) as other:
        for number in range(20):
            first, second = (ours, other) if number % 2 else (other, ours)
            assert first.commit(prepared(first, run_id(number, "first")), run_id(number, "first"))
            assert second.commit(prepared(second, run_id(number, "second")), run_id(number, "second")) is None


def test_processes_that_commit_the_same_reports_at_once_store_each_once(tmp_path):
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    processes = [context.Process(target=commit_all, args=(tmp_path, 40, name)) for name in "abcd"]
    for process in processes:
        process.start()
    for process in processes:
        process.join()

    assert [process.exitcode for process in processes] == [0] * 4
    hashes = [path.name[-12:] for path in tmp_path.iterdir() if path.name != ".lock"]
    assert sorted(hashes) == [run_id(number)[-12:] for number in range(40)]


def commit_all(root, count, name):
    numbers = random.Random(name).sample(range(count), count)
    with Staging(root) as staging:
        for number in numbers:
            staging.commit(prepared(staging, run_id(number, name)), run_id(number, name))


def test_staged_files_of_a_living_process_stay_and_those_of_a_dead_one_are_swept(tmp_path):
    dead = tmp_path / STAGING_FOLDER / "dead"
    (dead / "1").mkdir(parents=True)
    (dead / "owner").touch()
    (dead / "1" / "metrics.parquet").write_bytes(b"half")
    unborn = tmp_path / STAGING_FOLDER / "killed-before-it-had-an-owner"
    unborn.mkdir()

    with Staging(tmp_path) as living:
        folder = prepared(living)
        with Staging(tmp_path):
            assert (folder / "run.json").exists()
        assert living.commit(folder, RUN_ID)

    assert not dead.exists()
    assert not unborn.exists()


def test_a_process_that_died_while_staging_is_swept_by_the_next(tmp_path):
    code = (
        "import os, sys; from pathlib import Path; from profiler.store.runs.commit import Staging\n"
        "staging = Staging(Path(sys.argv[1])); folder = staging.folder(); folder.mkdir()\n"
        "(folder / 'half').touch(); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert list(tmp_path.glob(f"{STAGING_FOLDER}/*/1/half"))

    with Staging(tmp_path):
        assert not list(tmp_path.glob(f"{STAGING_FOLDER}/*/1/half"))


def test_a_stray_file_among_the_staging_folders_is_no_obstacle(tmp_path):
    (tmp_path / STAGING_FOLDER).mkdir()
    (tmp_path / STAGING_FOLDER / "stray").touch()

    with Staging(tmp_path) as staging:
        assert staging.commit(prepared(staging, RUN_ID), RUN_ID)


def test_a_store_that_cannot_be_made_is_refused_with_its_path(tmp_path):
    (tmp_path / "file").touch()

    with pytest.raises(StoreNotWritable, match=r"file/runs: cannot be written: Not a directory"):
        Staging(tmp_path / "file" / "runs")


def test_several_users_stage_in_one_folder(open_folder, as_nobody):
    """Nobody sweeps what another user left, and the usual umask is no obstacle."""
    dead = open_folder / STAGING_FOLDER / "dead"
    with Staging(open_folder) as living:
        dead.mkdir(0o700)
        (dead / "owner").touch(0o644)
        with as_nobody(), Staging(open_folder) as other:
            assert other.commit(prepared(other, RUN_ID), RUN_ID)
        assert living.commit(
            prepared(living, RUN_ID.replace("name-0", "name-1")), RUN_ID.replace("name-0", "name-1")
        )

    with as_nobody():
        assert len(list(open_folder.iterdir())) == 4  # two runs, .lock, .staging
    Staging(open_folder).__exit__(None, None, None)
    assert not dead.exists()


@pytest.mark.slow
def test_processes_that_come_and_go_together_do_not_trip_over_each_other(tmp_path):
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    processes = [context.Process(target=come_and_go, args=(tmp_path, 150)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()

    assert [process.exitcode for process in processes] == [0] * 4
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


def come_and_go(root, times):
    for _ in range(times):
        with Staging(root) as staging:
            prepared(staging)
