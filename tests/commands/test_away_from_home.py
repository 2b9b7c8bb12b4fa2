"""Runs answer the same from wherever one asks: their ladder is looked for beside them too."""

import pytest


@pytest.mark.parametrize(
    "words",
    [
        ("ladder", "--size", "2048"),
        ("show", "3", "--ladder", "copy"),
        ("compare", "2", "3", "--ladder", "copy"),
    ],
)
def test_the_output_does_not_depend_on_the_working_folder(prof_recorded, recorded, tmp_path, words):
    there, here = (prof_recorded(*words, cwd=folder) for folder in (tmp_path, recorded.root))
    assert there.returncode == 0, there.stderr
    assert there.stdout == here.stdout


@pytest.mark.parametrize("words", [("show", "6"), ("check", "--baseline", "5", "6"), ("list",)])
def test_a_current_folder_that_no_longer_exists_is_no_bug(prof_here, tmp_path, monkeypatch, words):
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    result = prof_here(*words)
    assert result.returncode == 93
    assert result.stderr.startswith("prof: the current folder no longer exists\n")


def test_a_command_that_needs_no_folder_works_in_a_folder_that_is_gone(prof_here, tmp_path, monkeypatch):
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    assert prof_here("causes").returncode == 0
