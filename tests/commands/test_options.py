"""A folder of runs that was named and is not there is misspelt; one that nobody named is empty."""

import json
import os
import sys

import pytest
import typer

from profiler.cli import app
from profiler.commands.shared.options import VerbSettings
from profiler.commands.shared.window import folded_for_terminal


@pytest.mark.parametrize(
    "words",
    [
        ["list"],
        ["list", "gemm-*", "--format", "csv"],
        ["show", "5"],
        ["compare", "5", "6"],
        ["sass", "5"],
        ["check", "--baseline", "5"],
        ["ladder"],
        ["query", "select 1"],
        ["compact", "--dry-run"],
    ],
    ids=" ".join,
)
def test_a_verb_that_reads_names_the_folder_that_is_not_there(prof_here, tmp_path, words):
    missing = tmp_path / "rusn"
    by_option = prof_here("--runs", missing, *words)
    by_environment = prof_here(*words, env={"PROF_RUNS": str(missing)})
    for done in (by_option, by_environment):
        assert (done.returncode, done.stdout) == (21, "")
        assert done.stderr.splitlines() == [
            f"prof: {missing}: no such folder",
            "      Check `--runs`, or PROF_RUNS where that is set; `prof collect` and `prof ingest` make the folder.",
        ]
    assert not missing.exists()


def test_a_new_project_has_no_runs_yet_and_that_is_no_error(prof_here, tmp_path):
    done = prof_here("list", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert f"{tmp_path}/runs: no runs yet" in done.stderr
    named = prof_here("list", "mine", cwd=tmp_path)
    assert named.returncode == 21
    assert named.stderr.count("prof ingest REPORT") == done.stderr.count("prof ingest REPORT") == 1


def test_who_is_in_another_folder_than_the_runs_is_told_so(prof_here, tmp_path):
    done = prof_here("show", "mine", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (21, "")
    said, remedy = done.stderr.splitlines()
    assert said == f"prof: {tmp_path}/runs: no such folder, so 'mine' is no run"
    assert (
        remedy.strip()
        == "Go to the folder that holds `runs`, or name it with `--runs`; a report is named by its path."
    )


@pytest.mark.parametrize("verb", ["show", "compare", "sass", "report"])
def test_where_no_ladder_is_a_number_is_explained_and_a_report_asked_for(prof_here, tmp_path, verb):
    """As for everybody who has the package alone."""
    second = ["6"] if verb == "compare" else []
    done = prof_here(verb, "5", *second, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (21, "")
    assert "A number means a kernel of a ladder" in done.stderr
    assert "Give a report, such as mine.ncu-rep" in done.stderr


def test_reports_need_no_folder_of_runs(prof_here, reports, tmp_path):
    words = ("compare", reports / "gemm_5.ncu-rep", reports / "gemm_6.ncu-rep")
    assert prof_here("--runs", tmp_path / "none", *words).returncode == 0


def test_a_verb_that_records_makes_the_folder_of_runs(prof_here, reports, tmp_path):
    new = tmp_path / "new" / "runs"
    assert prof_here("--runs", new, "ingest", reports / "graph.ncu-rep").returncode == 0
    assert prof_here("--runs", new, "list").returncode == 0


@pytest.mark.parametrize(
    ("typed", "said", "verb"),
    [
        ("show --foo 5", "no such option: --foo", "prof show"),
        ("time --repeats x", "invalid value for '--repeats'", "prof time"),
        ("compar 5 6", "no such command 'compar'. Did you mean 'compare', 'compact'?", "prof"),
        ("query --output", "option '--output' requires an argument", "prof query"),
    ],
)  # fmt: skip
def test_a_mistake_in_the_command_line_has_the_form_of_every_error(prof_here, typed, said, verb):
    done = prof_here(*typed.split())
    assert (done.returncode, done.stdout) == (2, "")
    message, remedy = done.stderr.splitlines()
    assert message.startswith(f"prof: {said}")
    assert remedy == f"      `{verb} --help` shows what it takes."
    told = json.loads(prof_here(typed.split()[0], "--format", "json", *typed.split()[1:]).stdout)["error"]
    assert (told["exit_code"], told["remedy"]) == (2, remedy.strip())


def test_words_that_do_not_go_together_are_no_invalid_value_and_fit_the_window(prof_here, monkeypatch):
    said = "prof: give two kernels to compare, as in `prof compare a.ncu-rep b.ncu-rep` or `prof compare 5 6`; two of one report:"
    assert prof_here("compare").stderr.startswith(said), "which says all, so that no remedy follows"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    lines = prof_here("compare").stderr.splitlines()
    assert max(map(len, lines)) <= 60
    assert lines[1] == "      `prof compare a.ncu-rep b.ncu-rep` or", "a command stays on one line"


def test_a_verb_says_what_it_did_on_lines_of_its_own_unless_quiet(capsys):
    VerbSettings().say("", "next: prof show \x1b")
    VerbSettings(quiet=True).say("nothing")
    assert capsys.readouterr().err == "\nnext: prof show \\x1b\n"


def test_a_remark_is_folded_at_the_edge_of_a_terminal_and_whole_elsewhere(monkeypatch):
    line = "This is the newest run of gemm-6-timed. Other sizes are stored: m=n=k=2048, m=n=k=1024."
    assert folded_for_terminal(line) == line
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("shutil.get_terminal_size", lambda: os.terminal_size((60, 24)))
    assert folded_for_terminal(line).splitlines() == [
        "This is the newest run of gemm-6-timed. Other sizes are",
        "  stored: m=n=k=2048, m=n=k=1024.",
    ]


def test_an_option_means_the_same_for_every_verb():
    """`--force` compares what is not comparable; what else it could mean has words of its own."""
    group = typer.main.get_command(app)
    takes = {
        option: {name for name, verb in group.commands.items() if option in options_of(verb)}
        for option in ("--force", "--again", "--overwrite", "--kernel-regex")
    }
    assert takes == {
        "--force": {"compare", "report"},
        "--again": {"collect", "tune"},
        "--overwrite": {"export", "notebook", "report"},
        "--kernel-regex": set(),
    }
    for name, verb in group.commands.items():
        assert ("-k" in options_of(verb)) == ("--kernel-name" in options_of(verb)), name


def options_of(verb):
    return {name for one in verb.params for name in (*one.opts, *one.secondary_opts)}


@pytest.mark.parametrize(
    "words",
    [
        ["show", "99", "--chart", "a.svg"],
        ["ladder", "nosuch", "-o", "a.parquet"],
        ["query", "select", "-o", "a.csv"],
        ["report", "99", "-o", "a.html"],
        ["notebook", "99", "-o", "a.ipynb"],
        ["check", "--baseline", "99", "5", "--junit", "a.xml"],
        ["check", "--baseline", "99", "5", "--summary", "a.md"],
    ],
    ids=" ".join,
)
def test_a_file_that_cannot_be_written_is_said_before_anything_is_computed(prof_recorded, tmp_path, words):
    """What else is wrong with these commands is found later."""
    *others, file = words
    folder = tmp_path / "my sub"
    refused = prof_recorded(*others, folder / file)
    assert (refused.returncode, refused.stdout) == (82, "")
    assert refused.stderr == (
        f"prof: {folder / file}: cannot be written: there is no folder {folder}\n"
        f"      Make the folder first: `mkdir -p '{folder}'`.\n"
    )
