"""What a thread stores in one loop and loads again in a later one, it could have kept."""

import pytest
from made_evidence import evidence_of, executing

from profiler.analyse.causes.detectors.global_memory.redundant_stores import detect_taken_back

LOAD, OVERWRITE = "LDG.E R11, [R8.64]", "STG.E [R8.64], R11"
START = ["S2R R0, SR_CTAID.X", "S2R R1, SR_TID.X", "LDC.64 R2, c[0x0][0x210]", "LDC.64 R4, c[0x0][0x218]"]
PLACE = ["IMAD R8, R0, 0x1000, R2", "LEA R8, R1, R8, 0x2"]  # of a thread's first element
IN_OTHER_WORDS = ["SHF.L.U32 R7, R1, 0x2, RZ", "IMAD R9, R0, 0x1000, R7", "IADD3 R8, R9, R2, RZ"]


def taken_back(load=LOAD, last=OVERWRITE, *, between=(), second=IN_OTHER_WORDS, stored=4000.0, loaded=None):
    """Two loops, entered by 400 warps of 50 blocks. Each turn of the first stores a value, and each of the second loads one and stores another."""
    lines = executing(400.0, *START, *PLACE)
    first = len(lines)
    lines += executing(stored, "STG.E [R8.64], R10", "IADD3 R8, R8, 0x400, RZ", f"@P0 BRA {16 * first:#x}")
    lines += executing(400.0, "BAR.SYNC 0x0", *between, *second)
    later = len(lines)
    lines += executing(
        loaded or stored,
        load,
        "FMUL R11, R11, R12",
        last,
        "IADD3 R8, R8, 0x400, RZ",
        f"@P0 BRA {16 * later:#x}",
    )
    facts = {later: {"waits": {"long_scoreboard": 10}}}
    return list(detect_taken_back(evidence_of(*lines, facts=facts, grid=50)))


def test_values_that_are_loaded_again_and_overwritten_are_stored_in_vain():
    (candidate,) = taken_back()
    assert candidate.name == "redundant-global-stores"
    assert "and then overwrite it" in candidate.sentence
    assert "store only the last ones" in candidate.advice
    assert candidate.effect.resources["lsu"] == pytest.approx(2 / 3)  # the first store, and the load
    (blamed,) = candidate.weights
    assert blamed.kind == "global store"
    assert blamed.instruction.offset == 16 * len([*START, *PLACE])


def test_values_that_stay_where_they_were_stored_are_loaded_in_vain():
    (candidate,) = taken_back(last="STG.E [R4.64], R11")
    assert candidate.name == "redundant-global-loads"
    assert candidate.effect.resources["lsu"] == pytest.approx(1 / 3)
    (blamed,) = candidate.weights
    assert blamed.kind == "global load"


@pytest.mark.parametrize(
    ("changed", "is_found"),
    [
        ({"load": "LDG.E R11, [R8.64+0x4]"}, False),  # what a neighbour has stored
        ({"last": "LDG.E R12, [R8.64+0x4]"}, False),  # or also that
        ({"load": "LDG.E.STRONG.GPU R11, [R8.64]"}, False),  # of others, who may have stored there since
        ({"load": "LDG.E.CONSTANT R11, [R8.64]"}, False),  # of memory that nobody stores to
        ({"second": ["IMAD R8, R0, 0x1000, R4", "LEA R8, R1, R8, 0x2"]}, False),  # another array
        (
            {"between": [*PLACE, "STG.E [R8.64+0x4], R10"]},
            False,
        ),  # another thread may have stored there since
        ({"between": [*PLACE, "RED.E.ADD.F32.FTZ.RN.STRONG.GPU [R8.64], R10"]}, False),
        ({"between": ["STG.E [R4.64], R10"]}, True),  # elsewhere
        ({"loaded": 3600.0}, False),  # not all of it
        ({"loaded": 3700.0}, True),  # but for the last turn
        ({"stored": 51_000.0}, True),
        ({"stored": 51_400.0}, False),  # more than 128 KiB a block
    ],
)
def test_a_thread_takes_back_its_own_values_where_nobody_else_may_have_changed_them(changed, is_found):
    assert bool(taken_back(**changed)) == is_found


@pytest.mark.parametrize(("turns", "begin", "is_found"), [(10, 0, True), (9, 0, False), (10, 4, False)])
def test_a_loop_that_is_unrolled_whole_takes_back_as_much(turns, begin, is_found):
    lines = executing(400.0, *START, *PLACE)
    first = len(lines)
    lines += executing(4000.0, "STG.E [R8.64], R10", "IADD3 R8, R8, 0x400, RZ", f"@P0 BRA {16 * first:#x}")
    places = [f"[R8.64+{0x400 * turn + begin:#x}]" for turn in range(turns)]
    lines += executing(
        400.0, *IN_OTHER_WORDS, *(f"LDG.E R{20 + turn}, {place}" for turn, place in enumerate(places))
    )
    facts = {len(lines) - 1: {"waits": {"long_scoreboard": 10}}}
    lines += executing(400.0, *(f"STG.E {place}, R{20 + turn}" for turn, place in enumerate(places)), "EXIT")
    found = [one.name for one in detect_taken_back(evidence_of(*lines, facts=facts, grid=50))]
    assert found == (["redundant-global-stores"] if is_found else [])
