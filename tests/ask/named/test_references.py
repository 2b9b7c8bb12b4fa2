"""A name on the command line finds its runs, or the error says which part of it is wrong."""

import shutil

import pytest

VERBS = [
    ["compare", "1", "2"],
    ["show", "1"],
    ["sass", "1"],
    ["check", "--baseline", "1"],
    ["report", "1", "2", "-o", "page.html"],
    ["compare", "copy-1", "copy-1"],  # no number needs it, and yet it was asked for
    ["show", "copy-1"],
    ["sass", "copy-1"],
    ["export", "copy-1", "-o", "copy.parquet"],
    ["check", "--baseline", "runs"],
]


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_an_unknown_ladder_is_an_error_that_lists_the_known_ones(prof_here, make_run, tmp_path, words):
    for name in ("copy-1", "copy-10-timed", "relu-fp16-2", "softmax"):
        make_run({"kernel": "k"}, name=name, root=tmp_path / "runs")
    done = prof_here("--ladder", "cpoy", *words, cwd=tmp_path)
    assert done.returncode == 44
    told, stored, remedy = done.stderr.splitlines()
    assert told == prof_here("--ladder", "cpoy", "ladder", cwd=tmp_path).stderr.splitlines()[0]
    assert stored == "  stored runs are of copy, relu-fp16"
    assert remedy.strip() == "Give one of these, or a file: --ladder path/to/ladder.toml."


def test_ladders_without_a_file_are_listed_apart_and_the_nearest_comes_first(prof_here, make_run, tmp_path):
    for name in ("copy", "relu"):
        (tmp_path / "kernels" / name).mkdir(parents=True)
        (tmp_path / "kernels" / name / "ladder.toml").write_text("")
    for name in ("copy-1", "textbook-5"):
        make_run({"kernel": "k"}, name=name, root=tmp_path / "runs")
    done = prof_here("--ladder", "copies", "show", "copy-1", cwd=tmp_path)
    assert "or above; nearest: copy; there are copy, relu\n" in done.stderr
    assert "  stored runs are also of textbook\n" in done.stderr


def test_a_misspelt_ladder_is_refused_for_report_files_too(prof_here, reports, tmp_path):
    done = prof_here("--ladder", "cpoy", "show", reports / "graph.ncu-rep", cwd=tmp_path)
    assert done.returncode == 44
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


@pytest.mark.parametrize(
    "url", ["https://me:s3cret@host/x.ncu-rep", "https://host/x.ncu-rep?X-Amz-Signature=s3cret"]
)
def test_a_report_at_a_url_must_be_stored_first_and_no_secret_of_the_url_is_printed(prof_here, tmp_path, url):
    for words in (["show", url], ["compare", "1", url]):
        done = prof_here("--runs", tmp_path, *words)
        assert done.returncode == 11
        assert done.stderr.startswith(
            "prof: https://host/x.ncu-rep: a report at a URL cannot be read directly\n"
        )
        assert "`prof ingest`" in done.stderr
        assert "s3cret" not in done.stdout + done.stderr


@pytest.mark.parametrize("typed", ["5-6", "5,6", "5..6"])
def test_two_numbers_in_one_word_are_answered_with_a_word_for_each(prof_here, make_run, tmp_path, typed):
    make_run({"kernel": "k"}, name="gemm-5", root=tmp_path / "runs")
    done = prof_here("compare", typed, cwd=tmp_path)
    assert done.returncode == 21
    assert "Give each kernel in a word of its own: `prof compare 5 6`." in done.stderr


def test_a_part_of_a_rung_s_name_is_answered_with_its_number_and_an_empty_name_is_not(prof_here):
    assert "named by their number: 1 (naive)." in prof_here("show", "naive").stderr
    assert "named by their number" not in prof_here("show", "").stderr


def test_a_folder_with_one_report_means_it_unless_a_run_has_its_name(prof_here, reports, make_run, tmp_path):
    for folder, name in (("before", "gemm_5"), ("after", "gemm_6")):
        (tmp_path / folder).mkdir()
        shutil.copy(reports / f"{name}.ncu-rep", tmp_path / folder / "gemm.ncu-rep")
    before, after = tmp_path / "before", tmp_path / "after"
    compared = prof_here("compare", before, f"{after}/", "--brief")
    assert "after/gemm.ncu-rep is 1.879x as fast as" in " ".join(compared.stdout.split())
    make_run({"kernel": "k", "ns": 1.0}, name="before", root=tmp_path / "runs")
    assert "k takes 1.000 ns" in prof_here("show", "before", cwd=tmp_path).stdout
    shutil.copy(reports / "gemm_6.ncu-rep", after / "other.ncu-rep")
    several = prof_here("compare", before, after)
    assert several.returncode == 13
    assert f"{after} holds 2 reports: gemm.ncu-rep, other.ncu-rep" in several.stderr
