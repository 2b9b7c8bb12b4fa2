"""Loops that only count when their work is done."""

import pytest
from made_evidence import evidence_of, executing

from profiler.analyse.causes.detectors.instructions.empty_turns import detect_empty_turns

# A search of 64 turns for each of 10 warps: it goes on while its lower end, R4, is less than the upper one, R5.
MOVES = ("MOV R7, R4", "MOV R4, R5")
TEST, PASSING = "ISETP.GT.AND P1, PT, R5, R4, PT", "@!P1 BRA 0x80"
BODY = ("LDG.E R3, [R8.64]", "SEL R5, R5, R9, P3", "SEL R4, R9, R7, P3")
COUNT = ("UIADD3 UR7, UR7, 0x1, URZ", "ISETP.NE.U32.AND P0, PT, R2, UR7, PT", "@P0 BRA 0x10")  # from 0x80 on


def spared(test=TEST, moves=MOVES, count=COUNT, worked=120.0, behind="EXIT"):
    """The instructions that are spared, with the part of each, where so many of the 640 turns execute the body."""
    lines = [("MOV R4, RZ", 10.0), *executing(640.0, *moves, test, PASSING)]
    lines += [*executing(worked, *BODY), *executing(640.0, *count), (behind, 10.0)]
    return {
        site.instruction.text: spared / site.executed
        for one in detect_empty_turns(evidence_of(*lines))
        for site, spared in one.weights.items()
    }


def test_turns_without_work_are_spared_but_for_the_one_that_finds_out():
    found = spared()
    assert list(found) == [*MOVES, TEST, PASSING, *COUNT]
    assert list(found.values()) == pytest.approx([1 - 12 / 64 - 1 / 64] * 7)


@pytest.mark.parametrize(("worked", "is_so"), [(620.0, True), (630.0, False), (640.0, False)])
def test_one_turn_has_to_find_out_that_nothing_is_left(worked, is_so):
    assert bool(spared(worked=worked)) == is_so


@pytest.mark.parametrize(
    "changed",
    [
        {"test": "ISETP.GT.AND P1, PT, R5, UR7, PT"},  # a later turn may have work
        {"test": "ISETP.GT.AND P1, PT, R5, R4, P2"},
        {"moves": ("MOV R7, R4", "IADD3 R4, R4, 0x1, RZ")},
        {"moves": ("MOV R7, R4", "LDG.E R5, [R10.64]")},  # another thread may bring work
        {"moves": ("MOV R7, R4", "BAR.SYNC 0x0")},  # others wait here
        {"moves": ("MOV R7, R4", "FADD R11, R11, R12")},
        {"moves": ("MOV R7, R4", "@P2 MOV R4, R5")},
        {"moves": ("MOV R7, R5", "MOV R5, R4"), "count": ("MOV R4, R7", *COUNT)},  # they change places each turn
    ],
)  # fmt: skip
def test_turns_count_where_they_may_find_work_or_do_some(changed):
    assert spared(**changed) == {}


def test_values_may_move_on_for_a_turn_before_they_rest():
    assert spared(moves=("MOV R7, R5", "MOV R4, R7"))
