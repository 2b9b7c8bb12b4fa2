"""Numbers of six digits, texts of so many bytes, and as much of a plan as fits."""

from __future__ import annotations

import json
import math

from hypothesis import given, strategies as st
from msgspec import Struct
from msgspec.structs import replace

from profiler.present.budget import Cut, Widths, fit, rounded, shortened_in_json
from profiler.present.render.json import to_json

any_text = st.text(st.characters(codec=None, exclude_categories=()))
long_text = st.builds(lambda text, times: text * times, any_text, st.integers(0, 400))


class Finding(Struct, frozen=True):
    names: list[str]
    values: list[float]
    left_out: dict[str, int] = {}


def cut_finding(whole, cut):
    return replace(whole, names=cut.first("names", whole.names), values=cut.first("values", whole.values))


# Numbers


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_keeps_six_digits(value):
    assert math.isclose(rounded(value), value, rel_tol=5e-6)
    if not value.is_integer():
        assert float(f"{value:.6g}") == rounded(value)


@given(st.integers(-(10**14), 10**14))
def test_a_whole_number_keeps_all_its_digits_and_prints_as_one(count):
    assert json.dumps(rounded(float(count))) == str(count)


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_rounding_keeps_the_order_so_that_no_interval_is_turned_round(low, high):
    low, high = sorted((low, high))
    assert rounded(low) <= rounded(high)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_rounding_loses_no_sign_so_that_an_interval_without_zero_stays_one(value):
    assert (rounded(value) > 0, rounded(value) < 0) == (value > 0, value < 0)


# Texts


@given(long_text, st.integers(32, 200))
def test_a_text_takes_no_more_than_its_width_in_json(text, width):
    short = shortened_in_json(text, width)
    assert len(to_json(short)) - 2 <= width
    if len(to_json(text)) - 2 <= width:
        assert short == text


@given(long_text, st.integers(60, 200))
def test_of_a_long_text_the_start_and_the_end_are_kept(text, width):
    start, ellipsis, end = shortened_in_json(f"{text} ", width).partition("…")
    if shortened_in_json(text, width) != text and "…" not in text:
        assert text.startswith(start)
        assert ellipsis
        assert f"{text} ".endswith(end)


# The plan


@given(st.integers(150, 2000))
def test_what_is_first_in_the_plan_is_there_first_and_the_rest_is_counted(limit):
    whole = Finding([f"name {number}" for number in range(16)], [number + 0.5 for number in range(100)])
    plan = [("values", 5), ("names", 10), ("values", 50), ("names", 16)]
    small = fit(whole, cut_finding, plan, limit)
    assert len(to_json(small)) < limit
    assert small.names == whole.names[: len(small.names)]
    assert small.values == whole.values[: len(small.values)]
    assert len(small.values) in (5, 50)
    assert len(small.names) in (0, 10, 16)
    assert small.left_out.get("names", 0) == 16 - len(small.names)
    assert small.left_out.get("values", 0) == 100 - len(small.values)


def test_a_step_that_does_not_fit_is_no_reason_to_stop():
    whole = Finding(["x" * 100] * 20, [0.5] * 20)
    small = fit(whole, cut_finding, [("values", 2), ("names", 20), ("values", 20)], 400)
    assert (len(small.names), len(small.values)) == (0, 20)


def test_what_fits_is_whole_and_counts_nothing():
    whole = Finding(["a", "b"], [1.5])
    assert fit(whole, cut_finding, [("names", 10), ("values", 10)]) == whole


def test_names_that_are_alike_when_short_are_counted_too():
    sizes = {f"{'x' * 200}{number}{'x' * 200}": number for number in range(3)}
    cut = Cut(Widths(name=40, sentence=60, entries=8), {})
    assert len(cut.plain(sizes)) == 1
    assert cut.left_out["entries"] == 2


@given(long_text)
def test_shortened_texts_are_counted(text):
    whole = Finding(["short", text], [])
    small = fit(whole, cut_finding, [("names", 2)])
    assert small.left_out.get("texts", 0) == (small.names[1] != text)
