"""`prof list` shows what is there, also when part of it is damaged."""

import json
import shutil

import pytest

from profiler.store.packs.compact import FEWEST_RUNS
from profiler.store.runs.run_store import RunStore


def test_a_damaged_run_hides_no_other_and_is_named(store, prof_here, tmp_path):
    runs = tmp_path / "runs"
    shutil.copytree(store.root, runs)
    damaged, whole = store.ids()[:2]
    (runs / str(damaged) / "run.json").write_text("not JSON")

    listed = prof_here("list", "--runs", runs, "--format", "csv")

    rows = {row.split(",")[0]: row for row in listed.stdout.splitlines()[1:]}
    assert f"damaged,{damaged}" in rows[damaged.name]
    assert rows[whole.name].endswith(str(whole))
    assert listed.returncode == 22
    assert str(runs / str(damaged) / "run.json") in listed.stderr


def test_a_damaged_line_of_a_pack_hides_none_of_its_other_runs(prof_here, make_run, tmp_path):
    names = [f"made-{number}" for number in range(FEWEST_RUNS)]
    for name in names:
        make_run({"kernel": "k"}, name=name, root=tmp_path)
    assert prof_here("--runs", tmp_path, "compact").returncode == 0
    (lines,) = tmp_path.glob("pack-*/manifests.jsonl")
    lines.write_bytes(lines.read_bytes().replace(b"made-1", b"mode-1", 1))

    listed = prof_here("list", "--runs", tmp_path, "--format", "csv")

    assert [row.split(",")[0] for row in listed.stdout.splitlines()[1:]] == names
    assert listed.stdout.count(",damaged,") == 1
    assert listed.returncode == 22
    assert "the line of" in listed.stderr


def test_a_run_that_is_called_damaged_is_not(prof_here, make_run, tmp_path):
    make_run({"kernel": "k"}, name="damaged", root=tmp_path)
    listed = prof_here("--runs", tmp_path, "list", "damaged", "--format", "json")
    assert listed.returncode == 0
    assert [row["origin"] for row in json.loads(listed.stdout)["runs"]] == ["ingested"]


def test_keys_are_names(prof_recorded):
    for words in ([], ["gemm-6"], ["--kernels"]):
        found = json.loads(prof_recorded("list", *words, "--format", "json").stdout)
        rows = [*found["kernels"], *found["runs"]]
        assert rows
        assert all(key.isidentifier() for row in rows for key in row)


def test_beside_each_kernel_stands_what_is_stored_of_it(prof_recorded):
    """Sweeps lie beside the runs, and are counted as runs are."""
    listed = prof_recorded("list", "--kernels", "--format", "json")
    found = json.loads(listed.stdout)
    assert (found["ladder"], found["runs"]) == ("gemm", [])
    rows = {row["kernel"]: row for row in found["kernels"]}
    assert (rows[7]["tuned"], rows[1]["tuned"]) == (1, 0)
    assert (rows[5]["profiled"], rows[5]["timed"]) == (1, 3)


def names_in(listed):
    return {row["name"] for row in json.loads(listed.stdout)["runs"]}


# What is typed, and the names that it means among those of `many`.
FILTERS = [
    (["1"], "gemm-1 gemm-1-source gemm-1-timed"),
    (["1", "--ladder", "relu"], "relu-1"),
    (["gemm-1"], "gemm-1"),
    (["My Run"], "my-run"),  # as it was given; stored, it is a path
    (["gemm-1*"], "gemm-1 gemm-1-source gemm-1-timed gemm-10"),
    (["*-1"], "gemm-1 relu-1 relu-fp16-1"),
    (["gemm-1?"], "gemm-10"),
    (["GEMM:1-*"], "gemm-1-source gemm-1-timed"),
    (["gemm"], "gemm-1 gemm-1-source gemm-1-timed gemm-10"),  # a ladder
    (["gem"], ""),
    (["--ladder", "relu"], "relu-1"),  # of `relu-fp16` the name begins like it
    (["*1", "--ladder", "relu-fp16"], "relu-fp16-1"),
    (["gemm-1", "--ladder", "relu"], ""),
    (["1", "--ladder", "gemm"], "gemm-1 gemm-1-source gemm-1-timed"),  # of no file, but of runs
    (["*0", "--ladder", "gemm"], "gemm-10"),
    (["--ladder", "gemm"], "gemm-1 gemm-1-source gemm-1-timed gemm-10"),
]


@pytest.fixture(scope="module")
def many(make_run, tmp_path_factory):
    """A folder with the files of two ladders, and runs of three and of a program."""
    folder = tmp_path_factory.mktemp("many")
    names = ("gemm-1", "gemm-1-source", "gemm-1-timed", "gemm-10", "relu-1", "relu-fp16-1", "my-run")
    for name in names:
        make_run({"kernel": "k"}, name=name, root=folder / "runs")
    for name in ("relu", "relu-fp16"):
        ladder = folder / "kernels" / name / "ladder.toml"
        ladder.parent.mkdir(parents=True)
        ladder.write_text(LADDER)
    return folder


LADDER = """
title = "of a test"
command = ["python", "{source}"]

[[kernel]]
number = 1
name = "only"
idea = "is there"
source = "only.py"
regex = "only"
"""


@pytest.mark.parametrize(("words", "names"), FILTERS)
def test_a_name_means_itself_a_number_its_kernel_and_a_pattern_what_fits(prof_here, many, words, names):
    listed = prof_here("list", *words, "--format", "json", cwd=many)
    assert listed.returncode == (0 if names else 21)
    assert (names_in(listed) if names else set()) == set(names.split())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["gem"], "no run is named 'gem'; `prof list '*gem*'` finds 4 other names\n"),
        (["other"], "no run is named 'other'\n"),
        (["other*"], "no run has a name that matches 'other*'\n"),
        (["7"], "no run of kernel 7 of ladder 'gemm'\n"),
        (["gemm-1", "--ladder", "relu"], "no run of ladder 'relu' is named 'gemm-1'\n"),
        (["relu", "--ladder", "relu"], "no run of ladder 'relu' is named 'relu'; `prof list '*relu*' --ladder relu` finds 1 other name\n"),
    ],
)  # fmt: skip
def test_a_name_that_matches_nothing_is_told_with_a_pattern_that_would_match(prof_here, many, words, told):
    for format in ("table", "csv"):
        listed = prof_here("list", *words, "--format", format, cwd=many)
        assert (listed.returncode, listed.stdout) == (21, "")
        assert listed.stderr.startswith(f"prof: {many / 'runs'}: {told}")


def test_a_ladder_that_neither_a_file_nor_a_run_knows_is_misspelt(prof_here, many):
    for words in (["1"], ["*"], []):
        listed = prof_here("list", *words, "--ladder", "gem", cwd=many)
        assert (listed.returncode, listed.stdout) == (44, "")
        assert "stored runs are also of gemm" in listed.stderr


def test_kernels_are_listed_from_a_ladders_file_alone(prof_here, many):
    listed = prof_here("list", "--kernels", "--ladder", "gemm", cwd=many)
    assert (listed.returncode, listed.stdout) == (44, "")


@pytest.fixture(scope="module")
def crowded(make_run, tmp_path_factory):
    """A folder with more names than a screen has lines: of a ladder with a file, of one without, and of programs."""
    folder = tmp_path_factory.mktemp("crowded")
    for number in range(8):
        for name in ("known", "gone"):
            make_run(
                {"kernel": "k"}, name=f"{name}-{number}", root=folder / "runs", ladder=name, kernel=number
            )
    for number in range(14):
        make_run({"kernel": "k"}, name=f"mine-{number}", root=folder / "runs")
    (folder / "kernels" / "known").mkdir(parents=True)
    (folder / "kernels" / "known" / "ladder.toml").write_text(LADDER)
    return folder


def test_what_fills_more_than_a_screen_begins_with_a_line_for_each_ladder(prof_here, crowded):
    listed = prof_here("list", cwd=crowded)
    ladders, others, notes = listed.stdout.split("\n\n")
    assert [line.split()[:3] for line in ladders.splitlines()[1:]] == [
        ["gone", "8", "8"],
        ["known", "8", "8"],
    ]
    assert "of a test" in ladders.splitlines()[2]
    assert "H200" in ladders
    assert "NVIDIA H200" not in ladders
    assert len(others.splitlines()[1:]) == 12
    assert "`prof list gone`" in notes
    assert "`prof ladder gone`" in " ".join(notes.split())
    assert "the other 2 that belong to no ladder" in " ".join(notes.split())


@pytest.mark.parametrize(
    "words", [["--full"], ["--format", "csv"], ["--ladder", "known"], ["*"]], ids=" ".join
)
def test_the_whole_list_is_there_for_who_asks_and_for_programs(prof_here, crowded, words):
    lines = prof_here("list", *words, cwd=crowded).stdout.splitlines()
    names = {line.replace(",", " ").split()[0] for line in lines if line}
    rungs = {f"known-{number}" for number in range(8)}
    assert rungs <= names
    if "--ladder" not in words:
        assert {f"mine-{number}" for number in range(14)} <= names


@pytest.mark.parametrize("ladder", ["gone", "known"])
@pytest.mark.parametrize("format", ["table", "csv", "json"])
def test_the_name_of_a_ladder_lists_what_the_option_lists(prof_here, crowded, ladder, format):
    """Also where only its runs are there, and no file."""
    named = prof_here("list", ladder, "--format", format, cwd=crowded)
    assert (named.returncode, named.stderr) == (0, "")
    assert named.stdout == prof_here("list", "--ladder", ladder, "--format", format, cwd=crowded).stdout
    assert f"{ladder}-7" in named.stdout


def test_a_run_with_the_name_of_a_ladder_is_meant_before_it(prof_here, make_run, tmp_path):
    make_run({"kernel": "k"}, name="known-7", root=tmp_path, ladder="known", kernel=7)
    make_run({"kernel": "k"}, name="known", root=tmp_path)
    listed = prof_here("--runs", tmp_path, "list", "known", "--format", "csv")
    lines = listed.stdout.splitlines()[1:]
    assert [line.split(",")[0] for line in lines] == ["known"]


def test_the_overview_opens_the_newest_run_of_each_name_once(prof_here, crowded, monkeypatch):
    """Of a store at a URL, each is a request."""
    opened = []
    open_one = RunStore.open

    def spying(store, run_id):
        opened.append(run_id.name)
        return open_one(store, run_id)

    monkeypatch.setattr(RunStore, "open", spying)
    assert prof_here("list", cwd=crowded).returncode == 0
    assert opened
    assert len(opened) == len(set(opened))


@pytest.mark.parametrize(
    ("words", "names"),
    [([], ["mine-2", "mine-1", "other"]), (["mine-*"], ["mine-2", "mine-1", "mine-2", "mine-1"])],
    ids=["names", "runs"],
)
def test_whatever_is_listed_the_newest_comes_first(prof_here, make_run, dated, tmp_path, words, names):
    recorded = ["other", "mine-1", "mine-2", "mine-1", "mine-2"]
    for second, name in enumerate(recorded):
        dated(make_run({"kernel": "k"}, name=name, root=tmp_path).path, second)
    lines = prof_here("--runs", tmp_path, "list", *words).stdout.splitlines()[1:]
    assert [line.split()[0] for line in lines] == names


def test_a_few_names_are_listed_each(prof_here, many):
    assert "gemm-1-source" in prof_here("list", cwd=many).stdout


def test_runs_of_other_programs_stand_without_a_ladder_that_has_nothing_stored(prof_here, make_run, tmp_path):
    make_run({"kernel": "k"}, name="mine", root=tmp_path)
    listed = prof_here("--runs", tmp_path, "list")
    assert listed.stdout.splitlines()[0].split()[:2] == ["name", "runs"]
    assert json.loads(prof_here("--runs", tmp_path, "list", "--format", "json").stdout)["kernels"]
    make_run({"kernel": "k"}, name="gemm-6", root=tmp_path)
    assert "vectorized" in prof_here("--runs", tmp_path, "list").stdout
