"""A collection keeps its reports between two calls: each whole or not at all, and for one prof at a time."""

import os
import shutil
import stat
import subprocess
import sys

import pytest

from profiler.errors import CollectBusy, DiskFull, StoreNotWritable
from profiler.store.locks import try_lock
from profiler.store.process_timings import ProcessFacts, ProcessTimings, Timing
from profiler.store.runs import unfinished as module
from profiler.store.runs.unfinished import (
    UNFINISHED_FOLDER,
    UnfinishedCollection,
    UnfinishedPlan,
    discard_unfinished,
)

KEY = "0123456789abcdef" * 4
PLAN = UnfinishedPlan("gemm-6", 7)
TIMINGS = ProcessTimings(ProcessFacts("cuBLAS"), [Timing(0, 0, 10.5, 9.0), Timing(0, 1, 11.0, None)])


@pytest.fixture
def root(tmp_path):
    return tmp_path / "runs"


@pytest.fixture
def report(reports):
    return reports / "graph.ncu-rep"


def test_the_next_call_finds_the_parts_that_were_kept(root, report):
    with UnfinishedCollection(root, KEY) as unfinished:
        assert unfinished.plan(PLAN) == PLAN
        kept = unfinished.keep_report(1, report)
        unfinished.keep_timings(0, TIMINGS)
        assert kept.read_bytes() == report.read_bytes()

    with UnfinishedCollection(root, KEY) as unfinished:
        assert unfinished.plan(UnfinishedPlan("gemm-6", 8)) == PLAN
        assert unfinished.report(1) == kept
        assert unfinished.timings(0) == TIMINGS
        assert (unfinished.report(0), unfinished.timings(1)) == (None, None)


def test_process_1_is_not_process_11(root, report):
    with UnfinishedCollection(root, KEY) as unfinished:
        unfinished.keep_report(11, report)
        assert unfinished.report(1) is None
        assert unfinished.report(11) is not None


def test_another_key_is_another_collection(root):
    with UnfinishedCollection(root, KEY) as one, UnfinishedCollection(root, "f" + KEY[1:]) as another:
        assert one.plan(PLAN) == PLAN
        assert another.plan(UnfinishedPlan("gemm-5", 9)) == UnfinishedPlan("gemm-5", 9)


def test_discarded_nothing_is_left_not_even_the_folder(root, report):
    with UnfinishedCollection(root, KEY) as unfinished:
        unfinished.plan(PLAN)
        unfinished.keep_report(0, report)
        (unfinished.folder / ".half.part").write_text("")
        unfinished.discard()
    assert list(root.iterdir()) == []


def test_nothing_kept_nothing_left(root):
    with UnfinishedCollection(root, KEY):
        pass
    assert list(root.iterdir()) == []


def test_the_unfinished_parts_of_a_committed_run_are_discarded(root):
    discard_unfinished(root, KEY)
    assert not root.exists()
    with UnfinishedCollection(root, KEY) as unfinished:
        unfinished.plan(PLAN)
    discard_unfinished(root, KEY)
    assert list(root.iterdir()) == []


def test_parts_that_another_prof_works_on_are_not_discarded(root):
    with UnfinishedCollection(root, KEY) as unfinished:
        unfinished.plan(PLAN)
        discard_unfinished(root, KEY)
        assert (unfinished.folder / "plan.json").exists()


# Torn and damaged


@pytest.mark.parametrize("keep", [0, 1, -1])
def test_a_report_that_is_not_what_its_name_says_is_measured_again(root, report, keep):
    with UnfinishedCollection(root, KEY) as unfinished:
        kept = unfinished.keep_report(0, report)
        kept.write_bytes(kept.read_bytes()[:keep])
        assert unfinished.report(0) is None
        assert not kept.exists()


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'{"name": 1}', b"\xff\xfe", b"null"])
def test_parts_that_cannot_be_read_count_as_absent(root, text):
    with UnfinishedCollection(root, KEY) as unfinished:
        for name in ("plan.json", "timings-0.json"):
            (unfinished.folder / name).write_bytes(text)
        assert unfinished.timings(0) is None
        assert unfinished.plan(PLAN) == PLAN


def test_a_write_that_was_cut_off_leaves_what_was_before(root, report, monkeypatch):
    """Killed before the rename, wherever that is."""
    with UnfinishedCollection(root, KEY) as unfinished:
        unfinished.keep_timings(0, TIMINGS)

        def killed(*arguments):
            raise KeyboardInterrupt

        monkeypatch.setattr(os, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            unfinished.keep_timings(0, ProcessTimings(ProcessFacts(), []))
        with pytest.raises(KeyboardInterrupt):
            unfinished.keep_report(0, report)
        assert unfinished.timings(0) == TIMINGS
        assert unfinished.report(0) is None


@pytest.mark.parametrize(("number", "error"), [(28, DiskFull), (13, StoreNotWritable)])
def test_an_output_that_cannot_be_written_is_reported(root, report, monkeypatch, number, error):
    def fails(path):
        raise OSError(number, os.strerror(number))

    with UnfinishedCollection(root, KEY) as unfinished:
        monkeypatch.setattr(module, "flush", fails)
        with pytest.raises(error):
            unfinished.keep_timings(0, TIMINGS)
        with pytest.raises(error):
            unfinished.keep_report(0, report)


# One at a time


def test_a_second_prof_is_told_to_wait(root):
    with UnfinishedCollection(root, KEY):
        code = f"from pathlib import Path\nfrom profiler.store.runs.unfinished import UnfinishedCollection\nUnfinishedCollection(Path({str(root)!r}), {KEY!r})"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "CollectBusy" in done.stderr
    with UnfinishedCollection(root, KEY):
        pass


def test_whoever_is_killed_holds_nothing(root):
    code = (
        "import os, signal\nfrom pathlib import Path\nfrom profiler.store.runs.unfinished import UnfinishedCollection, UnfinishedPlan\n"
        f"UnfinishedCollection(Path({str(root)!r}), {KEY!r}).plan(UnfinishedPlan('gemm-6', 7)); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code], check=False)
    with UnfinishedCollection(root, KEY) as unfinished:
        assert unfinished.plan(UnfinishedPlan("gemm-6", 8)) == PLAN


@pytest.mark.parametrize("moment", ["before", "after"])
def test_whoever_was_here_last_may_remove_the_folder_at_that_very_moment(root, monkeypatch, moment):
    """Before its lock is opened, or between that and locking it, as another prof that is done does."""
    calls = []

    def racing(path):
        calls.append(path)
        if len(calls) == 1 and moment == "before":
            shutil.rmtree(path.parents[1])
        lock = try_lock(path)
        if len(calls) == 1 and moment == "after":
            shutil.rmtree(path.parents[1])
        return lock

    monkeypatch.setattr(module, "try_lock", racing)
    with UnfinishedCollection(root, KEY) as unfinished:
        assert unfinished.plan(PLAN) == PLAN
        with pytest.raises(CollectBusy):
            UnfinishedCollection(root, KEY)
    assert len(calls) == 3


def test_others_may_write_where_they_may_write_the_runs(root):
    root.mkdir()
    root.chmod(0o2777)
    before = os.umask(0o077)
    try:
        with UnfinishedCollection(root, KEY) as unfinished:
            modes = {
                stat.S_IMODE(path.stat().st_mode) for path in (root / UNFINISHED_FOLDER, unfinished.folder)
            }
    finally:
        os.umask(before)
    assert modes == {0o2777}


def test_a_runs_folder_that_nobody_may_write_is_reported(open_folder, as_nobody):
    open_folder.chmod(0o555)
    with as_nobody(), pytest.raises(StoreNotWritable):
        UnfinishedCollection(open_folder, KEY)
