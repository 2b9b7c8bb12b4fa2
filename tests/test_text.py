"""Text that is safe to print, and numbers that a person can read."""

import math
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

import profiler
from profiler.present.style import readable_unit
from profiler.text import (
    change_text,
    common_start,
    date_of,
    duration,
    ends_of_range,
    first_of,
    half_width,
    lines_of_first,
    listed,
    mean_count,
    names_like,
    newest_first,
    number,
    printable,
    relative,
    saving,
    share_of_whole,
    short_place,
    shortened,
    signed,
    size,
    times,
    unit_for_people,
    whole_percent,
    without_capital,
)


@pytest.mark.parametrize(
    ("names", "text"), [(["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_names_are_listed_as_in_a_sentence(names, text):
    assert listed(names) == text


@pytest.mark.parametrize(
    ("between", "most", "text"),
    [(", ", 3, "a, b, c"), (", ", 2, "a, b and 1 more"), ("; ", 3, "a; b; c"), ("; ", 2, "a; b; and 1 more")],
)
def test_the_first_of_many_are_named_and_the_others_counted(between, most, text):
    assert first_of(["a", "b", "c"], most, between) == text


@pytest.mark.parametrize(("most", "lines"), [(2, ["  a", "  b"]), (1, ["  a", "  and 1 more"])])
def test_below_an_error_each_stands_on_a_line_of_its_own(most, lines):
    assert lines_of_first(["a", "b"], most) == lines


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [("", "gemm", 0), ("gemm", "copy", 0), ("gemm", "gelu", 2), ("gemm", "gemm-6", 4), ("gemm", "gemm", 4)],
)
def test_two_texts_begin_alike_until_they_differ_or_one_ends(one, other, alike):
    assert common_start(one, other) == common_start(other, one) == alike
    assert common_start(list(one), list(other)) == alike, "words are compared as characters are"


@pytest.mark.parametrize(
    ("typed", "ends"),
    [
        ("12", (12, 12)),
        (" 4-6 ", (4, 6)),
        ("4-4", (4, 4)),
        ("6-4", None),
        ("4-", None),
        ("-4", None),
        ("gemm-6", None),
        ("", None),
        ("1234567890", None),  # no kernel, and no launch, has such a number
    ],
)
def test_a_range_that_a_person_types_is_a_number_or_two_in_order(typed, ends):
    assert ends_of_range(typed) == ends


any_text = st.text(st.characters(codec=None, exclude_categories=()))


@given(any_text)
def test_nothing_that_a_terminal_would_act_on_is_left(text):
    categories = {unicodedata.category(character) for character in printable(text)}
    assert not categories & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    printable(text).encode()


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"])))
def test_letters_of_every_script_stay_as_they_are(text):
    assert printable(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31m", "\\x1b[31m"),
        ("a\nb\r\tc", "a\\nb\\r\\tc"),
        ("\x9b", "\\x9b"),
        ("\u202e", "\\u202e"),
        ("\U000e0041", "\\U000e0041"),
        ("\udc80", "\\udc80"),
        ("größe 雪", "größe 雪"),
        ("::error::x", "\\x3a:error::x"),
        (" \u2003::Set-Output name=x::y", " \u2003\\x3a:Set-Output name=x::y"),
        ("##[error]x ##vso[y", "\\x23#[error]x \\x23#vso[y"),
        ("at::error::x ::std::y a##b", "at::error::x ::std::y a##b"),
    ],
)
def test_hidden_characters_and_commands_to_ci_are_shown_as_escapes(text, shown):
    assert printable(text) == shown


@given(any_text, st.integers(10, 120))
def test_a_long_name_keeps_its_start_and_its_end(text, width):
    short = shortened(text, width)
    assert len(short) <= width
    if len(printable(text)) > width:
        start, end = short.split("…", 1) if printable(text).count("…") == 0 else (short[:3], short[-3:])
        assert printable(text).startswith(start)
        assert printable(text).endswith(end)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("void f<1>(int, const float *, const float *, float *)", "void f<1>(int, const float …, float *)"),
        ("void f<1>(int, int, int, int, int, const float *, int)", "void f<1>(int, int, int, in… float *, int)"),
        ("abcdefghijklmnopqrstuvwxyzabcdefghijkl twelveletters", "abcdefghijklmnopqrstuvwxyza… twelveletters"),
        ("abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwx yz", "abcdefghijklmnopqrstuvwxyza…nopqrstuvwx yz"),
        ("one_name_without_a_space_that_is_longer_than_its_room", "one_name_without_a_space_th…_than_its_room"),
    ],
)  # fmt: skip
def test_the_end_of_a_long_name_begins_with_a_whole_word_if_one_is_near(text, shown):
    assert shortened(text, 42) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(57.001, "57"), (21.9999, "22"), (8.002, "8.002"), (0.5, "0.5000"), (12345.6, "12,346"), (0.0, "0")],
)
def test_a_count_that_rounds_to_a_whole_number_has_no_decimals(value, shown):
    assert mean_count(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "-"),
        (0, "0"),
        (1.7976931348623157e308, "1.798e+308"),
        (7606696.0, "7,606,696"),
        (55.5123, "55.51"),
        (0.00123456, "0.001235"),
        (0.99999, "1.000"),
        (0.0001, "0.0001000"),
        (0.00009999, "9.999e-05"),
        (-1.19e-7, "-1.190e-07"),
        (9.799e10, "9.799e+10"),
        (-387366912.0, "-387,366,912"),
        (1.5e12, "1.5e+12"),
        (math.nan, "nan"),
    ],
)
def test_a_number_has_four_significant_digits(value, shown):
    assert number(value) == shown


@given(st.floats(1e-9, 1e15) | st.floats(-1e15, -1e-9))
def test_a_number_as_shown_is_the_number_to_three_digits(value):
    assert float(number(value).replace(",", "")) == pytest.approx(value, rel=5.1e-4)


@pytest.mark.parametrize(
    ("ns", "shown"),
    [
        (186_496.0, "186.5 us"),
        (182_000.0, "182.0 us"),
        (999_949.0, "999.9 us"),
        (999_960.0, "1.000 ms"),
        (480.0, "480.0 ns"),
        (9.6e6, "9.600 ms"),
        (2.5e12, "2,500 s"),
        (0.0, "0.000 ns"),
    ],
)
def test_a_duration_has_four_significant_digits_also_where_the_last_are_zeros(ns, shown):
    assert duration(ns) == shown


@given(st.floats(1e-6, 1e9), st.floats(1e-6, 1e9))
def test_a_relative_change_has_the_sign_of_the_change(before, after):
    shown = relative(before, after)
    if shown.endswith("%") and before != after and shown not in ("+0.0 %", "-0.0 %"):
        assert shown.startswith("+" if after > before else "-")


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (2, 2, "0 %"),
        (0, 3, "from 0"),
        (2, 3, "+50.0 %"),
        (2, 1, "-50.0 %"),
        (1, 10.9, "+990.0 %"),
        (1, 40, "+3,900 %"),
        (-1, 40, "+4,100 %"),
        (1, 2e7, "+2e+09 %"),
        (3, 0, "-100.0 %"),
    ],
)
def test_a_relative_change(before, after, shown):
    assert relative(before, after) == shown


@pytest.mark.parametrize(
    ("change", "interval", "shown"),
    [
        (14.14, (13.58, 14.70), "+14.14 ± 0.56 %"),
        (-3.0, None, "-3.00 %"),
        (0.0, (-0.1, 0.1), "0 ± 0.10 %"),
        (2345.6, None, "+2,346 %"),
        (14.14, (14.1395, 14.1405), "+14.14 ± < 0.01 %"),
        (14.14, (14.14, 14.14), "+14.14 %"),
    ],
)
def test_a_change_stands_beside_half_its_interval(change, interval, shown):
    assert change_text(change, interval) == shown


def test_a_file_that_is_named_by_a_hash_keeps_eight_digits_of_it():
    cupy, inductor = "3a7f" * 10, "c2lib3trcxoojm2boiqno3535ogbhxrr3hlul2fsgt75kvcz47v5"
    assert (
        short_place(f"/tmp/x/{cupy}.cubin.cu:12, {cupy}.cubin.cu:14")
        == "/tmp/x/<CuPy source>:12, <CuPy source>:14"
    )
    assert short_place(f"{cupy}.cubin:12") == "3a7f3a7f….cubin:12"
    assert short_place(f"{inductor}.py:18, {inductor}.py:20") == "c2lib3tr….py:18, c2lib3tr….py:20"
    for name in ("06_vectorized.cu:66", "offset 0x1b0 (LDG.E)", f"{'fusedattentionbackwardkernel' * 2}.cu:3"):
        assert short_place(name) == name


def test_small_forms():
    assert (signed(3.0), signed(-3.0), signed(0.0)) == ("+3", "-3", "0")
    assert (half_width(None), half_width((1.0, 3.0)), half_width((0.0, 1.62e-4))) == ("", "1", "8.1e-05")
    assert (size(999), size(365_596), size(84e6), size(2e9)) == ("999 B", "365.6 kB", "84 MB", "2 GB")


@pytest.mark.parametrize(
    ("ratio", "shown"),
    [(1.0966, "1.10x"), (1.0, "1.00x"), (0.5274, "0.527x"), (12.31, "12.3x"), (107.4, "107x"), (999.4, "999x"), (999.6, "1,000x"), (2950.3, "2,950x")],
)  # fmt: skip
def test_a_factor_has_three_digits_whatever_they_are(ratio, shown):
    assert times(ratio) == shown


@pytest.mark.parametrize(
    ("unit", "largest", "read"),
    [
        ("ns", 3_179_000.0, (1e6, "ms")),
        ("byte/s", 4.5e12, (1e9, "GB/s")),
        ("byte/s", 33e12, (1e12, "TB/s")),
        ("GFLOP/s", 6_000.0, (1.0, "GFLOP/s")),
        ("inst", 2.1e9, (1e6, "million")),
        ("%", 99.0, (1.0, "%")),
    ],
)
def test_tables_and_charts_read_values_in_the_same_units(unit, largest, read):
    assert unit_for_people(unit, -largest, None, 1.0) == read
    divisor, shown = readable_unit(unit, largest)
    assert (divisor, shown) == (read[0], "million inst" if unit == "inst" else read[1])


@pytest.mark.parametrize(
    ("pct", "text"), [(0.0, "0.0"), (0.04, "< 0.1"), (0.05, "0.1"), (12.34, "12.3"), (100.0, "100.0")]
)
def test_a_share_that_would_be_rounded_away_is_not_zero(pct, text):
    assert share_of_whole(pct) == text


@pytest.mark.parametrize(
    ("pct", "text"),
    [(0.0, "0"), (0.4, "< 1"), (0.6, "1"), (47.2, "47"), (99.4, "99"), (99.6, "> 99"), (100.0, "100"), (100.4, "100")],
)  # fmt: skip
def test_what_is_not_all_of_a_whole_is_not_100_percent_of_it_and_what_is_something_not_0(pct, text):
    assert whole_percent(pct) == text
    assert whole_percent(100 * (1 / 3 + 2 / 3)) == "100"  # as near as numbers get


@pytest.mark.parametrize(("pct", "text"), [(47.2, "47"), (99.6, "> 99"), (100.0, "> 99")])
def test_no_change_saves_all_of_the_time(pct, text):
    assert saving(pct) == text


def test_a_name_that_is_not_there_is_taken_for_those_that_look_like_it():
    known = ("compare", "compact", "collect", "Ladder")
    assert names_like("compre", known) == ["compare"]
    assert names_like("comparc", known, most=3) == ["compare", "compact"]
    assert names_like("LADER", known) == ["Ladder"], "whatever the capitals"
    assert names_like("softmax", known) == []
    assert names_like("compact", known, at_least=1) == ["compact"]


def test_no_module_looks_for_names_by_itself():
    """So that one place decides what is near enough to be suggested."""
    modules = Path(profiler.__file__).parent.rglob("*.py")
    assert [path.name for path in modules if "get_close_matches" in path.read_text()] == ["text.py"]


def test_a_name_that_a_sentence_begins_with_keeps_its_capitals():
    assert without_capital("No such option: --x") == "no such option: --x"
    assert without_capital("SQL is missing") == "SQL is missing"


def test_the_day_of_a_stored_moment_is_its_date():
    assert date_of("2026-01-31T12:00:00Z") == date_of("2026-01-31") == "2026-01-31"


def test_of_several_versions_the_newest_comes_first():
    found = ["/usr/local/cuda-9.2", "/usr/local/cuda-13.0", "/usr/local/cuda-12.10", "/usr/local/cuda-12.9"]
    assert [path.rpartition("-")[2] for path in newest_first(found)] == ["13.0", "12.10", "12.9", "9.2"]
