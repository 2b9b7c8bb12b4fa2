"""Blocks whose threads all compute the one result that the block stores."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.idle_lanes.blocks_of_one import detect_blocks_of_one

# A block squares one element, and its first thread stores it.
LINES = {
    "thread": "S2R R0, SR_TID.X",
    "block": "S2R R1, SR_CTAID.X",
    "from": "IMAD.WIDE.U32 R6, R1, 0x4, R6",
    "to": "IMAD.WIDE.U32 R4, R1, 0x4, R4",
    "load": "LDG.E R8, [R6.64]",
    "square": "FMUL R9, R8, R8",
    "is first": "ISETP.NE.AND P2, PT, R0, RZ, PT",
    "store": "@!P2 STG.E [R4.64], R9",
    "end": "EXIT",
}


def found(waves=1000.0, block=128, lanes=None, **changed):
    lines = [*(LINES | {name.replace("_", " "): line for name, line in changed.items()}).values()]
    facts = {place: {"lanes": lanes} for place in (4, 5)} if lanes else {4: {"sectors": 1.0}}
    return list(detect_blocks_of_one(evidence_of(*lines, block=block, facts=facts, figures={"waves": waves})))


def test_one_of_128_threads_would_do_where_nothing_that_is_stored_depends_on_the_thread():
    (candidate,) = found()
    assert candidate.name == "idle-lanes"
    assert "All 128 threads of a block compute the same result" in candidate.sentence
    assert candidate.effect.resources["fma"] == pytest.approx(1 - 1 / 128)
    assert candidate.effect.resources["launch"] > 0  # as many fewer blocks


def test_blocks_take_each_others_results_until_the_gpu_is_filled_twice_only():
    (candidate,) = found(waves=20.0)
    assert candidate.effect.resources["fma"] == pytest.approx(1 - 2 / 20)


def test_code_behind_the_exit_of_the_other_threads_is_needed():
    (candidate,) = found(is_first="@P2 EXIT", lanes=1.0)
    assert [site.instruction.name for site, weight in candidate.weights.items() if weight].count("FMUL") == 0


@pytest.mark.parametrize(
    "changed",
    [
        {"from": "IMAD.WIDE.U32 R6, R0, 0x4, R6"},  # each thread loads an element of its own
        {"to": "IMAD.WIDE.U32 R4, R0, 0x4, R4"},  # or stores to a place of its own
        {"square": "FMUL R9, R8, R0"},
        {"square": "BAR.SYNC 0x0"},
        {"square": "STS [R0], R8"},
        {"store": "RED.E.ADD.F32.FTZ.RN.STRONG.GPU [R4.64], R9"},  # each thread adds something
        {"store": "NOP"},
        {"block": 1},
    ],
)
def test_threads_that_have_a_part_of_their_own_in_the_result_are_needed(changed):
    assert found(**changed) == []
