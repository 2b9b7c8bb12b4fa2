"""Products of floats that were halves: they are named where most of what is stored for them was a half, and only then."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.instructions.widened_operands import detect_widened_operands

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
