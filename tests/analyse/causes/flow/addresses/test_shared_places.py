"""Whether a load from shared memory may read what is stored, as far as constants and the index of a thread say where."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.flow.addresses.shared_places import is_apart

BASE = ("S2R R5, SR_TID.X", "S2UR UR6, SR_CgaCtaId", "UMOV UR4, 0x400", "ULEA UR4, UR6, UR4, 0x18")
EACH = (*BASE, "LEA R23, R5, UR4, 0x2")  # 64 threads store four bytes each, from 0x400 to 0x4ff


def apart(load, *before, store="STS [R23], R8"):
    evidence = evidence_of(*EACH, *before, load, store, "EXIT", block=64)
    (loading,), storing = evidence.of("shared load"), evidence.of("shared store")
    return is_apart(evidence, loading, storing)


@pytest.mark.parametrize(
    ("address", "is_so"), [("0x500", True), ("0x4fc", False), ("0x3fc", True), ("0x400", False)]
)
def test_an_array_ends_with_the_last_thread(address, is_so):
    assert apart("LDS R8, [UR5]", f"UMOV UR5, {address}") is is_so


def test_a_wide_access_reaches_further():
    assert apart("LDS R8, [UR5]", "UMOV UR5, 0x3fc")
    assert not apart("LDS.64 R8, [UR5]", "UMOV UR5, 0x3fc")


def test_a_constant_may_be_moved_as_two_halves():
    """0x500 is a float of 16 bits, and so is what stands before it."""
    assert apart("LDS R8, [R9]", "HFMA2.MMA R9, -RZ, RZ, 0, 7.62939453125e-05")
    assert not apart("LDS R8, [R9]", "HFMA2.MMA R9, -RZ, RZ, 0, 6.103515625e-05")  # 0x400


def test_an_offset_counts():
    assert apart("LDS R8, [UR4+0x100]")
    assert not apart("LDS R8, [UR4+0xfc]")


@pytest.mark.parametrize(
    "made",
    [
        "IMAD R9, R5, 0x4, R23",  # twice the index
        "IADD3 R9, R23, 0xfc, RZ",
        "LOP3.LUT R9, R23, 0x7ff, RZ, 0xc0, !PT",
        "LDG.E R9, [R2]",  # nobody knows
        "IMAD.WIDE R9, R5, 0x4, R2",
    ],
)
def test_addresses_that_may_meet_what_is_stored(made):
    assert not apart("LDS R8, [R9]", made)


@pytest.mark.parametrize(
    "made",
    [
        "IMAD R9, R5, 0x4, 0x500",
        "IADD3 R9, R23, 0x100, RZ",
        "SHF.L.U32 R9, R23, 0x1, RZ",
        "SHF.R.U32.HI R9, RZ, 0x1, R23",
        "LOP3.LUT R9, R23, 0xff, RZ, 0xc0, !PT",
        "IMAD R9, R5, -0x4, 0x3fc",
    ],
)
def test_addresses_before_or_behind_it(made):
    assert apart("LDS R8, [R9]", made)


def test_a_branch_may_pass_a_second_address_by():
    """The load reads what the threads store where the branch is taken, and what lies behind it elsewhere."""
    passed = ("MOV R9, R23", "@P0 BRA 0x80", "MOV R9, 0x500")
    assert not apart("LDS R8, [R9]", *passed)
    assert apart("LDS R8, [R9]", "MOV R9, 0x600", *passed[1:])
    assert apart("LDS R8, [R9]", "MOV R9, R23", "@P0 BRA 0x70", "MOV R9, 0x500")


@pytest.mark.parametrize(("start", "is_so"), [("0x300", False), ("0x500", True)])
def test_a_counter_goes_up_from_where_it_begins_and_nobody_knows_how_far(start, is_so):
    loop = ("LDS R8, [R9]", "STS [R23], R8", "IADD3 R9, R9, 0x4, RZ", "@P0 BRA 0x60")
    evidence = evidence_of(*EACH, f"MOV R9, {start}", *((one, 6400.0) for one in loop), "EXIT", block=64)
    assert is_apart(evidence, evidence.of("shared load")[0], evidence.of("shared store")) is is_so


@pytest.mark.parametrize("jump", ["CALL.REL.NOINC 0x400", "@P0 BRX R6 -0x80"])
def test_nobody_knows_a_register_behind_a_jump_to_elsewhere(jump):
    assert not apart("LDS R8, [R9]", "MOV R9, 0x500", jump)
