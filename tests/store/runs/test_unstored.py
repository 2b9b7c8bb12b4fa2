"""Reports that nobody stored: read once, and never taken for another."""

import shutil

import pytest

from profiler.errors import NotAReport, ReportDamaged
from profiler.store.cache import cache_root
from profiler.store.runs import unstored
from profiler.store.runs.unstored import open_report, open_reports
from profiler.store.tables.columns import labels_of
from profiler.store.tables.launch_choice import rows_of_launches
from tests.store.flips import flip


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """The folder of what is kept, with nothing held in memory; `kept()` forgets what this process has opened."""
    monkeypatch.delenv("PROF_NO_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    held = {}
    monkeypatch.setattr(unstored, "_held", held)  # private: what this process has opened

    def forget():
        held.clear()  # a new process has none
        return sorted((cache_root() / "reports").iterdir())

    return forget


@pytest.fixture
def reads(monkeypatch):
    """The paths that were read with NVIDIA's reader, in order."""
    seen = []
    read = unstored._read_reports  # private: to count what really reads
    monkeypatch.setattr(
        unstored, "_read_reports", lambda paths, *rest: seen.extend(paths) or read(paths, *rest)
    )
    return seen


@pytest.fixture
def mine(reports, tmp_path):
    return shutil.copy(reports / "several.ncu-rep", tmp_path / "mine.ncu-rep")


@pytest.mark.slow
@pytest.mark.parametrize("report", ["processes", "several"])
def test_the_part_of_a_run_that_a_kernel_launched_has_its_rows_alone(reports, report):
    run = open_report(reports / f"{report}.ncu-rep")
    names = labels_of(run.table("launches"), "kernel")
    for kernel in set(names):
        launches = [number for number, name in enumerate(names) if name == kernel]
        part = run.of_launches(launches)
        for table in ("launches", "metrics", "instances", "instructions", "rules"):
            expected = rows_of_launches(run.table(table), launches)
            assert part.table(table).to_pylist() == expected.to_pylist()
            assert all(
                labels_of(part.table(table), column) == expected.column(column).to_pylist()
                for column in ("kernel", "metric", "sass")
                if column in expected.column_names
            )


def test_a_report_that_was_read_once_is_not_read_again(kept, reads, mine):
    first = open_report(mine)
    assert open_report(mine) is first, "the same process holds it"
    kept()
    again = open_report(mine)
    assert reads == [mine]
    assert again.manifest == first.manifest
    assert all(again.table(name).equals(first.table(name)) for name in first.manifest.tables)


@pytest.mark.slow
def test_a_file_with_other_content_is_read(kept, reads, mine, reports):
    open_report(mine)
    shutil.copy(reports / "processes.ncu-rep", mine)
    assert open_report(mine).manifest.launches == 14
    assert reads == [mine, mine]


def test_a_report_that_was_replaced_while_it_was_read_is_read_again(kept, mine, reports, monkeypatch):
    contents = []

    def read(paths, _):
        contents.append(mine.read_bytes())
        shutil.copy(reports / "processes.ncu-rep", mine)
        return [f"reading {len(contents)}"]

    monkeypatch.setattr(unstored, "_read_reports", read)  # private: to replace the file in the middle
    assert open_report(mine) == "reading 1"
    assert open_report(mine) == "reading 2"
    assert contents[1] == (reports / "processes.ncu-rep").read_bytes() != contents[0]


@pytest.mark.slow
def test_a_copy_under_another_name_has_its_own_name_and_path(kept, mine):
    open_report(mine)
    kept()
    copy = shutil.copy(mine, mine.with_name("other.ncu-rep"))
    run = open_report(copy)
    assert (run.manifest.name, run.label) == ("other", str(copy))
    moved = mine.parent / "elsewhere" / mine.name
    moved.parent.mkdir()
    shutil.copy(mine, moved)
    assert open_report(moved).manifest.reports[0].reference == str(moved)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_a_report_is_read_again_when_its_cached_copy_was_changed(kept, reads, mine, share):
    first = open_report(mine)
    (file,) = kept()
    flip(file, share)
    assert open_report(mine).table("metrics").equals(first.table("metrics"))
    assert reads == [mine, mine]


@pytest.mark.slow
def test_the_kept_tables_of_one_report_never_stand_for_another(kept, reads, mine, reports):
    other = reports / "processes.ncu-rep"
    launches = [run.manifest.launches for run in open_reports([mine, other])]
    one, two = kept()
    aside = one.with_name("aside")
    one.rename(aside), two.rename(one), aside.rename(two)
    assert [run.manifest.launches for run in open_reports([mine, other])] == launches
    assert reads == [mine, other, mine, other]


def test_a_failure_is_not_kept(kept, mine):
    mine.write_bytes(mine.read_bytes()[:-1000])
    for _ in range(2):
        with pytest.raises(ReportDamaged):
            open_report(mine)


def test_the_progress_of_reading_counts_the_launches(kept, mine):
    seen = []
    open_reports([mine], seen.append)
    assert seen[-1] == "", "the line is removed at the end"
    assert all("mine.ncu-rep" in line for line in seen[:-1])
    seen.clear()
    open_reports([mine], seen.append)
    assert seen == [], "nothing is read"


def test_what_is_no_report_by_its_first_bytes_is_refused_before_a_reader_starts(reads, reports, tmp_path):
    notes = tmp_path / "notes.md"
    notes.write_text("# prof\n")
    with pytest.raises(NotAReport, match=r"notes\.md: not an Nsight Compute report"):
        open_reports([reports / "several.ncu-rep", notes])
    assert reads == []
