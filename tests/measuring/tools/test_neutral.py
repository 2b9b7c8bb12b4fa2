"""A neutral folder: its name reveals nothing about the user, and programs run from it."""

import os
import tempfile
from pathlib import Path

import pytest

from profiler.measuring.tools.neutral import neutral_folder, relative_words
from profiler.measuring.tools.process import run
from profiler.store.scratch import (
    end_scratch,
    find_left_scratch,
    make_scratch,
    neutral_place,
    remove_left_scratch,
)


def test_it_is_empty_ones_own_and_gone_afterwards():
    with neutral_folder() as folder, neutral_folder() as another:
        assert folder != another
        assert not list(folder.iterdir())
        assert folder.stat().st_mode & 0o077 == 0
        (folder / "left").mkdir()
    assert not folder.exists()


@pytest.mark.parametrize("inside", ["tmp", "deep/er/tmp", "."])
def test_a_temporary_folder_at_home_is_not_neutral(tmp_path, monkeypatch, inside):
    place = tmp_path / "jane" / inside
    place.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "jane"))
    monkeypatch.setattr(tempfile, "tempdir", str(place))

    with neutral_folder() as folder:
        assert folder.parent == Path("/tmp")
        assert "jane" not in str(folder)


def test_another_temporary_folder_is_used(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with neutral_folder() as folder:
        assert folder.parent == tmp_path


def test_what_killed_processes_left_is_removed_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left, new, named_alike, elsewhere = (
        tmp_path / name
        for name in ("prof-left-locked", "prof-new-locked", "prof-results", "elsewhere/prof-far-locked")
    )
    link = tmp_path / "prof-link-locked"
    for folder in (left, new, named_alike, elsewhere):
        folder.mkdir(parents=True)
        (folder / "report.ncu-rep").touch()
    link.symlink_to(elsewhere)
    used, lock = make_scratch(tmp_path)
    strangers = [tmp_path / "prof-stranger-locked"] if os.getuid() == 0 else []
    for folder in strangers:
        folder.mkdir()
        os.chown(folder, 65534, 65534)
    for path in (
        left,
        left / "report.ncu-rep",
        named_alike,
        elsewhere,
        elsewhere / "report.ncu-rep",
        used,
        *strangers,
    ):
        os.utime(path, (0, 0))

    with neutral_folder() as folder:
        assert {*tmp_path.iterdir()} == {new, named_alike, elsewhere.parent, link, used, folder, *strangers}
        assert [one.name for one in elsewhere.iterdir()] == ["report.ncu-rep"]
    end_scratch(used, lock)


def test_what_was_left_beside_a_temporary_folder_at_home_is_found_too(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left, lock = make_scratch(neutral_place())
    os.utime(left, (0, 0))
    assert left.parent != tmp_path
    assert left not in find_left_scratch()
    assert lock is not None
    os.close(lock)
    assert left in find_left_scratch()
    remove_left_scratch(among=[left])
    assert not left.exists()


def test_a_file_that_is_still_written_keeps_a_folder_that_nobody_locks(tmp_path, monkeypatch):
    """Such as by a program that outlives prof for a moment."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "prof-left-locked" / "inner").mkdir(parents=True)
    (tmp_path / "prof-left-locked" / "inner" / "report.ncu-rep").touch()
    for folder in (tmp_path / "prof-left-locked", tmp_path / "prof-left-locked" / "inner"):
        os.utime(folder, (0, 0))
    with neutral_folder():
        assert (tmp_path / "prof-left-locked").exists()


def test_a_program_runs_by_its_relative_words(tmp_path):
    binary = tmp_path / "05_tile"
    binary.write_text("#!/bin/sh\nexit 7\n")
    binary.chmod(0o755)
    words = relative_words([str(binary), "--m", "4096"], tmp_path)
    assert words == ["./05_tile", "--m", "4096"]
    assert run(words, timeout_s=10, folder=tmp_path).exit_code == 7


def test_only_words_that_lie_in_the_folder_become_relative(tmp_path):
    words = [f"{tmp_path}/a", f"{tmp_path}x/a", str(tmp_path), f"--in={tmp_path}/a", os.sep]
    assert relative_words(words, tmp_path) == ["./a", *words[1:]]
