"""Arithmetic from a file: what Python's own evaluation gives, and nothing else that Python would."""

import time

import pytest
from hypothesis import given, strategies as st

from profiler.catalog.ladders.expressions import parse_expression
from profiler.errors import ExpressionError

VALUES = {"m": 4096, "n": 1000, "k": 33, "x": 0.5}

_SPACES = st.sampled_from(["", " ", "  "])
_ATOMS = st.one_of(
    st.integers(0, 10**6).map(str),
    st.floats(0, 1e6, allow_nan=False).map(repr),
    st.sampled_from([*VALUES, "1_000", "2.", ".5", "1e3", "1.5E-2"]),
)


def _combined(parts):
    operator = st.sampled_from(["+", "-", "*", "/", "//", "%", "**"])
    return st.one_of(
        st.tuples(parts, _SPACES, operator, _SPACES, parts).map("".join),
        parts.map(lambda part: f"({part})"),
        st.tuples(st.sampled_from("+-"), parts).map("".join),
    )


_EXPRESSIONS = st.recursive(_ATOMS, _combined, max_leaves=8)


@given(_EXPRESSIONS)
def test_the_value_is_pythons(text):
    try:
        value = parse_expression(text).evaluate(VALUES)
    except ExpressionError:
        return  # too large, or divided by zero: covered below
    assert value == eval(text, {"__builtins__": {}}, VALUES)
    assert type(value) in (int, float)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 * m * n * k", 2 * 4096 * 1000 * 33),
        ("-2 ** 2", -4),
        ("2 ** -1", 0.5),
        ("2 ** 3 ** 2", 512),
        ("10 - 3 - 2", 5),
        ("7 // 2 * 2", 6),
        ("-7 % 3", 2),
        ("(m + n) / 2", 2548.0),
        (" \t7\n", 7),
        ("1_000_000", 1000000),
    ],
)
def test_precedence_and_numbers(text, value):
    assert parse_expression(text).evaluate(VALUES) == value


@pytest.mark.parametrize(
    "text",
    [
        "9**9**9", "9**9**9**9", "2**257", "10**100", "(2**200)**2", "1e308*10", "1e999", "9.9**9**9", "-(2**256)**9",
        "9" * 400, "1/0", "1//0", "1%0", "0**-1", "0.0**-1", "(-8)**0.5", "1/(m-4096)",
    ],
)  # fmt: skip
def test_arithmetic_without_a_finite_value_fails_at_once(text):
    started = time.process_time()
    with pytest.raises(ExpressionError, match="character"):
        parse_expression(text).evaluate(VALUES)
    assert time.process_time() - started < 0.5


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "m +", "* m", "(m", "m)", "()", "m n", "2 m", "2m", "0x10", "1j", "012", "1__0", "1_", "1.2.3", "1e",
        "m.n", "m[0]", "m()", "f(m)", "__import__('os')", "().__class__", "lambda: 1", "m if n else k", "m and n",
        "m < n", "m = 1", "m := 1", "~m", "m @ n", "m ^ n", "m & n", "m << 2", "'m'", '"m"', "[m]", "{m}", "m, n",
        "m; n", "m # comment", "m\\\n+n", "ｍ", "µ", "m\0", "²", "٣", "1 +", "not m", "-", "+", "**", "1 */ 2",
        "(" * 249 + "1" + ")" * 249, "1+" * 400 + "1", "-" * 501, "(" * 100000,
    ],
)  # fmt: skip
def test_anything_else_is_refused_with_its_place(text):
    with pytest.raises(ExpressionError, match=r"character"):
        parse_expression(text)


@given(st.text(max_size=60))
def test_any_text_has_a_value_or_is_refused(text):
    try:
        expression = parse_expression(text)
        expression.evaluate(dict.fromkeys(expression.names, 3))
    except ExpressionError:
        pass


def test_the_position_is_where_it_goes_wrong():
    with pytest.raises(ExpressionError, match=r"'2 \* \$', character 5: '\$' is not part of arithmetic"):
        parse_expression("2 * $")
    with pytest.raises(ExpressionError, match=r"character 5: '\(' was never closed"):
        parse_expression("2 * (m + 1")
    with pytest.raises(ExpressionError, match=r"character 4: a number, a name or '\(' expected, not the end"):
        parse_expression("m + ")
    with pytest.raises(ExpressionError, match=r"character 3: 'n' is not expected here"):
        parse_expression("m n")
    with pytest.raises(ExpressionError, match=r"character 6: 'm < n' is not arithmetic"):
        parse_expression("1 + (m < n)")
    with pytest.raises(ExpressionError, match=r"character 3: 'lambda' is a word of Python"):
        parse_expression("2*lambda")
    with pytest.raises(ExpressionError, match=r"character 3: division by zero"):
        parse_expression("1 / 0").evaluate({})
    with pytest.raises(ExpressionError, match=r"character 5: 'q' has no value"):
        parse_expression("m * q").evaluate(VALUES)


def test_names_are_listed_once_in_order():
    assert parse_expression("n * m + n").names == ("n", "m")


def test_an_expression_of_the_longest_text_is_read_however_deep_it_is_nested():
    assert parse_expression("(" * 150 + "m" + ")" * 150).evaluate(VALUES) == 4096
    assert parse_expression("1+" * 249 + "1").evaluate({}) == 250
    assert parse_expression("-" * 498 + "1").evaluate({}) == 1
    assert parse_expression("1-(" * 120 + "1" + ")" * 120).evaluate({}) == 1
    assert parse_expression("1**" * 166 + "2").evaluate({}) == 1


def test_two_expressions_of_the_same_text_are_equal():
    assert parse_expression("2 * m") == parse_expression(" 2 * m\n")
    assert parse_expression("2 * m") != parse_expression("m * 2")
