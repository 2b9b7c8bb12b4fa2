"""`prof compact` as one types it; what it does to the runs is in `tests/store/test_compact.py`."""

import csv
import hashlib
import json
import shutil
import subprocess

import pytest
from msgspec.structs import replace

from profiler.store.runs.manifest import StoredReport, write_manifest
from profiler.store.runs.run_store import RunStore

FEW = 9  # runs; the fewest that are packed are eight


@pytest.fixture
def root(make_run, tmp_path):
    """Nine small runs, each of eight files."""
    root = tmp_path / "runs"
    for number in range(FEW):
        report = f"report {number}".encode()
        run = make_run({"kernel": "k", "metrics": {"m": 1.0}}, name=f"name-{number}", root=root)
        stored = StoredReport(hashlib.sha256(report).hexdigest(), len(report), file="report.ncu-rep.zst")
        manifest = replace(run.manifest, reports=[stored], content_sha256=run.manifest.sha256)
        write_manifest(manifest, run.path)
        (run.path / "report.ncu-rep.zst").write_bytes(report)
    return root


def folders(root):
    return len([path for path in root.iterdir() if path.name.startswith("2026")])


def test_the_summary_says_what_became_of_the_files(root, prof_here):
    lines = prof_here("--runs", root, "compact").stdout.splitlines()
    assert lines[0] == f"{root}: 9 runs in 1 pack"
    assert lines[1].startswith(f"{root}: 72 files of ")
    assert " before, 17 files of " in lines[1]
    was, now = (float(word.split(" kB")[0]) for word in lines[1].split(" files of ")[1:])
    assert lines[1].endswith("; a pack adds an index, so that few files need to be opened") == (now > was)
    assert (folders(root), len(RunStore(root).ids())) == (0, FEW)


def tracked(root, count):
    """Makes a repository in which git tracks so many of the runs, and returns their folders."""
    some = sorted(path for path in root.iterdir() if path.name.startswith("2026"))[:count]
    subprocess.run(["git", "-C", root, "init", "-q"], check=True)
    subprocess.run(["git", "-C", root, "add", *some], check=True)
    return some


@pytest.mark.needs("git")
def test_runs_that_git_tracks_stay_unless_forced(root, prof_here):
    tracked(root, FEW)
    files = sorted(root.rglob("*"))
    nothing = f"{root}: nothing to pack: 9 runs in folders of their own, 0 packs"
    left = f"{root}: 9 folders that git tracks stay as they are; --tracked packs those too"
    assert prof_here("--runs", root, "compact").stdout.splitlines() == [nothing, left]
    assert sorted(root.rglob("*")) == files
    (row,) = json.loads(prof_here("--runs", root, "compact", "--format", "json").stdout)
    assert (row["runs"], row["tracked"]) == (0, 9)
    forced = prof_here("--runs", root, "compact", "--tracked").stdout.splitlines()
    assert forced[0] == f"{root}: 9 runs in 1 pack"
    assert left not in forced
    assert folders(root) == 0


@pytest.mark.needs("git")
def test_other_runs_are_packed_beside_those_that_git_tracks(root, prof_here):
    (kept,) = tracked(root, 1)
    held = {path: path.read_bytes() for path in kept.iterdir()}
    ids = RunStore(root).ids()
    lines = prof_here("--runs", root, "compact").stdout.splitlines()
    assert lines[0] == f"{root}: 8 runs in 1 pack"
    assert lines[-1] == f"{root}: 1 folder that git tracks stays as it is; --tracked packs those too"
    assert {path: path.read_bytes() for path in kept.iterdir()} == held
    assert (folders(root), RunStore(root).ids()) == (1, ids)


@pytest.mark.needs("git")
def test_a_pack_that_git_tracks_stays_as_do_tracked_folders_of_its_runs(root, make_run, prof_here, tmp_path):
    shutil.copytree(root, tmp_path / "copy")
    prof_here("--runs", root, "compact")
    shutil.copytree(tmp_path / "copy", root, dirs_exist_ok=True)
    tracked(root, FEW)
    for number in range(20, 20 + FEW):
        make_run({"kernel": "k", "metrics": {"m": 1.0}}, name=f"name-{number}", root=root)
    lines = prof_here("--runs", root, "compact").stdout.splitlines()
    assert lines[0] == f"{root}: 18 runs in 1 pack, 1 small pack among them"
    assert lines[-1].startswith(f"{root}: 9 folders that git tracks stay as they are")
    assert (folders(root), len(RunStore(root).ids())) == (FEW, 2 * FEW)
    (pack,) = RunStore(root).place.local.glob("pack-*")
    subprocess.run(["git", "-C", root, "add", pack], check=True)
    for number in range(40, 40 + 2 * FEW):
        make_run({"kernel": "k", "metrics": {"m": 1.0}}, name=f"name-{number}", root=root)
    assert prof_here("--runs", root, "compact").stdout.splitlines()[0] == f"{root}: 18 runs in 1 pack"
    assert pack.is_dir()


def test_packed_runs_are_not_packed_again(root, prof_here):
    prof_here("--runs", root, "compact")
    again = prof_here("--runs", root, "compact")
    assert again.stdout == f"{root}: nothing to pack: 0 runs in folders of their own, 1 pack\n"


def test_a_dry_run_changes_nothing(root, prof_here):
    files = sorted(root.rglob("*"))
    result = prof_here("--runs", root, "compact", "--dry-run")
    assert result.stdout.startswith(f"{root}: would pack 9 runs; there are 72 files, ")
    assert sorted(root.rglob("*")) == files


def test_a_dry_run_prints_the_same_for_a_program(root, prof_here):
    words = ("--runs", root, "compact", "--dry-run", "--format")
    (row,) = json.loads(prof_here(*words, "json").stdout)
    assert row["dry_run"] is True
    assert (row["runs"], row["files_before"]) == (9, 72)
    assert [row[name] for name in ("packs", "files_after", "bytes_after", "damaged")] == [None] * 4, (
        "only doing it can tell"
    )
    (listed,) = csv.DictReader(prof_here(*words, "csv").stdout.splitlines())
    assert (listed["runs"], listed["packs"], listed["dry_run"]) == ("9", "", "True")


def test_a_dry_run_names_the_folders_that_a_pack_holds_already(root, prof_here, tmp_path):
    """As they are left where `prof compact` was killed."""
    shutil.copytree(root, tmp_path / "copy")
    prof_here("--runs", root, "compact")
    shutil.copytree(tmp_path / "copy", root, dirs_exist_ok=True)
    result = prof_here("--runs", root, "compact", "--dry-run")
    assert result.stdout.startswith(f"{root}: would remove 9 folders that packs hold already; there are ")
    (row,) = json.loads(prof_here("--runs", root, "compact", "--format", "json").stdout)
    assert (row["dry_run"], row["runs"], row["folders_removed"]) == (False, 0, 9)


def test_runs_that_are_too_new_stay(root, prof_here):
    result = prof_here("--runs", root, "compact", "--older-than", "100000")
    assert result.stdout == f"{root}: nothing to pack: 9 runs in folders of their own, 0 packs\n"
    assert folders(root) == FEW


def test_the_summary_for_a_program(root, prof_here):
    (row,) = json.loads(prof_here("--runs", root, "compact", "--format", "json").stdout)
    assert (row["runs"], row["packs"], row["files_before"], row["files_after"]) == (9, 1, 72, 17)
    assert (row["packs_replaced"], row["damaged"]) == (0, 0)


def test_a_project_without_runs_has_nothing_to_pack(prof_here, tmp_path):
    result = prof_here("compact", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (
        0, f"{tmp_path}/runs: nothing to pack: 0 runs in folders of their own, 0 packs\n",
    )  # fmt: skip
    assert not (tmp_path / "runs").exists()


def test_other_verbs_tell_nothing_of_it(root, prof_here):
    before = [prof_here("--runs", root, *words).stdout for words in (["list"], ["show", "name-3"])]
    prof_here("--runs", root, "compact")
    assert [prof_here("--runs", root, *words).stdout for words in (["list"], ["show", "name-3"])] == before
