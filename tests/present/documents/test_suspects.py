"""Suspects on a page: weight, name and reason of each, and what could not be judged."""

from __future__ import annotations

import json

import pytest
from markdown_it import MarkdownIt

from profiler.analyse.findings import Suspect
from profiler.present.document import Document, Records
from profiler.present.documents.parts.suspects import suspect_blocks
from profiler.present.render.markdown import document_markdown
from profiler.present.render.terminal import Window, document_text

SUSPECTS = [
    Suspect("launch-too-short-to-trust", "It took 5 ns.", {"duration_ns": 5.0}, None),
    Suspect("hbm-bound", "Device memory moves 4,240 GB/s, 88 % of its peak, " * 3, {}, 88.4),
    Suspect("latency-bound", "For 46 % of the time no warp can issue.", {}, 9.6),
]


def text_of(suspects=SUSPECTS, missing=(), width=80, colour=False):
    return document_text(document_of(suspects, missing), Window(colour, width))


def document_of(suspects, missing):
    return Document("", [suspect_blocks("it", suspects, missing)], Records((), ()))


def test_each_suspect_has_its_weight_its_name_and_its_reason():
    lines = text_of().splitlines()
    assert "     ?  launch-too-short-to-trust" in lines
    assert "  88 %  hbm-bound" in lines
    assert lines[-2:] == ["  10 %  latency-bound", "        For 46 % of the time no warp can issue."]


@pytest.mark.parametrize("width", [40, 80, 200, None])
def test_the_page_fits_the_window_and_stays_readable(width):
    missing = ["issue_active_pct", "shared_load_wavefronts"]
    assert max(map(len, text_of(missing=missing, width=width).splitlines())) <= min(width or 100, 100)


def test_colour_changes_nothing_but_colour():
    coloured = text_of(colour=True)
    assert "\x1b[1mhbm-bound\x1b[0m" in coloured
    assert coloured.replace("\x1b[1m", "").replace("\x1b[0m", "") == text_of()


def test_what_is_missing_is_named_and_counted():
    missing = [f"metric_{number}" for number in range(8)]
    page = " ".join(text_of(missing=missing).split())
    assert page.endswith(
        "these metrics are missing: metric_0, metric_1, metric_2, metric_3, metric_4 and 3 more"
    )
    assert "want of" not in text_of()


def test_no_suspect_is_told_apart_from_no_counters():
    assert "nothing stands out" in text_of([])
    without = text_of([], ["issue_active_pct"])
    assert "nothing stands out" not in without
    assert "issue_active_pct" in without


def test_markdown_is_one_table_and_what_is_missing():
    page = document_markdown(document_of(SUSPECTS, ["l2_hit_pct"]))
    tokens = MarkdownIt().enable("table").parse(page)
    assert [token.type for token in tokens].count("tr_open") == 1 + len(SUSPECTS)
    assert page.splitlines()[-1].endswith("l2\\_hit\\_pct")


def test_show_and_compare_print_the_same_suspects_of_the_same_kernel(prof_here, recorded):
    in_full = ("--full", "--format", "json")
    (shown,) = json.loads(prof_here("--runs", recorded.root, "show", "6", *in_full).stdout)["kernels"]
    compared = json.loads(prof_here("--runs", recorded.root, "compare", "5", "6", *in_full).stdout)
    assert shown["suspects"] == compared["suspects"] != []
    for page in (
        prof_here("--runs", recorded.root, "show", "6").stdout,
        prof_here("--runs", recorded.root, "compare", "5", "6").stdout,
    ):
        for suspect in shown["suspects"]:
            assert f"{suspect['weight_pct']:.0f} %  {suspect['name']}" in page
            assert suspect["sentence"] in " ".join(page.split())
