"""Every document says the same in every format: no renderer leaves out a block, or a word of one."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import singledispatch
from html import unescape
from pathlib import Path
from typing import Any, get_args

import pytest
from markdown_it import MarkdownIt
from rich.cells import cell_len

from profiler.analyse.compare.several import sum_up
from profiler.analyse.listing import LADDER_HEADER
from profiler.ask.check import check
from profiler.ask.code import find_machine_code
from profiler.ask.collect import find_best_points
from profiler.ask.compare import compare
from profiler.ask.ladder import climb_ladder, find_ideas
from profiler.ask.named.settings import Settings
from profiler.ask.report import report_ladder, report_named
from profiler.ask.show import show_recordings
from profiler.catalog.metrics import CATALOGUE
from profiler.catalog.presets import PRESETS
from profiler.measuring.doctor.checks import HealthCheck, Readiness
from profiler.present import document as blocks
from profiler.present.document import Block, Document, Records
from profiler.present.documents.catalogue import (
    metric_document,
    metrics_document,
    preset_document,
    presets_document,
)
from profiler.present.documents.check import check_document
from profiler.present.documents.code import code_document
from profiler.present.documents.comparison import comparison_document
from profiler.present.documents.comparisons import comparisons_document
from profiler.present.documents.doctor import doctor_document
from profiler.present.documents.ideas import ideas_document
from profiler.present.documents.ladder import ladder_document
from profiler.present.documents.listing import kernels_document, runs_document
from profiler.present.documents.recording import recording_document
from profiler.present.documents.report import (
    kernel_document,
    overview_document,
    pair_document,
    recordings_document,
)
from profiler.present.documents.rungs import built_document, timed_document, verified_document
from profiler.present.documents.sweep import sweep_document
from profiler.present.render import render
from profiler.present.render.cells import kernel_text, table_texts, weight_text, with_above_text
from profiler.present.render.html import Picture, document_html
from profiler.present.render.html_table import values_first
from profiler.present.render.markdown import block_markdown, document_markdown
from profiler.present.render.terminal import Window, document_text
from profiler.store.runs.run_id import sweep_name
from profiler.store.sweeps import SweepStore

BLOCKS = get_args(Block)
SIZE = {"m": 4096, "n": 4096, "k": 4096}


# The words of each block


@singledispatch
def phrases(block, on_page):
    """Yields what a block must say, on a page or in the formats that are text alone."""
    raise NotImplementedError(type(block))


@phrases.register
def _(block: blocks.Text | blocks.Caution, _: bool) -> Iterator[str]:
    yield block.text


@phrases.register
def _(block: blocks.Heading, on_page: bool) -> Iterator[str]:
    if on_page:
        yield block.text


@phrases.register
def _(block: blocks.KernelName, _: bool) -> Iterator[str]:
    yield kernel_text(block)


@phrases.register
def _(block: blocks.Facts, _: bool) -> Iterator[str]:
    for name, known in block.rows:
        lines = [known] if isinstance(known, str) else known
        yield f"{name} {lines[0]}"
        yield from lines[1:]


@phrases.register
def _(block: blocks.Table, on_page: bool) -> Iterator[str]:
    columns, rows, places = table_texts(block, "")
    if on_page:
        columns, rows, _ = values_first(columns, rows, places)
    roomy = [place for place, column in enumerate(columns) if not column.wide]
    beside = [place for place in roomy if not columns[place].prose]
    yield from (columns[place].title for place in beside)  # prose stands below its row, without a title
    for row in rows:
        if beside == [*range(len(columns))]:
            yield " ".join(row)  # a row stays together
        else:
            yield from (row[place] for place in roomy)


@phrases.register
def _(block: blocks.Legend, _: bool) -> Iterator[str]:
    yield "; ".join(one.shown() for one in block.entries)


@phrases.register
def _(block: blocks.Checks, _: bool) -> Iterator[str]:
    yield block.title
    for one in block.rows:
        yield f"{one.subject} {one.expected}"


@phrases.register
def _(block: blocks.Items, _: bool) -> Iterator[str]:
    yield block.title
    for one in block.rows:
        yield weight_text(one.weight_pct)
        yield with_above_text(one)
        yield one.name
        yield one.sentence


@phrases.register
def _(block: blocks.Accesses, on_page: bool) -> Iterator[str]:
    yield block.sentence
    for side in () if on_page else block.sides:
        yield " ".join("█" * (bits // 32) for bits in side)


@phrases.register
def _(block: blocks.CodeBlock, on_page: bool) -> Iterator[str]:
    yield from () if on_page and len(block.titles) == 1 else block.titles
    for stretch in block.stretches:
        for row in stretch:
            for side in row:
                yield " ".join(cell.text for cell in side or ())


@phrases.register
def _(block: blocks.Chart, on_page: bool) -> Iterator[str]:
    if on_page:
        yield block.name


@phrases.register
def _(block: blocks.Folded, on_page: bool) -> Iterator[str]:
    if on_page:
        yield block.summary
    if block.instead is not None and not on_page:
        yield block.instead
    else:
        yield from (phrase for one in block.blocks for phrase in phrases(one, on_page))


# The words of each format


def in_a_row(text):
    return " ".join(text.replace("│", " ").split()).lower()


def of_terminal(document):
    return in_a_row(document_text(document, Window()))


def of_markdown(document):
    tokens = MarkdownIt("commonmark").enable("table").parse(document_markdown(document))
    inline = ["".join(map(_as_written, token.children)) for token in tokens if token.type == "inline"]
    shown = " ".join(inline).replace("\u200b", "")  # which keeps @P0 from being a mention
    return in_a_row(shown.replace("· ", ""))


def _as_written(part):
    """Returns a part of a line of Markdown as the document has it: code between backticks."""
    return {"code_inline": f"`{part.content}`", "softbreak": " ", "hardbreak": " "}.get(
        part.type, part.content
    )


def of_page(document):
    html = document_html(document, "", (), lambda chart: Picture(chart.name, "", "<svg></svg>"))
    plain = unescape(re.sub("<[^>]+>", " ", re.sub("<wbr>|</?(?:code|span)[^>]*>", "", html)))
    return in_a_row(plain.replace("→", "->"))  # which never ends a line within it


# Every kind of document


@dataclass(frozen=True)
class Asked:
    """The shipped runs, and how to ask for them."""

    root: Any
    settings: Callable[[str], Settings]


@pytest.fixture(scope="session")
def asked(recorded):
    def settings(ladder="gemm"):
        return Settings(runs=recorded.root, ladder=ladder, ladder_given=ladder != "gemm")

    return Asked(recorded.root, settings)


def compared(asked, before, after, ladder="gemm", **options):
    (comparison,) = compare(before, after, asked.settings(ladder))
    return comparison_document(comparison, **options)


def compared_kernels(asked):
    return comparisons_document(sum_up(compare(SEVERAL, SEVERAL, asked.settings(), every=True)))


def shown(asked, name):
    return recording_document(show_recordings([name], asked.settings()).recording, full=True)


def laddered(asked, ladder):
    climb = climb_ladder(asked.settings(ladder))
    return ladder_document(climb.finding, climb.others, reference=climb.ladder.reference)


def reported(asked, view):
    found = report_named(["5", "6"], asked.settings(), None, kernel_name=None, force=False)
    kernels, pairs = list(found.kernels), list(found.pairs)
    if view == "kernel":
        return kernel_document(kernels[1], found.headline)
    if view == "pair":
        return pair_document(pairs[0], *kernels, found.headline)
    return recordings_document(kernels, pairs)


def ladder_of_report(asked):
    found = report_ladder(asked.settings(), None)
    return overview_document(found.ladder, found.roofline, found.others)


def swept(asked):
    store = SweepStore(asked.root)
    return sweep_document(find_best_points(store.newest(sweep_name("gemm", 7), SIZE), None, 10))


SEVERAL = str(Path(__file__).parents[1] / "data" / "reports" / "several.ncu-rep")
KINDS = {
    "comparison": lambda asked: compared(asked, "5", "6"),
    "comparison in full": lambda asked: compared(asked, "5", "6", full=True),
    "comparison by bytes": lambda asked: compared(asked, "1", "2", "relu", full=True),
    "comparisons": compared_kernels,
    "kernels of a recording": lambda asked: recording_document(show_recordings([SEVERAL], asked.settings()).recording),
    "comparison of times": lambda asked: compared(asked, "gemm-5-timed", "gemm-6-timed"),
    "recording": lambda asked: shown(asked, "6"),
    "recording of times": lambda asked: shown(asked, "gemm-6-timed"),
    "ladder that computes": lambda asked: laddered(asked, "gemm"),
    "ladder that moves bytes": lambda asked: laddered(asked, "copy"),
    "ideas": lambda asked: ideas_document(find_ideas(climb_ladder(asked.settings("copy")))),
    "code": lambda asked: code_document(find_machine_code("5", "6", asked.settings())),
    "listing of code": lambda asked: code_document(find_machine_code("6", None, asked.settings()), listing=True),
    "recordings of a report": lambda asked: reported(asked, "recordings"),
    "kernel of a report": lambda asked: reported(asked, "kernel"),
    "pair of a report": lambda asked: reported(asked, "pair"),
    "ladder of a report": ladder_of_report,
    "check": lambda asked: check_document(check("5", "6", asked.settings(), kernel_name=None, every=False)),
    "sweep": swept,
    "metrics": lambda _: metrics_document(CATALOGUE),
    "metric": lambda _: metric_document(CATALOGUE[0]),
    "presets": lambda _: presets_document(PRESETS),
    "preset": lambda _: preset_document(PRESETS[0]),
    "runs": lambda _: runs_document(("name", "runs", "run_id"), [{"name": "gemm-6", "runs": 2, "run_id": "2026-gemm-6"}]),
    "kernels": lambda _: kernels_document([dict(zip(LADDER_HEADER, (6, "vectorized", 1, 2, 0, "Wide loads."), strict=True))]),
    "built": lambda _: built_document([(6, "vectorized", "built", 128, 0, 1.5, "build/6")]),
    "verified": lambda _: verified_document([(6, "vectorized", "m=4096", 1e-7, 1e-5, 0.1, "correct", 7)]),
    "timed": lambda _: timed_document([(6, "vectorized", "m=4096", 3e6, 0.1, 4e4, None, 2e6, 84.0, 1.9e6, 80.0, "x")]),
    "doctor": lambda _: doctor_document(
        [HealthCheck("ncu", "measuring", "missing", "no ncu here", "Install it.")],
        [Readiness("measuring", "missing", ("ncu",))],
    ),
}  # fmt: skip


@pytest.fixture(scope="session")
def document(asked):
    """`document(kind)`: made once."""
    made = {}

    def make(kind):
        if kind not in made:
            made[kind] = KINDS[kind](asked)
        return made[kind]

    return make


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text_of", [of_terminal, of_markdown, of_page])
def test_every_word_and_figure_of_every_block_is_in_every_format(document, kind, text_of):
    text, on_page = text_of(document(kind)), text_of is of_page
    said = [
        in_a_row(one)
        for section in document(kind).sections
        for block in section
        for one in phrases(block, on_page)
    ]
    said = [one.replace("`", "") for one in said] if on_page else said  # a page marks code by its type
    assert len(said) > 1
    assert [one for one in said if one not in text] == []


@pytest.mark.parametrize("kind", KINDS)
def test_records_are_rectangular_and_plain(document, kind):
    records = document(kind).records
    assert {len(row) for row in records.rows} <= {len(records.header)}
    assert len(set(records.header)) == len(records.header)
    for value in (value for row in records.rows for value in row):
        assert value is None or isinstance(value, str | int | float)


@pytest.mark.parametrize("width", [40, 60])
@pytest.mark.parametrize("kind", KINDS)
def test_no_window_is_too_narrow_for_what_was_measured_and_how_it_ended(document, kind, width):
    needed = {"metric", "unit", "kernel", "before", "after", "change", "± 95 %", "baseline", "candidate", "verdict"}  # fmt: skip
    text = document_text(document(kind), Window(width=width))
    left_out = re.findall(r"no room for the columns? (.+?):", in_a_row(text))
    assert needed & {name for names in left_out for name in names.split(", ")} == set()


@pytest.mark.parametrize("width", [60, 80])
@pytest.mark.parametrize("kind", KINDS)
def test_no_line_is_wider_than_a_narrow_window(document, kind, width):
    """But for what people copy: a hash, and a command."""
    lines = document_text(document(kind), Window(width=width)).splitlines()
    wide = [line.strip() for line in lines if cell_len(line) > width]
    assert [line for line in wide if " " in line and not re.fullmatch(r"`prof [^`]+`[.,;]?", line)] == []


@pytest.mark.parametrize(
    ("kind", "kept"),
    [
        ("kernels of a recording", ["share", "total", "kernel", "top cause"]),
        ("comparisons", ["kernel", "after", "change ± 95 %", "verdict"]),
    ],
)
def test_a_list_of_kernels_keeps_its_answer_in_a_narrow_window(document, kind, kept):
    lines = document_text(document(kind), Window(width=60)).splitlines()
    header = next(line for line in lines if ("kernel  " in line and "verdict" in line) or "top cause" in line)
    assert [title for title in kept if title not in header] == []
    assert "launches" not in header


def test_a_narrow_window_keeps_of_a_timing_the_time_and_its_ratio_to_the_reference(document):
    header = document_text(document("timed"), Window(width=70)).splitlines()[0]
    assert [title for title in ("median", "GFLOP/s", "% ref") if title not in header] == []
    assert "run id" not in header


def test_each_kind_of_block_is_in_some_document(document):
    found = {type(block) for kind in KINDS for section in document(kind).sections for block in section}
    assert found == set(BLOCKS)


@dataclass(frozen=True)
class Unknown:
    """A block of a kind that no renderer knows."""


def test_a_block_that_a_renderer_does_not_know_is_an_error():
    strange = Document("", [[Unknown()]], Records((), ()))
    for format in ("table", "markdown"):
        with pytest.raises(NotImplementedError):
            render(strange, format, Window())
    with pytest.raises(NotImplementedError):
        document_html(strange, "", (), lambda _: None)
    assert all(block_markdown.dispatch(kind) is not block_markdown.dispatch(object) for kind in BLOCKS)


@pytest.mark.parametrize("kind", ["recording", "metrics"])
def test_names_of_ncu_stand_in_markdown_and_are_left_out_of_a_terminal(document, kind):
    made = document(kind)
    assert "sm__cycles_elapsed.max" in of_markdown(made)
    assert "sm__cycles_elapsed.max" not in of_terminal(made)


def test_a_page_of_one_pair_says_why_once_in_the_comparison_on_which_it_opens(asked):
    said = {view: document_markdown(reported(asked, view)) for view in ("recordings", "pair")}
    assert {view: len(re.findall(r"Why:", text)) for view, text in said.items()} == {
        "recordings": 0,
        "pair": 1,
    }
