"""The document of a ladder's ideas says what each was worth, to people and to programs."""

import csv
import io
import re

import pytest
from markdown_it import MarkdownIt

from profiler.analyse.findings import Speedup
from profiler.analyse.ladder.ideas import Idea, IdeasFinding, PublishedStep
from profiler.present.brief import brief
from profiler.present.documents.ideas import ideas_document
from profiler.present.render.csv import records_csv
from profiler.present.render.json import to_json
from profiler.present.render.markdown import document_markdown
from profiler.present.render.terminal import Window, document_text

markdown = MarkdownIt("commonmark").enable("table")


def idea(number=2, **fields):
    facts = {
        "kernel": number, "name": "float4", "idea": "four floats an access", "before": number - 1, "claim": "faster",
        "published": PublishedStep("NVIDIA GeForce RTX 3050", 1.1489, "gbytes_per_s"),
        "speedup": Speedup(1.0214, (1.0204, 1.0225), "unprofiled"), "verdict": "better", "story": "holds",
        "reason": "DRAM 90 -> 92 % busy", "refused": [],
    }  # fmt: skip
    return Idea(**{**facts, **fields})


def finding(*ideas, **fields):
    facts = {"schema_version": 1, "ladder": "copy", "title": "A copy", "gpu": "NVIDIA H200", "workload": {"n": 7}}  # fmt: skip
    return IdeasFinding(**{**facts, **fields}, ideas=list(ideas))


def text(*ideas, width=None, **fields):
    return document_text(ideas_document(finding(*ideas, **fields)), Window(width=width))


def in_markdown(found):
    return document_markdown(ideas_document(found))


def in_csv(found):
    return records_csv(ideas_document(found).records)


def test_a_step_is_a_line_with_its_idea_and_its_counters_below():
    heading, steps, notes = text(idea(2), idea(3, reason="")).split("\n\n")
    assert heading == "copy: what each idea was worth (NVIDIA H200, n=7)"
    lines = [line.strip() for line in steps.splitlines()]
    assert re.split(" {2,}", lines[1]) == ["2", "float4", "1", "1.149x on RTX 3050", "1.021x ± 0.10 %", "holds"]  # fmt: skip
    assert lines[2:4] == ["four floats an access", "DRAM 90 -> 92 % busy"]
    assert lines[4].startswith("3  float4")
    assert len(lines) == 6
    assert notes.startswith("claimed: ")


def test_a_caution_about_a_step_stands_below_with_its_number():
    page = text(idea(2, warnings=["recorded 5 hours apart"]), idea(3))
    assert "caution: rung 2: recorded 5 hours apart" in page.splitlines()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_long_ideas_are_folded_into_the_window(width):
    long = idea(2, idea="one word after the other " * 20, reason="as the counters read " * 10)
    below = [line for line in text(long, width=width).splitlines() if line.startswith("    ")][1:]
    assert len(below) > 2
    assert max(map(len, below)) <= width


@pytest.mark.parametrize(
    ("fields", "cell"),
    [
        ({}, "1.149x on RTX 3050"),
        ({"published": None}, "faster"),
        ({"published": None, "claim": "same"}, "no gain"),
        ({"published": None, "claim": "slower"}, "slower"),
        ({"published": None, "claim": None}, ""),
        ({"claim": "same"}, "1.149x on RTX 3050: no gain"),
        ({"published": PublishedStep("GPU", 0.5, "time_us"), "claim": "slower"}, "0.5000x on GPU"),
    ],
)
def test_the_claim_shows_the_published_ratio_or_else_the_expected_direction(fields, cell):
    (row,) = rows(in_markdown(finding(idea(**fields))))
    assert row[4] == cell


@pytest.mark.parametrize(
    ("fields", "cell"),
    [
        ({"verdict": "same"}, "1.021x ± 0.10 % ="),
        ({"verdict": "unclear"}, "1.021x ± 0.10 % ?"),
        ({"speedup": Speedup(2.0, None, "profiled")}, "2x under the profiler"),
        ({"speedup": None, "verdict": None}, "not measured"),
        ({"speedup": None, "verdict": None, "refused": ["the GPU differs"]}, "refused"),
    ],
)
def test_the_step_here_says_how_sure_it_is_and_how_it_was_measured(fields, cell):
    (row,) = rows(in_markdown(finding(idea(**fields))))
    assert row[5] == cell


def rows(page):
    """The cells of a table in Markdown, below its header."""
    table = page.split("\n\n")[1].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def test_the_reason_for_a_refused_step_stands_below():
    refused = idea(refused=["clock control differs: none against base"])
    assert "2 against 1 refused: clock control differs: none against base" in text(refused).splitlines()


def test_csv_has_a_row_a_step_with_figures_in_full():
    first, second = csv.DictReader(
        io.StringIO(in_csv(finding(idea(2), idea(3, published=None, speedup=None, verdict=None))))
    )
    assert (float(first["published"]), first["published_gpu"]) == (1.1489, "NVIDIA GeForce RTX 3050")
    assert (float(first["speedup_low"]), float(first["speedup_high"])) == (1.0204, 1.0225)
    assert (second["published"], second["speedup"], second["story"]) == ("", "", "holds")


def test_the_short_form_keeps_what_is_claimed_first_and_counts_the_rest():
    many = [idea(number, claim="faster" if number > 30 else None, idea="x" * 150) for number in range(1, 40)]
    short = brief(finding(*many))
    assert len(to_json(short)) < 8000
    assert set(range(31, 39)) <= {one.kernel for one in short.ideas}
    assert short.left_out["ideas"] == len(many) - len(short.ideas) > 0


def test_names_from_anywhere_stay_text(hostile_names):
    for name in hostile_names:
        hostile = idea(
            name=name, idea=name, reason=name, refused=[name], published=PublishedStep(name, 2.0, "gflops")
        )
        for page in (text(hostile, gpu=name), in_markdown(finding(hostile)), in_csv(finding(hostile))):
            assert all(character == "\n" or character.isprintable() for character in page)
        types = {token.type for token in markdown.parse(in_markdown(finding(hostile)))}
        assert not types & {"html_block", "fence", "code_block", "hr"}
