"""Blocks that all do the same work, because none of them reads its index."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.instructions.redundant_instructions import detect_same_in_all_blocks

# Each thread takes every 256th element of all there are, and each block stores the same sum.
WORK = {
    "thread": "S2R R0, SR_TID.X",
    "block": "NOP",
    "load": "LDG.E R4, [R2.64]",
    "sum": "FADD R5, R5, R4",
    "store": "STG.E [R8.64], R5",
    "end": "EXIT",
}


def found(grid=1000, **changed):
    return list(detect_same_in_all_blocks(evidence_of(*(WORK | changed).values(), grid=grid)))


def test_blocks_that_do_not_read_their_index_do_the_same_work():
    (one,) = found()
    assert one.sentence == "The 1,000 blocks all do the same work, because none reads its index."
    assert one.effect.resources["issue"] == pytest.approx(1 - 1 / 1000)
    assert "(`blockIdx`)" in one.advice
    assert "(`tl.program_id`)" in one.in_triton


def test_blocks_may_do_the_same_along_one_axis():
    (one,) = found(grid=(50, 4, 1), block="S2UR UR4, SR_CTAID.X")
    assert one.sentence == "The 4 blocks along y all do the same work, because none reads its index."
    assert one.effect.resources["issue"] == pytest.approx(1 - 1 / 4)
    assert "no more than one along y" in one.advice


@pytest.mark.parametrize("grid", [1, (1, 1, 1)])
def test_one_block_repeats_nothing(grid):
    assert found(grid=grid) == []


@pytest.mark.parametrize(
    "changed",
    [
        {"block": "S2R R6, SR_CTAID.X"},
        {"block": "S2R R6, SR_VIRTUALSMID"},  # work may go by the SM
        {"block": "ATOMG.E.ADD.STRONG.GPU PT, R6, [R8.64], R7"},  # the next work of a counter
        {"store": "RED.E.ADD.F32.FTZ.RN.STRONG.GPU [R8.64], R5"},  # of which each block is a part
        {"load": "LDG.E.STRONG.SYS R4, [R2.64]"},  # what others store meanwhile
        {"block": "CALL.ABS.NOINC R20"},  # code that is not recorded
        {"block": "CALL.REL.NOINC R20 `(f)"},  # a function that a pointer says
        {"store": "UBLKRED.G.S.ADD.F32.RN [UR6], [UR4], UR5"},
        {"block": "S2R R6, SR_CgaCtaId", "sum": "IMAD R5, R6, 0x100, R0"},  # work may go by the place in a cluster
        {"end": "NOP"},  # the rest is not recorded
    ],
)  # fmt: skip
def test_blocks_that_may_differ_are_not_said_to_do_the_same(changed):
    assert found(**changed) == []


def test_the_upper_bits_of_an_address_in_shared_memory_are_no_work_of_a_block():
    """Each kernel of sm_90 that uses shared memory reads the block's number in its cluster for them."""
    assert found(block="S2R R6, SR_CgaCtaId", sum="LEA R5, R6, R7, 0x18")
    assert found(block="S2UR UR6, SR_CgaCtaId", sum="ULEA UR5, UR6, UR7, 0x18")
