"""Whatever a report's names hold, no output acts on the terminal or in CI, and none loses its shape."""

import csv
import io
import json
import re
import unicodedata

import pytest
from markdown_it import MarkdownIt

from profiler.text import printable

VERBS = {
    "compare": ["compare", "before", "after", "--all", "--full"],
    "compare in short": ["compare", "before", "after", "--all"],
    "show": ["show", "before"],
    "show --full": ["show", "before", "--full"],
    "list": ["list"],
    "list NAME": ["list", "before"],
    "query": ["query", 'select kernel, gpu, nvtx, kernel as "he|a\nder <b>" from launches order by launch'],
    "metrics": ["metrics"],
}
every_verb = pytest.mark.parametrize("verb", VERBS)
markdown = MarkdownIt("commonmark").enable(["table", "strikethrough"])


# As GitHub's runner reads a line; Azure's agent looks for the third.
CI_COMMANDS = (r"^\s*::(error|set-output)( [^\n]*)?::", r"##\[[^\]\n]*\]", r"##vso\[")


def assert_harmless(text):
    """No control, no direction override, nothing invisible: only what the eye sees. And no command to a CI system."""
    dangerous = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    assert [c for c in set(text) - {"\n"} if unicodedata.category(c) in dangerous] == []
    for command in CI_COMMANDS:
        assert re.search(command, text, re.MULTILINE | re.IGNORECASE) is None, command


@pytest.fixture
def hostile(prof_here, hostile_store):
    """`hostile(verb, format)`: the verb's standard output over the hostile runs."""

    def run(verb, format):
        result = prof_here("--runs", hostile_store.root, *VERBS[verb], "--format", format)
        assert (result.returncode, result.stderr) == (0, "")
        assert_harmless(result.stdout)
        return result.stdout

    return run


@pytest.mark.slow
@every_verb
def test_a_table_shows_every_name_on_a_line_of_its_own(hostile, hostile_names, verb):
    text = hostile(verb, "table")
    assert text.strip()
    assert not any(line.startswith("prof: all is well") for line in text.splitlines())


@every_verb
def test_json_is_ascii_and_holds_the_names_as_they_were(hostile, hostile_names, verb):
    text = hostile(verb, "json")
    assert text.isascii()
    found = json.loads(text)
    stored = [name.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for name in hostile_names]
    if verb == "compare":
        assert [one["before"]["kernel_name"] for one in found["comparisons"]] == stored
    if verb == "show --full":
        assert [one["kernel"] for one in found["kernels"]] == stored
        assert [one["nvtx"] for one in found["kernels"]] == [[f"{name} > inner"] for name in stored]


@every_verb
def test_csv_keeps_its_columns_and_runs_no_formula(hostile, verb):
    text = hostile(verb, "csv")
    rows = list(csv.reader(io.StringIO(text), strict=True))
    assert len({len(row) for row in rows}) == 1
    assert len(rows) == len(text.splitlines())
    for cell in (cell for row in rows[1:] for cell in row):
        assert not cell.startswith(("=", "@", "+", "\uff1d"))
        assert not cell.startswith("-") or float(cell) <= 0


@pytest.mark.slow
@every_verb
def test_markdown_keeps_its_tables_and_holds_no_markup_of_a_name(hostile, verb):
    columns, counts = [], set()
    for token in markdown.parse(hostile(verb, "markdown")):
        assert token.type not in ("html_block", "fence", "code_block", "hr")
        if token.type == "tr_open":
            columns.append(0)
        if token.type in ("td_open", "th_open"):
            columns[-1] += 1
        if token.type == "table_close":
            counts.add(len(set(columns)))
            columns = []
        for child in token.children or ():
            assert child.type in (
                "text",
                "text_special",
                "code_inline",  # text to the letter, such as the command that chooses a kernel by its name
                "strong_open",
                "strong_close",
                "softbreak",
                "hardbreak",
            )
            if child.type == "strong_open":
                ours = ("**Caution:**", "**The ", "**What causes ", "**four-way: ")
                assert token.content.startswith(ours) or re.search(" takes? ", token.content)
    assert counts == {1}, "every row of a table has as many cells as its header"


def test_every_name_stays_readable_where_it_is_shown_in_full(hostile, hostile_names):
    rows = list(csv.reader(io.StringIO(hostile("show", "csv"))))
    shown = {row[0].removeprefix("'") for row in rows}
    for name in hostile_names:
        stored = name.replace("\ud800", "\ufffd")
        assert printable(stored).removeprefix("'") in shown


@pytest.mark.slow
def test_a_template_of_thousands_of_characters_does_not_fill_the_screen(hostile):
    for verb in ("compare", "show --full"):
        title = [line for line in hostile(verb, "table").splitlines() if "k<" in line and "rule" not in line]
        assert title
        assert min(map(len, title)) < 200


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "before", "--chart", "not-written.svg"],
        ["compare", "before", "after", "--kernel-name", "\x1b[1m\n|<b>("],
        ["compare", "before", "after", "--kernel-name", "no\nsuch\x1b]0;x\x07"],
        ["compare", "before", "after", "--kernel-name", "script", "--metric", "no\nsuch\u202e"],
        ["compare", "no\n\x1b[2Jrun", "after"],
        ["compare", "/no/such\n\x1b[2J\udcff.ncu-rep", "after"],
        ["show", "no\n\x1b[2Jrun"],
        ["query", "select '\x1b[2J\n' from nowhere\u202e"],
        ["metrics", "no\nsuch\x9bmetric"],
        ["list", "no\nsuch\x9bname"],
        ["ingest", "/no/such\n\x1b[2J*.ncu-rep"],
        ["compare", "before", "after", "--format", "\x1b[2J"],
        ["no\x1b[2Jverb"],
        ["compare", "--no\x1b[2Joption"],
        ["compare", "no\n::error::run", "##[error]after"],
        ["query", "::error::\n::error::"],
        ["show", "::error::no"],
        ["::error::"],
    ],
    ids=lambda arguments: " ".join(arguments).encode("ascii", "backslashreplace").decode()[:60],
)
@pytest.mark.parametrize("verbose", [[], ["--verbose"]], ids=["", "verbose"])
def test_an_error_acts_on_no_terminal_and_forges_no_line(prof_here, hostile_store, arguments, verbose):
    result = prof_here("--runs", hostile_store.root, *arguments, *verbose)
    assert result.stdout == ""
    assert_harmless(result.stderr)
    assert not any(line.startswith("prof: all is well") for line in result.stderr.splitlines())


def test_an_ambiguous_choice_lists_hostile_kernels_one_a_line(prof_here, hostile_store, tmp_path):
    result = prof_here("--runs", hostile_store.root, "show", "before", "--chart", tmp_path / "chart.svg")
    listed = [line for line in result.stderr.splitlines() if line.startswith("      2 x ")]
    assert len(listed) == 20
    assert max(map(len, listed)) < 250


@pytest.mark.slow
def test_a_report_with_a_hostile_path_is_ingested_and_named_harmlessly(prof_here, reports, tmp_path):
    folder = tmp_path / "a\n\x1b[2J|<b>\u202e"
    folder.mkdir()
    (folder / "=good*.ncu-rep").write_bytes((reports / "range.ncu-rep").read_bytes())
    (folder / "bad\r\nprof: all is well.ncu-rep").write_bytes(b"nonsense")
    (folder / "bad\n::error::not yours ##[error]too.ncu-rep").write_bytes(b"nonsense")
    stores = {format: tmp_path / format for format in ("table", "json", "markdown", "csv")}
    results = {
        format: prof_here("--runs", store, "ingest", folder, "--format", format)
        for format, store in stores.items()
    }
    for result in results.values():
        assert result.returncode == 42
        assert_harmless(result.stdout)
        assert_harmless(result.stderr)
        assert not any(line.startswith("prof: all is well") for line in result.stderr.splitlines())
    assert {one["status"] for one in json.loads(results["json"].stdout)} == {"stored", "failed"}
    assert {len(row) for row in csv.reader(io.StringIO(results["csv"].stdout))} == {6}
    assert {token.type for token in markdown.parse(results["markdown"].stdout)} >= {"table_open", "td_open"}
    assert len(results["table"].stdout.splitlines()) == 1


@pytest.mark.slow
def test_the_nvtx_names_of_a_real_report_are_shown_harmlessly(prof_here, store):
    for format in ("table", "json", "markdown", "csv"):
        result = prof_here("--runs", store.root, "show", "hostile", "--format", format)
        assert_harmless(result.stdout)
    page = prof_here("--runs", store.root, "show", "hostile", "--full").stdout
    text = re.sub("^NVTX +", "NVTX  ", page, flags=re.MULTILINE)
    assert "NVTX  <script>alert(1)</script>" in text
    assert "NVTX  \\x1b[31mred\\x1b[0m\\x07" in text
    assert "NVTX  größe 雪 \\u202ertl" in text
