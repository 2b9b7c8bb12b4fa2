"""A full disk is told as such, and leaves no half run; the rest is stored once there is room."""

import os
import subprocess

import pytest

from profiler.errors import DiskFull, ReportTooLarge
from profiler.store.runs.run_store import RunStore

KIB = 1024
# One run of these reports takes about 70: room for none, and for some.
SPACES_KIB = [0, 160, *(pytest.param(left_kib, marks=pytest.mark.campaign) for left_kib in (16, 64))]


@pytest.fixture
def disk(tmp_path, needs):
    """A real file system of two megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small file system")
    mount = [str(needs("mount")), "-t", "tmpfs", "-o", f"size={2048 * KIB}", "none", str(folder)]
    mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def fill(disk, leave_bytes):
    ballast = disk / "ballast"
    free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
    ballast.write_bytes(bytes(max(0, free - leave_bytes)))
    return ballast


@pytest.mark.slow
@pytest.mark.parametrize("left_kib", SPACES_KIB)
def test_a_full_disk_ends_with_23_and_only_whole_runs(reports, disk, tmp_path, prof, prof_here, left_kib):
    folder = tmp_path / "reports"
    folder.mkdir()
    for name in ("graph", "range", "hostile", "pm_sampling", "processes"):
        (folder / f"{name}.ncu-rep").symlink_to(reports / f"{name}.ncu-rep")
    ballast = fill(disk, left_kib * KIB)
    runs = disk / "runs"

    done = prof("--runs", runs, "ingest", folder)  # it ends its reader, which is no other test's

    assert done.returncode == DiskFull.exit_code == 23, done.stderr
    complaint, remedy = done.stderr.splitlines()[-2:]
    assert complaint.startswith(f"prof: {runs}")
    assert complaint.endswith(": the disk is full")
    assert remedy.strip() == DiskFull.remedy
    assert "Traceback" not in done.stderr
    store = RunStore(runs)
    assert len(store.ids()) == done.stdout.count("stored ")
    for run_id in store.ids():
        store.open(run_id).verify()
    assert not (runs / ".staging").exists()

    ballast.unlink()
    assert prof_here("--runs", runs, "ingest", folder).returncode == 0
    assert len(store.ids()) == 5


def test_a_compressed_report_that_there_is_no_room_to_unpack_says_so(reports, disk, tmp_path, prof_here):
    from profiler.store.reports.identity import pack_report

    packed = tmp_path / "several.ncu-rep.zst"
    pack_report(reports / "several.ncu-rep", packed)
    fill(disk, 200 * KIB)  # fewer than the report's 413 kB

    done = prof_here("--runs", disk / "runs", "ingest", packed)

    assert done.returncode == ReportTooLarge.exit_code, done.stderr
    assert "the disk has no room to unpack it" in done.stderr
    assert RunStore(disk / "runs").ids() == []


def test_a_read_only_disk_is_reported_as_such(reports, disk, prof_here):
    remount = ["mount", "-o", "remount,ro", str(disk)]
    if subprocess.run(remount, capture_output=True, check=False).returncode != 0:
        pytest.skip("no file system can be remounted here")

    done = prof_here("--runs", disk / "runs", "ingest", reports / "graph.ncu-rep")

    assert done.returncode == 24, done.stderr
    assert f"{disk / 'runs'}: cannot be written: Read-only file system" in done.stderr


def test_the_older_file_stays_where_there_is_no_room_for_a_new_one(reports, disk, tmp_path, prof_here):
    runs = tmp_path / "runs"
    assert prof_here("--runs", runs, "ingest", reports / "gemm_6.ncu-rep").returncode == 0
    older = disk / "rows.parquet"
    older.write_text("older")
    fill(disk, 0)

    done = prof_here("--runs", runs, "query", "select * from metrics", "-o", older)

    assert done.returncode == 82, done.stderr
    assert "rows.parquet: cannot be written: No space left on device" in done.stderr
    assert sorted(path.name for path in disk.iterdir()) == ["ballast", "rows.parquet"]
    assert older.read_text() == "older"
