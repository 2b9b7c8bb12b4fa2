"""Of which loops the turns only add up, so that others can take a part of them."""

import pytest
from made_evidence import LOAD, evidence_of

from profiler.analyse.causes.flow.arithmetic.shared_turns import find_loop_adding_up, goes_on_from_turn_before

COUNT = "IADD3 R2, R2, 0x80, RZ"
SUM = "FADD R7, R7, R4"
# A value goes from global to shared memory, and all threads of the block add up what they find there.
TILE = ("STS [R20], R4", "BAR.SYNC.DEFER_BLOCKING 0x0", "LDS R5, [R21]", "FFMA R7, R5, R6, R7")


def adds_up(*turn):
    """Returns whether a loop only adds up in which warps wait for the load, with this in each turn."""
    lines = [("NOP", 1.0), LOAD, *turn, COUNT, "@P0 BRA 0x10"]
    return find_loop_adding_up(evidence_of(*lines, facts={1: {"waits": {"wait": 90}}})) is not None


@pytest.mark.parametrize(
    "turn",
    [
        (SUM,),
        ("DADD R8, R4, R8",),
        ("FFMA R7, R4, R4, R7",),
        ("IADD3 R7, R7, R4, RZ",),
        ("IMAD R7, R4, R5, R7",),
        ("IMAD.IADD R7, R7, 0x1, R4",),
        ("LDG.E R5, [R2.64+0x4]", "IADD3 R8, P1, R8, R4, RZ", "IADD3.X R9, R9, R5, RZ, P1, !PT"),  # of 64 bits
        (SUM, "FFMA R8, R4, R4, R8"),  # the sum beside that of the squares
        (SUM, SUM),  # of an unrolled loop
        ("HGMMA.64x128x16.F32 R24, gdesc[UR4], R24", "UISETP.GE.AND UP0, UPT, UR8, 0x3, UPT", "USEL UR8, UR8, URZ, !UP0"),
        TILE,
    ],
)  # fmt: skip
def test_the_turns_of_a_sum_may_come_in_any_order(turn):
    assert adds_up(*turn)


@pytest.mark.parametrize(
    "turn",
    [
        (),  # nothing at all
        ("FFMA R7, R7, R6, R4",),  # a polynomial
        ("FFMA R7, R7, R7, R4",),
        ("FADD R7, R4, -R7",),
        ("FADD R7, R7, R7",),
        ("IMAD R7, R7, R5, R4",),  # random numbers
        ("FADD R8, R4, -R9", "FADD R10, R7, R8", "FADD R9, R10, -R7", "FADD R9, R9, -R8", "FADD R7, R10, RZ"),  # Kahan's sum
        (SUM, "MUFU.EX2 R8, R7", "FADD R9, R9, R8"),  # what is added depends on how far the other sum has come
        (SUM, "FSETP.GT.AND P1, PT, R7, 1, PT", "@P1 BRA 0x90"),  # the first turn in which it is large
        (SUM, "STG.E [R10.64], R7"),
        (SUM, "ATOMG.E.ADD.STRONG.GPU PT, R8, [R10.64], R4"),
        ("IADD3 R7, R7, R4, RZ", "LDG.E R9, [R7.64]"),  # the length of each element says where the next one begins
        ("LDS R5, [R20]", "FADD R5, R5, R4", "STS [R20], R5", SUM),  # another turn goes on from what shared memory holds
        ("@P1 LOP3.LUT R7, R7, R4, RZ, 0x3c, !PT",),
    ],
)  # fmt: skip
def test_other_turns_need_what_those_before_have_made(turn):
    assert not adds_up(*turn)


@pytest.mark.parametrize(
    ("turn", "goes_on"),
    [
        (("FFMA R7, R7, R7, R4",), True),
        (("FFMA R7, R7, R6, R4",), True),  # a polynomial
        (("MUFU.EX2 R7, R8", "FADD R8, R7, R4"), True),
        (("IMAD.SHL.U32 R8, R7, 0x2000, RZ", "LOP3.LUT R7, R8, R7, RZ, 0x3c, !PT"), True),  # random numbers
        (("LOP3.LUT R7, R7, R4, RZ, 0x3c, !PT",), False),
        (("IMAD R7, R7, R4, RZ",), False),  # a product
        (("LDG.E.64 R8, [R8.64]", "FADD R7, R7, R6"), True),  # a list
        ((SUM,), False),
        (("FFMA R7, R4, R4, R7",), False),
        (("IMAD R7, R2, R4, R7",), False),  # of products with the counter
        (("FMUL R9, R9, 0.5", "FFMA R7, R9, R4, R7"), False),  # with the power of a constant
        (("IMAD.IADD R7, R7, 0x1, R4",), False),
        (("FMNMX R7, R7, R4, PT",), False),
        (("FSETP.GT.AND P1, PT, R4, R7, PT", "FSEL R7, R4, R7, P1", "SEL R8, R2, R8, P1"), False),  # and where it is
    ],
)  # fmt: skip
def test_more_than_a_sum_or_an_extreme_goes_on_from_the_turn_before(turn, goes_on):
    evidence = evidence_of("NOP", LOAD, *turn, COUNT, "@P0 BRA 0x10")
    ((loop,),) = evidence.loops.values()
    assert goes_on_from_turn_before(evidence, loop) == goes_on
