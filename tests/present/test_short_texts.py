"""Numbers of six digits and texts of so many bytes."""

import json
import math

from hypothesis import given, strategies as st

from profiler.present.brief import rounded, shortened_in_json
from profiler.present.render.json import to_json

any_character = st.characters(codec=None, exclude_categories=())
any_text = st.text(any_character)
long_text = st.builds(lambda text, times: text * times, any_text, st.integers(0, 400))


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


@given(st.text(any_character, min_size=201).filter(lambda text: "…" not in text), st.integers(60, 200))
def test_a_long_text_keeps_its_start_and_its_end(text, width):
    """Each character takes a byte or more, so that the text is longer than its width."""
    start, ellipsis, end = shortened_in_json(text, width).partition("…")
    assert ellipsis
    assert start
    assert end
    assert text.startswith(start)
    assert text.endswith(end)
