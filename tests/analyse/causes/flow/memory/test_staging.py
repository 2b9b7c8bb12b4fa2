"""Loads fill shared memory if what is stored there is their value, moved, packed, converted or scaled; a sum of several is another value."""

import pytest
from made_evidence import evidence_of, executing

from profiler.analyse.causes.flow.memory.staging import feeds_shared_memory

USED = "LDS R20, [R21]"


def is_staged(*lines, uses=USED):
    """Whether the first load of a loop fills shared memory, which the loop also reads."""
    body = ("LDG.E R4, [R2.64]", *lines, uses, "@P0 BRA 0x10")
    evidence = evidence_of(("MOV R2, R8", 10.0), *executing(100.0, *body), ("EXIT", 10.0))
    return feeds_shared_memory(evidence, evidence.sites[1])


@pytest.mark.parametrize(("between", "is_staged"), [(300, True), (600, False)])
def test_a_tile_is_stored_several_hundred_instructions_after_its_first_load(between, is_staged):
    """A turn that loads 32 pieces of two tiles computes an address and a mask for each of them first."""
    evidence = evidence_of(
        "LDG.E.U16 R4, [R2.64]", *["IADD3 R8, R8, R9, RZ"] * between, "STS.U16 [R6], R4", "EXIT"
    )
    assert feeds_shared_memory(evidence, evidence.sites[0]) == is_staged


def test_a_load_that_is_stored_to_shared_memory_feeds_shared_memory():
    evidence = evidence_of("LDG.E R4, [R2.64]", "STS [R8], R4", "LDG.E R5, [R2.64+0x4]", "FADD R6, R6, R5")
    assert feeds_shared_memory(evidence, evidence.sites[0])
    assert not feeds_shared_memory(evidence, evidence.sites[2])


def test_a_register_that_was_written_again_carries_no_loaded_value_to_shared_memory():
    evidence = evidence_of("LDG.E R4, [R2.64]", "MOV R4, RZ", "STS [R8], R4")
    assert not feeds_shared_memory(evidence, evidence.sites[0])


def test_a_wide_store_takes_the_values_of_several_loads():
    evidence = evidence_of(
        "LDG.E R4, [R2.64]", "LDG.E R6, [R8.64]", "LDG.E R9, [R8.64+0x4]", "STS.128 [R20], R4"
    )
    assert [feeds_shared_memory(evidence, site) for site in evidence.sites[:3]] == [True, True, False]


@pytest.mark.parametrize(
    "between",
    [
        ("FMUL R5, R4, UR6",),  # a scale of the whole tile
        ("FADD R5, R4, -R12",),  # a mean that the loop does not change
        ("I2F.S16 R5, R4",),
        ("I2FP.F32.S32 R5, R4", "FMUL R5, R5, R12"),
        ("LDG.E R12, [R14.64]", "FMUL R5, R12, R4"),  # a scale for each row
        ("LDG.E R12, [R14.64]", "FFMA R5, R4, R12, R13"),
        ("FMNMX R5, RZ, R4, !PT",),
    ],
)
def test_a_value_that_is_converted_scaled_or_shifted_on_its_way_is_staged(between):
    assert is_staged(*between, "STS [R8], R5")


@pytest.mark.parametrize(
    "between",
    [
        ("FADD R5, R5, R4",),  # a sum of all turns
        ("FFMA R5, R4, R4, R5",),
        ("FMNMX R5, R5, R4, !PT",),
        ("LDG.E R12, [R14.64]", "FADD R5, R4, R12"),
        ("LDG.E R12, [R14.64]", "FFMA R5, R12, R13, R4"),  # the value is what is added to
    ],
)
def test_a_sum_of_several_values_is_another_one(between):
    assert not is_staged(*between, "STS [R8], R5")


def test_a_product_of_two_loads_is_a_step_of_a_sum_where_no_tile_is_used():
    product = ("LDG.E R12, [R14.64]", "FMUL R5, R12, R4", "STS [R8], R5")
    assert is_staged(*product)
    assert is_staged(*product, uses="HGMMA.64x64x16.F32 R24, gdesc[UR20].tnspB, R24")
    assert not is_staged(*product, uses="NOP")


def test_what_only_says_where_to_store_is_not_stored():
    assert not is_staged("IMAD R5, R4, 0x4, R12", "STS [R5], R6")


def test_outside_of_a_loop_only_constants_change_a_value_that_is_staged():
    scaled = evidence_of("LDG.E R4, [R2.64]", "FMUL R5, R4, UR6", "STS [R8], R5")
    combined = evidence_of("LDG.E R4, [R2.64]", "FMUL R5, R4, R6", "STS [R8], R5")
    assert feeds_shared_memory(scaled, scaled.sites[0])
    assert not feeds_shared_memory(combined, combined.sites[0])
