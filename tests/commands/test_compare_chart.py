"""`prof compare --chart`: one picture of a pair, in the form that its suffix says."""

import json

import pytest


@pytest.fixture
def compare(prof_recorded):
    return lambda *arguments: prof_recorded("compare", *arguments)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("suffix", "start"),
    [(".svg", b"<svg"), (".PNG", b"\x89PNG"), (".html", b"<!doctype html>"), (".json", b"{")],
)
def test_the_suffix_decides_and_the_page_is_printed_as_ever(compare, tmp_path, suffix, start):
    path = tmp_path / f"what changed{suffix}"
    result = compare("5", "6", "--chart", path)
    assert (result.returncode, result.stderr) == (0, f"Wrote {path}\n")
    assert "four-way: confirmed" in result.stdout
    assert path.read_bytes().startswith(start)
    assert list(tmp_path.iterdir()) == [path]


def test_standard_output_stays_what_a_program_reads(compare, tmp_path):
    result = compare("5", "6", "--format", "json", "--chart", tmp_path / "c.json")
    assert json.loads(result.stdout)["speedup"]["ratio"] == pytest.approx(1.142, abs=0.001)


@pytest.mark.parametrize("name", ["c.gif", "c", ".svg"])
def test_an_unknown_suffix_is_refused_before_anything_is_done(compare, tmp_path, name):
    result = compare("5", "6", "--chart", tmp_path / name)
    assert (result.returncode, result.stdout) == (2, "")
    assert ".html" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_one_picture_shows_one_pair(compare, tmp_path):
    result = compare("5", "6", "--all", "--chart", tmp_path / "c.svg")
    assert result.returncode == 2
    assert "--kernel-name" in result.stderr


def test_a_folder_that_is_not_there_is_one_line_with_a_remedy(compare, tmp_path):
    result = compare("5", "6", "--chart", tmp_path / "no" / "c.json")
    assert (result.returncode, result.stdout) == (82, "")
    assert result.stderr == (
        f"prof: {tmp_path / 'no' / 'c.json'}: cannot be written: there is no folder {tmp_path / 'no'}\n"
        f"      Make the folder first: `mkdir -p {tmp_path / 'no'}`.\n"
    )


def test_a_failure_leaves_the_old_picture(compare, tmp_path):
    path = tmp_path / "c.svg"
    path.write_text("old")
    assert compare("5", "no-such-run", "--chart", path).returncode != 0
    assert path.read_text() == "old"
