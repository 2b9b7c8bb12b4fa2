"""Many reports into runs: each once, the good beside the bad, and nothing half done."""

import json
import os
import random

import pytest

from profiler.errors import (
    IngestIncomplete,
    KernelNotFound,
    NotAReport,
    ReportDamaged,
    ReportEmpty,
    ReportNotFound,
    ReportUnreadable,
    RunDamaged,
    StoreError,
)
from profiler.store.ingest.ingest import Ingested, IngestOptions, ingest_reports
from profiler.store.reports.extract import extract_report
from profiler.store.reports.identity import pack_report, sha256_of_report
from profiler.store.reports.locate import find_reports
from profiler.store.reports.request import Request
from profiler.store.runs.run_store import RunStore
from profiler.store.tables.launch_choice import LaunchChoice

SMALL = ("graph", "range", "hostile")


@pytest.fixture
def folder(reports, tmp_path):
    """A folder of three small reports that a test may change."""
    folder = tmp_path / "reports"
    folder.mkdir()
    for name in SMALL:
        (folder / f"{name}.ncu-rep").write_bytes((reports / f"{name}.ncu-rep").read_bytes())
    return folder


@pytest.fixture
def empty(tmp_path):
    return RunStore(tmp_path / "runs")


def ingest(store, *places, **options):
    return list(
        ingest_reports(find_reports([str(place) for place in places]), store, IngestOptions(**options))
    )


def snapshot(folder):
    """Every path below a folder with its size, times and inode."""
    return {
        str(path.relative_to(folder)): (s.st_size, s.st_mtime_ns, s.st_ino)
        for path in (folder, *folder.rglob("*"))
        if (s := path.lstat())
    }


def leftovers(store):
    """Returns what a store holds besides whole runs and its lock."""
    if not store.root.exists():
        return []
    for run_id in store.ids():
        store.open(run_id).verify()
    return sorted(set(os.listdir(store.root)) - {str(run_id) for run_id in store.ids()} - {".lock"})


# Which files


def test_files_folders_and_patterns_name_each_report_once(folder, tmp_path):
    deeper = folder / "deeper" / "still"
    deeper.mkdir(parents=True)
    (deeper / "again.ncu-rep").symlink_to(folder / "graph.ncu-rep")
    (deeper / "packed.ncu-rep.zst").write_bytes(b"whatever")
    (folder / "notes.txt").write_text("not a report")
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "secret.ncu-rep").touch()
    linked = tmp_path / "linked"
    linked.symlink_to(folder)

    places = [folder, folder / "graph.ncu-rep", f"{tmp_path}/**/*.ncu-rep", linked, folder]
    found = find_reports([str(place) for place in places])

    assert sorted(path.resolve().name for path in found) == [
        "graph.ncu-rep", "hostile.ncu-rep", "packed.ncu-rep.zst", "range.ncu-rep",
    ]  # fmt: skip


def test_a_file_given_by_name_needs_no_suffix(folder, empty):
    (folder / "graph.ncu-rep").rename(folder / "recording")

    (one,) = ingest(empty, folder / "recording")

    assert one.status == "stored"


@pytest.mark.slow
def test_the_reports_inside_runs_are_not_found_again(folder):
    inside = RunStore(folder / "runs")
    ingest(inside, folder)

    assert len(find_reports([str(folder)])) == len(SMALL)


def test_an_unreadable_folder_below_is_listed_and_the_rest_is_found(reports, open_folder, as_nobody):
    (open_folder / "graph.ncu-rep").write_bytes((reports / "graph.ncu-rep").read_bytes())
    (open_folder / "locked").mkdir()
    (open_folder / "locked").chmod(0)

    with as_nobody():
        found = find_reports([str(open_folder)])
        assert [path.name for path in found] == ["graph.ncu-rep", "locked"]
        with pytest.raises(ReportUnreadable, match=r"locked: cannot be opened: Permission denied"):
            extract_report(Request((found[1],), open_folder / "staging"))


def test_places_that_cannot_be_looked_at_do_not_stop_the_others(folder, empty):
    (folder / "loop").symlink_to("loop")
    bad = {
        "gone.ncu-rep": ReportNotFound,
        "gone-*.ncu-rep": ReportNotFound,
        "x" * 5000: ReportUnreadable,
        "loop": ReportUnreadable,
        "graph.ncu-rep/inside": ReportUnreadable,
    }

    outcomes = ingest(empty, *(folder / place for place in bad), folder / "graph.ncu-rep")

    errors = {one.report: one.error for one in outcomes if one.status == "failed"}
    assert {path: type(error) for path, error in errors.items()} == {
        folder / place: error for place, error in bad.items()
    }
    assert all(str(error).startswith(f"{path}: ") for path, error in errors.items())
    assert [one.report for one in outcomes if one.status == "stored"] == [folder / "graph.ncu-rep"]


# What becomes of them


def test_a_run_holds_the_report_and_says_where_it_comes_from(folder, empty):
    (one,) = ingest(empty, folder / "graph.ncu-rep")

    run = empty.find("graph", ladder="gemm")
    assert one == Ingested(folder / "graph.ncu-rep", "stored", run.manifest.run_id, 2)
    assert run.manifest.origin == "ingested"
    assert (run.manifest.clock_control, run.manifest.cache_control) == ("none", "all")
    assert run.manifest.gpus == ["NVIDIA H200"]
    assert run.manifest.recorded == "2026-11-21T08:54:00Z"
    assert sha256_of_report(run.path / run.manifest.reports[0].file) == run.manifest.reports[0].sha256
    assert {name: run.table(name).num_rows for name in run.manifest.tables} == {
        name: stored.rows for name, stored in run.manifest.tables.items()
    }


def test_the_same_report_again_changes_nothing_and_says_so(folder, empty):
    first = ingest(empty, folder)
    before = snapshot(empty.root)

    second = ingest(empty, folder)
    packed = folder / "copy.ncu-rep.zst"
    pack_report(folder / "graph.ncu-rep", packed)
    third = ingest(empty, packed)

    assert {one.status for one in first} == {"stored"}
    assert {one.status for one in (*second, *third)} == {"known"}
    assert {one.run_id for one in second} == {one.run_id for one in first}
    after = snapshot(empty.root)
    before.pop("."), after.pop(".")  # .staging came and went
    assert after == before


def test_a_stored_report_asked_for_under_another_name_is_an_error_that_says_so(folder, empty):
    ingest(empty, folder / "graph.ncu-rep")
    before = snapshot(empty.root)

    (same,) = ingest(empty, folder / "graph.ncu-rep", name="Graph")
    (other,) = ingest(empty, folder / "graph.ncu-rep", ladder="gemm", kernel=5)

    assert same.status == "known"
    assert "stored already, as 'graph' and not as 'gemm-5'" in str(other.error)
    before.pop("."), (after := snapshot(empty.root)).pop(".")
    assert after == before


def test_the_same_report_under_three_names_becomes_one_run(folder, empty):
    data = (folder / "graph.ncu-rep").read_bytes()
    for name in ("b.ncu-rep", "c.ncu-rep"):
        (folder / name).write_bytes(data)

    outcomes = ingest(empty, folder / "graph.ncu-rep", folder / "b.ncu-rep", folder / "c.ncu-rep")

    assert sorted(one.status for one in outcomes) == ["known", "known", "stored"]
    assert len({one.run_id for one in outcomes}) == len(empty.ids()) == 1


def test_a_bad_report_is_listed_and_the_good_ones_are_stored(folder, empty):
    whole = (folder / "range.ncu-rep").read_bytes()
    bad = {
        "empty": (b"", NotAReport),
        "cut": (whole[:20_000], ReportDamaged),
        "noise": (random.Random(1).randbytes(5000), NotAReport),
        "nothing": (whole[:10], ReportEmpty),
        "zeros": (bytes(30_000), ReportDamaged),
        "padded": (whole + bytes(4096), ReportDamaged),
    }
    for name, (data, _) in bad.items():
        (folder / f"{name}.ncu-rep").write_bytes(data)
    os.mkfifo(folder / "pipe.ncu-rep")
    (folder / "dangling.ncu-rep").symlink_to("gone")

    outcomes = {one.report.name: one for one in ingest(empty, folder)}

    assert {name for name, one in outcomes.items() if one.status == "stored"} == {
        f"{name}.ncu-rep" for name in SMALL
    }
    for name, (_, error) in bad.items():
        assert type(outcomes[f"{name}.ncu-rep"].error) is error, name
        assert str(folder / f"{name}.ncu-rep") in str(outcomes[f"{name}.ncu-rep"].error)
    assert isinstance(outcomes["pipe.ncu-rep"].error, NotAReport)
    assert isinstance(outcomes["dangling.ncu-rep"].error, ReportNotFound)
    assert leftovers(empty) == []


def test_a_report_cut_between_two_results_is_a_shorter_report(folder, empty):
    """No reader can tell it from a recording of one launch; its hash can, once it is stored."""
    (folder / "short.ncu-rep").write_bytes((folder / "graph.ncu-rep").read_bytes()[:39943])

    (one,) = ingest(empty, folder / "short.ncu-rep")

    assert (one.status, one.launches) == ("stored", 1)


def test_a_damaged_compressed_report_is_named_by_its_own_path(folder, empty):
    """The reader sees an unpacked copy in a folder that is gone when the message is read."""
    data = (folder / "graph.ncu-rep").read_bytes()
    (folder / "plain").write_bytes(data.replace(b"\x0a", b"\xff", 400))
    broken = bytearray(data)
    broken[1000:1400] = b"\xff" * 400  # inside a payload: only NVIDIA's reader notices
    broken[40_100:40_400] = b"\xff" * 300
    (folder / "plain").write_bytes(broken)
    packed = folder / "broken.ncu-rep.zst"
    pack_report(folder / "plain", packed)

    (one,) = ingest(empty, packed)

    assert str(one.error).startswith(f"{packed}: ")
    assert leftovers(empty) == []


@pytest.mark.slow
@pytest.mark.parametrize("copy", [True, False])
def test_any_unicode_file_name_will_do(folder, empty, copy):
    for old, new in zip(SMALL, ("größe 雪.ncu-rep", "two\nlines.ncu-rep", "\x1b[31m-n.ncu-rep"), strict=True):
        (folder / f"{old}.ncu-rep").rename(folder / new)

    outcomes = ingest(empty, folder, copy=copy)

    assert [(one.status, one.error) for one in outcomes] == [("stored", None)] * 3
    assert leftovers(empty) == []


@pytest.mark.parametrize("format", ["table", "json"])
def test_a_name_that_is_not_unicode_is_refused_in_every_format(folder, tmp_path, prof_here, format):
    (folder / "graph.ncu-rep").rename(folder / os.fsdecode(b"caf\xe9.ncu-rep"))

    done = prof_here("--runs", tmp_path / "runs", "ingest", folder, "--format", format)

    assert done.returncode == IngestIncomplete.exit_code, done.stderr
    assert "not valid Unicode" in done.stderr
    assert "2 stored, 1 not ingested" in done.stderr


# By reference


def test_a_reference_keeps_the_path_and_no_copy(folder, empty):
    (one,) = ingest(empty, folder / "graph.ncu-rep", copy=False)

    run = empty.open(empty.ids()[0])
    assert one.status == "stored"
    assert run.manifest.reports[0].file is None
    assert run.manifest.reports[0].reference == str(folder / "graph.ncu-rep")
    assert not list(run.path.glob("*.ncu-rep*"))
    run.verify()


def test_a_missing_original_is_fine_and_a_changed_one_is_not(folder, empty):
    original = folder / "graph.ncu-rep"
    ingest(empty, original, copy=False)
    run = empty.open(empty.ids()[0])

    original.write_bytes((folder / "range.ncu-rep").read_bytes())
    with pytest.raises(RunDamaged, match=r"graph\.ncu-rep: .* not the one recorded"):
        run.verify()

    original.unlink()
    run.verify()


@pytest.mark.parametrize("name", ["graph.ncu-rep.zst", "misnamed.ncu-rep"])
def test_a_compressed_original_is_verified_whatever_it_is_called(folder, empty, name):
    packed = folder / name
    pack_report(folder / "graph.ncu-rep", packed)
    ingest(empty, packed, copy=False)

    empty.open(empty.ids()[0]).verify()


# Names


def test_the_name_of_a_run_is_the_files_the_users_or_the_rungs(folder, empty):
    ingest(empty, folder / "graph.ncu-rep")
    ingest(empty, folder / "range.ncu-rep", name="../../Etc/Passwd \x1b[31m")
    ingest(empty, folder / "hostile.ncu-rep", ladder="gemm", kernel=5)

    assert sorted(run_id.name for run_id in empty.ids()) == ["etc-passwd-31m", "gemm-5", "graph"]
    assert empty.find("5", ladder="gemm").label == "gemm 5"
    assert leftovers(empty) == []


# The command


def test_the_command_lists_what_failed_and_ends_with_42(folder, tmp_path, prof_here):
    (folder / "cut.ncu-rep").write_bytes((folder / "range.ncu-rep").read_bytes()[:999])

    done = prof_here("--runs", tmp_path / "runs", "ingest", folder)

    assert done.returncode == IngestIncomplete.exit_code == 42
    assert sorted(line.split()[0] for line in done.stdout.splitlines()) == ["stored"] * len(SMALL)
    failed = [line for line in done.stderr.splitlines() if line.startswith("failed")]
    assert len(failed) == 1
    assert str(folder / "cut.ncu-rep") in failed[0]
    assert "3 stored, 1 not ingested" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_ingesting_again_with_the_command_says_unchanged(folder, tmp_path, prof_here):
    ingesting = ("--runs", tmp_path / "runs", "ingest", folder, "--format", "json")
    first, second = prof_here(*ingesting), prof_here(*ingesting)
    assert (first.returncode, second.returncode) == (0, 0)
    assert "3 already stored, unchanged" in second.stderr
    assert {one["status"] for one in json.loads(second.stdout)} == {"known"}


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("gone.ncu-rep", ReportNotFound),
        ("pipe.ncu-rep", NotAReport),
        ("loop.ncu-rep", ReportUnreadable),
        ("cut.ncu-rep", ReportDamaged),
        ("nothing.ncu-rep", ReportEmpty),
    ],
)
def test_one_bad_report_ends_with_its_own_code_and_writes_nothing(folder, tmp_path, prof_here, name, error):
    whole = (folder / "graph.ncu-rep").read_bytes()
    os.mkfifo(folder / "pipe.ncu-rep")
    (folder / "loop.ncu-rep").symlink_to("loop.ncu-rep")
    (folder / "cut.ncu-rep").write_bytes(whole[:-1])
    (folder / "nothing.ncu-rep").write_bytes(whole[:10])

    done = prof_here("--runs", tmp_path / "runs", "ingest", folder / name)

    assert done.returncode == error.exit_code
    assert done.stdout == ""
    complaint, remedy = [line for line in done.stderr.splitlines() if "not ingested" not in line]
    assert complaint.startswith(f"prof: {folder / name}: ")
    assert remedy.startswith("      ")
    assert leftovers(RunStore(tmp_path / "runs")) == []
    assert RunStore(tmp_path / "runs").ids() == []


def test_a_file_in_place_of_the_runs_folder_is_refused(folder, tmp_path, prof_here):
    (tmp_path / "runs").write_text("a file")

    done = prof_here("--runs", tmp_path / "runs", "ingest", folder)

    assert done.returncode == StoreError.exit_code
    assert f"{tmp_path / 'runs'}: a file, and not a folder of runs" in done.stderr
    assert (tmp_path / "runs").read_text() == "a file"


# A choice of launches


def chosen(report, store, **choice):
    (outcome,) = ingest_reports([report], store, IngestOptions(choice=LaunchChoice(**choice)))
    return outcome


@pytest.mark.slow
def test_the_launches_asked_for_are_a_run_of_their_own_beside_the_whole_report(reports, tmp_path):
    store, report = RunStore(tmp_path / "runs"), reports / "several.ncu-rep"
    some, same, others, whole = (
        chosen(report, store, **choice)
        for choice in ({"kernels": "offset"}, {"kernels": "offset"}, {"kernels": "scale"}, {})
    )
    assert [one.status for one in (some, same, others, whole)] == ["stored", "known", "stored", "stored"]
    assert len({some.run_id, others.run_id, whole.run_id}) == 3
    run, all_of_it = store.open(some.run_id), store.open(whole.run_id)
    assert [kernel.name for kernel in run.manifest.kernels] == ["offset(float *, float)"]
    assert (run.manifest.part, all_of_it.manifest.part) == ("kernels that match 'offset'", "")
    launches = set(run.table("launches").column("launch").to_pylist())
    for name in ("metrics", "instances", "instructions", "rules"):
        rows = [row for row in all_of_it.table(name).to_pylist() if row["launch"] in launches]
        without_id = [{**row, "run_id": some.run_id} for row in rows]
        assert run.table(name).to_pylist() == without_id
    run.verify()


@pytest.mark.slow
def test_a_choice_that_means_no_launch_names_the_kernels_and_stores_nothing(reports, tmp_path):
    store = RunStore(tmp_path / "runs")
    for choice in ({"kernels": "no_such_kernel"}, {"nvtx": "no such range"}, {"numbers": "7-9"}):
        outcome = chosen(reports / "several.ncu-rep", store, **choice)
        assert isinstance(outcome.error, KernelNotFound)
        assert "  offset(float *, float)" in outcome.error.details
    assert outcome.error.message.endswith("several.ncu-rep: holds no launches 7-9")
    assert "these are 0 to 6" in outcome.error.remedy
    assert store.ids() == []
