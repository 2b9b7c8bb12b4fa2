"""Blind tests are scored as docs/track-record.md says, and its tables are what the scored pairs come to."""

import sys
from pathlib import Path

import blind
import pytest
import track_record

from profiler.catalog.causes import BY_NAME

PAIR = {"name": "walk", "file": "src/walk.cu", "cause": ["idle-lanes", "barriers"], "lines": [40]}
FIRST = {"cause": "grid-too-small", "saves_pct": {"expected": 30, "at_most": 60}, "where": []}
PROF = str(Path(sys.executable).with_name("prof"))


def idle_lanes(line, file="/home/x/walk.cu"):
    return {
        "cause": "idle-lanes",
        "saves_pct": {"expected": 20, "at_most": 50},
        "where": [{"file": file, "line": line}],
    }


def test_the_first_cause_that_the_label_has_is_scored():
    row = blind.judge(PAIR, [FIRST, idle_lanes(41)])
    assert (row["rank"], row["expected"], row["at_most"]) == (2, 20, 50)
    assert (row["named_1"], row["expects_1"]) == ("grid-too-small", 30)


@pytest.mark.parametrize(
    ("place", "is_right"),
    [
        (idle_lanes(42), "yes"),
        (idle_lanes(43), "no"),
        (idle_lanes(40, "/usr/include/walk.cuh"), "no"),
        (idle_lanes(41, "<CuPy source>"), "yes"),  # of the string that the file has
        (idle_lanes(43, "<CuPy source>"), "no"),
        (FIRST, "no"),
    ],
)
def test_a_line_is_right_within_two_lines_of_the_same_file(place, is_right):
    assert blind.judge(PAIR, [place])["line_is_right"] == is_right


def test_no_line_is_judged_where_the_cause_is_one_of_the_kernel():
    assert "line_is_right" not in blind.judge(PAIR | {"lines": []}, [FIRST])


def test_a_cause_that_is_not_named_has_no_rank():
    row = blind.judge(PAIR, [FIRST])
    assert row["rank"] is None
    assert "expected" not in row


@pytest.mark.parametrize(
    ("said", "source"),
    [
        ("owner/name src/a.cu, commit 1234abc 'faster'", "owner/name"),
        ("Softmax with dropout (two versions of one file)", "Softmax with dropout"),
    ],
)
def test_a_source_is_a_repository_or_what_it_begins_with(said, source):
    assert blind.source_of(said) == source


def test_pairs_that_ran_and_saved_a_tenth_count(tmp_path, capsys):
    (tmp_path / "reports").mkdir()
    track_record.unpack(track_record.PACKS, tmp_path / "reports", {"move_structs"})
    names = ("move_structs", "failed", "gained_little")
    (tmp_path / "pairs.toml").write_text(
        "\n".join(
            f'[[pair]]\nname = "{name}"\nfile = "global_memory.cu"\ncause = ["uncoalesced-loads"]\nlines = []\n'
            'source = "own/kernels a.cu"\ntwo_versions_of_authors = true'
            for name in names
        )
    )
    (tmp_path / "times.csv").write_text(
        "pair,before_us,after_us,verified\nmove_structs,100,25,1\nfailed,100,25,0\ngained_little,100,95,1\n"
    )
    (row,) = blind.score("99", tmp_path, PROF)
    assert (row["pair"], row["saved"], row["rank"]) == ("move_structs", 75.0, 1)
    assert row["both_versions_by_authors"] == "yes"
    assert capsys.readouterr().out.splitlines() == [
        "failed does not count: no result",
        "gained_little does not count: saves 5 %",
    ]


def test_every_scored_pair_names_a_cause_among_those_that_exist():
    rows = blind.read_scored()
    named = {cause for row in rows for cause in [*row["right"].split(), row["named_1"]] if cause}
    assert named <= set(BY_NAME)
    assert all(float(row["saved"]) >= blind.WORTH_A_PAIR for row in rows)
