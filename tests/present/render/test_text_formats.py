"""JSON, CSV and Markdown hold any text and stay what they are."""

import csv
import io
import json
import math
import re

import pytest
from hypothesis import given, strategies as st
from markdown_it import MarkdownIt

from profiler.present.document import Column, Records, Row, Table
from profiler.present.render.csv import records_csv
from profiler.present.render.html_table import table_html, text_html
from profiler.present.render.json import to_json
from profiler.present.render.markdown import markdown_sentence, markdown_table, markdown_text
from profiler.text import printable


def to_csv(header, rows):
    return records_csv(Records(header, rows))


any_text = st.text(
    st.characters(codec=None, exclude_categories=()) | st.sampled_from("|`*_[]<>&\\#\n\r=+-@~!:")
)
rows = st.lists(st.tuples(any_text, any_text, st.none() | st.floats() | st.integers()), max_size=4)
markdown = MarkdownIt("commonmark").enable(["table", "strikethrough"])


@given(any_text)
def test_json_is_ascii_without_control_characters_and_reads_back(text):
    encoded = to_json({"name": text})
    assert encoded.isascii()
    assert all(character == "\n" or character.isprintable() for character in encoded)
    assert json.loads(encoded) == {"name": text}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | any_text,
        lambda inner: st.lists(inner) | st.dictionaries(any_text, inner),
    )
)
def test_json_reads_back_however_it_is_nested(value):
    assert json.loads(to_json(value)) == value


def test_an_object_that_holds_no_other_is_one_line_of_json():
    finding = {
        "version": 1,
        "title": "x",
        "side": {"gpu": "H200", "ci": [1, 2]},
        "metrics": [{"name": "a"}, {"name": "b"}],
        "none": [],
    }
    assert to_json(finding).splitlines() == [
        "{",
        ' "version":1,"title":"x",',
        ' "side":{"gpu":"H200","ci":[1,2]},',
        ' "metrics":[',
        '  {"name":"a"},',
        '  {"name":"b"}',
        " ],",
        ' "none":[]',
        "}",
    ]


def test_infinite_numbers_and_nan_become_null_in_json():
    encoded = to_json({"a": math.nan, "b": [math.inf, (-math.inf, 1.5)]})
    assert json.loads(encoded, parse_constant=pytest.fail) == {"a": None, "b": [None, [None, 1.5]]}


def test_numbers_as_keys_become_texts_which_json_has_alone():
    assert json.loads(to_json({"launches": {6: {"ns": 1.5}, 7: 2.5}})) == {
        "launches": {"6": {"ns": 1.5}, "7": 2.5}
    }


@given(rows)
def test_csv_has_one_line_a_row_and_reads_back_as_printable_text(rows):
    text = to_csv(("name", "text", "value"), rows)
    assert text.count("\n") == len(rows)
    header, *read = csv.reader(io.StringIO(text), strict=True)
    assert header == ["name", "text", "value"]
    for row, given_row in zip(read, rows, strict=True):
        for cell, value in zip(row[:2], given_row[:2], strict=True):
            assert cell.removeprefix("'") == printable(value).removeprefix("'")


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20"])
def test_a_text_that_a_spreadsheet_would_run_is_marked_as_text(start):
    assert to_csv(("name",), [(f"{start}1+1",)]).splitlines()[1].strip('"').startswith("'")


@pytest.mark.parametrize("start", ["\t", "\r", "\n"])
def test_white_space_cannot_hide_a_formula(start):
    assert to_csv(("name",), [(f"{start}=1+1",)]).splitlines()[1].startswith("\\")


def test_csv_numbers_keep_every_digit():
    assert float(to_csv(("x",), [(0.1 + 0.2,)]).splitlines()[1]) == 0.1 + 0.2
    assert to_csv(("x",), [(-(2**60),)]).splitlines()[1] == str(-(2**60))


def cells_of(text):
    """The text of every table cell, row by row, and nothing but tables and plain text in the page."""
    read, row = [], []
    for token in markdown.parse(text):
        assert token.type.split("_")[0] in ("table", "thead", "tbody", "tr", "th", "td", "inline")
        if token.type == "tr_open":
            row = []
            read.append(row)
        if token.type == "inline":
            assert {child.type for child in token.children} <= {"text", "text_special"}
            row.append("".join(child.content for child in token.children))
    return read


@given(st.lists(st.tuples(any_text, any_text), max_size=4))
def test_a_markdown_table_shows_every_name_as_itself(rows):
    header, *read = cells_of(markdown_table(("one", "two"), rows, right=(1,)))
    assert header == ["one", "two"]
    for row, given_row in zip(read, rows, strict=True):
        shown = [cell.replace("\N{ZERO WIDTH SPACE}", "") for cell in row]
        assert shown == [printable(cell).strip() for cell in given_row]


@given(any_text)
def test_text_outside_of_a_table_is_text_as_well(text):
    tokens = markdown.parse(f"### {markdown_text('x' + text)}")
    assert [token.type for token in tokens] == ["heading_open", "inline", "heading_close"]
    assert {child.type for child in tokens[1].children} <= {"text", "text_special"}


@given(any_text)
def test_a_sentence_is_text_and_code_whatever_names_are_in_it(text):
    tokens = markdown.parse(f"### {markdown_sentence('x' + text)}")
    assert [token.type for token in tokens] == ["heading_open", "inline", "heading_close"]
    assert {child.type for child in tokens[1].children} <= {"text", "text_special", "code_inline"}


@pytest.mark.parametrize("in_table", [False, True])
def test_what_stands_between_backticks_is_code_to_the_letter(in_table):
    text = "Use `__launch_bounds__(256)` or `a|b*c`, not x_1*y_2; one ` alone is itself."
    sentence = markdown_sentence(text, in_table=in_table)
    page = f"| why |\n| --- |\n| {sentence} |" if in_table else sentence
    shown = next(token for token in reversed(markdown.parse(page)) if token.type == "inline").children
    assert [one.content for one in shown if one.type == "code_inline"] == ["__launch_bounds__(256)", "a|b*c"]
    seen = "".join(f"`{one.content}`" if one.type == "code_inline" else one.content for one in shown)
    assert seen == text


@pytest.mark.parametrize(
    "address", ["https://evil.example", "www.evil.example", "WWW.evil.example", "HTTP://x.example"]
)
def test_github_makes_no_link_of_an_address_in_a_name(address):
    assert "://" not in markdown_text(address)
    assert "www." not in markdown_text(address).lower()


@pytest.mark.parametrize("name", ["@user", "a @user/team", "#12", "owner/project#12", "GH-12", "gh-12"])
def test_github_finds_nobody_and_no_issue_in_a_name(name):
    """It looks in the text that a reader sees, whatever was written to show it."""
    (token,) = (one for one in markdown.parse(markdown_text(name)) if one.type == "inline")
    seen = "".join(child.content for child in token.children)
    assert seen.replace("\N{ZERO WIDTH SPACE}", "") == name
    assert re.search(r"@\w|#\d|GH-\d", seen, re.IGNORECASE) is None


def test_a_page_shows_the_name_of_a_file_over_a_column_as_printable_text():
    """Two reports that are compared may have any names, and each heads a column."""
    table = Table([Column("metric"), Column("mine\x1b]0;x\x07\u202e.ncu-rep")], [Row(["time", "1 ms"])])
    html = str(table_html(table, "compared", ()))
    assert "mine\\x1b]0;x\\x07\\u202e.<wbr>ncu-rep</th>" in html
    assert all(character == "\n" or character.isprintable() for character in html.replace("\xa0", " "))


def test_a_page_breaks_a_list_of_counters_between_their_parts_and_no_change_of_a_count():
    listed = "`ncu --metrics gpu__time_duration.sum,smsp__warps_active.avg.per_cycle_active`"
    parts = re.split("<wbr>", str(text_html(listed)))
    assert parts[1:] == [
        "time_",
        "duration.",
        "sum,",
        "smsp__",
        "warps_",
        "active.",
        "avg.",
        "per_",
        "cycle_",
        "active</code>",
    ]
    assert text_html("gpu__time_duration.sum") == "gpu__time_duration.sum", "a short name needs no break"
    opcodes = Table([Column("kind"), Column("opcodes", prose=True)], [Row(["moves", "MOV 4 -> 2, SEL 1"])])
    assert "MOV 4\N{NO-BREAK SPACE}→\N{NO-BREAK SPACE}2, SEL 1" in str(table_html(opcodes, "", ()))
    assert text_html("± < 0.01 %") == "± &lt; 0.01 %".replace(" ", "\N{NO-BREAK SPACE}")
