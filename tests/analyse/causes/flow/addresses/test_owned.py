"""Places in shared memory of which each thread has its own, although the threads meet at barriers and store elsewhere as well."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.flow.addresses.owned import find_owned

# 64 threads add to a sum of their own from 0x400 on, and one of them brings what is added to 0x600.
BEFORE = ("S2R R5, SR_TID.X", "UMOV UR4, 0x400", "LEA R23, R5, UR4, 0x2", "MOV R21, 0x600")
SUM = ("LDS R8, [R23]", "FADD R8, R8, R9", "STS [R23], R8")
MEETING = ("STS [R21], R7", "BAR.SYNC 0x0", "LDS R9, [R21]")


def owned(*inside, before=BEFORE, block=64):
    lines = [*((one, 100.0) for one in before), *((one, 800.0) for one in inside)]
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
        "LDS R10, [R23+0x4]",  # what the neighbour has
    ],
)
def test_a_place_that_others_need_is_not_owned(other):
    assert owned(*MEETING, *SUM, other) == []
