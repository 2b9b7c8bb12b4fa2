"""What it costs to launch blocks that do almost nothing: places that stay empty, and the queue of blocks before them."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.launch import grid, little_work
from profiler.analyse.causes.evidence.latency import Places
from profiler.analyse.causes.flow.working_blocks import find_repeating_warps


@pytest.mark.parametrize(
    ("empty", "refilling", "launching", "worth"),
    [
        (0.25, 0.25, 0.97, 0.2),  # each place is filled at once, and memory is what warps wait for
        (0.55, 0.12, 1.0, (0.43 + 0.12 * 0.2) / 0.55),  # blocks queue to be launched
        (0.55, 0.12, 0.0, 0.2),  # the rest of the block is still at work
        (0.0, 0.0, 0.5, 0.2),
    ],
)
def test_fewer_blocks_are_worth_what_they_queue_for_being_launched(empty, refilling, launching, worth):
    """Warps wait for memory for 80 % of their time."""
    places = Places(empty=empty, refilling=refilling, launching=launching)
    evidence = evidence_of(
        "LDG.E R4, [R2.64]",
        "EXIT",
        figures={"waves": 200.0},
        waits={"long_scoreboard": 0.8, "wait": 0.2},
        places=places,
    )
    (candidate,) = little_work.detect_little_work(evidence)
    assert candidate.effect.resources["launch"] == pytest.approx(worth * 0.99)


@pytest.mark.parametrize("registers", [1.0, 2.0])
@pytest.mark.parametrize(
    ("idle", "saves"),
    [
        (0.4, 0.4),
        (0.9, 1 - 1.06 / 2),  # no more than the last round leaves empty
        (0.0, 0.02),  # on SMs at work, the occupancy shows that some places are empty
    ],
)
def test_sms_without_a_block_lose_the_last_round_however_many_each_holds(registers, idle, saves):
    figures = {
        "waves": 1.06,
        "occupancy_pct": 24.5,
        "occupancy_limit_pct": 25.0,
        "blocks_by_registers": registers,
    }
    cycles = {"l1tex__cycles_active.avg": 1000 * (1 - idle), "l1tex__cycles_active.max": 1000.0}
    evidence = evidence_of("FADD R4, R4, R6", figures=figures | cycles, waits={"no_warp": 1.0})
    (candidate,) = grid.detect_last_wave(evidence)
    assert candidate.saves == pytest.approx(saves)


ROW = ("S2R R4, SR_CTAID.Y", "LDG.E R8, [R4.64]", "STS [R9], R8", "BAR.SYNC.DEFER_BLOCKING 0x0")
COLUMN = ("S2R R5, SR_CTAID.X", "LDG.E R10, [R5.64]", "LDS R8, [R9]", "STG.E [R5.64], R10", "EXIT")


@pytest.mark.parametrize(
    ("grid_of", "lines", "alike"),
    [
        ((100, 100, 1), (*ROW, *COLUMN), [0, 4, 3]),  # in every block; in those of a row of the grid; in those of a column
        ((100, 100, 1), (*ROW[:2], *ROW[3:], *COLUMN), [0, 2, 3]),  # the barrier may guard what a thread makes
        ((100, 100, 1), (*ROW, *COLUMN[:3], "STS [R9], R10", *COLUMN[3:]), [0, 3, 4]),  # and here it does
        ((10_000, 1, 1), (*ROW, *COLUMN), [0]),
    ],
)  # fmt: skip
def test_a_thread_that_goes_on_along_a_row_prepares_once_for_the_row(grid_of, lines, alike):
    evidence = evidence_of(*lines, grid=grid_of, figures={"waves": 1e9})
    assert [len(one.weights) for one in little_work.detect_little_work(evidence)] == alike


def test_a_thread_goes_on_as_far_as_the_row_goes():
    evidence = evidence_of(*ROW, *COLUMN, grid=(4, 1000, 1), figures={"waves": 1e9})
    launched = [one.effect.resources["launch"] for one in little_work.detect_little_work(evidence)]
    assert launched == pytest.approx([1 - 1 / 4000, 1 - 1 / 4, 1 - 1 / 1000])


# Rows of 64 elements in blocks of 128 threads: only the first two warps leave their sum in shared memory, and their result.
FIRST, OF_LANE = "ISETP.LT.U32.AND P0, PT, R3, 0x40, PT", "LOP3.LUT P2, RZ, R4, 0x1f, RZ, 0xc0, !PT"
BEYOND, IN_ROW = "ISETP.GE.U32.AND P1, PT, R3, 0x40, PT", "ISETP.LT.AND P1, PT, R9, UR10, !P1"
INDEX, SUM, SYNC, LEAVE, RESULT = (
    "LOP3.LUT R3, R4, 0x7f, RZ, 0xc0, !PT",
    "@P0 STS [R5], R8",
    "BAR.SYNC 0x0",
    "@!P1 EXIT",
    "STG.E [R6.64], R8",
)


@pytest.mark.parametrize(
    ("changed", "idle"),
    [
        ({}, 0.5),
        ({FIRST: FIRST.removesuffix("PT") + "!P2"}, 0.5),  # and of them one lane each
        ({INDEX: "MOV R3, R4"}, 0.0),  # the index of something else, as far as is known
        ({INDEX: "LOP3.LUT R3, R4, 0x3f, RZ, 0xc0, !PT"}, 0.0),  # counted anew every 64 threads
        ({FIRST: FIRST.replace("0x40", "0x60")}, 0.25),  # a third warp leaves its sum
        ({FIRST: FIRST.replace("LT", "GE")}, 0.0),  # the others fill the buffer
        ({FIRST: FIRST.replace("AND", "OR").removesuffix("PT") + "P2"}, 0.0),
        ({SUM: "STS [R5], R8"}, 0.0),
        ({SUM: "@P0 ATOMS.ADD [R5], R8"}, 0.5),
        ({LEAVE: "@P1 EXIT"}, 0.0),  # what goes on may be past the end of the row, or beyond
        ({LEAVE: "NOP"}, 0.0),
        ({RESULT: "@P0 STG.E [R6.64], R8", LEAVE: "NOP"}, 0.5),
        ({FIRST: FIRST.replace("P0, PT,", "P3, P0,")}, 0.0),  # the opposite of the test
        ({FIRST: "@P3 " + FIRST}, 0.0),  # where P3 does not hold, P0 is as it was
        ({SYNC: "BAR.RED.OR.DEFER_BLOCKING 0x0, P4"}, 0.0),  # each thread leaves its vote
        ({FIRST: FIRST.replace("R3", "R4"), BEYOND: BEYOND.replace("R3", "R4")}, 0.5),
    ],
)
def test_warps_that_store_nothing_even_for_their_block_repeat_what_others_do(changed, idle):
    lines = ("S2R R4, SR_TID.X", INDEX, OF_LANE, FIRST, SUM, SYNC, BEYOND, IN_ROW, LEAVE, RESULT)
    evidence = evidence_of(
        *(changed.get(line, line) for line in lines), "EXIT", figures={"waves": 1e9}, block=128
    )
    (candidate,) = little_work.detect_little_work(evidence)
    assert ("50 % of the warps store nothing" in candidate.sentence) == (idle == 0.5)
    assert ("fewer `num_warps`" in candidate.in_triton) == (idle > 0)
    assert find_repeating_warps(evidence) == pytest.approx(idle)
    ended = evidence_of(("@P3 EXIT", 200.0), *(changed.get(line, line) for line in lines), "EXIT", block=128)
    assert find_repeating_warps(ended) == pytest.approx(0.0)  # half of the warps do nothing at all
