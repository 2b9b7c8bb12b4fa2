"""Which accesses go to an element that loaded data chooses, and which only begin where data says."""

import pytest
from made_evidence import evidence_of, executing

from profiler.analyse.causes.flow.addresses.indexed import is_gathered


@pytest.mark.parametrize(
    ("index", "address", "load", "gathered"),
    [
        ("LDG.E R4, [R2.64]", "IMAD.WIDE R6, R4, 0x4, R8", "LDG.E R5, [R6.64]", True),
        ("LDG.E R4, [R2.64]", "IMAD.WIDE R6, R4, 0xc, R8", "LDG.E R5, [R6.64+0x4]", True),  # a member of three floats
        ("LDG.E R4, [R2.64]", "LEA R6, P0, R4, R8, 0x5", "LDG.E.128 R12, [R6.64]", True),  # half of eight floats
        ("LDG.E R4, [R2.64]", "IMAD.WIDE R6, R4, 0x80, R8", "LDG.E R5, [R6.64]", False),  # a row, which lanes could share
        ("LDG.E R4, [R2.64]", "IMAD.WIDE R6, R4, 0x6, R8", "LDG.E R5, [R6.64]", False),
        ("LDG.E R4, [R2.64]", "IMAD.WIDE R6, R4, UR4, R8", "LDG.E R5, [R6.64]", False),  # by a width that nobody knows
        ("LDG.E R4, [R2.64]", "LEA R6, P0, R9, R4, 0x2", "LDG.E R5, [R6.64]", False),  # a base that was loaded
        ("LDG.E.U8 R4, [R2.64]", "IADD3 R6, P0, R4, UR4, RZ", "LDG.E.U8 R5, [R6.64]", True),  # a table of bytes
        ("LDG.E.64 R4, [R2.64]", "IADD3 R6, P0, R4, R9, RZ", "LDG.E.U8 R5, [R6.64]", False),
        ("LDS R4, [R2]", "IADD3 R6, P0, R4, UR4, RZ", "LDG.E.U8 R5, [R6.64]", False),
        ("LDG.E.U8 R4, [R2.64]", "LEA R6, R4, R9, 0x4", "STG.E.U8 [R6.64], R9", True),
        ("LDG.E.U8 R4, [R2.64]", "LEA R6, R4, R9, 0x4", "STG.E.U8 [R8.64], R6", False),  # what is stored says no place
    ],
)  # fmt: skip
def test_an_element_is_gathered_if_a_loaded_index_counts_at_most_sectors(index, address, load, gathered):
    evidence = evidence_of(index, address, load)
    assert is_gathered(evidence, evidence.sites[2]) == gathered


@pytest.mark.parametrize(
    ("stored", "gathered"),
    [
        ("LDG.E R4, [R2.64]", True),
        ("S2R R4, SR_TID.X", False),  # computed, not loaded
    ],
)
def test_an_index_may_pass_through_shared_memory_before_it_gathers(stored, gathered):
    through = ("STS [R0], R4", "LDS R5, [R1]", "IMAD.WIDE R6, R5, 0x4, R8", "LDG.E R5, [R6.64]")
    evidence = evidence_of(stored, *through)
    assert is_gathered(evidence, evidence.sites[-1]) == gathered


SIGN, LENGTH, WRAPPED = (
    "SHF.R.S32.HI R7, RZ, 0x1f, R4",
    "LOP3.LUT R7, R7, UR8, RZ, 0xc0, !PT",
    "IADD3 R6, P0, R4, R7, RZ",
)


@pytest.mark.parametrize(
    ("lines", "gathered"),
    [
        ((SIGN, LENGTH, WRAPPED), True),
        (("ISETP.LT.AND P1, PT, R4, RZ, PT", "SEL R7, R9, RZ, P1", WRAPPED), True),
        ((SIGN, "LOP3.LUT R7, R9, 0x1f, RZ, 0xc0, !PT", WRAPPED), False),  # the lane, as in a row of which the data says the begin
        (("LDG.E R9, [R10.64]", SIGN, "LOP3.LUT R7, R9, R7, RZ, 0xc0, !PT", WRAPPED), False),  # what else was loaded
        ((SIGN, LENGTH, "S2R R9, SR_TID.X", "IADD3 R6, P0, R4, R9, R7"), False),  # neighbours
    ],
)  # fmt: skip
def test_an_index_that_may_count_from_the_end_gathers_as_well(lines, gathered):
    """In Python, a negative index counts from the end: Numba adds the length of the array where it is."""
    evidence = evidence_of("LDG.E R4, [R2.64]", *lines, "LEA R14, P0, R6, R12, 0x2", "LDG.E R5, [R14.64]")
    assert is_gathered(evidence, evidence.sites[-1]) == gathered


BEGIN, SCALE, TAKE = "LDG.E R4, [R2.64]", "IMAD.WIDE R6, R4, 0x4, R8", "LDG.E R5, [R6.64]"


@pytest.mark.parametrize(
    ("before", "loop", "gathered"),
    [
        ((BEGIN, SCALE), (TAKE, "IADD3 R6, P1, R6, 0x4, RZ"), False),  # a row from a place that data says
        ((BEGIN,), (SCALE, TAKE, "IADD3 R4, R4, 0x1, RZ"), False),
        ((), (BEGIN, SCALE, TAKE, "IADD3 R2, P1, R2, 0x4, RZ"), True),  # a place that data says in each turn
        ((), (SCALE, "LDG.E R4, [R6.64]", "IADD3 R10, R10, 0x1, RZ"), True),  # along a list
    ],
)
def test_elements_of_a_row_are_not_gathered_wherever_it_begins(before, loop, gathered):
    lines = [*before, *executing(400.0, *loop), (f"@P0 BRA {16 * len(before):#x}", 400.0), "EXIT"]
    evidence = evidence_of(*lines)
    taking = [site for site in evidence.of("global load") if "[R6.64]" in site.instruction.text]
    assert [is_gathered(evidence, site) for site in taking] == [gathered]
