"""A recording is checked against the newest baseline of the same name and workload."""

import shutil

import pytest

from profiler.ask.baseline import find_newer, find_newest, pair_runs, pair_stores, title_of
from profiler.errors import KernelNotFound, RunNotFound
from profiler.store.runs.run_id import RunId
from profiler.store.runs.run_store import RunStore


def ids_of(pairs):
    return [tuple(run.manifest.run_id for run in pair) for pair in pairs]


def test_two_folders_pair_by_name_and_workload_and_the_newest_counts(made, made_elsewhere):
    made_elsewhere.profile("k", 100.0, workload={"m": 1})
    before_1 = made_elsewhere.profile("k", 100.0, workload={"m": 1})
    before_2 = made_elsewhere.profile("k", 100.0, workload={"m": 2})
    made.profile("k", 100.0, workload={"m": 1})
    after_2 = made.profile("k", 100.0, workload={"m": 2})
    after_1 = made.profile("k", 100.0, workload={"m": 1})
    found = pair_stores(made_elsewhere.store, made.store)
    assert ids_of(found.pairs) == [(before_1, after_1), (before_2, after_2)]
    assert (found.missing, found.new) == ([], [])
    assert found.notes == [
        "matched by the name and the workload of each run; a report has the name of its file"
    ]


def test_pairs_stand_in_the_order_that_people_count_in(made, made_elsewhere):
    for name in ("gemm-10", "gemm-9", "gemm-1"):
        made.profile(name, 100.0)
        made_elsewhere.profile(name, 100.0)
    pairs = pair_stores(made_elsewhere.store, made.store).pairs
    assert [after.manifest.name for _, after in pairs] == ["gemm-1", "gemm-9", "gemm-10"]


def test_recordings_without_a_counterpart_are_named(made, made_elsewhere):
    for one in (made, made_elsewhere):
        one.profile("both", 100.0)
    made.profile("new", 100.0)
    made.profile("both", 100.0, workload={"m": 7})
    made_elsewhere.profile("gone", 100.0)
    found = pair_stores(made_elsewhere.store, made.store)
    _, *notes, hint = found.notes
    assert notes == [
        f"not recorded in {made.store.root}, so not checked: gone, m=4096",
        f"no baseline in {made_elsewhere.store.root}, so not checked: both, m=7; new, m=4096",
    ]
    assert "`prof ingest REPORT --name NAME`" in hint
    assert (found.missing, found.new) == (["gone, m=4096"], ["both, m=7", "new, m=4096"])


def test_a_pattern_leaves_out_the_runs_without_such_a_kernel(made, made_elsewhere):
    for name, before, after in (
        ("both", "one", "one"), ("renamed", "one", "two"), ("added", "two", "one"), ("other", "two", "two"),
    ):  # fmt: skip
        made_elsewhere.profile(name, 100.0, kernel=before)
        made.profile(name, 100.0, kernel=after)
    made_elsewhere.profile("gone", 100.0, kernel="one")
    made_elsewhere.profile("gone-too", 100.0, kernel="two")
    found = pair_stores(made_elsewhere.store, made.store, kernel_name="one")
    assert [after.manifest.name for _, after in found.pairs] == ["both"]
    assert (found.missing, found.new) == (["gone, m=4096", "renamed, m=4096"], ["added, m=4096"])
    with pytest.raises(KernelNotFound, match="no kernel name matches 'three'"):
        pair_stores(made_elsewhere.store, made.store, kernel_name="three")


def test_a_recording_that_the_baseline_has_only_on_another_gpu_is_not_missing(made, made_elsewhere):
    for one in (made, made_elsewhere):
        one.profile("both", 100.0, gpus=["A"])
    made_elsewhere.profile("elsewhere", 100.0, gpus=["B"])
    assert pair_stores(made_elsewhere.store, made.store, "A").missing == []
    assert pair_stores(made_elsewhere.store, made.store).missing == ["elsewhere, m=4096"]


def test_no_renaming_is_suggested_when_only_one_side_has_more_recordings(made, made_elsewhere):
    for one in (made, made_elsewhere):
        one.profile("both", 100.0)
    made.profile("new", 100.0)
    assert not any("--name" in note for note in pair_stores(made_elsewhere.store, made.store).notes)


def test_reports_in_a_folder_are_paired_by_the_names_of_their_files(reports, tmp_path):
    held = {"older": {"a": "gemm_5", "gone": "gemm_6"}, "newer": {"a": "gemm_6", "new": "gemm_5"}}
    for folder, files in held.items():
        (tmp_path / folder).mkdir()
        for name, report in files.items():
            shutil.copy(reports / f"{report}.ncu-rep", tmp_path / folder / f"{name}.ncu-rep")
    older, newer = (tmp_path / folder for folder in held)
    found = pair_stores(RunStore(older), RunStore(newer))
    assert [[run.label for run in pair] for pair in found.pairs] == [
        [str(older / "a.ncu-rep"), str(newer / "a.ncu-rep")]
    ]
    assert (found.missing, found.new) == (["gone"], ["new"])


def test_a_folder_with_neither_runs_nor_reports_is_refused(made, tmp_path):
    made.profile("k", 100.0)
    (tmp_path / "empty").mkdir()
    with pytest.raises(RunNotFound, match=r"no runs are stored there, and it holds no reports$"):
        pair_stores(made.store, RunStore(tmp_path / "empty"))


def test_a_long_list_of_them_is_counted(made, made_elsewhere):
    for one in (made, made_elsewhere):
        one.profile("both", 100.0)
    for number in range(9):
        made.profile(f"new-{number}", 100.0)
    _, note = pair_stores(made_elsewhere.store, made.store).notes
    assert note.endswith("new-5, m=4096; and 3 more")


def test_folders_with_nothing_in_common_are_an_error(made, made_elsewhere):
    made.profile("k", 100.0, workload={"m": 1})
    made_elsewhere.profile("k", 100.0, workload={"m": 2})
    with pytest.raises(RunNotFound, match="no run of the same name and workload"):
        pair_stores(made_elsewhere.store, made.store)


def test_a_folder_is_no_baseline_of_its_own(made, tmp_path):
    """A wrong PROF_RUNS would make every job green, for ever."""
    made.profile("k", 100.0)
    (tmp_path / "linked").symlink_to(made.store.root)
    for baseline in (made.store, RunStore(tmp_path / "linked")):
        with pytest.raises(RunNotFound, match="is both the baseline and the folder to check") as refused:
            pair_stores(baseline, made.store)
        assert "Give the new runs with --runs (or PROF_RUNS)" in refused.value.remedy


def test_two_that_are_named_must_be_two_recordings(made):
    made.profile("k", 100.0)
    made.profile("k", 90.0)
    older, newer = made.store.open_all(made.store.ids())
    assert pair_runs(older, newer) == (older, newer)
    with pytest.raises(RunNotFound, match="the same recording on both sides, so nothing would be checked"):
        pair_runs(newer, made.store.open(made.store.ids()[-1]))


def test_the_candidate_of_a_run_is_the_newest_of_its_name_and_workload(made):
    made.profile("k", 100.0)
    newest = made.profile("k", 90.0)
    made.profile("k", 80.0, workload={"m": 1})
    made.profile("other", 70.0)
    baseline = made.store.open(made.store.ids()[0])
    assert find_newer(made.store, baseline).manifest.run_id == newest


def test_the_newest_run_has_no_candidate_but_itself_which_is_refused(made):
    made.profile("k", 100.0)
    with pytest.raises(RunNotFound, match="newer than the baseline") as refused:
        find_newer(made.store, made.store.open(made.store.ids()[0]))
    assert "prof list k" in refused.value.remedy


def test_a_folder_without_the_name_and_workload_is_an_error(made, made_elsewhere):
    made.profile("k", 100.0, workload={"m": 1})
    made_elsewhere.profile("k", 100.0, workload={"m": 2})
    with pytest.raises(RunNotFound, match="no run of k, m=1"):
        find_newest(made_elsewhere.store, made.store.open(made.store.ids()[0]))


def test_a_report_is_called_as_it_would_be_stored(reports):
    from profiler.store.runs.unstored import open_report

    path = reports / "gemm_5.ncu-rep"
    assert title_of(open_report(path)) == "gemm_5"


def test_runs_of_one_gpu_are_paired_and_those_of_two_only_where_there_is_no_other(made, made_elsewhere):
    here = {gpu: made.profile("k", 100.0, gpus=[gpu]) for gpu in ("A", "B")}
    there = {gpu: made_elsewhere.profile("k", 100.0, gpus=[gpu]) for gpu in ("B", "A")}
    moved = made_elsewhere.profile("moved", 100.0, gpus=["A"]), made.profile("moved", 100.0, gpus=["B"])
    found = pair_stores(made_elsewhere.store, made.store)
    assert set(ids_of(found.pairs)) == {(there["A"], here["A"]), (there["B"], here["B"]), moved}
    assert (found.missing, found.new) == ([], [])
    like = made.store.open(RunId.parse(here["B"]))
    assert find_newest(made_elsewhere.store, like).manifest.run_id == there["B"]


def test_a_function_timed_alone_is_held_against_its_profile(made, made_elsewhere):
    """A profiled function has no workload, and a timed one an empty one."""
    before = made_elsewhere.profile("function", 100.0, workload=None)
    after = made.profile("function", 100.0, workload={})
    pairs = pair_stores(made_elsewhere.store, made.store).pairs
    assert ids_of(pairs) == [(before, after)]
