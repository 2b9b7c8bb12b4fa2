"""`prof.accepted.jsonl`: what is written to it stays readable, and nothing else is written to."""

import os

import pytest

from profiler.catalog.accepted import Accepted, append_accepted, read_accepted
from profiler.errors import OutputNotWritable, ThresholdsInvalid

ONE = Accepted(
    name="k", metric="duration_ns", before=1.0, after=2.0, when="2026-11-23", who="anna", why="the mask"
)
GONE = Accepted(name="k", when="2026-11-23", who="anna", why="no longer needed")
RENAMED = Accepted(name="k", kernel="k2", when="2026-11-23", who="anna", why="a better name")


def test_a_change_goes_below_the_others_even_where_an_editor_left_out_the_last_line_end(tmp_path):
    path = tmp_path / "prof.accepted.jsonl"
    append_accepted(path, [ONE])
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    append_accepted(path, [GONE, RENAMED])
    assert read_accepted(path) == [ONE, GONE, RENAMED]


@pytest.mark.parametrize("more", ['"metric": "duration_ns"', '"before": 1, "after": 2'])
def test_half_a_line_accepts_nothing(tmp_path, more):
    path = tmp_path / "prof.accepted.jsonl"
    path.write_text(f'{{"name": "k", {more}, "when": "", "who": "", "why": ""}}\n')
    with pytest.raises(ThresholdsInvalid, match="line 1"):
        read_accepted(path)


@pytest.mark.parametrize("target", ["there", "nothing"])
def test_a_link_is_not_followed(tmp_path, target):
    """A stranger's repository may hold one that leads to a file of the user, where a name of a kernel would be obeyed."""
    (tmp_path / "there").write_text("precious")
    path = tmp_path / "prof.accepted.jsonl"
    path.symlink_to(tmp_path / target)
    with pytest.raises(OutputNotWritable, match="a link is there"):
        append_accepted(path, [ONE])
    assert (tmp_path / "there").read_text() == "precious"
    assert not (tmp_path / "nothing").exists()


def test_a_pipe_is_not_waited_for(tmp_path):
    path = tmp_path / "prof.accepted.jsonl"
    os.mkfifo(path)
    with pytest.raises(OutputNotWritable):
        append_accepted(path, [ONE])
