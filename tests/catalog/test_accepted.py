"""`prof.accepted.jsonl`: what is written to it stays readable, and nothing else is written to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from profiler.catalog.accepted import Accepted, append_accepted, read_accepted
from profiler.errors import OutputNotWritable

ONE = Accepted("k", "duration_ns", 1.0, 2.0, "2026-11-23", "anna", "the mask")


def test_a_change_goes_below_the_others_even_where_an_editor_left_out_the_last_line_end(tmp_path):
    path = tmp_path / "prof.accepted.jsonl"
    append_accepted(path, [ONE])
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    append_accepted(path, [ONE, ONE])
    assert read_accepted(path) == [ONE] * 3


@pytest.mark.parametrize("target", ["there", "nothing"])
def test_a_link_is_not_followed(tmp_path: Path, target):
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
