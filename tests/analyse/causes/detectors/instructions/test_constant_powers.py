"""Powers with a constant exponent: how to write them, and what of their fast form is not needed then."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.instructions import special_functions
from profiler.analyse.causes.detectors.instructions.constant_powers import (
    find_constant_powers,
)

LOGARITHM = "FFMA R12, R6, 1.9251366722983220825e-08, R11"


def power_of(exponent, rounded="R6", error="R6"):
    """As nvcc 13.0 multiplies the logarithm in R11, and subtracts the product from the exact one."""
    return (
        f"FMUL R6, R11, {exponent}",
        "FRND R13, R6",
        f"FFMA R12, R11.reuse, {exponent}, -{error}".replace("R6", rounded),
    )


def found_in(*lines):
    return [(one.exponent, one.formula) for one in find_constant_powers(evidence_of(*lines)).values()]


@pytest.mark.parametrize(
    ("exponent", "formula"),
    [
        ("1", "`x`"),
        ("2", "`x * x`"),
        ("3", "`x * x * x`"),
        ("32", "5 products (`x * x` first)"),
        ("0.5", "`sqrtf(x)`"),
        ("2.5", "`sqrtf(x) * x * x`"),
        ("4.5", "2 products (`x * x` first) and one by `sqrtf(x)`"),
        ("-1", "`__fdividef(1, x)`"),
        ("-2", "`r * r` with `r = __fdividef(1, x)`"),
        ("-0.5", "`rsqrtf(x)`"),
        ("-1.5", "`r * r * r` with `r = rsqrtf(x)`"),
    ],
)
def test_a_whole_or_half_whole_power_is_written_by_products_and_a_root(exponent, formula):
    assert found_in(LOGARITHM, *power_of(exponent)) == [(float(exponent), formula)]


@pytest.mark.parametrize(
    "exponent", ["2.4000000953674316406", "0.3333333432674407959", "R3", "c[0x0][0x220]"]
)
def test_no_product_is_another_power_or_one_that_is_not_known(exponent):
    assert found_in(LOGARITHM, *power_of(exponent)) == []


def test_the_error_of_a_product_without_a_logarithm_is_no_power():
    assert found_in(*power_of("3")) == []


@pytest.mark.parametrize(
    "lines",
    [
        ("FMUL R6, R11, 3", "FFMA R12, R10, 3, -R6"),  # of another value
        ("FMUL R6, R11, 3", "FFMA R12, R11, 2, -R6"),
        ("FMUL R6, R11, 3", "FFMA R12, R11, 3, R6"),
        ("FMUL R6, R11, 3", "FADD R6, R11, R6", "FFMA R12, R11, 3, -R6"),
    ],
)
def test_what_subtracts_anything_but_its_own_product_is_no_power(lines):
    assert found_in(LOGARITHM, *lines) == []


@pytest.mark.parametrize(
    ("exponent", "is_found"),
    [
        ("4096", True),  # 12 products
        ("4095", False),  # 22, where a fast power keeps its unit busy for 16 cycles
        ("7.5", True),  # a root of 10 instructions, and 5 products
        ("15.5", False),  # and 7 products: 17
    ],
)
def test_products_must_take_less_time_than_the_fast_form(exponent, is_found):
    assert len(found_in(LOGARITHM, *power_of(exponent))) == is_found


@pytest.mark.parametrize(
    ("exponents", "fast", "special"),
    [
        (("3",), 9 - 2, 2),
        (("-1.5",), 9 - 4 - 2, 1),
        # Two powers of one base have one logarithm and one root.
        (("1.5", "2.5"), (4 + 2 * 5) - (10 + 1 + 2), 3 - 1),
        (("2", "R3"), 4 / 2 + 5 - 1, 1.5),
    ],
)
def test_what_is_spared_of_the_fast_form(exponents, fast, special):
    evidence = evidence_of(LOGARITHM, *(line for one in exponents for line in power_of(one)))
    spared = [one.spared for one in find_constant_powers(evidence).values()]
    assert sum(one.fast for one in spared) == pytest.approx(fast)
    assert sum(one.special for one in spared) == pytest.approx(special)


# The function as a whole


def detected(exponent, *others):
    lines = (
        LOGARITHM, *["FFMA R10, R11, 1.4426950216293334961, R12"] * 3, *power_of(exponent), "F2I.NTZ R17, R6", "MUFU.RCP R15, R15",
        "FFMA R16, R15, R17, 0.0013391353422775864601", "FFMA R16, R15, R16, 0.69314718246459960938", *["FFMA R13, R13, R10, R16"] * 58,
    )  # fmt: skip
    evidence = evidence_of(*lines, *others)
    for place, site in enumerate(evidence.sites):
        site.instruction = replace(site.instruction, line=999 if place < len(lines) else 998)
    (candidate,) = special_functions.detect_special_functions(evidence)
    return candidate


@pytest.mark.parametrize(("exponent", "kept"), [("3", 2), ("2.4000000953674316406", 9), ("-1.5", 6)])
def test_the_whole_function_goes_but_for_the_products(exponent, kept):
    assert detected(exponent).effect.resources["issue"] == pytest.approx(1 - kept / 69)


def test_products_need_no_special_function_unit():
    assert detected("3").effect.resources["xu"] == pytest.approx(1 - 2 / 69)  # as all of the line
    assert detected("-1.5").effect.resources["xu"] == pytest.approx(1 - 1 / 3)


def test_the_advice_names_the_exponent_and_how_to_write_the_power():
    assert detected("3").advice == "Write the power of 3 as `x * x * x`."
    assert detected("0.5").in_triton == "Write the power of 0.5 as `tl.sqrt(x)`."
    assert "__powf" in detected("2.4000000953674316406").advice


def test_where_other_functions_take_more_the_advice_is_on_them():
    sines = ["FMUL R26, R20, 0.63661974668502807617", *["FFMA R27, R26, R27, R28"] * 25] * 8
    assert "__sinf" in detected("3", *sines).advice
