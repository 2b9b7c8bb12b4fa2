"""What all threads of a block compute alike in each turn of a loop, because it is made of what they load from the same place."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.instructions.redundant_instructions import (
    detect_redundant_instructions,
)

BEFORE = ("S2R R5, SR_TID.X", "LDG.E R4, [R2.64]", "I2F.U32 R6, R5", "MOV R10, RZ")
# A member of the list; its weight, which is the same for all threads; and what a thread makes of it.
LIST = ("LDS R8, [R10]", "MUFU.EX2 R9, R8", "FADD R9, R9, 1", "MUFU.RCP R9, R9", "FFMA R7, R9, R6, R7", "IADD3 R10, R10, 0x4, RZ")  # fmt: skip


def alike(*inside, turns=64, block=256):
    """Returns the instructions that one thread could execute for the block, and the part of their work that goes."""
    lines = [*((one, 100.0) for one in BEFORE), *((one, 100.0 * turns) for one in inside)]
    evidence = evidence_of(*lines, ("@P0 BRA 0x40", 100.0 * turns), "EXIT", block=block)
    found = [one for one in detect_redundant_instructions(evidence) if "All threads" in one.sentence]
    texts = {site.instruction.text for one in found for site in one.weights}
    return texts, found[0].effect.resources["xu"] if found else 0.0


def test_the_weight_of_a_member_is_computed_once_for_the_block():
    texts, spared = alike(*LIST)
    assert texts == {*LIST[1:4]}
    assert spared == pytest.approx(63 / 64 * 128 / 129, rel=0.01)  # beside a conversion before the loop


@pytest.mark.parametrize(("turns", "block", "spared"), [(64, 32, 0.0), (1, 256, 0.0), (2, 256, 0.4)])
def test_turns_are_shared_out_among_the_threads_of_a_block(turns, block, spared):
    """A warp alone has nobody to share with, and a loop of one turn has nothing to share."""
    assert alike(*LIST, turns=turns, block=block)[1] == pytest.approx(spared, abs=0.01)


@pytest.mark.parametrize(
    "inside",
    [
        ("LDS R8, [R5]", *LIST[1:]),  # each thread has a member of its own
        (*LIST[:1], "FMUL R8, R8, R6", *LIST[1:]),  # or a part of its own in it
        (*LIST, "BAR.SYNC 0x0"),  # the threads may have made the member together
        (*LIST, "STS [R10], R8"),
        (
            *LIST[:1],
            "FFMA R11, R8, R11, R8",
            "MUFU.EX2 R9, R11",
            *LIST[2:],
        ),  # it goes on from the turn before
        ("LDS R8, [R12]", *LIST[1:]),  # the same in each turn: that is done once before the loop
    ],
)
def test_other_work_is_left_to_each_thread(inside):
    assert "MUFU.RCP R9, R9" not in alike(*inside)[0]


def test_a_loop_that_is_alike_as_a_whole_is_another_cause():
    assert alike(*LIST[:4], "FADD R7, R7, R9", LIST[5]) == (set(), 0.0)


def test_results_are_loaded_in_place_of_what_they_are_made_of():
    """Two results of one value are one more load, which takes the place of one of four instructions."""
    more = ("FMUL R11, R8, R8", "FFMA R7, R11, R6, R7")
    _, one = alike(*LIST)
    _, two = alike(*LIST[:5], *more, LIST[5])
    assert two == pytest.approx(one * 3 / 4)
