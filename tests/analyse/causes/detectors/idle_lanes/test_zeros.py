"""Blocks with more threads than elements, whose other warps bring zeros to a sum over the block."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.idle_lanes.zeros import detect_zeros_added

WARPS = 800.0
BEGIN, ADD, GIVE, TAKE = "MOV R4, RZ", "FADD R4, R4, R8", "STS [R5], R4", "LDS R6, [R7]"
SHUFFLE, OF_WARP = "SHFL.BFLY PT, R9, R4, 0x10, 0x1f", "STS [R5], R9"


def found(adding=100.0, begin=BEGIN, add=ADD, give=GIVE, passed="NOP", take=TAKE, block=256):
    """The causes that are named where so many of the warps come to a loop of four turns, and add up there what they load."""
    evidence = evidence_of(
        ("S2R R0, SR_TID.X", WARPS),
        (begin, WARPS),
        ("@P0 BRA 0x80", WARPS),
        ("IMAD.WIDE R2, R0, 0x4, R2", adding),
        ("LDG.E R8, [R2]", 4 * adding),
        (add, 4 * adding),
        ("IADD3 R2, R2, 0x400, RZ", 4 * adding),
        ("@P1 BRA 0x40", 4 * adding),
        (give, WARPS),
        (passed, WARPS),
        ("BAR.SYNC 0x0", WARPS),
        (take, WARPS / 2),
        ("@P2 EXIT", WARPS),
        ("STG.E [R10], R6", 25.0),
        ("EXIT", WARPS),
        block=block,
    )
    return list(detect_zeros_added(evidence))


@pytest.mark.parametrize(("give", "passed"), [(GIVE, "NOP"), (SHUFFLE, OF_WARP)])
def test_warps_that_bring_zeros_go_with_their_part_of_the_exchange(give, passed):
    (one,) = found(give=give, passed=passed)
    assert one.sentence.startswith("88 % of the warps take no element")
    assert [site.instruction.text for site in one.weights] == ["@P1 BRA 0x40"]  # the loop that few enter
    everyone, all_of_it = (
        8.5 * WARPS,
        8.5 * WARPS + 1725,
    )  # executed by all warps, and by those that add up too
    assert one.effect.resources["issue"] == pytest.approx(7 / 8 * everyone / all_of_it)
    assert "launch" not in one.effect.resources  # smaller blocks are as many


@pytest.mark.parametrize(
    "changed",
    [
        {"adding": WARPS},
        {"begin": "I2FP.F32.U32 R4, R0"},  # a value of its own, to which few warps add more
        {"take": "LDG.E R6, [R0]"},  # an element of another kind
        {"add": "FADD R4, R8, R9"},  # what the last turn leaves is no sum
        {"give": "STS [R5], R9"},
        {"give": SHUFFLE.replace("BFLY", "IDX"), "passed": OF_WARP},  # to others, which do not add it up
        {"block": 32},
        {"give": SHUFFLE, "passed": "STG.E [R12.64], R9"},  # a warp for each row, some of which are short
    ],
)
def test_warps_with_something_of_their_own_stay(changed):
    assert found(**changed) == []
