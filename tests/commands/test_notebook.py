"""`prof notebook`: the shipped ones listed and opened, and one written that runs from a clean kernel."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from profiler.ask.profiles import longest_pattern, patterns_of
from profiler.catalog.ladders.ladder_file import read_ladder
from profiler.commands.reading.notebook import SHIPPED
from profiler.present.notebook import ladder_notebook

ROOT = Path(__file__).resolve().parents[2]

_LADDER = """
title = "Mine | *odd* <b>title</b>"
command = ["program"]
bytes = "8 * n"
[workload]
n = 1000000
[[kernel]]
number = 1
name = "plain"
idea = "as it comes"
regex = "k"
[[kernel]]
number = 2
name = "wide"
idea = "four at a time"
regex = "k"
[[kernel]]
number = 3
name = "later"
idea = "not yet recorded"
regex = "k"
"""


@pytest.fixture
def mine(tmp_path, make_run):
    """A ladder and its runs, as a user has them: rungs 1 and 2 profiled and timed, rung 3 not yet."""
    (tmp_path / "kernels" / "mine").mkdir(parents=True)
    (tmp_path / "kernels" / "mine" / "ladder.toml").write_text(_LADDER)
    for number, ns in ((1, 9000.0), (2, 6000.0)):
        launches = [
            {
                "kernel": "k", "opcodes": {"LDG.E": 100.0},
                "metrics": {
                    "gpu__time_duration.sum": (ns + launch, "ns"), "dram__bytes_read.sum": (8e6, "byte"), "dram__bytes_write.sum": (1e5, "byte"),
                    "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio": 9.0 / number,
                },
            }
            for launch in range(5)
        ]  # fmt: skip
        made = {"ladder": "mine", "kernel": number, "workload": {"n": 1000000}}
        timings = [ns - 10 * repeat for repeat in range(10)]
        make_run(*launches, name=f"mine-{number}", root=tmp_path / "runs", timings=timings, **made)
    return tmp_path


@pytest.fixture
def in_mine(mine, prof_here, monkeypatch):
    monkeypatch.chdir(mine)
    return prof_here


def code_of(path):
    return "\n".join(
        cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"
    )


# Writing


@pytest.mark.slow
def test_a_written_notebook_runs_from_a_clean_kernel_and_shows_its_ladder(in_mine, mine):
    """It lies elsewhere than it was asked for from, and finds its runs and its ladder from there."""
    (mine / "notes").mkdir()
    result = in_mine("notebook", "--ladder", "mine", "-o", "notes/mine.ipynb")
    assert (result.returncode, result.stderr) == (0, "Wrote notes/mine.ipynb\n")
    shown = executed(mine / "notes" / "mine.ipynb")
    for words in (
        "2 wide", "1.50x as fast", "1 of 1 steps make it faster", "100 % for long_scoreboard",
        "No ceiling was measured on NVIDIA H200 (missing: dram)", "The run holds no line information",
    ):  # fmt: skip
        assert words in shown, words


@pytest.mark.slow
def test_a_notebook_starts_from_the_reports_that_were_named(prof_here, reports, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    paths = [shutil.copy(reports / f"gemm_{number}.ncu-rep", tmp_path) for number in (5, 6)]
    result = prof_here("notebook", *paths)
    assert (result.returncode, result.stderr) == (0, "Wrote gemm_5-to-gemm_6.ipynb\n")
    again = prof_here("notebook", *paths)
    assert again.returncode != 0
    assert "exists already" in again.stderr
    shown = shown_without_a_kernel(tmp_path / "gemm_5-to-gemm_6.ipynb")
    for words in ("gemm_6 is 1.879x as fast as gemm_5", "Next: ", "four-way confirmed", "13 % fewer"):
        assert words in shown, words
    assert "register-bank-conflicts" in shown, "the causes that went away"


@pytest.mark.slow
def test_a_notebook_starts_from_stored_runs_too_wherever_it_is_opened(prof_recorded, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = prof_recorded("notebook", "5", "6")
    assert (result.returncode, result.stderr) == (0, "Wrote gemm-5-to-gemm-6.ipynb\n")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    shown = shown_without_a_kernel(tmp_path / "gemm-5-to-gemm-6.ipynb")
    for words in ("gemm 6 is ", " as fast as gemm 5", "Next: "):
        assert words in shown, words


def test_a_notebook_of_one_report_says_why_its_kernel_takes_so_long(prof_here, reports, tmp_path):
    path = tmp_path / "mine.ipynb"
    assert prof_here("notebook", reports / "gemm_6.ncu-rep", "-o", path).returncode == 0
    shown = shown_without_a_kernel(path)
    for words in ("takes 4.047 ms under the profiler", "Why: ", "loads-not-overlapped", "short_scoreboard"):
        assert words in shown, words
    assert re.search(r"Line \d+ executes \d+ % of the instructions", shown), "the lines that execute"
    assert "gemm_6.ncu-rep, " in shown, "the bar of the waits has the name of the report"


def test_a_notebook_of_several_kernels_begins_with_the_one_that_takes_most_of_the_time(make_run):
    def run_of(name, **times_ns):
        return make_run(*({"kernel": kernel, "ns": ns} for kernel, ns in times_ns.items()), name=name)

    before, after = (
        run_of("before", fill=9.0, gemm=5.0, old=90.0),
        run_of("after", fill=2.0, gemm=4.0, new=80.0),
    )
    assert longest_pattern([after]) == "new"
    assert longest_pattern([before, after]) == "gemm", "the longest that both have"
    assert longest_pattern([run_of("one", fill=1.0)]) is None
    assert patterns_of([after]) == ["new", "gemm", "fill"], "of one report, in the order of their times"
    assert patterns_of([before, after]) == ["gemm", "fill"], "what can be compared"


def executed(path):
    """Returns what the notebook's cells show in a kernel of their own, as text."""
    script = (
        "import sys, nbformat; from nbclient import NotebookClient\n"
        "path = sys.argv[1]; notebook = nbformat.read(path, as_version=4)\n"
        "folder = path.rpartition('/')[0]\n"
        "NotebookClient(notebook, timeout=120, resources={'metadata': {'path': folder}}).execute()\n"
        "for cell in notebook.cells:\n"
        "    for output in cell.get('outputs', ()): print(output.get('text', ''), output.get('data', {}).get('text/plain'), output.get('data', {}).get('image/svg+xml'))\n"
    )
    return what_prints(script, path)


def shown_without_a_kernel(path):
    """Returns what the cells show, run by IPython as a kernel runs them: a kernel takes two seconds more to start and to ask."""
    script = (
        "import os, sys, nbformat; from IPython.core.interactiveshell import InteractiveShell; from IPython.utils.capture import capture_output\n"
        "path = sys.argv[1]; notebook = nbformat.read(path, as_version=4); os.chdir(os.path.dirname(path)); sys.path.insert(0, '')\n"
        "shell = InteractiveShell.instance()\n"
        "for cell in notebook.cells:\n"
        "    if cell.cell_type == 'code':\n"
        "        with capture_output() as shown: shell.run_cell(cell.source).raise_error()\n"
        "        print(shown.stdout, *[output.data for output in shown.outputs])\n"
    )
    return what_prints(script, path)


def what_prints(script, path):
    done = subprocess.run(
        [sys.executable, "-c", script, path], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_it_is_a_valid_notebook_without_outputs_and_the_same_every_time(in_mine, mine):
    for name in ("one.ipynb", "two.ipynb"):
        in_mine("notebook", "--ladder", "mine", "-o", name)
    first, second = ((mine / name).read_text() for name in ("one.ipynb", "two.ipynb"))
    assert first == second
    notebook = nbformat.reads(first, as_version=4)
    nbformat.validate(notebook)
    assert all(cell.outputs == [] for cell in notebook.cells if cell.cell_type == "code")
    assert str(mine) not in first


def test_a_title_is_text_and_never_markup(in_mine, mine):
    in_mine("notebook", "--ladder", "mine", "-o", "mine.ipynb")
    title = nbformat.read(mine / "mine.ipynb", as_version=4).cells[0].source.splitlines()[0]
    assert title == r"# Mine \| \*odd\* &lt;b&gt;title&lt;/b&gt;"


def test_names_of_folders_cannot_become_code():
    odd = 'it\'s "mine"\n```\nimport os'
    notebook = json.loads(ladder_notebook(odd, odd, odd, None, None))
    (first, *_) = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert first.count(repr(odd)) == 2
    compile(first, "cell", "exec")


def test_a_ladder_elsewhere_is_named_by_its_file(in_mine, mine):
    (mine / "far" / "away").mkdir(parents=True)
    shutil.move(mine / "kernels" / "mine" / "ladder.toml", mine / "far" / "away" / "ladder.toml")
    text = (mine / "far" / "away" / "ladder.toml").read_text()
    (mine / "far" / "away" / "ladder.toml").write_text(f'name = "mine"\n{text}')
    result = in_mine("notebook", "--ladder", "far/away/ladder.toml", "-o", "kernels/mine.ipynb")
    assert result.returncode == 0
    assert "'../far/away/ladder.toml'" in code_of(mine / "kernels" / "mine.ipynb")
    assert "open_runs('../runs')" in code_of(mine / "kernels" / "mine.ipynb")


def test_a_workload_asked_for_is_kept(in_mine, mine):
    in_mine("notebook", "--ladder", "mine", "-o", "any.ipynb")
    in_mine("notebook", "--ladder", "mine", "--size", 1000000, "-o", "one.ipynb")
    assert '"workload": None' in code_of(mine / "any.ipynb")
    assert "{'n': 1000000}" in code_of(mine / "one.ipynb")
    assert in_mine("notebook", "--ladder", "mine", "--size", 5, "-o", "none.ipynb").returncode == 21
    assert not (mine / "none.ipynb").exists()


def test_one_rung_is_too_few_and_the_missing_ones_are_named(in_mine, mine):
    shutil.rmtree(next((mine / "runs").glob("*mine-2*")))
    refused = in_mine("notebook", "--ladder", "mine", "-o", "mine.ipynb")
    assert (refused.returncode, refused.stdout) == (21, "")
    assert "of NVIDIA H200, n=1000000, only kernel 1 (plain) is recorded" in refused.stderr
    assert "missing: kernel 2 (wide)" in refused.stderr
    assert "prof collect" in refused.stderr
    assert not (mine / "mine.ipynb").exists()


def test_a_notebook_that_exists_is_not_written_over(in_mine, mine):
    (mine / "mine.ipynb").write_text("my own words")
    refused = in_mine("notebook", "--ladder", "mine", "-o", "mine.ipynb")
    assert refused.returncode == 82
    assert "--overwrite" in refused.stderr
    assert (mine / "mine.ipynb").read_text() == "my own words"
    assert in_mine("notebook", "--ladder", "mine", "-o", "mine.ipynb", "--overwrite").returncode == 0
    assert read_ladder(mine / "kernels" / "mine" / "ladder.toml").title.startswith("Mine")
    assert "open_runs('runs')" in code_of(mine / "mine.ipynb")


@pytest.mark.parametrize(
    "arguments",
    [
        ("-o", "mine.html"),
        ("ladder", "-o", "mine.ipynb"),
        ("--ladder", "mine"),
        ("--size", "4"),
        ("--overwrite",),
        ("1", "2", "--set-param", "n=5"),
    ],
    ids=" ".join,
)
def test_options_that_do_not_go_together_are_refused(in_mine, mine, arguments):
    before = sorted(mine.rglob("*"))
    refused = in_mine("notebook", *arguments)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert sorted(mine.rglob("*")) == before


# The shipped ones


def test_the_shipped_ones_are_listed_with_their_files(prof_here, tmp_path, monkeypatch):
    """They are listed from any folder, where prof runs from its checkout."""
    monkeypatch.chdir(tmp_path)
    rows = json.loads(prof_here("notebook", "--format", "json").stdout)
    assert {row["name"] for row in rows} == set(SHIPPED)
    assert all(Path(row["file"]).is_file() for row in rows)
    monkeypatch.chdir(ROOT)
    assert re.findall(r"dashboards/\w+\.ipynb", prof_here("notebook").stdout) == [
        f"dashboards/{name}.ipynb" for name in SHIPPED
    ]


def test_without_jupyter_the_file_is_named_and_how_to_get_it(prof_here, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    refused = prof_here("notebook", "ladder")
    assert (refused.returncode, refused.stdout) == (88, "")
    assert "dashboards/ladder.ipynb" in refused.stderr
    assert "pip install jupyterlab" in refused.stderr


@pytest.mark.parametrize("name", ["ladder", "ladder.ipynb", "mine.ipynb"])
def test_jupyter_opens_a_shipped_one_or_a_file(tmp_path, name):
    """A stand-in that tells its arguments: it takes prof's place, so that its exit code is prof's."""
    jupyter = tmp_path / "site" / "jupyterlab"
    jupyter.mkdir(parents=True)
    (jupyter / "__init__.py").touch()
    (jupyter / "__main__.py").write_text("import sys; print(sys.argv[1:]); sys.exit(7)")
    (tmp_path / "mine.ipynb").write_text("{}")
    opened = subprocess.run(
        [sys.executable, "-c", "from profiler.cli import main; main()", "notebook", name],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(tmp_path / "site")}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    expected = "mine.ipynb" if name == "mine.ipynb" else str(ROOT / "dashboards" / "ladder.ipynb")
    assert (opened.returncode, opened.stdout) == (7, f"{[expected]}\n")


@pytest.mark.parametrize("name", ["nothing", "nothing.ipynb", "README.md"])
def test_a_file_that_is_no_notebook_is_refused_as_such(prof_here, monkeypatch, name):
    monkeypatch.chdir(ROOT)
    refused = prof_here("notebook", name)
    assert refused.returncode == 88
    assert "no shipped notebook" in refused.stderr


def test_what_may_have_been_meant_instead_of_a_notebook_is_named(prof_here, tmp_path):
    assert "`prof notebook ladder` opens it" in prof_here("notebook", "lader", cwd=tmp_path).stderr
    for name in ("mine", "other"):
        (tmp_path / f"{name}.ncu-rep").touch()
    for words, named in (("mine", "mine.ncu-rep`"), (".", "mine.ncu-rep other.ncu-rep`")):
        told = prof_here("notebook", words, cwd=tmp_path).stderr
        assert f"`prof notebook {named}" in " ".join(told.split()), words


def test_a_file_in_a_folder_that_is_not_there_is_answered_with_how_to_make_it(prof_here, reports, tmp_path):
    refused = prof_here("notebook", reports / "gemm_5.ncu-rep", "-o", "my sub/x.ipynb", cwd=tmp_path)
    assert refused.returncode == 82
    assert "Make the folder first: `mkdir -p 'my sub'`." in refused.stderr


@pytest.mark.slow
def test_installed_without_its_repository_prof_says_where_they_are(tmp_path):
    """The package alone, somewhere else, as a wheel puts it."""
    shutil.copytree(
        ROOT / "profiler", tmp_path / "site" / "profiler", ignore=shutil.ignore_patterns("__pycache__")
    )
    done = subprocess.run(
        [sys.executable, "-c", "from profiler.cli import main; main()", "notebook"],
        cwd=tmp_path / "site", capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (88, "")
    assert "prof's repository" in done.stderr
    assert "prof notebook -o" in done.stderr
