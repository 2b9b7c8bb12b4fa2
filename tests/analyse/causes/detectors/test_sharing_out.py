"""Blocks of fewer threads than a warp has lanes: several go together, or the lanes share one out."""

import pytest
from made_evidence import LOAD, LOOP, active, evidence_of

from profiler.analyse.causes.detectors.idle_lanes import lanes
from profiler.analyse.causes.detectors.launch import occupancy
from profiler.analyse.causes.detectors.sharing_out import share_out, use_fewer_warps

# One lane of each warp goes through a row, and through a column.
ROW, COLUMN = "IADD3 R2, R2, 0x4, RZ", "IADD3 R2, R2, 0x400, RZ"
OF_ONE = {"lanes": 1.0, "acting": 1.0, "sectors": 100.0, "ideal_sectors": 100.0}


def few(further=COLUMN, block=1, grid=100_000, figures=None, sectors=100.0):
    facts = {1: OF_ONE | {"sectors": sectors}} | {place: active(1.0) for place in (0, 2, 3, 4)}
    return evidence_of("NOP", LOAD, further, LOOP, "EXIT", facts=facts, block=block, grid=grid,
                       figures={"sms": 132.0, "shared_bytes": 1024.0, "shared_of_block": 227 * 1024.0} | (figures or {}))  # fmt: skip


@pytest.mark.parametrize(
    ("kernel", "advice"),
    [
        (few(ROW), "in steps of `blockDim.x`"),
        (few(COLUMN), ""),
        (few(ROW, block=32), ""),  # all lanes have a thread
        (few(ROW, block=16), ""),  # 16 threads walk through one table together
        (few(ROW, block=16, sectors=1600.0), "in steps of `blockDim.x`"),  # each through a row of its own
        (few(figures={"shared_bytes": 7265.0}), "such as the elements of a row"),  # 32 of them need 227 KiB and more
        (few(figures={"shared_bytes": 7264.0}), ""),
        (few(block=16, figures={"shared_bytes": 7265.0}), ""),  # only two of them
        (few(grid=32 * 4 * 132 - 1), "such as the elements of a row"),  # less than a warp for each of 528 schedulers
        (few(grid=32 * 4 * 132), ""),
    ],
)  # fmt: skip
def test_lanes_share_a_block_out_where_it_is_a_row_or_where_several_do_not_go_together(kernel, advice):
    assert advice in share_out(kernel)
    assert bool(share_out(kernel)) == bool(advice)


def test_idle_lanes_and_small_blocks_are_advised_alike():
    limits = {"launch__occupancy_limit_blocks": 32.0, "occupancy_limit_pct": 50.0, "waves": 9.0}
    kernel = few(ROW, figures=limits)
    (idle,) = lanes.detect_idle_lanes(kernel)
    (small,) = occupancy.detect_occupancy(kernel)
    assert idle.advice == small.advice == share_out(kernel)
    assert small.regrouped["issue"] == pytest.approx(31 / 32)  # no bound counts the lanes that are not there


@pytest.mark.parametrize(
    ("further", "block", "is_placed"), [(ROW, 1, True), (COLUMN, 1, False), (COLUMN, 33, True)]
)
def test_no_line_is_to_blame_where_blocks_go_together(further, block, is_placed):
    """Only what lanes share out has a place. Of 33 threads, the last warp has one: that is no cause of the launch."""
    (candidate,) = lanes.detect_idle_lanes(few(further, block=block))
    assert bool(candidate.weights) == is_placed
    assert not candidate.blames_lines


@pytest.mark.parametrize(("further", "spared"), [(ROW, 7 / 8), (COLUMN, 0.0)])
def test_lanes_side_by_side_share_the_sectors_that_one_takes_one_by_one(further, spared):
    (candidate,) = lanes.detect_idle_lanes(few(further))
    assert candidate.effect.resources["l1"] == pytest.approx(spared)


@pytest.mark.parametrize(
    ("block", "storing", "warps"),
    [
        (128, 8.0, "`num_warps=1`"),
        (256, 16.0, "`num_warps=4`"),
        (128, 2.0, "`num_warps=1`"),  # a warp is the least that there is
        (32, 8.0, ""),
        (128, 32.0, ""),
    ],
)
def test_a_program_needs_no_more_warps_than_it_has_elements_for(block, storing, warps):
    lines = ("S2R R0, SR_TID.X", "LDG.E R4, [R0.64]", "STG.E [R0.64], R4", "EXIT")
    kernel = evidence_of(*lines, facts={2: {"acting": storing}}, block=block)
    assert use_fewer_warps(kernel).startswith(f"Use {warps}: " if warps else "")
    assert bool(use_fewer_warps(kernel)) == bool(warps)
