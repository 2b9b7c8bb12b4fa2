import pytest
from hypothesis import given, strategies as st

from profiler.store.tables.inlined import CalledAt, calls_in, inlined_text

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\t"), min_size=1)


@given(st.lists(st.builds(CalledAt, TEXTS, st.integers(1, 2**31 - 1), st.none() | TEXTS)))
def test_calls_are_read_as_they_were_written(calls):
    assert calls_in(inlined_text(calls)) == tuple(calls)


def test_a_line_of_code_may_hold_tabs():
    call = CalledAt("kernel.cu", 7, "\tsum += x;\t// of all")
    assert calls_in(inlined_text([call])) == (call,)


@pytest.mark.parametrize("file", ["a\tb.cu", "a\nb.cu"])
def test_a_file_whose_name_cannot_be_written_is_left_out(file):
    others = [CalledAt("mine.cu", 7), CalledAt("mine.cu", 9)]
    assert calls_in(inlined_text([others[0], CalledAt(file, 8), others[1]])) == tuple(others)


def test_no_call_is_no_text():
    assert inlined_text([]) is None
    assert calls_in(None) == ()
