"""Products of floats: on tensor cores, where most of what is stored for them was a half, and in Triton where no tensor core takes them."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.instructions.widened_operands import (
    detect_dots_of_floats,
    detect_widened_operands,
)
from profiler.analyse.causes.detectors.shared_memory.bank_conflicts import detect_bank_conflicts

STAGED, LOADED = "LDS.U16 R2, [R8]", "LDG.E.U16 R2, [R8.64]"
HALF, BFLOAT16 = "HADD2.F32 R3, -RZ, R2.H0_H0", "IMAD.U32 R3, R2, 0x10000, RZ"
SCALE, STORE = "FMUL R3, R3, R9", "STS [R10], R3"
PRODUCT = "HGMMA.64x128x8.F32.TF32 R24, gdesc[UR52], gdesc[UR56], RZ, !UPT"


def find(*lines):
    return list(detect_widened_operands(evidence_of(*lines)))


@pytest.mark.parametrize("widening", [HALF, BFLOAT16])
def test_halves_that_become_floats_for_a_product_are_named(widening):
    (candidate,) = find(STAGED, widening, SCALE, STORE, PRODUCT)
    assert candidate.name == "type-conversions"
    assert [site.instruction.text for site in candidate.weights] == [widening]
    assert candidate.effect.resources["tensor"] == 0.5


@pytest.mark.parametrize(
    ("made", "said"),
    [("F2FP.F16.E4M3.UNPACK_B R2, R2", True), ("F2FP.F16.E5M2.UNPACK_B R2, R2", True), ("NOP", False)],
)
def test_numbers_of_8_bits_become_halves_first_and_may_stay_so(made, said):
    (candidate,) = find("LDG.E.U8 R2, [R8.64]", made, HALF, SCALE, STORE, PRODUCT)
    assert ("made of numbers of 8 bits" in candidate.sentence) == said
    assert candidate.advice.startswith("Convert them to halves, which hold them exactly, with") == said
    assert ("halves as they were loaded" in candidate.in_triton) != said


@pytest.mark.parametrize(("load", "spared"), [(STAGED, 3.5), (LOADED, 2.0)])
def test_halves_in_shared_memory_need_not_be_stored_there_again(load, spared):
    """Spared are the conversion, half of the product, and half of the store, or all of it with the load before."""
    (candidate,) = find(load, HALF, SCALE, STORE, PRODUCT)
    assert candidate.effect.resources["issue"] == pytest.approx(spared / 5)


@pytest.mark.parametrize(
    "lines",
    [
        (STAGED, SCALE, STORE, PRODUCT),  # floats from the beginning
        (STAGED, HALF, SCALE, STORE, PRODUCT.replace("TF32", "F16").replace("x8", "x16")),
        (STAGED, HALF, SCALE, STORE),  # without tensor cores, a float costs as much
        (STAGED, HALF, STORE, PRODUCT, "STS.128 [R10], R12"),  # most of what is stored are floats
    ],
)
def test_other_products_are_not(lines):
    assert find(*lines) == []


DOT = "score = tl.dot(query, tl.trans(key), input_precision='ieee')"
FACTORS = ("LDS.128 R4, [R2]", "LDS.128 R8, [R3]")


def multiply_adds(count, left="R4", right="R8"):
    return [f"FFMA R{20 + one}, {left}, {right}, R{20 + one}" for one in range(count)]


def dot_of(*lines, text=DOT, language="Triton", passes=400.0):
    loads = {"passes": passes, "ideal_passes": 400.0}
    evidence = evidence_of(*lines, line=7, facts={0: loads, 1: loads}, figures={"shared_of_l1_pct": 100.0})
    vars(evidence.profile)["language"] = language
    for site in evidence.sites:
        site.text = text
    return evidence


def test_a_product_of_floats_is_named_in_triton_with_the_part_of_its_loads_that_tensor_cores_spare():
    """Of 64 multiply-adds, one instruction in 32 stays. Two products of tensor cores take three loads, which is all that there are."""
    (candidate,) = detect_dots_of_floats(dot_of(*FACTORS, *multiply_adds(64)))
    assert candidate.name == "spelled-out-instructions"
    assert candidate.effect.resources["fma"] == pytest.approx(31 / 32)
    assert candidate.effect.resources["lsu"] == 0
    (candidate,) = detect_dots_of_floats(dot_of(*FACTORS, *multiply_adds(16)))
    assert candidate.effect.resources["lsu"] == pytest.approx(1 - 0.75 / 2)


@pytest.mark.parametrize(
    "evidence",
    [
        dot_of(*FACTORS, *multiply_adds(16), language="CUDA C++"),
        dot_of(*FACTORS, *multiply_adds(16), text="total += tl.sum(left * right, 1)"),
        dot_of(*FACTORS, *multiply_adds(16), text=None),
        dot_of(
            *FACTORS, *multiply_adds(16, right="R15")
        ),  # a sum that is scaled before tensor cores add to it
        dot_of(*FACTORS, "HMMA.16816.F32 R24, R4, R8, R24"),
    ],
)
def test_multiply_adds_of_anything_else_are_not(evidence):
    assert list(detect_dots_of_floats(evidence)) == []


@pytest.mark.parametrize(("language", "is_same"), [("Triton", True), ("CUDA C++", False)])
def test_bank_conflicts_of_such_a_product_end_with_it(language, is_same):
    evidence = dot_of(*FACTORS, *multiply_adds(16), language=language, passes=3200.0)
    (conflicts,) = detect_bank_conflicts(evidence)
    products = list(detect_dots_of_floats(evidence))
    assert bool(conflicts.fact) == is_same
    assert [one.fact for one in products] == [conflicts.fact] * is_same
    assert all(one.effect.resources["l1"] > conflicts.effect.resources["l1"] for one in products)
