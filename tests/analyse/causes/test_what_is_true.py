"""What the sentence of a cause claims, and what it advises, hold for the kernel at hand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from profiler.analyse.causes.detectors import global_memory, instructions, waiting

sys.path.insert(0, str(Path(__file__).parent))
from made_evidence import evidence_of

LOAD = "LDG.E R4, [R2.64]"
FULL = {"sectors": 400.0, "ideal_sectors": 400.0}


@pytest.mark.parametrize(
    ("wide", "said"),
    [
        (0, ["100 % of the data moves in accesses of 4 bytes a thread, 128 bytes a request."]),
        (20, ["56 % of the data moves in accesses of 4 bytes a thread, 128 bytes a request."]),
        (30, []),
    ],
)
def test_accesses_are_too_narrow_where_they_move_most_of_the_data(wide, said):
    """A thread that loads 16 bytes at once, and then stores a word, has nothing to gain from a wide store."""
    facts = {
        0: FULL | {"waits": {"long_scoreboard": 90}},
        1: {"sectors": 16.0 * wide, "ideal_sectors": 16.0 * wide},
    }
    evidence = evidence_of(LOAD, ("LDG.E.128 R8, [R6.64]", float(wide)), facts=facts)
    assert [one.sentence for one in global_memory.detect_narrow(evidence)] == said


def test_neighbours_that_one_wide_access_would_take_count_as_narrow_though_they_are_misaligned():
    facts = {0: FULL | {"waits": {"long_scoreboard": 90}}, 1: {"sectors": 500.0, "ideal_sectors": 400.0}}
    (candidate,) = global_memory.detect_narrow(evidence_of(LOAD, "LDG.E R5, [R2.64+0x4]", facts=facts))
    assert candidate.sentence.startswith("100 % of the data")


@pytest.mark.parametrize(("waiting", "named"), [(2, False), (4, True)])
def test_nobody_needs_wider_accesses_who_does_not_wait_for_them(waiting, named):
    """A long computation loads three words once: four elements a thread are not worth a change for the loads' sake."""
    facts = {0: FULL | {"waits": {"long_scoreboard": waiting}}, 1: {"waits": {"wait": 100 - waiting}}}
    evidence = evidence_of(LOAD, "FADD R5, R5, R5", facts=facts)
    assert bool(list(global_memory.detect_narrow(evidence))) == named


WAITED_FOR = {"waits": {"long_scoreboard": 90}}


@pytest.mark.parametrize(
    ("lines", "advised"),
    [
        ((LOAD, "FADD R5, R5, R4", "EXIT"), "Let each thread take several elements"),
        ((LOAD, "FADD R5, R5, R4", "@P0 BRA 0x0", "EXIT"), "unroll the loop"),
        (
            (LOAD, "STS [R8], R4", "BAR.SYNC 0x0", "@P0 BRA 0x0", "EXIT"),
            "Load the next tile while this one is used",
        ),
        ((LOAD, "STS [R8], R4", "BAR.SYNC 0x0", "EXIT"), "Let each thread take several elements"),
    ],
)
def test_more_loads_come_from_tiles_from_turns_of_a_loop_or_from_elements_of_a_thread(lines, advised):
    (candidate,) = waiting.detect_unoverlapped_loads(evidence_of(*lines, facts={0: WAITED_FOR}))
    assert advised in candidate.advice
    assert "num_stages" not in candidate.advice  # which is a word of Triton


DIVISION = (
    "I2F.RP R4, R8",
    "MUFU.RCP R4, R4",
    "F2I.FTZ.U32.TRUNC.NTZ R5, R4",
    "IMAD.HI.U32 R5, R5, R6, R4",
    "ISETP.GE.U32.AND P1, PT, R5, R8, PT",
)


@pytest.mark.parametrize(
    ("end", "advised"),
    [
        (("@P0 BRA 0x0", "EXIT"), "out of the loop"),
        (("EXIT",), "Let the grid and the block give the indices"),
    ],
)
def test_divisions_leave_a_loop_or_are_spared_by_a_grid_of_more_dimensions(end, advised):
    (candidate,) = instructions.detect_integer_overhead(evidence_of(*DIVISION, LOAD, *end))
    assert advised in candidate.advice
    assert "divide integers" in candidate.sentence


@pytest.mark.parametrize(
    ("end", "advised"),
    [(("@P0 BRA 0x0", "EXIT"), "count them up"), (("EXIT",), "Let each thread take several elements")],
)
def test_addresses_are_counted_up_in_a_loop_alone(end, advised):
    lines = [f"IMAD R{one + 1}, R{one}, R9, R9" for one in range(12, 20)]
    (candidate,) = instructions.detect_integer_overhead(evidence_of(*lines, "LDG.E R4, [R20]", *end))
    assert advised in candidate.advice
    assert "divide" not in candidate.sentence


@pytest.mark.parametrize(("load", "said"), [((LOAD,), True), ((), False)])
def test_no_instructions_are_counted_for_each_access_where_there_is_none(load, said):
    """A kernel whose only store is behind a test that never holds accesses no memory."""
    (candidate,) = instructions.detect_integer_overhead(evidence_of(*DIVISION, *load, "EXIT"))
    assert ("for each access" in candidate.sentence) == said
