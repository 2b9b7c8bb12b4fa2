"""`prof fsck` finds what is wrong with anything that is stored, and `--repair` loses nothing that is whole."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import count
from pathlib import Path

import fsspec
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from profiler.errors import StoreDamaged
from profiler.store import fsck, scratch
from profiler.store.fsck import Examined, examine_store
from profiler.store.packs.compact import compact, plan_packs
from profiler.store.packs.layout import MANIFESTS_FILE, PACK_FILE, is_pack
from profiler.store.repair import repair
from profiler.store.runs.commit import STAGING_FOLDER
from profiler.store.runs.file_names import MANIFEST_FILE
from profiler.store.runs.manifest import read_manifest, write_manifest
from profiler.store.runs.run_store import SWEEPS_FOLDER, RunStore
from profiler.store.scratch import find_left_scratch, make_scratch
from tests.store.flips import flip

NAMES = count()
FEW = 9


@pytest.fixture(autouse=True)
def temporary(open_folder, monkeypatch):
    """A temporary folder of its own, since others leave things in the machine's."""
    folder = open_folder / "temporary"
    folder.mkdir()
    folder.chmod(0o777)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def loose(recorded, tmp_path):
    """Nine runs in folders of their own, two of them with reports, and a sweep."""
    ids = [one for one in recorded.ids() if one.name.startswith("textbook")]
    ids += [one for one in recorded.ids() if one.name.endswith("-timed")][: FEW - len(ids)]
    for run_id in ids:
        shutil.copytree(recorded.root / str(run_id), tmp_path / "runs" / str(run_id))
    (sweep, *_) = recorded.sweep_ids()
    place = f"{SWEEPS_FOLDER}/{sweep}"
    shutil.copytree(recorded.root / place, tmp_path / "runs" / place)
    return RunStore(tmp_path / "runs")


@pytest.fixture
def packed(loose):
    compact(loose, plan_packs(loose))
    return RunStore(loose.root)


def faults(store):
    return list(examine_store(RunStore(store.root), Examined()))


def mended(store):
    store = RunStore(store.root)
    return list(repair(store, list(examine_store(store, Examined()))))


def pack_in(store):
    (pack,) = (path for path in store.root.iterdir() if is_pack(path.name))
    return pack


def whole_runs(store):
    found = set()
    store = RunStore(store.root)
    for run in store.open_all(store.ids()):
        run.verify()
        found.add(run.manifest.run_id)
    return found


@pytest.mark.slow
def test_shipped_runs_are_whole(shipped_runs):
    counts = Examined()
    assert list(examine_store(shipped_runs, counts)) == []
    assert counts.runs == len(shipped_runs.ids())
    assert counts.sweeps == len(shipped_runs.sweep_ids())
    assert counts.packs == len(list(shipped_runs.root.glob("pack-*")))


def test_a_pack_is_read_to_its_last_run(packed):
    counts = Examined()
    assert list(examine_store(packed, counts)) == []
    assert (counts.runs, counts.packs, counts.sweeps) == (FEW, 1, 1)


@pytest.mark.parametrize(
    ("file", "found"),
    [
        (MANIFEST_FILE, "run.json: not"),
        ("metrics.parquet", "metrics.parquet: the table is not the one recorded"),
        ("report.ncu-rep.zst", "report.ncu-rep.zst"),
    ],
)
def test_each_changed_file_of_a_run_is_named(loose, file, found):
    folder = loose.root / str(loose.ids()[0])
    flip(folder / file, 0.3)
    (fault,) = faults(loose)
    assert (fault.kind, fault.name) == ("run", folder.name)
    assert found in fault.found
    assert str(loose.root) not in fault.found


def test_all_that_is_wrong_with_a_run_is_in_one_line(loose):
    folder = loose.root / str(loose.ids()[0])
    for file in ("metrics.parquet", "rules.parquet"):
        flip(folder / file)
    (folder / "launches.parquet").unlink()
    (fault,) = faults(loose)
    assert all(file in fault.found for file in ("metrics.parquet", "rules.parquet", "launches.parquet"))
    assert "\n" not in fault.found


def test_a_run_without_its_manifest_is_found(loose):
    folder = loose.root / str(loose.ids()[0])
    (folder / MANIFEST_FILE).unlink()
    (fault,) = faults(loose)
    assert (fault.name, fault.found) == (folder.name, "run.json: cannot be read: No such file or directory")


def test_a_run_that_contradicts_itself_is_found_although_every_hash_fits(loose):
    """An older prof stored what this one refuses."""
    run_id = next(one for one in loose.ids() if one.name == "textbook-5")
    folder = loose.root / str(run_id)
    table = pq.read_table(folder / "instructions.parquet")
    executed = [None if one is None else one + 1 for one in table.column("executed").to_pylist()]
    field = table.schema.field("executed")
    changed = table.set_column(table.schema.get_field_index("executed"), field, [executed])
    pq.write_table(changed, folder / "instructions.parquet")
    manifest = read_manifest(folder)
    sha256 = hashlib.sha256((folder / "instructions.parquet").read_bytes()).hexdigest()
    stored = replace(manifest.tables["instructions"], sha256=sha256)
    write_manifest(replace(manifest, tables=manifest.tables | {"instructions": stored}), folder)

    (fault,) = faults(loose)

    assert "launch 0 contradicts itself: sass__inst_executed_per_opcode" in fault.found


@pytest.mark.parametrize("file", [PACK_FILE, MANIFESTS_FILE, "metrics.parquet", "reports/*"])
def test_a_changed_pack_is_found(packed, file):
    flip(min(pack_in(packed).glob(file)))
    (fault,) = faults(packed)
    assert (fault.kind, fault.name) == ("pack", pack_in(packed).name)
    assert Path(file).name.strip("*") in fault.found or "report" in fault.found


def test_a_changed_sweep_is_found_and_set_aside(loose):
    (sweep,) = loose.sweep_ids()
    flip(loose.root / SWEEPS_FOLDER / str(sweep) / "points.parquet")
    (fault,) = mended(loose)
    assert (fault.kind, fault.name) == ("sweep", f"{SWEEPS_FOLDER}/{sweep}")
    assert (loose.root / SWEEPS_FOLDER / "damaged" / str(sweep) / "points.parquet").exists()
    assert faults(loose) == []


# Repair


def test_a_damaged_run_is_set_aside_with_a_reason_and_all_of_its_files(loose):
    folder = loose.root / str(loose.ids()[0])
    flip(folder / "metrics.parquet")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    (fault,) = mended(loose)

    aside = loose.root / "damaged" / folder.name
    assert fault.done == f"set aside as {aside}"
    assert {path.name: path.read_bytes() for path in aside.iterdir()} == before
    assert "metrics.parquet" in aside.with_name(f"{folder.name}.txt").read_text()
    assert faults(loose) == []
    assert len(whole_runs(loose)) == FEW - 1


def test_the_same_run_can_be_set_aside_twice(loose):
    folder = loose.root / str(loose.ids()[0])
    whole = loose.root.parent / "whole"
    shutil.copytree(folder, whole)
    for _ in range(2):
        flip(folder / "metrics.parquet")
        mended(loose)
        shutil.copytree(whole, folder)
    assert (loose.root / "damaged" / folder.name).exists()
    assert (loose.root / "damaged" / "2" / folder.name).exists()
    assert faults(loose) == []


def test_a_pack_without_a_whole_index_is_written_again(packed):
    before, old = whole_runs(packed), pack_in(packed)
    flip(old / PACK_FILE)

    (fault,) = mended(packed)

    assert fault.done.startswith(f"{FEW} of its runs are in pack-")
    assert whole_runs(packed) == before
    assert faults(packed) == []
    assert (packed.root / "damaged" / old.name / PACK_FILE).exists()


def test_the_other_runs_of_a_pack_with_one_damaged_run_stay(packed):
    """The damaged one is in the old pack, which is set aside."""
    before = whole_runs(packed)
    report = min((pack_in(packed) / "reports").iterdir())
    flip(report)

    (fault,) = mended(packed)

    assert fault.done.startswith(f"{FEW - 1} of its runs are in pack-")
    assert len(before - whole_runs(packed)) == 1
    assert faults(packed) == []


def test_a_pack_at_a_url_is_repaired_too(packed):
    url = f"memory://repaired-{next(NAMES)}"
    system, prefix = fsspec.core.url_to_fs(url)
    flip(pack_in(packed) / PACK_FILE)
    system.put(f"{packed.root}/", f"{prefix}/", recursive=True)
    store = RunStore(url)

    (fault,) = repair(store, list(examine_store(store, Examined())))

    assert fault.done.startswith(f"{FEW} of its runs are in pack-")
    after = RunStore(url)
    assert len(after.ids()) == FEW
    assert list(examine_store(after, Examined())) == []
    assert system.exists(f"{prefix}/damaged/{fault.name}/{PACK_FILE}")
    assert system.exists(f"{prefix}/damaged/{fault.name}.txt")


def test_an_upload_that_never_ended_is_set_aside_once_nobody_can_be_at_it(loose, monkeypatch):
    url = f"memory://orphans-{next(NAMES)}"
    system, prefix = fsspec.core.url_to_fs(url)
    system.put(f"{loose.root}/", f"{prefix}/", recursive=True)
    run_id = str(loose.ids()[0])
    system.rm(f"{prefix}/{run_id}/{MANIFEST_FILE}")
    store = RunStore(url)
    assert list(examine_store(store, Examined())) == []  # it may be under way

    monkeypatch.setattr(fsck, "UPLOAD_DAYS", 0)
    (fault,) = repair(store, list(examine_store(store, Examined())))

    assert (fault.kind, fault.name) == ("left", run_id)
    assert list(examine_store(RunStore(url), Examined())) == []
    assert system.exists(f"{prefix}/damaged/{run_id}/metrics.parquet")


def test_the_remains_of_killed_processes_are_swept_and_folders_in_use_are_not(loose, temporary):
    dead = loose.root / STAGING_FOLDER / "dead"
    (dead / "1").mkdir(parents=True)
    (dead / "owner").touch()
    used, lock = make_scratch()
    left, released = make_scratch()
    os.close(released)
    an_hour_ago = time.time() - 3600
    for folder in (used, left):
        for path in (*folder.iterdir(), folder):
            os.utime(path, (an_hour_ago, an_hour_ago))

    assert {fault.name for fault in faults(loose)} == {str(dead), str(left)}
    mended(loose)

    assert faults(loose) == []
    assert used.exists()
    assert not any(path.exists() for path in (dead, left))
    scratch.end_scratch(used, lock)


def test_scratch_of_some_killed_process_says_nothing_against_this_store(loose, temporary, prof_here):
    """Whose it was is not known: another store's command may have left it."""
    left, released = make_scratch()
    os.close(released)
    os.utime(left, (0, 0))

    done = prof_here("--runs", loose.root, "fsck")

    assert done.returncode == 0, done.stderr
    assert "scratch" in done.stdout
    assert str(left) in done.stdout
    assert "`prof fsck --repair` removes what killed processes left" in done.stderr
    repaired = prof_here("--runs", loose.root, "fsck", "--repair")
    assert repaired.returncode == 0
    assert "--repair" not in repaired.stderr
    assert not left.exists()


def test_the_claim_of_a_killed_upload_is_set_aside_and_that_of_a_living_one_is_not(monkeypatch):
    store = RunStore(f"memory://claims-{next(NAMES)}")
    claim = ".claims/20261122t012549z-0123456789ab"
    store.place.put(claim, b"20261122t012549z-gemm-5-0123456789ab")
    assert list(examine_store(store, Examined())) == []

    monkeypatch.setattr(fsck, "CLAIM_S", 0)
    (fault,) = repair(store, list(examine_store(store, Examined())))

    assert (fault.kind, fault.name) == ("left", claim)
    assert fault.done == f"set aside as {store.root}/damaged/{claim}"
    assert list(store.place.files("")) == [f"damaged/{claim}"]
    assert list(examine_store(store, Examined())) == []


def test_a_claim_that_its_client_has_removed_meanwhile_is_left_alone(monkeypatch):
    store = RunStore(f"memory://claims-{next(NAMES)}")
    store.place.put(".claims/20261122t012549z-0123456789ab", b"")
    monkeypatch.setattr(fsck, "CLAIM_S", 0)
    found = list(examine_store(store, Examined()))
    store.place.remove([found[0].name])
    (fault,) = repair(store, found)
    assert fault.done == "left alone: another process goes on with it"


@pytest.mark.parametrize("form", ["loose", "packed"])
@pytest.mark.parametrize("file", ["*.json", "metrics.parquet", "**/*.zst"])
def test_a_file_that_prof_may_not_read_is_listed_and_stays(form, file, request, open_folder, as_nobody):
    """A disk that fails, or missing rights, say nothing about a run."""
    store = RunStore(open_folder / "runs")
    shutil.copytree(request.getfixturevalue(form).root, store.root)
    folder = store.root / str(store.ids()[0]) if form == "loose" else pack_in(store)
    hidden = min(folder.glob(file))
    hidden.chmod(0)

    with as_nobody():
        (fault,) = faults(store)

    assert (fault.kind, fault.name) == ("unread", folder.name)
    assert hidden.name in fault.found
    assert "Permission denied" in fault.found
    (left,) = repair(store, [fault])
    assert left.done == ""
    assert hidden.exists()


def test_staging_folders_that_cannot_be_listed_hide_nothing_else(loose, prof_here):
    flip(loose.root / str(loose.ids()[0]) / "launches.parquet")
    (loose.root / STAGING_FOLDER).write_text("no folder")
    assert [fault.kind for fault in faults(loose)] == ["run", "unread"]
    assert prof_here("--runs", loose.root, "fsck").returncode == StoreDamaged.exit_code


@pytest.mark.parametrize("name", ["prof-new-locked", "prof-results"])
def test_a_folder_that_is_new_or_has_another_name_is_nobodys_leftover(temporary, name):
    """People call their own folders in /tmp after the program, too, and leave them alone for days."""
    (temporary / name).mkdir()
    if name == "prof-results":
        os.utime(temporary / name, (0, 0))
    assert find_left_scratch() == []


@pytest.mark.slow
@pytest.mark.parametrize("step", [12, pytest.param(1, marks=pytest.mark.campaign)])
def test_a_repair_that_is_killed_anywhere_loses_no_whole_run(packed, temporary, tmp_path, step):
    """Kills it at each change of the disk in turn, or at every twelfth. The next repair then ends what that one began."""
    kept = whole_runs(packed)
    flip(pack_in(packed) / PACK_FILE)
    shutil.copytree(packed.root, tmp_path / "copy")
    work = tmp_path / "killed"
    work.mkdir()
    script = Path(__file__).with_name("killed_repair.py")
    done = subprocess.run(
        [sys.executable, script, tmp_path / "copy", work, str(step)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env={**os.environ, "TMPDIR": str(temporary)},
    )

    assert (int(done.stdout) - 1) // step == len(list(work.iterdir())) - 1 >= 10 / step
    for killed in work.iterdir():
        store = RunStore(killed)
        mended(store)
        assert faults(store) == [], killed.name
        assert whole_runs(store) == kept, killed.name
        assert len(list((killed / "damaged").rglob(PACK_FILE))) == 1, killed.name


# The verb


def test_the_verb_says_what_is_wrong_and_ends_with_a_code_of_its_own(loose, prof_here):
    folder = loose.root / str(loose.ids()[0])
    flip(folder / "metrics.parquet")

    done = prof_here("--runs", loose.root, "fsck")
    assert done.returncode == StoreDamaged.exit_code
    assert folder.name in done.stdout
    assert "metrics.parquet" in done.stdout

    repaired = prof_here("--runs", loose.root, "fsck", "--repair", "--format", "json")
    assert repaired.returncode == 0, repaired.stderr
    (row,) = json.loads(repaired.stdout)
    assert row["done"].startswith("set aside as ")

    clean = prof_here("--runs", loose.root, "fsck")
    assert (clean.returncode, clean.stdout) == (0, "")
    assert f"{loose.root}: read {FEW - 1} runs, 0 packs, 1 sweep" in clean.stderr


def test_a_pack_with_a_hundred_faults_is_one_line_too(packed, prof_here):
    """The list of them is longer than any window, and what was done stands below it."""
    for path in pack_in(packed).rglob("*.parquet"):
        path.write_bytes(bytes(path.stat().st_size))
    repaired = prof_here("--runs", packed.root, "fsck", "--repair")
    assert repaired.returncode == 0, repaired.stderr
    _, row, *done = repaired.stdout.splitlines()
    assert len(row) > 5000
    assert "it holds no whole run that is not stored elsewhere too; set aside" in " ".join(done)


@pytest.mark.parametrize("format", ["csv", "markdown", "json"])
def test_every_format_has_what_is_wrong(loose, prof_here, format):
    folder = loose.root / str(loose.ids()[0])
    flip(folder / "metrics.parquet")
    assert folder.name in prof_here("--runs", loose.root, "fsck", "--format", format).stdout
