"""What a name on the command line may be, and who is blamed where it is nothing."""

from __future__ import annotations

import pytest

VERBS = [
    ["compare", "1", "2"],
    ["show", "1"],
    ["sass", "1"],
    ["check", "--baseline", "1"],
    ["report", "1", "2", "-o", "page.html"],
]


@pytest.mark.parametrize("words", VERBS, ids=lambda words: words[0])
def test_a_ladder_that_nobody_knows_is_told_as_prof_ladder_tells_it(prof_here, make_run, tmp_path, words):
    make_run({"kernel": "k"}, name="copy-1", root=tmp_path / "runs")
    done = prof_here("--ladder", "cpoy", *words, cwd=tmp_path)
    assert done.returncode == 44
    assert done.stderr == prof_here("--ladder", "cpoy", "ladder", cwd=tmp_path).stderr
    assert done.stderr.startswith("prof: no ladder 'cpoy': ")


def test_a_ladder_that_a_run_is_of_needs_no_file(prof_here, make_run, tmp_path):
    """A folder of runs is enough to ask about it, without the `kernels/` that they are of."""
    make_run({"kernel": "k"}, name="copy-1", root=tmp_path / "runs")
    assert prof_here("--ladder", "copy", "show", "1", cwd=tmp_path).returncode == 0
    other = prof_here("--ladder", "copy", "show", "2", cwd=tmp_path)
    assert other.returncode == 21
    assert "no run of kernel 2; copy has runs of 1" in other.stderr


def test_a_ladder_without_runs_is_known_by_its_file(prof_here, make_run, tmp_path):
    make_run({"kernel": "k"}, name="copy-1", root=tmp_path / "runs")
    ladder = tmp_path / "kernels" / "new" / "ladder.toml"
    ladder.parent.mkdir(parents=True)
    ladder.write_text("")  # which is not even read
    done = prof_here("--ladder", "new", "show", "1", cwd=tmp_path)
    assert done.returncode == 21
    assert "no run of kernel 1; new has no runs" in done.stderr
