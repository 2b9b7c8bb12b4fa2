"""Patterns that users and strangers write: what they find, how long that may take, and which are refused."""

import subprocess
import sys
import time

import pytest

from profiler.catalog.patterns import MOST_CHARACTERS, check_pattern, search_names, search_typed

NAMES = ["gemm_01_naive", "gemm_02<float, 4>", "relu(float*)", "größe"]
# Python's own engine does not finish with any of these on a name of a few dozen characters.
EXPONENTIAL = [
    "(.*)*(.*)*(.*)*(.*)*(.*)*Q",
    "(a+)+$",
    "(a|aa)+$",
    "(a|a?)+Q",
    "(a?){40}a{40}Q",
    "^(([a-z])+.)+[A-Z]$",
]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("", NAMES),
        ("gemm", NAMES[:2]),
        ("^gemm|größe", [*NAMES[:2], NAMES[3]]),
        (r"<float, \d>", [NAMES[1]]),
        (r"\(float\*\)$", [NAMES[2]]),
        ("(?i)GEMM_0[1-9]", NAMES[:2]),
        ("gemm.*4", [NAMES[1]]),
        ("nothing", []),
    ],
)
def test_a_pattern_is_searched_in_each_name(pattern, found):
    fits = search_names(pattern, NAMES)
    assert [name for name, is_found in zip(NAMES, fits, strict=True) if is_found] == found


def test_a_name_that_an_answer_cut_finds_the_names_that_it_may_be():
    names = ["void k<View<const float *>, (int)1>(float *)", "void k<int>(float *)", "scale"]
    assert search_typed("void k<View<const… (int)1>(float *)", names) == [True, False, False]
    assert search_typed("void k<…(float *)", names) == [True, True, False]


def test_no_names_are_no_answers():
    assert search_names("a.b", []) == []


@pytest.mark.parametrize("pattern", EXPONENTIAL)
def test_no_pattern_takes_exponential_time(pattern):
    started = time.process_time()
    assert search_names(pattern, ["a" * 2000 + "!"] * 50) == [False] * 50
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("gemm(", "missing )"),
        ("[a", "missing ]"),
        ("a(?=b)", "lookaround, back-references and possessive repeats are not supported"),
        (r"(a)\1", "lookaround, back-references and possessive repeats are not supported"),
        ("((a{100}){100}){100}", "invalid repetition size"),
        ("a\ud800", "not Unicode text"),
        ("x" * (MOST_CHARACTERS + 1), f"{MOST_CHARACTERS + 1} characters, where {MOST_CHARACTERS} are allowed"),
    ],
)  # fmt: skip
def test_a_pattern_that_cannot_be_matched_is_refused_with_the_reason(pattern, reason):
    for refuse in (check_pattern, lambda one: search_names(one, NAMES), lambda one: search_names(one, [])):
        with pytest.raises(ValueError, match="regular expression") as refused:
            refuse(pattern)
        assert reason in str(refused.value)


def test_a_name_that_is_no_unicode_text_is_searched_all_the_same():
    assert search_names("gemm.", ["gemm\ud800", "\ud800"]) == [True, False]


def test_common_patterns_of_ladders_are_checked_without_loading_pyarrow():
    code = (
        "import sys; from profiler.catalog.patterns import check_pattern\n"
        "for one in ('gemm_01', 'layer_norm|rms_norm', 'triton_.*_0', '^a$'): check_pattern(one)\n"
        "print('pyarrow' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "False\n"


def test_a_typed_pattern_ignores_case_unless_it_holds_a_capital():
    names = ["cunn_SoftMaxForwardReg", "softmax", "Gemm<1>"]
    for pattern, found in [
        ("softmax", names[:2]),
        ("SoftMax", names[:1]),
        (r"soft\w+ward", names[:1]),
        (r"gemm<\D", []),
        (r"gemm<\d", names[2:]),
    ]:
        fits = search_typed(pattern, names)
        assert [name for name, fit in zip(names, fits, strict=True) if fit] == found
