"""Two lists side by side: aligned, in colour if asked, and no cell ever cut."""

import re
import unicodedata

import pytest
from hypothesis import given, strategies as st

from profiler.present.document import CodeBlock, CodeCell, CodeColumn
from profiler.present.render.terminal_code import render_sides

COLUMNS = (
    CodeColumn("executed", True, gives_way=1),
    CodeColumn("k-step", True),
    CodeColumn("opcode"),
    CodeColumn("source", gives_way=0),
)


def row(*texts, bits=None):
    return tuple(CodeCell(text, bits) for text in texts)


STRETCHES = [
    [
        [row("2,097,152", "8", "LDS", "59"), None],
        [row("2,097,152", "2", "LDS.128", "61"), row("2,097,152", "4", "LDS.128", "64")],
    ],
    [[None, row("8,192", "0.0625", "BAR.SYNC.DEFER_BLOCKING", "69")]],
]


def page(width=None, colour=False, titles=("gemm 5", "gemm 6"), stretches=STRETCHES):
    return render_sides(CodeBlock(titles, COLUMNS, stretches), colour, width)


def test_rows_that_belong_together_are_on_one_line():
    lines = page().splitlines()
    assert lines[0].split() == ["gemm", "5", "│", "gemm", "6"]
    assert lines[3].split() == ["2,097,152", "2", "LDS.128", "61", "│", "2,097,152", "4", "LDS.128", "64"]
    assert len({line.index("│") for line in lines if "│" in line}) == 1
    assert re.fullmatch("─+┼─+", lines[4])


def test_columns_give_way_in_order_and_numbers_stay_whole():
    wide, narrower, narrow = (page(width) for width in (None, 85, 70))
    titles = [text.splitlines()[1].split() for text in (wide, narrower, narrow)]
    assert ["source" in one for one in titles] == [True, False, False]
    assert ["executed" in one for one in titles] == [True, True, False]
    assert max(map(len, narrow.splitlines())) <= 70


def test_columns_without_room_are_named_with_the_width_that_shows_them():
    needed = max(map(len, page().splitlines()))
    assert "no room" not in page(width=needed)
    for width, names in ((needed - 1, "the column source"), (70, "the columns executed, source")):
        assert f"no room for {names}: widen the window to {needed} characters" in " ".join(
            page(width).split()
        )


def test_two_sides_too_wide_for_the_window_follow_each_other_with_all_columns_and_no_gaps():
    first, second = page(width=50).split("\n\n")
    assert [line.split() for line in first.splitlines()] == [
        ["gemm", "5"],
        ["executed", "k-step", "opcode", "source"],
        ["2,097,152", "8", "LDS", "59"],
        ["2,097,152", "2", "LDS.128", "61"],
    ]
    assert [line.split()[-1] for line in second.splitlines()][2:] == ["64", second.splitlines()[3], "69"]


def test_a_column_that_no_row_fills_is_left_out():
    assert "source" not in page(stretches=[[[row("1", "2", "LDS", ""), None]]])


def test_the_width_of_an_access_has_a_colour():
    coloured = page(
        colour=True,
        stretches=[[[row("1", "8", "LDS", "59", bits=64), row("1", "2", "LDS.128", "64", bits=128)]]],
    )
    assert "\x1b[36mLDS\x1b[0m" in coloured
    assert "\x1b[1;32mLDS.128\x1b[0m" in coloured
    assert "\x1b" not in page()


cells = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
sides = st.none() | st.tuples(cells, cells, cells, cells).map(lambda texts: row(*texts))


@given(st.lists(st.tuples(sides, sides), max_size=6), st.none() | st.integers(1, 120))
def test_whatever_the_width_nothing_is_cut_and_nothing_acts_on_a_terminal(rows, width):
    text = page(width, stretches=[rows])
    lines = text.splitlines()
    assert {unicodedata.category(c) for c in text if c != "\n"}.isdisjoint({"Cc", "Cf", "Zl", "Zp"})
    opcodes = [side[2].text for pair in rows for side in pair if side and side[2].text.isalnum()]
    assert all(any(opcode in line for line in lines) for opcode in opcodes)


@pytest.mark.parametrize("width", [1, 10, 20])
def test_one_side_alone_is_printed_whole_however_narrow_the_window(width):
    assert "BAR.SYNC.DEFER_BLOCKING" in page(width)
