"""Runs answer the same from wherever one asks: their ladder is looked for beside them too."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    "words",
    [
        ("ladder", "--size", "2048"),
        ("show", "3", "--ladder", "copy"),
        ("compare", "2", "3", "--ladder", "copy"),
    ],
)
def test_what_is_printed_does_not_depend_on_the_folder(prof_here, recorded, tmp_path, words):
    there, here = (
        prof_here("--runs", recorded.root, *words, cwd=folder) for folder in (tmp_path, recorded.root)
    )
    assert there.returncode == 0, there.stderr
    assert there.stdout == here.stdout
