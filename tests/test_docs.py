"""The README and `docs/`: what they show is what the commands print, and every command in them is one that prof takes."""

import ast
import csv
import os
import re
import shlex
import subprocess
import sys
import textwrap
from contextlib import nullcontext
from functools import cache
from inspect import signature
from pathlib import Path

import generate
import pytest
import recorded_tables
import typer
from markdown_it import MarkdownIt

import profiler
from profiler import errors
from profiler.analyse.ladder.ladder import choose_view
from profiler.catalog.project import find_thresholds
from profiler.cli import app
from profiler.store.reports.sandbox import Sandbox
from profiler.store.runs.run_store import RunStore

ROOT = Path(__file__).resolve().parent.parent
README, DOCS = ROOT / "README.md", ROOT / "docs"
PAGES = [README, *sorted(DOCS.glob("*.md"))]
CI, INDEX, REFERENCE = DOCS / "ci.md", DOCS / "index.md", DOCS / "commands.md"
GROUP = typer.main.get_command(app)


@cache
def tokens(page):
    """Every token of the page, those inside of paragraphs and table cells too."""
    outer = MarkdownIt("commonmark").enable("table").parse(page.read_text())
    return [one for token in outer for one in (token, *(token.children or ()))]


def blocks(page, *languages):
    return [token.content for token in tokens(page) if token.type == "fence" and token.info in languages]


def commands(page):
    """Every `prof` command of the page: in shell examples, in workflows and in the text."""
    lines = [line for block in blocks(page, "sh", "console", "yaml") for line in block.splitlines()]
    found = [re.search(r"(?:^\s*|^\$ |run: |&& \.venv/bin/)(prof .+)$", line) for line in lines]
    inline = [token.content for token in tokens(page) if token.type == "code_inline"]
    return [match[1] for match in found if match] + [code for code in inline if code.startswith("prof ")]


def options_of(command):
    return {name for option in command.params for name in (*option.opts, *option.secondary_opts)}


def links(page):
    for token in tokens(page):
        address = token.attrGet("href") or token.attrGet("src")
        if address and not re.match(r"https?://", str(address)):
            yield str(address)


def anchors(page):
    """The anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


# What is generated


@pytest.fixture(scope="module")
def reader_of_pages():
    """It starts where the first command is run, and so knows the reports of all pages by their relative paths."""
    with Sandbox(workers=1) as reader:
        yield reader


@pytest.fixture(autouse=True)
def started_here(monkeypatch, prof_here, reader_of_pages):
    """Its commands run in this process, which reads each table once: a process for each of them would take 0.5 s."""

    def start(command, *, cwd, env, **_):
        return prof_here(*command[3:], cwd=cwd, env=env)

    monkeypatch.setattr(generate, "start", start)
    monkeypatch.setattr("profiler.store.reports.sandbox.Sandbox", lambda **_: nullcontext(reader_of_pages))


@pytest.mark.parametrize("page", generate.PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_shows_what_the_commands_print_today(page):
    assert generate.generated_page(page.read_text()) == page.read_text(), "run `just docs`"


@pytest.mark.parametrize("picture", generate.PICTURES, ids=lambda picture: picture.name)
def test_a_picture_is_drawn_from_what_is_stored_today_and_shown(picture):
    assert picture.read_text() == generate.PICTURES[picture](), "run `just docs`"
    shown = {(page.parent / address).resolve() for page in PAGES for address in links(page)}
    assert picture in shown


def test_the_pictures_load_nothing_from_elsewhere():
    addresses = re.findall(r"https?://[^\"' )]+", generate.COMPARISON.read_text())
    assert set(addresses) <= {"http://www.w3.org/2000/svg", "https://www.textualize.io"}, addresses


def test_an_output_that_is_cut_says_how_much_is_missing():
    page = "<!-- output: prof metrics issue_active_pct | first 2 lines -->\n<!-- end -->"
    whole = generate.generated_page(
        "<!-- output: prof metrics issue_active_pct -->\n<!-- end -->"
    ).splitlines()[2:-2]
    cut = generate.generated_page(page).splitlines()[2:-2]
    assert cut == [*whole[:2], f"... ({len(whole) - 2} more lines)"]


def test_an_output_is_not_marked_as_cut_where_nothing_is_missing():
    with pytest.raises(AssertionError, match="the output has"):
        generate.generated_page("<!-- output: prof presets | first 900 lines -->\n<!-- end -->")


def test_the_text_about_gemm_has_the_figures_of_its_tables():
    """Tables follow a new recording by themselves, sentences do not."""
    page = (ROOT / "docs" / "gemm.md").read_text()
    table = page.partition("<!-- ladder: gemm -->")[2].partition("<!-- end -->")[0]
    rows = {int(row[0]): row for line in table.splitlines()[3:] if (row := line.strip("| ").split(" | "))}
    at_best = {rung: [column.split(" / ")[1] for column in row[2:6]] for rung, row in rows.items()}
    gflops = {rung: float(row[6].split(" ±")[0].replace(",", "")) for rung, row in rows.items()}
    for stated in (
        f"in FP8, {gflops[17] / gflops[16]:.2f} times as fast as rung 16: {at_best[17][2]} %",
        "{} % of it at 1024, {} % at 2048, {} % at 4096 and {} % at 8192".format(*at_best[20]),
        "rung 11 is at {2} % in BF16 at 4096 and 8192, {1} % at 2048".format(*at_best[11]),
        "rung 22 is at {2} % at 4096, {3} % at 8192, {1} % at 2048".format(*at_best[22]),
        "rung 16 without an epilogue is at {1} and {0}".format(*at_best[16]),
        "Rung 23, whose tiles have two heights so that all clusters have equally much to do, is at {2}, {3} and {1} %".format(*at_best[23]),
    ):  # fmt: skip
        assert stated in page, stated


def test_the_page_of_estimates_has_the_rates_of_single_sectors_as_recorded():
    with (ROOT / "tests/data/sectors/scatter.csv").open() as file:
        rows = list(csv.DictReader(file))

    def reached(access, order, apart=(32, 64, 128)):
        used = [
            round(float(row["gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"]))
            for row in rows
            if (row["access"], row["order"]) == (access, order) and int(row["bytes_apart"]) in apart
        ]
        return sorted({min(used), max(used)})

    text = (ROOT / "docs/estimates.md").read_text()
    slow, fast = reached("load", "in order")
    assert f"at {slow} to {fast} % of its peak" in text
    assert f"and loads in no order at {reached('load', 'in no order')[0]} %" in text
    assert f"reach {reached('store', 'in order', [128])[0]} % of the peak" in text
    assert f"and {reached('store', 'in no order')[0]} % in no order" in text


def test_the_words_that_a_page_explains_are_words_that_its_commands_print():
    """Who reads a screen beside its page looks for the same words."""
    comparing, causes = ((ROOT / "docs" / name).read_text() for name in ("comparing.md", "causes.md"))
    outputs = [*blocks(ROOT / "docs" / "comparing.md", "text"), *blocks(ROOT / "docs" / "causes.md", "text")]
    printed = " ".join("\n".join([*outputs, *blocks(ROOT / "README.md", "text")]).split())
    explained = comparing.partition("## From top to bottom")[2].partition("\n## ")[0]
    explained += causes.partition("* The **headline**")[2].partition("* **Not recorded**")[0]
    terms = [term.strip("`") for term in re.findall(r"\*\*(.+?)\*\*", explained)]
    words = [word for term in terms for word in term.split(", ") if word not in ("place", "order")]
    assert len(words) > 10
    assert [word for word in words if word not in printed and word != "The first sentence"] == []


@pytest.mark.slow
def test_the_generator_says_which_pages_are_not_current(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- output: prof presets -->\nsomething older\n<!-- end -->\n")
    command = [sys.executable, DOCS / "generate.py"]

    def generator(action):
        return subprocess.run([*command, action, page], capture_output=True, text=True, check=False)

    assert generator("--check").returncode == 1
    assert generator("--write").returncode == 0
    assert "something older" not in page.read_text()


def test_the_generator_draws_a_picture_that_is_named(tmp_path, monkeypatch):
    picture = tmp_path.resolve() / "drawn.svg"
    monkeypatch.setitem(generate.PICTURES, picture, lambda: "<svg/>")
    monkeypatch.setattr(sys, "argv", ["generate.py", "--write", str(picture)])
    assert generate.main() == 0
    assert picture.read_text() == "<svg/>"


def test_every_ladder_that_moves_bytes_has_its_table_and_those_that_take_claims_apart_are_named():
    text = (DOCS / "memory.md").read_text()
    for climb in recorded_tables.recorded_climbs(ROOT / "kernels", RunStore(ROOT / "runs")):
        name = climb.ladder.name
        if climb.ladder.reference == 0 and choose_view(climb.ladder) == "memory":
            assert (f"`{name}`" if name.endswith("-variants") else f"<!-- ladder: {name} -->") in text


def test_the_ladders_that_are_counted_are_those_that_there_are():
    claims = (DOCS / "claims.md").read_text()
    ladders = {path.parent.name for path in (ROOT / "kernels").glob("*/ladder.toml")}
    apart = {name for name in ladders if name.endswith("-variants")} | {"latency", "epilogue", "faults"}
    assert all(f"`{name}`" in claims for name in apart)
    assert (len(ladders - apart), len(apart)) == (16, 6)
    for page in (README, DOCS / "ladders.md"):
        assert re.search(r"Sixteen ladders are in th\w+ repository.*[Ss]ix more", page.read_text(), re.S), (
            page
        )


# What a reader types


def test_every_command_shown_is_a_verb_with_options_that_it_has():
    for command in (command for page in PAGES for command in commands(page)):
        words = shlex.split(command, comments=True)[1:]
        words = words[: words.index("--")] if "--" in words else words  # what follows is another program's
        verb = next((word for word in words if word in GROUP.commands), None)
        asked = {word for word in words if re.fullmatch(r"--?[a-z][\w-]*", word)}
        if verb is None:
            assert "VERB" in words or asked, command
        known = options_of(GROUP) | (options_of(GROUP.commands[verb]) if verb else set())
        assert asked <= known | {"-h", "--help"}, command


def test_the_walk_above_sees_the_commands_of_every_kind():
    shown = [command.split()[1] for page in PAGES for command in commands(page)]
    assert set(GROUP.commands) <= set(shown)
    assert len(shown) > 150


def test_the_sql_of_the_readme_answers_what_the_text_promises(prof_recorded):
    """All of the shared memory, static and dynamic, of kernels in the order of their names."""
    (asked,) = (shlex.split(one)[1:] for one in commands(README) if one.startswith("prof query "))
    lines = prof_recorded(*asked, "--format", "csv").stdout.splitlines()
    header, *rows = (line.split(",") for line in lines)
    assert header == ["name", "registers", "shared_bytes"]
    shared = {name: int(number) for name, _, number in rows}
    assert list(shared) == sorted(shared)
    assert min(shared["gemm-6"], shared["gemm-12"]) > 0, "the one is static, and the other dynamic"


def test_every_verb_is_explained_by_a_page_that_the_index_names():
    rows = re.findall(r"^\| \[.+?\]\((.+?)\) \| (.+?) \|", INDEX.read_text(), re.MULTILINE)
    explained = [
        (verb, DOCS / page) for page, verbs in rows for verb in GROUP.commands if f"`{verb}`" in verbs
    ]
    assert {verb for verb, _ in explained} == set(GROUP.commands)
    assert [(verb, page.name) for verb, page in explained if f"prof {verb}" not in page.read_text()] == []


def test_every_option_of_every_verb_is_in_the_reference():
    sections = dict(
        re.findall(r"^## prof (\w+)$(.*?)(?=^## |\Z)", REFERENCE.read_text(), re.MULTILINE | re.DOTALL)
    )
    for verb, command in GROUP.commands.items():
        listed = set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", sections[verb]))
        visible = [option for option in command.params if not getattr(option, "hidden", False)]
        named = {name for option in visible for name in option.opts if name.startswith("-")}
        assert named - listed == set(), verb


@pytest.mark.slow
def test_the_python_shown_runs(tmp_path, monkeypatch):
    """Runs each page as one session, in a folder with three reports, the shipped runs and the shipped ladders."""
    sessions = [(page.name, "\n".join(found)) for page in PAGES if (found := blocks(page, "python"))]
    assert sessions
    for name, report in {"before": "gemm_5", "after": "gemm_6", "mine": "triton_matmul"}.items():
        (tmp_path / f"{name}.ncu-rep").symlink_to(ROOT / "tests" / "data" / "reports" / f"{report}.ncu-rep")
    for folder in ("runs", "kernels"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    with Sandbox(workers=1) as reader:  # one that stands in this folder
        monkeypatch.setattr("profiler.store.reports.sandbox.Sandbox", lambda **_: nullcontext(reader))
        for page, text in sessions:
            exec(compile(text, page, "exec"), {"__name__": "__main__"})


def test_the_python_that_needs_a_gpu_takes_options_that_exist():
    from profiler.measuring.functions.plan import FunctionPlan

    known = {*signature(profiler.measure).parameters, *FunctionPlan.__dataclass_fields__}
    examples = [example for page in PAGES for example in blocks(page, "python no-run")]
    calls = [one for text in examples for one in ast.walk(ast.parse(text)) if isinstance(one, ast.Call)]
    measured = [call for call in calls if ast.unparse(call.func) in ("prof.measure", "prof_kernel")]
    assert len(measured) > 3
    assert {keyword.arg for call in measured for keyword in call.keywords} <= known


# How a reader finds it


def test_the_readme_is_short_and_begins_with_two_commands():
    text = README.read_text()
    assert len(text.splitlines()) <= 250
    install, test = blocks(README, "sh")[:2]
    assert "prof compare 5 6" in install
    assert "pytest" in test
    assert text.index("mine.ncu-rep") < text.index("```sh")


def test_the_readme_names_all_that_comes_from_nvidia():
    """It says that reading needs nothing else of NVIDIA's, so what `pip` installs must be named there."""
    locked = re.findall(r"^([\w.-]+)==", (ROOT / "requirements.lock").read_text(), re.M)
    from_nvidia = [name for name in locked if re.match("ncu|nvidia|cuda|nv-", name)]
    assert from_nvidia
    assert [name for name in from_nvidia if f"`{name}`" not in README.read_text()] == []


def test_the_index_leads_to_every_page():
    assert "docs/index.md" in set(links(README))
    assert {page.name for page in DOCS.glob("*.md")} - {INDEX.name} <= set(links(INDEX))


def test_no_link_leads_nowhere():
    nowhere = []
    beside = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "kernels/README.md", "tests/data/causes/README.md")  # fmt: skip
    for page in [*PAGES, *(ROOT / name for name in beside)]:
        for address in links(page):
            path, _, anchor = address.partition("#")
            target = (page.parent / path).resolve() if path else page
            is_page = anchor and target.suffix == ".md"
            if not target.exists() or (is_page and anchor not in anchors(target)):
                nowhere.append(f"{page.relative_to(ROOT)}: {address}")
    assert nowhere == []


# A gate for CI


def test_both_workflows_are_shown():
    collecting, reading = blocks(CI, "yaml")
    assert "self-hosted" in collecting
    assert "prof --runs" in collecting
    assert "runs-on: ubuntu-latest" in reading
    for workflow in (collecting, reading):
        assert "check --baseline" in workflow
        assert "\t" not in workflow


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1])
def test_a_workflow_installs_prof_for_a_repository_without_it(number, tmp_path):
    """The steps of the page run in the user's repository, which need not even hold Python."""
    script = re.search(
        r"git clone -q .*?GITHUB_PATH\"$", blocks(CI, "yaml")[number], re.DOTALL | re.MULTILINE
    )[0]
    (tmp_path / "kernels-of-mine").mkdir()
    there = {
        "PROF": str(ROOT),
        "COMMIT": "HEAD",
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_PATH": str(tmp_path / "path"),
    }
    subprocess.run(
        ["bash", "-euo", "pipefail", "-c", textwrap.dedent(" " * 10 + script)],
        cwd=tmp_path / "kernels-of-mine", env=os.environ | there, check=True,
    )  # fmt: skip
    (folder,) = (tmp_path / "path").read_text().split()
    said = subprocess.run(
        [f"{folder}/prof", "check", "--help"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "--baseline" in said.stdout


def test_the_limits_shown_are_read(tmp_path):
    (example,) = blocks(CI, "toml")
    (tmp_path / "prof.toml").write_text(example)
    shown = set(re.findall(r"^(\w+)\.\w+_pct", example, re.MULTILINE))
    assert {limit.metric.name for limit in find_thresholds(tmp_path).limits} == shown


def test_the_exit_codes_of_a_check_are_those_of_the_errors():
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", CI.read_text(), re.MULTILINE)}
    ours = (
        errors.RunNotFound,
        errors.NotComparable,
        errors.KernelAmbiguous,
        errors.KernelNotFound,
        errors.MetricNotFound,
        errors.CheckUndecided,
        errors.ThresholdsInvalid,
    )
    assert listed == {0, 1, *(error.exit_code for error in ours)}
