"""Which arrays in global memory a block fills and reads in each turn of a loop, so that it need not have them."""

import pytest
from made_evidence import evidence_of, executing

from profiler.analyse.causes.flow.addresses.scratch import find_scratch

ARRAYS = (
    "LDC.64 R10, c[0x0][0x210]", "LDC.64 R12, c[0x0][0x218]", "S2R R0, SR_TID.X", "IMAD.WIDE R2, R0, 0x4, R10", "IMAD.WIDE R4, R0, 0x8, R10",
    "IMAD.WIDE R8, R0, 0x4, R12",
)  # fmt: skip
GIVEN, STORED, LOADED = "LDG.E.CONSTANT R6, [R8.64]", "STG.E [R2.64], R6", "LDG.E R7, [R4.64]"
BARRIER = "BAR.SYNC.DEFER_BLOCKING 0x0"
FURTHER, TURN = "IADD3 R8, R8, 0x400, RZ", "@P0 BRA 0x60"


def found_in(*turn, before=1.0, executed=None):
    """Returns what is found in a loop of 100 turns of one warp, or of as many as it was entered `before`."""
    lines = [*executing(before, *ARRAYS), *((one, (executed or {}).get(one, 100.0)) for one in turn), "EXIT"]
    return find_scratch(evidence_of(*lines, grid=4, block=32))


def test_a_block_fills_an_array_in_each_turn_and_reads_it_behind_a_barrier():
    (scratch,) = found_in(GIVEN, STORED, BARRIER, LOADED, FURTHER, TURN)
    assert [site.instruction.text for site in (*scratch.stores, *scratch.loads)] == [STORED, LOADED]
    assert scratch.bytes_of_block == pytest.approx(32 * 4 / 4)  # a quarter of the blocks has the warp


@pytest.mark.parametrize(
    "turn",
    [
        (GIVEN, STORED, LOADED, FURTHER, TURN),  # each thread reads what it has stored
        (LOADED, GIVEN, STORED, BARRIER, FURTHER, TURN),  # what the turn before has stored
        (
            GIVEN,
            STORED,
            BARRIER,
            LOADED,
            FURTHER,
            "IADD3 R2, R2, 0x400, RZ",
            TURN,
        ),  # each turn has places of its own
        (GIVEN, STORED, BARRIER, "LDG.E R7, [R8.64]", FURTHER, TURN),  # another array
        (GIVEN, "STG.E.STRONG.SYS [R2.64], R6", BARRIER, LOADED, FURTHER, TURN),  # for others
    ],
)
def test_other_arrays_outlive_the_turn(turn):
    assert not found_in(*turn)


@pytest.mark.parametrize(("times", "found"), [(91.0, True), (90.0, False), (200.0, False)])
def test_a_turn_reads_each_value_once(times, found):
    """More loads use what is stored several times, so that it is worth keeping, and fewer leave some for later."""
    assert bool(found_in(GIVEN, STORED, BARRIER, LOADED, FURTHER, TURN, executed={LOADED: times})) == found


def test_a_loop_of_one_turn_overwrites_nothing():
    assert not found_in(GIVEN, STORED, BARRIER, LOADED, FURTHER, TURN, before=100.0)
