"""Tables on a terminal: aligned, no wider than they must be, and never a figure cut short."""

import re

import pytest

from profiler.present.document import Caution, Column, Document, Facts, Folded, Row, Table, Text
from profiler.present.documents.parts.rows import rows_document
from profiler.present.render.terminal import Window, document_text, wants_colour
from profiler.present.render.terminal_table import render_table, styled, wrapped

HEADER = ("metric", "unit", "value", "verdict")
ROWS = [
    ("duration_ns", "ns", "7,606,696", "better"),
    ("x", "%", "1", "same (no difference that would matter)"),
]


def table_text(
    header,
    rows,
    *,
    right=(),
    fold=None,
    shrink=None,
    optional=(),
    kept=(),
    styles=None,
    colour=False,
    width=None,
):
    columns = [
        Column(title, right=place in right, folds=place == fold, shrinks=place == shrink, kept=place in kept, stays=place if place in optional else None)
        for place, title in enumerate(header)
    ]  # fmt: skip
    return render_table(columns, rows, styles or [""] * len(rows), colour, width).text


def words(text):
    return set(re.findall(r"\S+", text))


def test_columns_line_up_on_the_side_that_was_asked_for():
    lines = table_text(HEADER, ROWS, right=(2,)).splitlines()
    assert len(lines) == 3
    assert lines[1].index("7,606,696") + len("7,606,696") == lines[2].index(" 1 ") + 2
    assert lines[0].index("verdict") == lines[1].index("better") == lines[2].index("same")


def test_into_a_pipe_nothing_is_folded():
    long = "a" * 150_000
    assert long in table_text(("name", "x"), [(long, "1")], fold=0)


@pytest.mark.parametrize("width", [1, 20, 40, 60, 80, 200])
def test_no_figure_is_ever_cut_however_narrow_the_window(width):
    table = table_text(HEADER, ROWS, right=(2,), fold=3, optional=(1,), width=width)
    assert {"7,606,696", "value"} <= {word.strip(":;") for word in words(table)}
    assert {"duration_ns"} <= words(table) or {"duration_", "ns"} <= words(table)


def test_what_stands_for_something_longer_is_as_wide_as_any_other_sentence():
    """Also into a pipe, where sentences have a width of their own."""
    sentence = "3 more with --full: " + ", ".join(["barriers at reduction_kernel.cu:125 (7 %)"] * 4)
    document = Document("", [[Folded("3 more", [Text("all of them")], sentence)], [Text(sentence)]])
    short, whole = document_text(document, Window()).split("\n\n")
    assert short == whole
    assert "\n" in short


def test_the_longest_names_take_two_lines_before_a_column_is_left_out():
    rows = [("shared_store_wavefronts", "86.11"), ("duration_ns", "3.629"), ("issue_active_pct", "71.52")]
    lines = table_text(("metric", "value"), rows, right=(1,), optional=(1,), width=28).splitlines()
    assert lines == [
        "metric                 value",
        "shared_store_          86.11",
        "  wavefronts",
        "duration_ns            3.629",
        "issue_active_pct       71.52",
    ]


@pytest.mark.parametrize("width", [30, 47, 80])
def test_a_name_without_a_place_to_break_goes_on_within_the_window(width):
    """Such as a hash: the lines on which it goes on are indented, and no longer than the first."""
    table = table_text(("name", "report"), [("mine", "d74a258a8c7e3a26" * 9)], fold=1, width=width)
    assert max(map(len, table.splitlines())) <= width
    assert "".join(table.split()).endswith("d74a258a8c7e3a26" * 9)


def test_where_no_column_is_left_to_give_way_every_text_and_title_goes_on_below():
    header = ("factor of the duration", "unit", "median of all processes")
    rows = [("stall_short_scoreboard", "cycle/issue", "0.4629"), ("  warps_in_use", "warp", "2.268")]
    assert table_text(header, rows, right=(2,), width=34).splitlines() == [
        "factor of     unit       median of",
        "the duration                   all",
        "                         processes",
        "stall_short_  cycle/        0.4629",
        "  scoreboard    issue",
        "  warps_in_   warp           2.268",
        "    use",
    ]


SEVERAL_KERNELS = (
    ("kernel", "median", "threshold", "verdict", "seed"),
    [("6", "3.629 ms", "1.0e-04", "correct", "7"), ("7", "3.030 ms", "2.0e-04", "wrong", "8")],
)


def test_at_last_other_columns_go_below_each_row_those_on_the_right_first_but_never_the_verdict():
    table = table_text(*SEVERAL_KERNELS, right=(0, 1, 2), kept=(3,), width=30)
    assert table.splitlines() == [
        "kernel    median  verdict",
        "     6  3.629 ms  correct",
        "    threshold: 1.0e-04; seed:",
        "    7",
        "     7  3.030 ms  wrong",
        "    threshold: 2.0e-04; seed:",
        "    8",
    ]


def test_what_is_kept_goes_below_last_so_that_no_line_is_wider_than_the_window():
    header = ("kernel", "recording", "allowed", "cause")
    rows = [("6", "of-the-whole-night", "+2 %", "loads-not-overlapped")]
    table = table_text(header, rows, kept=(1, 3), width=48)
    assert table.splitlines() == [
        "kernel  recording           cause",
        "6       of-the-whole-night  loads-not-overlapped",
        "    allowed: +2 %",
    ]
    table = table_text(header, rows, kept=(1, 3), width=47)
    assert table.splitlines() == [
        "kernel  cause",
        "6       loads-not-overlapped",
        "    recording: of-the-whole-night; allowed:",
        "    +2 %",
    ]


def test_a_column_without_room_that_has_one_value_in_all_rows_is_said_once():
    header, rows = SEVERAL_KERNELS
    alike = [(*row[:2], "1.0e-04", *row[3:]) for row in rows]
    assert table_text(header, alike, right=(0, 1, 2), kept=(3,), optional=(4,), width=30).splitlines() == [
        "kernel    median  verdict",
        "     6  3.629 ms  correct",
        "     7  3.030 ms  wrong",
        "in every row: threshold",
        "  1.0e-04",
        "no room for the column seed:",
        "  widen the window to 42",
        "  characters, or --format",
        "  markdown",
    ]


def test_a_spare_column_without_room_is_left_out_whatever_its_values():
    """A ladder has one line for each rung, and `prof show` has the rest."""
    columns = [Column("rung"), Column("issue", spare=True), Column("binding", kept=True)]
    rows = [("4", "48.4", "loads-not-overlapped"), ("5", "68.9", "loads-not-overlapped")]
    lines = render_table(columns, rows, ["", ""], colour=False, width=28).text.splitlines()
    assert lines[:3] == ["rung  binding", "4     loads-not-overlapped", "5     loads-not-overlapped"]
    assert " ".join(lines[3:]).startswith("no room for the column   issue:")


def test_a_long_text_stands_below_its_row_rather_than_in_many_lines_beside_it():
    short = [("4", "tileby1", "a thread computes a column of 8 elements"), ("5", "tileby2", "a square")]
    long = [(*short[0][:2], f"{short[0][2]}: one element of B serves eight FMAs"), short[1]]
    header = ("kernel", "name", "idea")
    assert table_text(header, short, fold=2, width=34).splitlines() == [
        "kernel  name     idea",
        "4       tileby1  a thread computes",
        "                 a column of 8",
        "                 elements",
        "5       tileby2  a square",
    ]
    assert table_text(header, long, fold=2, width=34).splitlines() == [
        "kernel  name",
        "4       tileby1",
        "    idea: a thread computes a",
        "    column of 8 elements: one",
        "    element of B serves eight FMAs",
        "5       tileby2",
        "    idea: a square",
    ]


def test_the_ids_of_runs_stay_whole_in_plain_rows():
    run = "20261123t093038z-gemm-6-dff79ca0222e"
    document = rows_document(("run_id", "kernel", "launches"), [(run, "a_kernel_with_a_very_long_name", 15)])
    assert run in words(document_text(document, Window(width=45)))


def test_plain_rows_say_a_shared_value_once_and_keep_names_whole_that_differ_in_their_middle():
    run = "20261123t093038z-gemm-6-dff79ca0222e"
    names = [f"derived__avg_thread_executed_{middle}_with_predicate_true" for middle in ("inst", "memory")]
    document = rows_document(("run_id", "metric", "value"), [(run, name, 1.5) for name in names])
    text = document_text(document, Window(width=50))
    assert " ".join(text.split()).endswith(f"in every row: run_id {run}, value 1.5")
    assert all(name in text.replace("\n  ", "") for name in names)
    assert "…" not in text
    other = rows_document(("run_id", "metric"), [(run, names[0]), ("another", names[1])])
    assert run in document_text(other, Window(width=70)).split()
    assert "in every row" not in document_text(document, Window(width=200))


@pytest.mark.parametrize("place", ["triton_mm.py:16", "offset 0x1b0 (LDG.E)", "a_file.cu:7, b_file.cu:9"])
def test_a_place_is_broken_at_spaces_only(place):
    """People search for it, and click on it."""
    text = table_text(("share", "top cause"), [("67.8 %", f"loads-not-overlapped at {place}")], width=29)
    assert "loads-not-overlapped" in text.split()
    assert set(place.split()) <= set(text.split())


def test_a_row_alone_says_everything():
    header, rows = SEVERAL_KERNELS
    table = table_text(header, rows[:1], right=(0, 1, 2), kept=(3,), optional=(2, 4), width=30)
    assert "no room" not in table
    assert "    threshold: 1.0e-04; seed:\n    7" in table


def test_a_column_that_may_get_shorter_but_is_short_folds_before_another_is_left_out():
    rows = [("launches", "compute_capability", "for example 9.0"), ("launches", "grid_x", "blocks")]
    lines = table_text(("table", "column", "meaning"), rows, fold=2, shrink=1, width=32).splitlines()
    assert lines == [
        "table     column        meaning",
        "launches  compute_      for",
        "            capability  example",
        "                        9.0",
        "launches  grid_x        blocks",
    ]


def test_names_that_people_copy_stay_whole():
    run = "20261123t093038z-gemm-6-dff79ca0222e"
    table = table_text(("run id", "cause"), [(run, "loads-not-overlapped")], kept=(1,), width=30)
    assert {run, "loads-not-overlapped"} <= words(table)


def test_a_figure_stays_with_its_unit_where_its_cell_folds():
    lines = table_text(("found",), [("the kernel takes 3.629 ms a launch",)], fold=0, width=20).splitlines()
    assert lines == ["found", "the kernel takes", "3.629 ms a launch"]


def test_prose_below_a_row_that_folds_follows_all_its_lines():
    columns = [Column("found", folds=True), Column("done", prose=True)]
    table = Table(columns, [Row(("two of its files are missing", "set aside")), Row(("a note", ""))])
    lines = document_text(Document("", [[table]]), Window(width=20)).splitlines()
    assert lines == ["found", "two of its files are", "missing", "    set aside", "a note"]


def test_the_foldable_column_gives_way_first_then_the_optional_one_goes():
    wide = table_text(HEADER, ROWS, fold=3, optional=(1,), width=60)
    assert "unit" in words(wide)
    assert len(wide.splitlines()) > 3
    narrow = table_text(HEADER, ROWS, fold=3, optional=(1,), width=45)
    assert "unit" not in words(narrow.splitlines()[0])
    assert "no room for the column unit: widen the window to 48 characters" in " ".join(narrow.split())
    assert max(map(len, wide.splitlines())) <= 60
    assert max(map(len, narrow.splitlines())) <= 45


def test_the_width_that_a_note_names_shows_every_column_and_one_less_does_not():
    said = " ".join(table_text(HEADER, ROWS, right=(2,), optional=(1,), width=30).split())
    enough = int(re.search(r"widen the window to (\d+) characters", said)[1])
    assert "no room" not in table_text(HEADER, ROWS, right=(2,), optional=(1,), width=enough)
    assert "no room" in table_text(HEADER, ROWS, right=(2,), optional=(1,), width=enough - 1)


def test_names_get_shorter_than_they_should_before_a_line_is_wider_than_the_window():
    rows = [("63 %", "a_kernel_with_a_very_long_name", "registers-limit-occupancy")]
    header = ("share", "kernel", "cause")
    table = table_text(header, rows, shrink=1, kept=(1, 2), width=46)
    assert max(map(len, table.splitlines())) <= 46
    assert "no room" not in table


def test_plain_rows_have_their_figures_on_the_right():
    document = rows_document(("opcode", "executed"), [("LDC", 2873430027), ("BRA", None), ("S2R", 12)])
    assert document_text(document, Window()).splitlines() == [
        "opcode    executed",
        "LDC     2873430027",
        "BRA",
        "S2R             12",
    ]


def test_a_value_too_long_for_the_window_stays_below_the_others():
    values = ["sm__cycles_elapsed.max", "smsp__average_warps_issue_stalled_mio_throttle.ratio"]
    text = document_text(Document("", [[Facts([("metrics", values)])]]), Window(width=40))
    assert text.splitlines() == [f"metrics  {values[0]}", f"         {values[1]}"]


def test_wide_characters_count_as_two_columns():
    first, second = table_text(("name", "x"), [("雪雪", "1"), ("abcd", "1")]).splitlines()[1:]
    assert first.index("1") == second.index("1") - 2


def test_a_styled_line_of_wide_characters_stays_one_line():
    assert styled("雪" * 20, "bold", colour=True) == f"\x1b[1m{'雪' * 20}\x1b[0m"


def test_a_cell_cannot_break_out_of_its_row():
    hostile = ("one\ntwo\x1b[2J", "[bold]x[/bold]")
    for line in table_text(hostile, [hostile]).splitlines():
        assert line.split() == ["one\\ntwo\\x1b[2J", "[bold]x[/bold]"]


def test_colour_appears_only_when_asked_for():
    assert "\x1b[" not in table_text(HEADER, ROWS, styles=["green", "dim"])
    assert "\x1b[32m" in table_text(HEADER, ROWS, styles=["green", "dim"], colour=True)


@pytest.mark.parametrize(
    ("environment", "terminal", "wanted"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"TERM": "dumb"}, True, False),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
    ],
)
def test_who_gets_colour(monkeypatch, environment, terminal, wanted):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert wants_colour(terminal) is wanted


def test_a_long_line_of_code_does_not_turn_the_quotes_of_what_follows_around():
    """What stands between two quotations would count as one, and never be broken."""
    code = "`__device__ float polish(float x) { return x * x + 1.0f / (x + 3.0f); }`"
    sentence = f"At zoo.cu:26 {code}. Try: Use the fast forms of the functions (`__expf`, `__logf`), and look up the rest."
    lines = wrapped(sentence, 60).splitlines()
    assert max(map(len, lines)) <= 60
    assert " ".join(line.strip() for line in lines) == sentence


def test_a_command_stays_whole_at_any_length_so_that_a_shell_runs_all_of_it():
    command = (
        "`prof compare reports/of/the/nightly/before.ncu-rep reports/of/the/nightly/after.ncu-rep -k scale`"
    )
    lines = wrapped(f"Two launches are too few. {command} shows all about it.", 60).splitlines()
    assert lines == ["Two launches are too few.", f"  {command}", "  shows all about it."]


def test_a_figure_of_one_digit_stays_with_its_unit_and_not_with_the_word_before_it():
    assert wrapped("Warps of it spend 9 % of their time there.", 18).splitlines()[0] == "Warps of it spend"
    assert "  9 % of their" in wrapped("Warps of it spend 9 % of their time there.", 18)


def test_an_interval_stays_with_its_sign():
    assert wrapped("It is so certain: ± < 0.01 %.", 24).splitlines()[-1].strip() == "± < 0.01 %."


def test_a_path_that_is_wider_than_the_window_leaves_no_caution_alone_on_its_line():
    path = "/" + 50 * "x"
    lines = document_text(
        Document("", [[Caution(f"{path}: the clock moved")]]), Window(width=40)
    ).splitlines()
    assert lines == [f"caution: {path}:", "  the clock moved"]
    (line,) = document_text(Document("", [[Caution("the clock moved")]]), Window(width=40)).splitlines()
    assert line == "caution: the clock moved"
