"""Adding recordings to the record: packs, times and labelled pairs find their places, and nothing else moves."""

from __future__ import annotations

import tarfile
import tomllib

import add_recordings
import pytest

PAIR = '[[pair]]  # {0}\nfile = "a.py"\nbefore = "{0}"\nafter = "{0}_better"\ncauses = ["barriers"]\n'


def pack(folder, name, **reports):
    with tarfile.open(folder / f"{name}.tar.xz", "w:xz") as packed:
        for kernel, content in reports.items():
            (folder / "report").write_text(content)
            packed.add(folder / "report", f"{kernel}.ncu-rep")


def reports_of(path):
    with tarfile.open(path) as packed:
        return {one.name.removesuffix(".ncu-rep"): packed.extractfile(one).read().decode() for one in packed}


@pytest.fixture
def folders(tmp_path):
    """Returns the folder of a record with one kernel, and that of new recordings: of it again, and of a pair."""
    record, out = tmp_path / "record", tmp_path / "out"
    for folder in (record, out):
        folder.mkdir()
    pack(record, "full", old="then", kept="then")
    (record / "times.csv").write_text("old,10.0\nkept,5.0\n")
    (record / "pairs.toml").write_text(PAIR.format("old") + '\n[[ceiling]]\nkernel = "kept"\n')
    (record / "samples.toml").write_text(
        "# not recorded yet\n\n" + PAIR.format("new") + "\n" + PAIR.format("other")
    )
    pack(out, "full", old="now")
    pack(out, "scripts", new="now", new_better="now")
    (out / "times.csv").write_text("old,11.0\nnew,40.0\nnew_better,39.0\n")
    return record, out


def test_recorded_kernels_take_the_place_of_older_ones_and_leave_the_rest(folders):
    record, out = folders
    add_recordings.main(out, record)
    assert reports_of(record / "full.tar.xz") == {"old": "now", "kept": "then"}
    assert reports_of(record / "scripts.tar.xz") == {"new": "now", "new_better": "now"}
    assert (record / "times.csv").read_text().splitlines() == ["old,11.0", "kept,5.0", "new,40.0", "new_better,39.0"]  # fmt: skip


def test_what_is_removed_alone_moves_to_the_end_once_all_its_kernels_are_recorded(folders):
    record, out = folders
    removed = '[[alone]]\nbefore = "{0}"\nafter = "new"\ncauses = ["barriers"]\ninstead = ["{1}"]\n'
    waiting = removed.format("old", "another")
    (record / "samples.toml").write_text(removed.format("old", "kept") + "\n" + waiting)
    add_recordings.main(out, record)
    (listed,) = tomllib.loads((record / "pairs.toml").read_text())["alone"]
    assert (listed["after"], listed["instead"]) == ("new", ["kept"])
    assert (record / "pairs.toml").read_text().endswith(removed.format("old", "kept"))
    assert (record / "samples.toml").read_text() == waiting


def test_pairs_that_are_recorded_now_move_into_the_record_before_the_other_kernels(folders, capsys):
    record, out = folders
    add_recordings.main(out, record)
    listed = tomllib.loads((record / "pairs.toml").read_text())
    assert [pair["before"] for pair in listed["pair"]] == ["old", "new"]
    assert listed["ceiling"] == [{"kernel": "kept"}]
    assert (record / "samples.toml").read_text() == "# not recorded yet\n\n" + PAIR.format("other")
    assert capsys.readouterr().out == "new -> new_better saves 2.5 %: too little to count\n"
