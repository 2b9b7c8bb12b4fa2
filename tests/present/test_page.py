"""The page as a document: what its policy lets in, how its tables behave, and what its charts become."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest
import vl_convert
from markupsafe import Markup

from profiler.analyse.code.machine_code import view_machine_code
from profiler.analyse.compare.compare import compare_profiles
from profiler.analyse.recording.kernel_choice import choose_kernel
from profiler.analyse.recording.profile import profile_kernel
from profiler.analyse.recording.source_lines import find_source_lines
from profiler.ask.compare import compare
from profiler.ask.named.settings import Settings
from profiler.ask.report import report_named
from profiler.present import charts
from profiler.present.charts.render import chart_spec
from profiler.present.document import (
    Checks,
    Column,
    Document as Blocks,
    Facts,
    Heading,
    Linked,
    Marked,
    Nested,
    Records,
    Row,
    Table,
)
from profiler.present.documents import comparison as words
from profiler.present.documents.parts.attribution import speedup_sentence
from profiler.present.documents.parts.source_rows import LoopSource, source_code
from profiler.present.documents.report import kernel_document, recordings_document
from profiler.present.page.drawing import Drawing, derive_look
from profiler.present.page.page import Page, View, draw_page, page_html
from profiler.present.render.cells import table_texts
from profiler.present.render.html import document_html
from profiler.present.render.html_table import table_html, text_html, values_first
from profiler.present.style import STALLS
from profiler.store.cache import Cache
from profiler.text import printable


class Document(HTMLParser):
    """The elements with their attributes, the text, and the cells of every table by its caption."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.tables, self.texts, self._open = [], {}, [], []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag in ("caption", "th", "td", "tr", "style", "script"):
            self._open = [*self._open, tag] if tag in ("style", "script") else [tag]
        if tag == "tr":
            self._table.append([])
        if tag in ("th", "td"):
            self._table[-1].append("")
        if tag == "table":
            self._table = []

    def handle_endtag(self, tag):
        if tag in ("caption", "style", "script", "table"):
            self._open = []

    def handle_data(self, data):
        if self._open == ["caption"]:
            self.tables.setdefault(data.strip(), self._table)
        elif self._open and self._open[-1] in ("th", "td") and self._table and self._table[-1]:
            self._table[-1][-1] += data.rstrip("\n")
        if not set(self._open) & {"style", "script"}:
            self.texts.append(data)

    def attributes(self, name):
        return [attributes[name] for _, attributes in self.elements if name in attributes]


@pytest.fixture(scope="session")
def html(once, prof, recorded):
    """Returns the page that `prof report 5 6` writes."""

    def fill(folder):
        result = prof("report", "5", "6", "-o", folder / "pair.html", "--runs", recorded.root)
        assert result.returncode == 0, result.stderr

    return (once("pair-page", fill) / "pair.html").read_text()


@pytest.fixture(scope="session")
def document(html):
    return Document(html)


@pytest.fixture(scope="session")
def compared(recorded):
    (comparison,) = compare("5", "6", Settings(runs=recorded.root, ladder="gemm", ladder_given=False))
    return comparison


# The document


@pytest.mark.slow
def test_the_policy_lets_in_the_pages_own_style_and_script_and_nothing_else(html, document):
    policy = next(
        one["content"] for tag, one in document.elements if one.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    inside = {tag: re.search(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)[1] for tag in ("style", "script")}
    hashes = {
        tag: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for tag, text in inside.items()
    }
    assert rules == {
        "default-src": "'none'", "img-src": "data:", "base-uri": "'none'", "form-action": "'none'",
        "style-src": f"'sha256-{hashes['style']}'", "script-src": f"'sha256-{hashes['script']}'",
    }  # fmt: skip


def test_nothing_in_it_is_what_the_policy_would_block_or_what_asks_for_something(document):
    names = {name for _, attributes in document.elements for name in attributes}
    assert "style" not in names
    assert not any(name.startswith("on") for name in names)
    assert not names & {"src", "srcset", "action", "formaction", "poster", "xlink:href"}
    assert all(link.startswith("#") or link == "data:," for link in document.attributes("href"))
    assert {tag for tag, _ in document.elements} & {"iframe", "object", "embed", "base", "img"} == set()


def test_every_link_leads_somewhere_and_no_two_places_have_the_same_name(document):
    places = document.attributes("id")
    assert len(places) == len(set(places))
    assert {link.removeprefix("#") for link in document.attributes("href") if link.startswith("#")} <= set(
        places
    )


def test_tables_are_announced_and_their_headings_say_what_they_head(document):
    tables = [tag for tag, _ in document.elements if tag == "table"]
    captions = [tag for tag, _ in document.elements if tag == "caption"]
    assert len(tables) == len(captions) > 10
    assert all("scope" in attributes for tag, attributes in document.elements if tag == "th")


# The same words and figures as everywhere


def test_the_metrics_are_the_rows_of_prof_compare_and_the_others_are_folded(document, compared):
    shown, hidden = words.shown_metrics(compared)
    (folded,) = [one for one in document.tables if one.startswith(f"{len(hidden)} more: ")]
    for caption, deltas in (("Counters: metric", shown), (folded, hidden)):
        header, *rows = document.tables[caption]
        rows_made = [words.metric_row(delta) for delta in deltas]
        made = Table(words.METRIC_COLUMNS, rows_made, drops_empty=True)
        columns, texts, _ = values_first(*table_texts(made, ""))
        assert header == [column.title for column in columns]
        assert header.index("unit") > header.index("after"), "a phone shows the figures first"
        assert rows == texts


def test_the_sentences_are_those_of_prof_compare(document, compared):
    text = " ".join("".join(document.texts).split())
    assert compared.headline.what.replace("->", "→") in text
    assert speedup_sentence(compared.attribution) in text
    assert "four-way: confirmed" in text
    assert "A operand: 8 LDS → 2 LDS.128 per k-step" in text
    for cause in compared.causes:
        assert cause.sentence in text


def test_a_fingerprint_that_does_not_apply_is_not_on_the_page(recorded):
    sides = [recorded.find(name, ladder="relu") for name in ("relu-1", "relu-2")]
    comparison = compare_profiles(*(profile_kernel(run, choose_kernel(run, None)) for run in sides))
    made = words.comparison_document(comparison)
    assert [block for section in made.sections for block in section if isinstance(block, Checks)] == []


def test_every_opcode_that_changed_is_counted(document, compared):
    opcodes = compared.instructions.opcodes
    changed = {one.opcode for one in opcodes if one.before != one.after}
    tables = [rows for rows in document.tables.values() if rows[0][0].startswith("instructions per launch")]
    assert {row[0] for rows in tables for row in rows[1:]} == {"all", *changed}


def test_a_sheet_holds_every_metric_of_the_recording(document, recorded):
    run = recorded.find("5", ladder="gemm")
    profile = profile_kernel(run, choose_kernel(run, None))
    tables = [rows for rows in document.tables.values() if rows[0][-1] == "ncu" or rows[0][0] == "counter"]
    names = {row[0] for rows in tables for row in rows[1:]}
    assert set(profile.series) <= names
    assert set(profile.raw) <= names | {one.ncu for one in profile.series.values()}


# Its tables


def rendered(columns, *rows, views=()):
    return Document(str(table_html(Table(columns, rows), "Heading", views)))


def test_a_cell_whose_unit_varies_or_that_is_a_share_is_sorted_by_its_number():
    relative, time = Column("relative", "relative"), Column("time", "duration")
    changes = [(1.0, 0.5), (1.0, 10.9), (1.0, 25.0), (0.0, 1.0)]
    shown = rendered((relative, time), *[Row((one, Marked(2e3, "*"))) for one in changes])
    cells = [attributes for tag, attributes in shown.elements if tag in ("th", "td")][2:]
    assert [cell.get("data-value") for cell in cells[0::2]] == ["-0.5", "9.9", "24.0", None]
    assert {cell["data-value"] for cell in cells[1::2]} == {"2000.0"}


def test_rows_that_form_a_tree_are_not_sorted():
    flat, tree = (rendered((Column("name"),), Row((value,))) for value in ("a", Nested("a", 1)))
    assert flat.attributes("data-sortable") == [None]
    assert tree.attributes("data-sortable") == []


def test_a_value_is_a_link_only_if_the_page_has_its_view():
    row = Row((Linked("6", "6"), Linked("7", "7")))
    assert rendered((Column("a"), Column("b")), row, views=("6",)).attributes("href") == ["#6"]


def test_a_judged_row_is_marked_and_the_marks_of_figures_are_explained():
    step = Column("step", "ratio", judges=True)
    shown = rendered((Column("name"), step), Row(("a", 1.1), "good"), Row(("b", 1.0), "quiet"))
    styles = [attributes.get("class") for tag, attributes in shown.elements if tag == "tr"]
    assert styles == [None, "better", "same"]
    assert "step: ● better beyond the noise" in shown.texts


def test_a_number_in_front_of_a_name_stays_in_view_with_it():
    assert "pinned2" in rendered((Column("rung", "number"), Column("name")), Row((6, "a"))).attributes(
        "class"
    )
    assert "pinned1" in rendered((Column("name"), Column("rung", "number")), Row(("a", 6))).attributes(
        "class"
    )


# Source beside machine code


@pytest.fixture(scope="session")
def loop_sources(shipped_runs):
    runs = [shipped_runs.find(f"gemm-{number}-source", ladder="gemm") for number in (5, 6)]
    profiles = [profile_kernel(run, run.manifest.kernels[0].name) for run in runs]
    regions = view_machine_code(profiles).regions
    lines = [find_source_lines(run, profile.kernel) for run, profile in zip(runs, profiles, strict=True)]
    return [LoopSource(str(number), *one, ()) for number, *one in zip((5, 6), regions, lines, strict=True)]


def test_a_line_of_the_hot_loop_stands_beside_its_instructions_and_samples(loop_sources):
    code = source_code(loop_sources[:1])
    (stretch,) = code.stretches
    rows = [[cell.text for cell in side] for (side,) in stretch]
    (loads,) = [row for row in rows if row[-1] == "128 LDS"]
    assert (loads[0], loads[1], loads[3]) == ("30.0 %", "59", "dispatch")
    assert loads[2].startswith("for (int i = 0; i < TM; ++i) a_part[i]")


def test_equal_lines_of_two_kernels_stand_beside_each_other(loop_sources):
    (rows,) = source_code(loop_sources).stretches
    both = [[side[2].text for side in row] for row in rows if all(row)]
    assert ["__syncthreads();", "__syncthreads();"] in both
    assert any(None in row for row in rows), "a line that only one side has"


# The first screen


def test_a_report_with_many_kernels_says_where_the_time_goes(make_run, tmp_path):
    launches = [
        {"kernel": name, "ns": time_ns} for name, time_ns in (("short", 1e6), ("long", 5e6), ("long", 4e6))
    ]
    make_run(*launches, name="many", root=tmp_path)
    settings = Settings(runs=tmp_path, ladder="gemm", ladder_given=False)
    report = report_named(["many"], settings, None, kernel_name=None, force=False)
    overview = recordings_document(list(report.kernels), [])
    (what, why, _), (table,) = overview.sections
    assert (
        what.text == "2 kernels take 10.00 ms under the profiler in 3 launches; one kernel takes 90 % of it."
    )
    assert why.text.startswith("Why: long takes 90 % of the time")
    assert [row.values[1].value for row in table.rows] == ["long", "short"]
    assert table.columns[1].title == "kernel", "all are of one recording"
    html = document_html(overview, "", (), lambda _: None)
    assert html.count('class="bar"') == 2


def test_a_kernel_that_its_recordings_name_already_says_is_not_named_again(make_run, tmp_path):
    times = {"gpu__time_duration.sum": (1e6, "ns")}
    make_run(
        *({"kernel": name, "metrics": times} for name in ("add(float *, int)", "scale(float *)")),
        name="many",
        root=tmp_path,
    )
    settings = Settings(runs=tmp_path, ladder="gemm", ladder_given=False)
    report = report_named(["many"], settings, None, kernel_name=None, force=False)
    (table,) = recordings_document(list(report.kernels), []).sections[1]
    assert [row.values[-1] for row in table.rows] == ["", ""]


def test_the_code_of_a_pair_is_of_the_launches_that_are_compared(make_run, tmp_path):
    """A warm-up of three launches ran other code."""
    axes = dict.fromkeys(("grid_y", "grid_z", "block_x", "block_y", "block_z"), 1)
    small, large = (
        {"kernel": "k", "ns": time_ns, "instructions": [(opcode, 10)], "shape": {"grid_x": blocks, **axes}}
        for time_ns, opcode, blocks in ((1e3, "FADD", 1), (9e6, "FMUL", 99))
    )
    for name in ("before", "after"):
        make_run(small, small, small, large, name=name, root=tmp_path)
    settings = Settings(runs=tmp_path, ladder="gemm", ladder_given=False)
    (pair,) = report_named(["before", "after"], settings, None, kernel_name=None, force=False).pairs
    assert [one.opcode for one in pair.comparison.instructions.opcodes] == ["FMUL"]
    assert [[one.opcode for one in sheet.opcodes] for sheet in pair.code.finding.kernels] == [
        ["FMUL"],
        ["FMUL"],
    ]


# Its charts


@pytest.fixture(scope="module")
def pictures(compared, drawing_processes):
    names = ("deltas_chart", "stalls_chart", "waterfall_chart", "instructions_chart")
    return [(name, drawing_processes.ask(name, compared).result()) for name in names]


def test_a_chart_keeps_every_word_and_digit(pictures, compared):
    for name, picture in pictures:
        spec = {
            key: value for key, value in chart_spec(getattr(charts, name)(compared)).items() if key != "title"
        }
        whole = vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])
        words = {word for word in re.findall(r">([^<>]+)</text>", whole) if not re.fullmatch(r"[\d.]+", word)}
        for svg in (picture.svg, picture.phone):
            assert words <= {*re.findall(r">([^<>]+)</text>", svg)}, (
                "but for the figures of axes, which a width decides"
            )


def test_a_chart_takes_the_colours_that_a_scheme_decides_from_the_page(pictures):
    for _, picture in pictures:
        colours = set(re.findall(r'(?:fill|stroke)="(#[0-9a-f]{6})"', picture.svg))
        assert not colours & ({*derive_look().light.values()} - {"#ffffff"})
        assert 'fill="var(--ink)"' in picture.svg
        assert "style=" not in picture.svg
    assert f'fill="{STALLS["barrier"]}"' in pictures[1][1].svg, "marks stand out from either paper"


def test_white_letters_on_a_bar_stay_white(pictures):
    assert "var(--paper)" not in "".join(picture.svg for _, picture in pictures)
    assert 'fill="#ffffff"' in pictures[1][1].svg


def test_the_title_is_beside_the_picture_so_that_it_wraps(pictures, compared):
    for name, picture in pictures:
        assert picture.title == chart_spec(getattr(charts, name)(compared))["title"]["text"]
        assert picture.title not in picture.svg


def test_a_chart_with_nothing_to_draw_makes_no_picture(make_run, drawing_processes):
    profile = profile_kernel(make_run({"kernel": "k", "ns": 1.0}), "k")
    same = compare_profiles(profile, profile)
    assert drawing_processes.ask("waterfall_chart", same).result() is None


def test_charts_are_drawn_elsewhere_as_they_would_be_here(pictures, compared, drawing_processes):
    drawn = [drawing_processes.ask(name, compared) for name, _ in pictures]
    assert [one.result() for one in drawn] == [picture for _, picture in pictures]


# Names from anybody's program


@pytest.mark.slow
def test_a_chart_that_was_drawn_before_is_there_at_once(compared, tmp_path):
    pictures = Cache("pictures", 1 << 20, tmp_path)
    with Drawing(pictures) as drawing:
        drawn = drawing.ask("waterfall_chart", compared).result()
    with Drawing(pictures) as drawing:
        kept = drawing.ask("waterfall_chart", compared)
        other = drawing.ask("deltas_chart", compared)

        assert kept.done()
        assert kept.result() == drawn
        assert other.result() not in (None, drawn)


@pytest.mark.slow
def test_names_are_text_and_act_on_nothing(prof_here, drawing, hostile_store, hostile_names, tmp_path):
    page = tmp_path / "page.html"
    result = prof_here("report", "before", "-o", page, "--runs", hostile_store.root)
    assert result.returncode == 0, result.stderr

    document = Document(page.read_text())
    assert [tag for tag, _ in document.elements if tag in ("b", "img")] == []
    assert len([tag for tag, _ in document.elements if tag == "script"]) == 1
    text = "\n".join(document.texts)
    for name in hostile_names:
        assert printable(name.replace("\ud800", "\ufffd")) in text


@pytest.mark.parametrize(("kernels", "opens_on"), [(2, "pair"), (4, "ladder")])
def test_a_page_opens_on_its_pair_unless_there_are_other_kernels(kernels, opens_on):
    nothing = Blocks("", [], Records((), ()))
    views = [
        View("all", "ladder", nothing),
        *(View(str(number), "kernel", nothing) for number in range(kernels)),
    ]
    views.append(View("0-1", "pair", nothing, "", "0", "1"))
    assert Page("", [], views, "Overview").first.kind == opens_on


def test_the_navigation_tells_kernels_of_one_namespace_apart(make_run, tmp_path):
    names = [
        f"void cub::CUB_200301_520_NS::DeviceMergeSort{part}Kernel<(bool)0, cub::CUB_200301_520_NS::NullType>(T1)"
        for part in ("BlockSort", "Merge")
    ]
    times = {"gpu__time_duration.sum": (1e6, "ns")}
    launches = ({"kernel": name, "metrics": times} for name in (*names, "short(int)"))
    make_run(*launches, name="sort", root=tmp_path)
    settings = Settings(runs=tmp_path, ladder="gemm", ladder_given=False)
    report = report_named(["sort"], settings, None, kernel_name=None, force=False)
    page = draw_page(report, SimpleNamespace(ask=lambda *_, **__: None))
    assert [view.name for view in page.of_kind("kernel")] == [
        "DeviceMer…SortKernel",
        "DeviceMer…ergeKernel",
        "short",
    ]


def test_the_code_of_a_kernel_without_a_loop_is_not_called_one(reports, tmp_path):
    settings = Settings(runs=tmp_path, ladder="gemm", ladder_given=False)
    several = str(reports / "several.ncu-rep")
    (scale,) = report_named([several], settings, None, kernel_name="scale", force=False).kernels
    blocks = [block for section in kernel_document(scale, ()).sections for block in section]
    headings = [block.text for block in blocks if isinstance(block, Heading)]
    assert "Whole function" in headings
    assert "Hot loop" not in headings


def test_an_option_is_never_broken_at_its_hyphens():
    assert text_html("add `ncu --set full -o x`, or a-b -- c") == Markup(
        'add <code>ncu <span class="option">--set</span> full <span class="option">-o</span> x</code>, or a-b -- c'
    )


@pytest.mark.parametrize(("kernels", "seen_as"), [(24, "name"), (25, "said")])
def test_the_navigation_names_every_kernel_to_those_who_read_text(kernels, seen_as):
    """Of many kernels, a screen has room for the numbers alone."""
    views = [View(str(place), "kernel", Blocks(f"kernel_{place}", [])) for place in range(kernels)]
    html = page_html(Page("many", Facts([]), views, "Overview"), derive_look())
    named = re.findall(rf'<span class="{seen_as}">(kernel_\d+)</span>', html)
    assert named == [view.document.title for view in views]
