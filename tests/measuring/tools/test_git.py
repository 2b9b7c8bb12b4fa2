"""What prof asks git, of repositories made here."""

import subprocess

import pytest

from profiler.measuring.tools.git import read_commit, tracked_names

pytestmark = pytest.mark.needs("git")


@pytest.fixture
def git(tmp_path):
    """`git("add", "a")`, in the folder of the test."""
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.com")

    def call(*words):
        subprocess.run(["git", "-C", tmp_path, *identity, *words], check=True, capture_output=True)

    return call


def test_the_commit_and_whether_the_tree_differs(git, tmp_path):
    assert read_commit(tmp_path) == (None, None)
    git("init", "-q")
    (tmp_path / "a").write_text("1")
    git("add", "a")
    git("commit", "-qm", "one")
    commit, dirty = read_commit(tmp_path)
    assert len(commit) == 40
    assert dirty is False
    (tmp_path / "a").write_text("2")
    assert read_commit(tmp_path) == (commit, True)


def test_tracked_is_what_is_added_and_each_folder_that_holds_some(git, tmp_path):
    runs = tmp_path / "runs"
    assert tracked_names(runs) == frozenset()  # no such folder
    for name in ("mine/run.json", "theirs/run.json", "theirs/table", "a line\nof two/run.json"):
        (runs / name).parent.mkdir(parents=True, exist_ok=True)
        (runs / name).write_text("{}")
    assert tracked_names(runs) == frozenset()  # no repository
    git("init", "-q")
    assert tracked_names(runs) == frozenset()
    git("add", "runs/theirs/run.json", "runs/a line\nof two")
    assert tracked_names(runs) == {"theirs", "a line\nof two"}
    git("commit", "-qm", "one")
    assert tracked_names(runs) == {"theirs", "a line\nof two"}
    assert tracked_names(runs / "mine") == frozenset()


def test_a_repository_starts_no_program_of_its_own(git, tmp_path):
    git("init", "-q")
    (tmp_path / "a").write_text("1")
    git("add", "a")
    program = tmp_path / "monitor"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    program.chmod(0o755)
    git("config", "core.fsmonitor", str(program))
    assert tracked_names(tmp_path) == {"a"}
    assert not (tmp_path / "started").exists()
