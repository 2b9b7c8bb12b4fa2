"""Whether a load from shared memory may read what is stored, as far as constants and the index of a thread say where."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.flow.addresses.spans import is_apart

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


NEXT, TURNS = "IADD3 R9, R9, 0x4, RZ", 64
TEST, AGAIN = "ISETP.NE.AND P0, PT, R10, 0x40, PT", "@P0 BRA 0x70"


def counted(start="0x300", test=TEST, again=AGAIN, first="0x0", ahead=(), around=()):
    """A load of four bytes further on in each turn of a loop, which stores from 0x400 on."""
    loop = ("LDS R8, [R9]", "STS [R23], R8", *ahead, NEXT, "IADD3 R10, R10, 0x1, RZ", test, again)
    before = (f"MOV R9, {start}", f"MOV R10, {first}")
    lines = (*((one, 100.0 * TURNS) for one in loop), *around)
    evidence = evidence_of(*EACH, *before, *lines, "EXIT", block=64)
    return is_apart(evidence, evidence.of("shared load")[0], evidence.of("shared store"))


@pytest.mark.parametrize(
    ("test", "again", "is_so"),
    [
        (TEST, AGAIN, True),
        ("ISETP.NE.AND P0, PT, R10, 0x41, PT", AGAIN, False),
        ("ISETP.LT.AND P0, PT, R10, 0x40, PT", AGAIN, True),
        ("ISETP.LT.AND P0, PT, R10, 0x41, PT", AGAIN, False),
        ("ISETP.GE.AND P0, PT, R10, 0x40, PT", "@!P0 BRA 0x70", True),
        ("ISETP.GE.AND P0, PT, R10, 0x40, PT", "@P0 BRA 0x70", False),
        ("ISETP.NE.AND P0, PT, R10, R20, PT", AGAIN, False),
    ],
)
def test_a_counter_goes_as_far_as_the_test_of_its_loop_lets_it(test, again, is_so):
    assert counted(test=test, again=again) is is_so
    assert counted(test=test, again=again, start="0x500")


def test_how_often_a_loop_turns_on_average_says_nothing_of_a_single_warp():
    assert not counted(test="ISETP.NE.AND P0, PT, R10, R20, PT", start="0x200")
    assert not counted(first="0x41")  # and goes round once more than 32 bits can count


@pytest.mark.parametrize(("end", "is_so"), [("0xb0", True), ("0xc0", False)])
def test_what_a_branch_passes_by_in_some_turns_does_not_count_them(end, is_so):
    """It passes by the address, which then goes less far, or also what counts the turns."""
    assert counted(ahead=(f"@P1 BRA {end}",)) is is_so


@pytest.mark.parametrize(("again", "is_so"), [("@P1 BRA 0x50", True), ("@P1 BRA 0x60", False)])
def test_a_counter_begins_anew_in_each_turn_of_the_loop_around_or_goes_on(again, is_so):
    assert counted(around=((again, 100.0),)) is is_so


@pytest.mark.parametrize(("bound", "is_so"), [("0x3f", True), ("0x40", False)])
def test_behind_its_loop_a_counter_has_gone_one_step_further(bound, is_so):
    loop = (NEXT, "IADD3 R10, R10, 0x1, RZ", f"ISETP.NE.AND P0, PT, R10, {bound}, PT", AGAIN)
    lines = ((one, 100.0 * TURNS) for one in loop)
    evidence = evidence_of(
        *EACH, "MOV R9, 0x300", "MOV R10, 0x0", *lines, "LDS R8, [R9]", "STS [R23], R8", "EXIT", block=64
    )
    assert is_apart(evidence, evidence.of("shared load")[0], evidence.of("shared store")) is is_so


@pytest.mark.parametrize("jump", ["CALL.REL.NOINC 0x400", "@P0 BRX R6 -0x80"])
def test_nobody_knows_a_register_behind_a_jump_to_elsewhere(jump):
    assert not apart("LDS R8, [R9]", "MOV R9, 0x500", jump)


def test_what_counts_the_turns_has_to_begin_anew_in_the_loop_around_too():
    """Here the address does, and the number of the turn goes on."""
    loop = ("LDS R8, [R9]", "STS [R23], R8", NEXT, "IADD3 R10, R10, 0x1, RZ", TEST, AGAIN)
    lines = (("MOV R9, 0x300", 100.0), *((one, 100.0 * TURNS) for one in loop), ("@P1 BRA 0x60", 100.0))
    evidence = evidence_of(*EACH, "MOV R10, 0x0", *lines, "EXIT", block=64)
    assert not is_apart(evidence, evidence.of("shared load")[0], evidence.of("shared store"))
