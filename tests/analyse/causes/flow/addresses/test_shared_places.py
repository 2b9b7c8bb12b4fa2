"""Whether a load from shared memory may read what is stored there, and which places only one thread comes to."""

import pytest
from made_evidence import evidence_of, executing

from profiler.analyse.causes.flow.addresses.shared_places import find_owned, is_apart

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


@pytest.mark.parametrize(
    ("start", "step", "is_so"),
    [
        ("0x300", "0x4", False),
        ("0x500", "0x4", True),
        ("0x300", "-0x4", True),
        ("0x500", "-0x4", False),
        ("0x500", "R4", False),
    ],
)
def test_a_counter_goes_one_way_from_where_it_begins_and_nobody_knows_how_far(start, step, is_so):
    loop = ("LDS R8, [R9]", "STS [R23], R8", f"IADD3 R9, R9, {step}, RZ", "@P0 BRA 0x60")
    evidence = evidence_of(*EACH, f"MOV R9, {start}", *executing(6400.0, *loop), "EXIT", block=64)
    assert is_apart(evidence, evidence.of("shared load")[0], evidence.of("shared store")) is is_so


@pytest.mark.parametrize("jump", ["CALL.REL.NOINC 0x400", "@P0 BRX R6 -0x80"])
def test_nobody_knows_a_register_behind_a_jump_to_elsewhere(jump):
    assert not apart("LDS R8, [R9]", "MOV R9, 0x500", jump)


# 64 threads add to a sum of their own from 0x400 on, and one of them brings what is added to 0x600.
BEFORE = ("S2R R5, SR_TID.X", "UMOV UR4, 0x400", "LEA R23, R5, UR4, 0x2", "MOV R21, 0x600")
SUM = ("LDS R8, [R23]", "FADD R8, R8, R9", "STS [R23], R8")
MEETING = ("STS [R21], R7", "BAR.SYNC 0x0", "LDS R9, [R21]")


def owned(*inside, before=BEFORE, block=64):
    lines = [*executing(100.0, *before), *executing(800.0, *inside)]
    evidence = evidence_of(*lines, (f"@P0 BRA {16 * len(before):#x}", 800.0), "EXIT", block=block)
    (loop,) = evidence.loops_around(evidence.of("shared load"))
    return [site.instruction.text for site in find_owned(evidence, loop)]


def test_a_sum_of_each_thread_is_its_own_in_spite_of_barriers():
    assert owned(*MEETING, *SUM) == ["LDS R8, [R23]", "STS [R23], R8"]


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ((*BEFORE[:2], "LEA R23, R5, UR4, 0x3", BEFORE[3]), True),  # with a gap behind each
        ((*BEFORE[:2], "LEA R23, R5, UR4, 0x1", BEFORE[3]), False),  # half a word further for each thread
        ((*BEFORE[:2], "LOP3.LUT R5, R5, 0x1f, RZ, 0xc0, !PT", *BEFORE[2:]), False),  # a place for each lane
        ((*BEFORE[:3], "MOV R21, 0x4fc"), False),  # what is brought lies in the place of the last thread
        ((*BEFORE[:3], "LDG.E R21, [R2.64]"), False),  # nobody knows where
    ],
)
def test_places_are_owned_if_no_other_access_comes_there(before, found):
    assert bool(owned(*MEETING, *SUM, before=before)) == found


@pytest.mark.parametrize(("step", "found"), [("0x2", False), ("0x3", True)])
def test_several_members_of_one_thread_lie_between_those_of_others(step, found):
    before = (*BEFORE[:2], f"LEA R23, R5, UR4, {step}", BEFORE[3])
    second = ("LDS R10, [R23+0x4]", "FADD R10, R10, R9", "STS [R23+0x4], R10")
    assert bool(owned(*MEETING, *SUM, *second, before=before)) == found


@pytest.mark.parametrize(
    "other",
    [
        "ATOMS.ADD RZ, [R23], R9",
        "IADD3 R23, R23, 0x100, RZ",  # another place in the next turn
        "STS [R23+0x4], R9",  # what the neighbour has
        "@P1 STS [R23+-0x4], R9",
    ],
)
def test_a_place_where_others_store_is_not_owned(other):
    assert owned(*MEETING, *SUM, other) == []


@pytest.mark.parametrize("load", ["LDS R10, [R23+0x4]", "@P1 LDS R10, [R23+-0x4]", "LDS R10, [UR4+0xfc]"])
def test_where_others_only_load_a_thread_need_not_load_its_own_but_must_store_it(load):
    assert owned(*MEETING, *SUM, load) == ["LDS R8, [R23]"]
