"""The arrays that an access may be to are the pointers that led to its address, on whatever way."""

import pytest
from hypothesis import given, strategies as st
from made_evidence import evidence_of

from profiler.analyse.causes.evidence.sites import ACCESSES
from profiler.analyse.causes.flow.dataflow import makers_since_access, sources_of
from profiler.analyse.causes.flow.pointers import find_pointers

REGISTERS = st.sampled_from([f"R{number}" for number in range(8)])
POINTERS = [f"c[0x0][{place:#x}]" for place in (0x210, 0x218, 0x220)]


@pytest.mark.parametrize(
    ("place", "pointers"),
    [
        ("IMAD R2, R9, R3, RZ", {"c[0x0][0x210]"}),  # the second of two sizes that were loaded at once
        ("IMAD R4, R8, R9, RZ", {"c[0x0][0x210]"}),  # both of them: a product of sizes
        ("IMAD.WIDE R4, R11, 0x4, R8", {"c[0x0][0x210]", "c[0x0][0x218]"}),
    ],
)
def test_a_pair_of_sizes_is_no_array_that_an_address_points_into(place, pointers):
    evidence = evidence_of(
        "LDC.64 R8, c[0x0][0x218]", "LDC.64 R6, c[0x0][0x210]", place, "IMAD.WIDE R2, R2, 0x4, R6", "IMAD.WIDE R2, R4, 0x4, R2", "LDG.E R5, [R2.64]"
    )  # fmt: skip
    assert find_pointers(evidence, evidence.sites[-1]) == pointers


def test_both_halves_of_an_address_may_take_a_pointer_each_its_half():
    halves = ("ULDC.64 UR8, c[0x0][0x210]", "LEA R4, P0, R11, UR8, 0x2", "LEA.HI.X R5, R11, UR9, R12, 0x2, P0")  # fmt: skip
    evidence = evidence_of(*halves, "LDG.E R10, desc[UR6][R4.64]")
    assert find_pointers(evidence, evidence.sites[-1]) == {"c[0x0][0x210]"}


@pytest.mark.parametrize("opcode", ["LDC.64", "ULDC.64", "LDCU.64"])
def test_a_pointer_is_found_whichever_instruction_loads_it(opcode):
    evidence = evidence_of(
        f"{opcode} UR8, c[0x0][0x210]", "IMAD.WIDE R4, R11, 0x4, UR8", "LDG.E R10, desc[UR6][R4.64]"
    )
    assert find_pointers(evidence, evidence.sites[-1]) == {"c[0x0][0x210]"}


@pytest.mark.parametrize(
    ("second", "pointers"),
    [
        ("IMAD R11, R12, UR6, RZ", {"c[0x0][0x380]"}),
        ("IMAD.WIDE R12, R9, 0x4, UR6", {"c[0x0][0x380]"}),
        ("IADD.64 R4, R4, UR6", {"c[0x0][0x380]", "c[0x0][0x388]"}),
    ],
)
def test_of_two_pointers_that_are_loaded_at_once_those_count_that_the_address_takes(second, pointers):
    """The second one is a size that is multiplied, a pointer that the access does not take, and one that it does."""
    evidence = evidence_of(
        "LDCU.128 UR4, c[0x0][0x380]", "IMAD.WIDE R4, R11, 0x4, UR4", second, "LDG.E R10, desc[UR12][R4.64]"
    )
    assert find_pointers(evidence, evidence.sites[-1]) == pointers


def test_what_is_stored_is_no_part_of_the_address():
    stored = ("LDC.64 R4, c[0x0][0x210]", "LDC.64 R8, c[0x0][0x218]", "STG.E.64 desc[UR6][R4.64], R8")
    evidence = evidence_of(*stored)
    assert find_pointers(evidence, evidence.sites[-1]) == {"c[0x0][0x210]"}


def test_a_pointer_that_a_loop_passes_to_its_next_turn_is_found():
    """In the code, the address is computed before the array that it leads to is chosen."""
    evidence = evidence_of("MOV R2, R8", "LDG.E R9, [R4.64]", "IADD3 R4, R6, R2, RZ", "IMAD.WIDE R6, R3, 0x4, c[0x0][0x210]", "@P0 BRA 0x10", "EXIT")  # fmt: skip
    assert find_pointers(evidence, evidence.sites[1]) == {"c[0x0][0x210]"}


@st.composite
def codes(draw):
    """Code with sums, loads and pointers, in a loop or not."""
    to, first, second = (draw(st.lists(REGISTERS, min_size=8, max_size=8)) for _ in range(3))
    lines = []
    for register, one, other in zip(to, first, second, strict=True):
        forms = [f"IADD3 {register}, {one}, {other}, RZ", f"LDG.E {register}, [{one}]"]
        forms += [f"IMAD.WIDE {register}, {one}, 0x4, {pointer}" for pointer in POINTERS]
        lines.append(draw(st.sampled_from(forms)))
    return [*lines, "LDG.E R9, [R0]", draw(st.sampled_from(["@P0 BRA 0x0", "EXIT"]))]


@given(codes())
def test_pointers_are_those_of_the_instructions_that_led_to_the_address(code):
    evidence = evidence_of(*code)
    access = evidence.sites[-2]
    makers = makers_since_access(evidence, sources_of(evidence, access, {"R0"}))
    text = " ".join(one.instruction.text for one in makers if one.kind not in ACCESSES)
    assert find_pointers(evidence, access) == {pointer for pointer in POINTERS if pointer in text}
