"""Sums of products of 16-bit values, which tensor cores could make; other arithmetic with such values is none of theirs."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.flow.arithmetic.products_of_halves import find_products_of_halves

DOT = {
    "one": "HADD2.F32 R10, -RZ, R4.H0_H0",
    "other": "HADD2.F32 R11, -RZ, R5.H1_H1",
    "product": "FFMA R20, R10, R11, R20",
    "end": "EXIT",
}


def found(**changed):
    sites = find_products_of_halves(evidence_of(*(DOT | changed).values()))
    return sorted(site.instruction.name for site in sites)


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"one": "IMAD.U32 R10, R4, 0x10000, RZ"},  # a bfloat16
    ],
)
def test_the_conversions_of_factors_go_with_the_products(changed):
    assert len(found(**changed)) == 3


def test_the_first_product_of_a_sum_is_added_up_as_well():
    assert found(product="FMUL R20, R10, R11", end="FADD R21, R20, R21") == ["FMUL", "HADD2", "HADD2"]


@pytest.mark.parametrize(
    "changed",
    [
        {"product": "FMUL R20, R10, R11", "end": "STG.E [R2.64], R20"},  # each product is a result
        {"product": "FADD R20, R10, R11"},
        {"one": "LDG.E R10, [R2.64]"},  # a float
        {"one": "HADD2.F32 R10, R6.H0_H0, R4.H0_H0"},  # a sum of halves
        {"one": "IMAD.U32 R10, R4, R6, RZ"},
    ],
)
def test_other_arithmetic_is_none_of_the_tensor_cores(changed):
    assert found(**changed) == []


def test_a_conversion_that_serves_something_else_stays():
    assert found(end="STG.E [R2.64], R10") == ["FFMA", "HADD2"]
