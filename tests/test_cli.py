"""The command line as a shell sees it: help, exit codes, streams, colour, pipes, interrupts."""

import csv
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import get_type_hints

import pytest
import terminal
import typer
from typer.models import OptionInfo

import profiler
from profiler.catalog.metrics import CATALOGUE
from profiler.cli import VERBS as TABLE, app, split_flags
from profiler.errors import InternalError
from profiler.store.runs.run_store import RunStore

ROOT = Path(__file__).resolve().parent.parent
VERBS = typer.main.get_command(app).commands

START = [sys.executable, "-c", "from profiler.cli import main; main()"]


# Help


def test_without_a_verb_the_help_is_shown(prof_here):
    result = prof_here()
    assert "compare" in result.stdout + result.stderr


def test_without_a_verb_a_terminal_shows_the_help_as_it_is_laid_out(prof_here, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    lines = prof_here().stderr.splitlines()
    assert "Read:" in lines
    assert "  compare   Compare two kernels: what changed, and how surely." in lines


def test_the_root_help_lists_every_verb_and_shows_an_example(prof_here):
    page = prof_here("--help").stdout
    assert all(f"\n  {verb} " in page for verb in VERBS)
    assert "prof compare a.ncu-rep b.ncu-rep" in page
    assert page.index("\n  show ") < page.index("\n  compare "), "who has one report begins with show"


def test_the_root_help_groups_the_verbs_by_what_they_are_for(prof_here):
    *_, read, measure, keep, _ = prof_here("--help").stdout.split("\n\n")
    groups = {
        group.splitlines()[0]: {line.split()[0] for line in group.splitlines()[1:]}
        for group in (read, measure, keep)
    }
    assert list(groups) == ["Read:", "Measure:", "Keep and share:"]
    assert set().union(*groups.values()) == set(VERBS)
    assert {"show", "compare", "query"} <= groups["Read:"]
    assert {"doctor", "collect", "tune"} <= groups["Measure:"]
    assert {"ingest", "compact"} <= groups["Keep and share:"]


def examples_of(verb):
    return [line.strip() for line in VERBS[verb].help.splitlines() if line.strip().startswith("prof ")]


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_explains_its_options_and_shows_examples(prof_here, verb):
    page = prof_here(verb, "--help").stdout
    assert f"prof {verb}" in page.split("Example")[1]
    for example in examples_of(verb):
        assert f"\n    {example}\n" in page, "an example stays on its line, to be copied"
    assert page == prof_here(verb, "-h").stdout
    for option in VERBS[verb].params:
        assert getattr(option, "help", None), f"--{option.name} has no help"
    assert not re.search("<(str|int|float)", page), "what Python calls it says nothing: NAME, FILE or N do"


def test_the_examples_of_a_verb_are_commands_that_it_takes():
    for verb, command in VERBS.items():
        assert examples_of(verb), verb
        for example in examples_of(verb):
            _, named, *arguments = shlex.split(example)
            assert named == verb
            # A verb keeps the names of its help from the first context that it is asked in.
            command.make_context(verb, arguments, help_option_names=["-h", "--help"])


def test_the_first_line_of_a_help_fits_beside_its_verb():
    for verb, command in VERBS.items():
        first = command.help.splitlines()[0]
        assert first.endswith("."), verb
        assert len(first) <= 66, verb


def test_the_root_help_says_of_a_verb_what_its_own_help_begins_with():
    assert {verb: command.help.splitlines()[0] for verb, command in VERBS.items()} == {
        verb: line for verb, (_, line) in TABLE.items()
    }


def test_an_option_without_its_value_says_what_it_takes(prof_here):
    result = prof_here("mcp", "--skill")
    assert result.returncode == 2
    assert "option '--skill' requires an argument: FILE. Write a skill file" in result.stderr


def test_an_option_called_name_is_spelt_out():
    """Typer 0.27, which is allowed too, loses an option that is called so after its parameter alone."""
    spelt = {}
    for verb, (module, _) in TABLE.items():
        function = getattr(import_module(f"profiler.commands.{module}"), module.rpartition(".")[2])
        hint = get_type_hints(function, include_extras=True).get("name")
        if options := [one for one in getattr(hint, "__metadata__", ()) if isinstance(one, OptionInfo)]:
            spelt[verb] = options[0].default  # in which Typer keeps the first name of an option
    assert spelt == dict.fromkeys(("collect", "ingest", "worker"), "--name")


def test_a_letter_behind_that_of_an_option_is_an_unknown_option(prof_here):
    result = prof_here("collect", "-hz", "./a.out")
    assert (result.returncode, result.stderr.splitlines()[-1]) == (
        2,
        "      `prof collect --help` shows what it takes.",
    )


def test_a_verb_that_is_misspelt_gets_the_nearest_ones(prof_here):
    result = prof_here("comare")
    assert result.returncode == 2
    assert "Did you mean 'compare'" in result.stderr


@pytest.mark.parametrize(("words", "imported"), [("--help", set()), ("metrics", {"reading.metrics"})])
def test_a_verbs_module_is_imported_when_it_is_called_and_no_others(words, imported):
    code = "import sys; from profiler.cli import main\ntry: main()\nfinally: print(*sys.modules, file=sys.stderr)"
    result = subprocess.run([sys.executable, "-c", code, words], capture_output=True, text=True, check=True)
    modules = {name.removeprefix("profiler.commands.") for name in result.stderr.split()}
    assert modules & {place for place, _ in TABLE.values()} == imported


def test_the_version_is_the_packages(prof_here):
    assert prof_here("--version").stdout == f"prof {version('ncu-prof')}\n"
    assert profiler.__version__ == version("ncu-prof")


def test_python_dash_m_is_prof():
    result = subprocess.run(
        [sys.executable, "-m", "profiler", "--version"], capture_output=True, text=True, check=True
    )
    assert result.stdout.startswith("prof ")


# Exit codes


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["show", "{tmp}/missing.ncu-rep"], 11, "missing.ncu-rep: no such file"),
        (["show", "{tmp}/empty.ncu-rep"], 13, "empty.ncu-rep"),
        (["sass", "{tmp}"], 13, "a folder"),
        (["compare", "{tmp}/cut.ncu-rep", "{reports}/range.ncu-rep"], 14, "cut.ncu-rep"),
        (["show", "99"], 21, "no run of kernel 99"),
        (["--runs", "{tmp}/empty.ncu-rep", "ingest", "{reports}/range.ncu-rep"], 20, "empty.ncu-rep: a file, and not a folder"),
        (["compare", "{reports}/range.ncu-rep", "{reports}/graph.ncu-rep"], 31, "replay mode"),
        (["compare", "{reports}/several.ncu-rep", "{reports}/gemm_6.ncu-rep"], 32, "`-k PATTERN`"),
        (["show", "5", "-k", "nothing"], 33, "'nothing'"),
        (["metrics", "nothing like this"], 40, "prof metrics"),
        (["query", "select"], 41, "Parser Error"),
        (["--runs", "{tmp}/new", "ingest", "{tmp}/empty.ncu-rep", "{reports}/range.ncu-rep"], 42, "1 of 2"),
        (["unknown"], 2, "no such command"),
        (["compare", "5", "6", "--unknown"], 2, "--unknown"),
        (["compare", "5", "6", "--format", "xml"], 2, "xml"),
        (["ingest"], 2, "REPORT"),
        (["compare", "5", "5"], 0, ""),
    ],
    ids=lambda value: str(value) if isinstance(value, int) else None,
)  # fmt: skip
def test_every_failure_has_its_own_exit_code_one_message_and_no_traceback(
    prof_here, reports, recorded, tmp_path, arguments, code, words
):
    (tmp_path / "empty.ncu-rep").write_bytes(b"")
    (tmp_path / "cut.ncu-rep").write_bytes((reports / "range.ncu-rep").read_bytes()[:20_000])
    filled = [word.format(tmp=tmp_path, reports=reports) for word in arguments]
    (tmp_path / "runs").symlink_to(recorded.root)
    result = prof_here(*filled, cwd=tmp_path)
    assert result.returncode == code
    assert words in result.stderr
    assert "Traceback" not in result.stderr
    if code:
        assert not result.stdout or code == 42


def test_a_process_ends_with_the_code_and_without_a_traceback(prof, recorded):
    result = prof("--runs", recorded.root, "show", "99")
    assert (result.returncode, result.stdout) == (21, "")
    assert result.stderr.startswith("prof: ")
    assert "Traceback" not in result.stderr


def test_a_message_says_what_happened_and_then_what_to_do(prof_recorded):
    lines = prof_recorded("show", "99").stderr.splitlines()
    assert lines[0].startswith("prof: ")
    assert lines[-1].startswith("      `prof list` shows what is stored")


def test_verbose_shows_the_traceback_and_keeps_the_message_and_the_code(prof_recorded):
    quiet, verbose = prof_recorded("show", "99"), prof_recorded("show", "99", "--verbose")
    assert "Traceback" in verbose.stderr
    assert verbose.stderr.endswith(quiet.stderr)
    assert verbose.returncode == quiet.returncode == 21


@pytest.mark.parametrize("flag", [[], ["--verbose"]])
def test_a_bug_is_admitted_as_one_and_never_dumped_on_the_user(prof_recorded, monkeypatch, flag):
    def broken(self):
        raise RuntimeError("two\nlines")

    monkeypatch.setattr(RunStore, "ids", broken)
    result = prof_recorded("list", *flag)
    assert result.returncode == InternalError.exit_code
    assert "prof: RuntimeError: two\\nlines" in result.stderr
    assert "bug in prof" in result.stderr
    assert ("Traceback" in result.stderr) == ("in broken" in result.stderr) == bool(flag)


# Where things may be said, and where they come out


def test_shared_options_work_before_and_after_the_verb(prof_here, recorded, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    before = prof_here("--runs", recorded.root, "--ladder", "gemm", "--format", "csv", "compare", "5", "6")
    after = prof_here("compare", "5", "6", "--runs", recorded.root, "--ladder", "gemm", "--format", "csv")
    assert before.returncode == 0
    assert before.stdout == after.stdout
    assert before.stdout.startswith("kernel_before,")


def test_the_option_nearest_to_the_verb_wins(prof_recorded):
    assert prof_recorded("--format", "csv", "list", "--format", "json").stdout.startswith("{")


def test_another_ladder_has_other_kernels(prof_recorded):
    result = prof_recorded("show", "9", "--ladder", "copy")
    assert result.returncode == 21
    assert "no run of kernel 9; copy has runs of 0 to " in result.stderr


def test_the_runs_folder_comes_from_the_option_then_the_environment_then_the_nearest(
    prof_here, recorded, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    assert prof_here("show", "5").returncode == 21
    monkeypatch.setenv("PROF_RUNS", str(recorded.root))
    assert prof_here("show", "5").returncode == 0
    assert prof_here("--runs", tmp_path, "show", "5").returncode == 21
    monkeypatch.delenv("PROF_RUNS")
    monkeypatch.chdir(ROOT / "profiler" / "analyse")
    assert prof_here("show", "5").returncode == 0


@pytest.mark.parametrize(
    "verb", [["compare", "5", "6"], ["show", "6"], ["list"], ["metrics"], ["query", "--tables"]]
)
def test_standard_output_is_the_result_and_nothing_else(prof_recorded, verb):
    result = prof_recorded(*verb, "--format", "json")
    json.loads(result.stdout)
    assert result.stderr == ""


def test_people_see_the_name_of_each_table_once_and_programs_in_each_row(prof_here):
    printed = prof_here("query", "--tables").stdout.splitlines()
    rows = csv.DictReader(prof_here("query", "--tables", "--format", "csv").stdout.splitlines())
    names = dict.fromkeys(row["table"] for row in rows)
    assert [line.split()[0] for line in printed if line[0] != " "] == ["table", *names]


def test_quiet_leaves_results_and_errors(prof_here, reports, tmp_path):
    loud = prof_here("--runs", tmp_path / "a", "ingest", reports / "range.ncu-rep")
    quiet = prof_here("--runs", tmp_path / "b", "ingest", reports / "range.ncu-rep", "--quiet")
    assert loud.stdout == quiet.stdout != ""
    assert "1 stored" in loud.stderr
    assert quiet.stderr == ""
    assert prof_here("--quiet", "show", tmp_path / "missing.ncu-rep").stderr != ""


@pytest.mark.parametrize(
    ("typed", "flags"),
    [
        ("show 6 -q", ["-q"]),
        ("--runs show -v list", ["-v"]),
        ("collect --ncu-option -q --kernel 6", []),
        ("collect --ncu-option --kernel -q", ["-q"]),
        ("collect --name list -- ./mine -v", []),
        ("collect --ncu-option=-q --verbose", ["--verbose"]),
        ("collect --again -q", ["-q"]),
        ("compare -k -v 5 6", []),
    ],
)
def test_quiet_and_verbose_may_stand_anywhere_but_in_the_place_of_a_value(typed, flags):
    words = typed.split()
    found, others = split_flags(words, typer.main.get_command(app))
    assert found == flags
    assert others == [word for word in words if word not in flags]


def test_a_flag_for_ncu_is_not_taken_for_one_of_prof(prof_here, monkeypatch):
    monkeypatch.chdir(ROOT)
    planned = prof_here("collect", "--ncu-option", "-q", "--kernel", "6", "--dry-run")
    assert planned.returncode == 0
    assert " -q --export gemm-6" in planned.stdout.replace(" \\\n  ", " ")


IN_TURN = """
import sys
from profiler.cli import main
for command in sys.argv.pop().split(", "):
    sys.argv[3:] = command.split()
    try:
        main()
    except SystemExit as end:
        print("\\0", end.code, end="\\0")
"""


def test_a_locale_that_lacks_our_signs_gets_plain_ones_as_wide(recorded):
    done = subprocess.run(
        [sys.executable, "-c", IN_TURN, "--runs", recorded.root, "compare 5 6, sass 5 6, ladder, check 6 --baseline 5"],
        env={**os.environ, "PYTHONIOENCODING": "ascii"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    *pages, _ = done.stdout.split("\0")
    assert pages[1::2] == [" 0"] * 4
    assert not [line for page in pages for line in page.splitlines() if "\\" in line]
    compared, code, climbed, _ = pages[::2]
    assert "yes issue_active_pct up" in compared
    header = next(line for line in compared.splitlines() if line.startswith("metric "))
    (duration,) = [line for line in compared.splitlines() if line.startswith("duration_ns ")]
    assert header.index("verdict") == duration.index("better")
    assert "+-95 %" in header
    assert "--+--" in code
    assert " ^ " in climbed


# Terminals, pipes and signals


@pytest.mark.parametrize("arguments", [["compare", "5", "6"], ["query", "select 1"], ["list"]])
def test_nothing_is_printed_when_a_process_ends(recorded, prof, arguments):
    result = prof("--runs", recorded.root, *arguments)
    assert (result.returncode, result.stderr) == (0, "")


def test_a_run_id_is_never_broken_however_narrow_the_window(prof_on_a_terminal, recorded):
    ids = {str(run_id) for run_id in recorded.ids() if "gemm-5" in run_id.name}
    for width in (40, 80, 120):
        words = prof_on_a_terminal("--runs", recorded.root, "list", "5", width=width, NO_COLOR="1").split()
        assert ids <= set(words)


def test_colour_is_for_terminals(prof_on_a_terminal, prof_here, recorded):
    arguments = ("--runs", recorded.root, "compare", "5", "6")
    clean = {"NO_COLOR": None, "FORCE_COLOR": None}
    assert "\x1b[32m" in prof_on_a_terminal(*arguments, **clean)
    assert "\x1b" not in prof_on_a_terminal(*arguments, **{**clean, "NO_COLOR": "1"})
    assert "\x1b" not in prof_here(*arguments).stdout


def test_the_width_that_a_shell_asks_for_holds_in_a_pipe_and_before_that_of_the_terminal(
    prof_here, prof_on_a_terminal, recorded, monkeypatch
):
    arguments = ("--no-pager", "--runs", recorded.root, "show", "6")
    widest = lambda text: max(map(len, text.splitlines()))  # noqa: E731
    assert widest(prof_here(*arguments).stdout) > 120  # a search finds a fact whole in a file
    assert widest(prof_on_a_terminal(*arguments, width=100, NO_COLOR="1", COLUMNS="60")) <= 60
    monkeypatch.setenv("COLUMNS", "60")
    assert widest(prof_here(*arguments).stdout) <= 60
    for none in ("", "0", "wide"):
        monkeypatch.setenv("COLUMNS", none)
        assert widest(prof_here(*arguments).stdout) > 120


@pytest.mark.parametrize("asked", ["show 6", "compare 5 6", "check 6 --baseline 5", "ladder"])
def test_a_terminal_of_80_columns_holds_every_line_and_answers_are_short(prof_on_a_terminal, recorded, asked):
    verb, *arguments = asked.split()
    given = ("--no-pager", "--runs", recorded.root, verb, *arguments)
    assert max(map(len, prof_on_a_terminal(*given, width=80, NO_COLOR="1").splitlines())) <= 80
    assert len(prof_on_a_terminal(*given, "--brief", width=80, NO_COLOR="1").splitlines()) <= 24


def test_a_check_keeps_the_interval_of_the_change_on_a_narrow_terminal(prof_on_a_terminal, recorded):
    page = prof_on_a_terminal(
        "--runs", recorded.root, "check", "6", "--baseline", "5", width=80, NO_COLOR="1"
    )
    assert re.search(r"duration_ns.* -\d+\.\d\d ± \d\.\d\d % ", page)


def test_on_a_narrow_terminal_tables_fit_and_keep_their_figures(prof_on_a_terminal, recorded, prof_recorded):
    metrics = json.loads(prof_recorded("compare", "5", "6", "--format", "json", "--full").stdout)["metrics"]
    (duration,) = [one for one in metrics if one["name"] == "duration_ns"]
    page = prof_on_a_terminal("--runs", recorded.root, "compare", "5", "6", width=80, NO_COLOR="1")
    table = page[page.index("\nmetric ") :].split("\n\n")[0].strip().splitlines()
    assert max(map(len, table)) <= 80
    figures = {f"{duration['after'] / 1e6:.3f}", f"{duration['delta'] / 1e6:.4f}", "ms"}
    assert figures | {duration["verdict"]} <= set(table[1].split())


def test_output_longer_than_the_terminal_goes_through_the_users_pager(prof_on_a_terminal, recorded):
    arguments = ("--runs", recorded.root, "show", "6")
    pager = {"PAGER": "sed s/^/paged:/", "NO_COLOR": "1", "LINES": "24", "CI": None}
    assert "paged:launched" in prof_on_a_terminal(*arguments, **pager)
    assert "paged:" not in prof_on_a_terminal("--no-pager", *arguments, **pager)
    assert "paged:" not in prof_on_a_terminal(*arguments, "--brief", **pager)
    nobody_is_there = {**pager, "CI": "true"}
    assert "paged:" not in prof_on_a_terminal(*arguments, **nobody_is_there)
    assert "paged:launched" in prof_on_a_terminal(*arguments, **{**pager, "CI": "false"})


def test_results_go_to_standard_output_while_a_bar_is_on_the_terminal(reports, tmp_path):
    with (tmp_path / "out").open("w") as output:
        command = ["--runs", tmp_path / "runs", "ingest", reports / "graph.ncu-rep", reports / "range.ncu-rep"]  # fmt: skip
        screen = terminal.on_a_terminal([*START, *command], output=output)
    lines = (tmp_path / "out").read_text().splitlines()
    assert [line.split()[0] for line in lines] == ["stored", "stored"]
    assert "2/2" in screen
    assert "2 stored" in screen


def test_a_folder_without_reports_is_an_error(prof_here, tmp_path):
    result = prof_here("--runs", tmp_path / "runs", "ingest", tmp_path, "--format", "json")
    assert result.returncode == 11
    assert f"{tmp_path}: a folder that holds no reports" in result.stderr


@pytest.mark.parametrize(
    "arguments", [["list"], ["metrics", "--format", "json"], ["--help"], ["compare", "--help"]]
)
def test_a_pipe_that_closes_early_ends_it_quietly(recorded, arguments):
    """As in `prof list | head -1`: no message, and not the exit code of a regression."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [*START, "--runs", str(recorded.root), *arguments]
    result = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert result.stderr == ""
    assert result.returncode in (0, 141)


def test_an_interrupt_ends_it_with_130_and_leaves_whole_runs(reports, tmp_path):
    command = [*START, "--runs", str(tmp_path), "ingest", str(reports), "--jobs", "1"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as child:
        child.stdout.readline()
        os.killpg(child.pid, signal.SIGINT)
        _, err = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "Traceback" not in err
    assert err.endswith("prof: interrupted\n")
    store = RunStore(tmp_path)
    assert store.ids()
    for run_id in store.ids():
        store.open(run_id).verify()


# Completion


def test_the_shell_gets_a_completion_script(prof_here):
    for shell in ("bash", "zsh", "fish"):
        script = prof_here(env={**os.environ, "_PROF_COMPLETE": f"source_{shell}"}).stdout
        assert "_PROF_COMPLETE" in script
        assert "prof" in script


def test_verbs_and_options_complete(prof_here, tmp_path):
    def completed(words):
        env = {
            **os.environ,
            "_PROF_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(words.count(" ")),
        }
        return re.findall(r"\S+", prof_here(env=env).stdout)

    assert completed("prof compar") == ["compare"]
    assert set(completed("prof ")) == set(VERBS)
    assert "--kernel-name" in completed("prof compare --k")
    (tmp_path / "runs").mkdir()
    assert completed(f"prof list --runs {tmp_path}/r") == [f"{tmp_path}/runs/"]


# Start-up


def imported_by(*arguments):
    command = [sys.executable, "-X", "importtime", *START[1:], *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    names = re.findall(r"^import time:.*\|\s*(\S+)$", result.stderr, re.MULTILINE)
    assert "profiler.cli" in names
    return {name.split(".")[0] for name in names}


def test_help_imports_nothing_heavy():
    heavy = {
        "pyarrow",
        "pandas",
        "numpy",
        "duckdb",
        "rich",
        "pebble",
        "msgspec",
        "scipy",
        "ncu_report",
        "mcp",
        "mcp_types",
        "anyio",
        "pydantic",
    }
    for verb in ((), ("compare",), ("sass",)):
        assert imported_by(*verb, "--help") & heavy == set()


def test_comparing_stored_runs_imports_only_what_reading_parquet_needs(recorded):
    heavy = {"pandas", "duckdb", "pebble", "scipy", "altair", "ncu_report", "multiprocessing"}
    assert imported_by("--runs", recorded.root, "compare", "5", "6") & heavy == set()


def test_listing_and_the_catalogue_need_no_tables(recorded):
    heavy = {"pyarrow", "pandas", "numpy", "duckdb", "pebble", "ncu_report"}
    assert imported_by("--runs", recorded.root, "list") & heavy == set()
    assert imported_by("metrics", CATALOGUE[0].name) & heavy == set()


def test_an_error_is_json_where_json_was_asked_for_and_never_a_second_answer(prof_recorded):
    for words in (["show", "nope", "--format", "json"], ["--format=json", "show", "nope"]):
        failed = prof_recorded(*words)
        (error,) = json.loads(failed.stdout).values()
        assert error["exit_code"] == failed.returncode == 21
        assert error["message"] in failed.stderr
        assert error["remedy"] in failed.stderr
    assert prof_recorded("show", "nope").stdout == ""
    assert prof_recorded("show", "nope", "--format", "json", "--format", "csv").stdout == ""
    for words in (["show"], ["show", "--sizee", "3"], ["compar", "5"], ["--nope"], ["show", "5", "--json"]):
        failed = prof_recorded("--format", "json", *words)
        (error,) = json.loads(failed.stdout).values()
        assert error["exit_code"] == failed.returncode == 2, words
        assert error["message"] in failed.stderr
        assert prof_recorded(*words).stdout == ""
    undecided = prof_recorded("check", "--baseline", "textbook-5", "textbook-6", "--format", "json")
    assert undecided.returncode == 80
    assert "pairs" in json.loads(undecided.stdout)
