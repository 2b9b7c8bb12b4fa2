"""The folders that prof works in: their free space, unfinished collections, and private paths in their reports."""

import shutil
import sys
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from profiler.measuring.doctor.checks import HealthCheck, Machine
from profiler.measuring.doctor.folders import (
    check_folders,
    check_private_paths,
    check_runs_folder,
    check_stored_runs,
    check_unfinished,
    newest_reports,
    smallest_report,
)
from profiler.store.packs.compact import compact, plan_packs
from profiler.store.reports.identity import pack_report
from profiler.store.runs.manifest import StoredReport, write_manifest
from profiler.store.runs.run_store import RunStore
from profiler.store.runs.unfinished import UnfinishedCollection, UnfinishedPlan

HASHES = ("aaaaaaaaaaaa", "bbbbbbbbbbbb", "cccccccccccc")


@pytest.fixture
def runs(reports, tmp_path):
    """`runs(b"/home/jane/a.out", b"")`: a folder of runs, oldest first, whose reports hold these bytes."""

    def make(*texts):
        root = tmp_path / "runs"
        whole = (reports / "graph.ncu-rep").read_bytes()
        for day, (text, end) in enumerate(zip(texts, HASHES, strict=False), start=1):
            folder = root / f"2026010{day}t000000z-run{day}-{end}"
            folder.mkdir(parents=True)
            (tmp_path / "plain").write_bytes(whole + text)
            pack_report(tmp_path / "plain", folder / "report.ncu-rep.zst")
        return root

    return make


@pytest.fixture
def packed(make_run, tmp_path):
    """Nine runs in one pack, each with a report."""
    for number in range(9):
        run = make_run({"kernel": f"k{number}"}, name=f"run{number}", root=tmp_path / "runs")
        report = f"report {number}".encode()
        (run.path / "report.ncu-rep.zst").write_bytes(report)
        stored = StoredReport(sha256(report).hexdigest(), len(report), file="report.ncu-rep.zst")
        write_manifest(replace(run.manifest, reports=[stored]), run.path)
    store = RunStore(tmp_path / "runs")
    compact(store, plan_packs(store))
    return store


def test_a_machine_in_order(recorded, machine):
    checks = check_folders(recorded.root, machine)

    assert [check.name for check in checks] == [
        "temporary folder", "runs folder", "stored runs", "unfinished", "private paths",
    ]  # fmt: skip
    assert {check.state for check in checks} == {"ok"}
    assert checks[0].found.startswith(f"{machine.temporary_folder}, ")
    assert checks[1].found.startswith(f"{recorded.root}: {len(recorded.ids())} runs, ")


def test_nothing_is_made_by_looking(tmp_path, machine):
    checks = check_folders(tmp_path / "not" / "there", machine)

    assert {check.state for check in checks} == {"ok"}
    assert "not there yet" in checks[1].found
    assert checks[1].remedy.startswith(
        "The first recording creates it. If runs should be there, check --runs"
    )
    assert not (tmp_path / "not").exists()
    assert list(machine.temporary_folder.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="/proc, where root cannot write either, is Linux's")
def test_a_folder_that_cannot_be_written_fails(machine):
    runs = check_runs_folder(Path("/proc"))

    assert runs.state == "failed"
    assert runs.found.startswith("/proc: cannot be written: ")
    assert "--runs" in runs.remedy


def test_a_file_in_the_place_of_the_folder_fails(tmp_path):
    (tmp_path / "runs").touch()

    assert check_runs_folder(tmp_path / "runs").state == "failed"
    assert check_runs_folder(tmp_path / "runs" / "below").state == "failed"


def test_a_temporary_folder_that_is_not_there_fails(tmp_path):
    (temporary, *_) = check_folders(tmp_path, Machine({"TMPDIR": str(tmp_path / "nowhere")}, tmp_path))

    assert temporary.state == "failed"
    assert "TMPDIR" in temporary.remedy


def test_little_space_is_warned_of(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=260_000_000))

    runs = check_runs_folder(tmp_path)

    assert (runs.state, runs.found) == ("warn", f"{tmp_path}: 0 runs, only 260 MB free")
    assert runs.remedy.startswith("Free some space")


# What an interrupted collection leaves


def test_an_interrupted_collection_is_named_with_its_size(tmp_path, reports):
    with UnfinishedCollection(tmp_path, "0123456789abcdef0123456789abcdef") as pending:
        pending.plan(UnfinishedPlan("gemm-6", seed=7))
        pending.keep_report(0, reports / "hostile.ncu-rep")

    left = check_unfinished(tmp_path)

    assert left.state == "warn"
    assert left.found == "not complete: gemm-6 (151.7 kB)"
    assert str(tmp_path / ".pending") in left.remedy


def test_a_finished_collection_leaves_nothing_behind(tmp_path, reports):
    with UnfinishedCollection(tmp_path, "0123456789abcdef0123456789abcdef") as pending:
        pending.keep_report(0, reports / "graph.ncu-rep")
        pending.discard()

    assert check_unfinished(tmp_path) == HealthCheck(
        "unfinished", "storing", "ok", "no interrupted collection"
    )


def test_a_long_list_of_leftovers_names_the_first_and_counts_the_rest(tmp_path):
    for key in "abcde":
        (tmp_path / ".pending" / key).mkdir(parents=True)

    found = check_unfinished(tmp_path).found

    assert found == "not complete: a (0 B), b (0 B), c (0 B) and 2 more"


# What reports give away


def test_reports_that_name_a_home_directory_are_warned_of(runs):
    root = runs(b"/home/jane/a.out", b"", b"/root/b.cu")

    private = check_private_paths(root)

    assert private.state == "warn"
    assert private.found == "/home/jane, /root, in 2 of 3 stored reports: run3, run1"
    assert "prof collect" in private.remedy


def test_the_users_own_home_is_private_wherever_it_lies(runs, monkeypatch):
    root = runs(b"/data/people/jane/a.out")
    assert check_private_paths(root).state == "ok"

    monkeypatch.setenv("HOME", "/data/people/jane")
    assert check_private_paths(root).found == "/data/people/jane, in 1 of 1 stored report: run1"


def test_only_the_newest_are_searched_when_there_is_much(runs, monkeypatch):
    root = runs(b"/home/jane/a.out", b"", b"")
    two = sum(report.stat().st_size for report in newest_reports(root)[:2])
    monkeypatch.setattr("profiler.measuring.doctor.folders.SEARCHED_BYTES", two)

    assert check_private_paths(root).found == "none in the newest 2 of 3 stored reports"


def test_a_damaged_report_hides_no_other(runs):
    root = runs(b"/home/jane/a.out", b"")
    damaged = newest_reports(root)[0]
    damaged.write_bytes(damaged.read_bytes()[:-100])

    assert check_private_paths(root).found.startswith("/home/jane, in 1 of ")


def test_a_pack_that_lacks_a_report_hides_those_of_no_other_run(packed):
    whole = newest_reports(packed.local)
    whole[0].unlink()

    assert newest_reports(packed.local) == whole[1:]
    assert check_private_paths(packed.local).found.startswith(f"none in {len(whole) - 1} ")


def test_reports_come_newest_first_and_the_smallest_is_known(runs):
    root = runs(b"", b"x" * 5000 + bytes(range(256)) * 40, b"/home/jane")

    assert [report.parent.name.split("-")[1] for report in newest_reports(root)] == ["run3", "run2", "run1"]
    assert smallest_report(root) == newest_reports(root)[2]
    assert smallest_report(root / "nowhere") is None


def test_a_damaged_store_is_named_in_a_line(recorded, tmp_path):
    for run_id in recorded.ids()[:2]:
        shutil.copytree(recorded.root / str(run_id), tmp_path / "runs" / str(run_id))
    assert check_stored_runs(tmp_path / "runs").state == "ok"
    dead = tmp_path / "runs" / ".staging" / "dead"
    dead.mkdir(parents=True)
    left = check_stored_runs(tmp_path / "runs")
    assert (left.state, left.found) == ("warn", f"killed processes left {dead}")

    manifest = tmp_path / "runs" / str(run_id) / "run.json"
    manifest.write_text(manifest.read_text().replace("NVIDIA", "AVIDIA"))

    check = check_stored_runs(tmp_path / "runs")
    assert (check.state, check.found) == ("failed", f"damaged: {run_id}")
    assert "`prof fsck --repair` sets it aside" in check.remedy
