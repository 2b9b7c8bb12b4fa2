"""A statement of several lines is shown whole, although each instruction has the line of one argument."""

import pytest

from profiler.analyse.code.statements import whole_statement

LINES = {
    10: "        tl.atomic_add(",
    11: "            grad_ptr + row * stride,",
    12: "            gs * qv, mask=km)",
    13: "        total += qv",
    20: "            beta * x, x  # of a call whose first line has no instruction",
    21: "        )",
    30: '        print("(", x)',
    31: "        y = x",
    32: "    first = max((start - size) // stride + 1, 0)",
    33: "    while first < end:",
    34: "    z = f(x)  # (not closed",
    35: "    w = z",
}
LINES_OF_CUDA = {
    40: "    for (int k = 0; k < K; ++k) {  // (the loop",
    41: "        sum += a[k]",
    42: "               * b[k];",
}


@pytest.mark.parametrize(
    ("line", "first", "text"),
    [
        *((line, 10, "tl.atomic_add( grad_ptr + row * stride, gs * qv, mask=km)") for line in (10, 11, 12)),
        (13, 13, "total += qv"),
        (20, 20, LINES[20].strip()),
        (31, 31, "y = x"),  # a bracket in a text opens nothing
        (33, 33, "while first < end:"),  # in Python, // divides
        (35, 35, "w = z"),  # nor does one in a comment
        (99, 99, ""),
    ],
)
def test_a_line_is_shown_with_the_lines_between_the_same_brackets(line, first, text):
    assert whole_statement("mine.py", LINES, line) == (first, text)


def test_braces_hold_statements_and_comments_of_cuda_hold_no_brackets():
    assert whole_statement("mine.cu", LINES_OF_CUDA, 41) == (41, "sum += a[k]")
    assert whole_statement("mine.cu", {1: "f(a,  /* (of b", 2: "  b);"}, 2) == (1, "f(a,  /* (of b b);")


def test_the_statements_of_a_lambda_are_not_those_of_the_call_that_takes_it():
    lines = {
        1: "each(n, [&](int k) {",
        2: "  if (k) {",
        3: "    x = 1;",
        4: "  } else {",
        5: "    sum += f(k,",
        6: "             x);",
        7: "  }",
        8: "  y = x;",
        9: "});",
        10: "each(n, [&](int k) { sum += k; },",
        11: "     2);",
    }
    joined = {5: (5, "sum += f(k, x);"), 6: (5, "sum += f(k, x);")}
    joined |= dict.fromkeys((10, 11), (10, "each(n, [&](int k) { sum += k; }, 2);"))
    for line, text in lines.items():
        assert whole_statement("mine.cu", lines, line) == joined.get(line, (line, text.strip()))
    assert whole_statement("mine.py", {1: "f({", 2: "  1: 2})"}, 2) == (1, "f({ 1: 2})")


def test_a_bracket_that_is_never_closed_does_not_swallow_the_file():
    lines = {1: "f(", **{line: f"x{line}" for line in range(2, 40)}}
    assert whole_statement("mine.cu", lines, 30) == (30, "x30")
    assert whole_statement("mine.cu", lines, 1) == (1, "f(")
