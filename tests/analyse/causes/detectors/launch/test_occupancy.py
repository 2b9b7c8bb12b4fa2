"""What limits the warps of an SM, and what lifting the limit gives."""

import math

import pytest
from made_evidence import LOAD, LOOP, evidence_of, names

from profiler.analyse.causes.detectors.launch import occupancy


@pytest.mark.parametrize(
    ("binding", "cause"),
    [
        ("launch__occupancy_limit_blocks", "block-too-small"),
        ("launch__occupancy_limit_warps", "block-size-limits-occupancy"),
        ("blocks_by_registers", "registers-limit-occupancy"),
        ("blocks_by_shared", "shared-memory-limits-occupancy"),
    ],
)
def test_the_smallest_limit_on_blocks_is_what_limits_occupancy(binding, cause):
    limits = dict.fromkeys(("launch__occupancy_limit_blocks", "launch__occupancy_limit_warps", "blocks_by_registers", "blocks_by_shared"), 8.0)  # fmt: skip
    assert names(occupancy.detect_occupancy, evidence_of(LOAD, figures={**limits, binding: 4.0, "occupancy_limit_pct": 50.0})) == [cause]  # fmt: skip
    assert names(occupancy.detect_occupancy, evidence_of(LOAD, figures={**limits, binding: 4.0, "occupancy_limit_pct": 100.0})) == []  # fmt: skip


@pytest.mark.parametrize(
    ("inside", "found"),
    [
        (["FFMA R8, R2, R3, R8", "FFMA R9, R2, R4, R9", "FFMA R10, R2, R5, R10"], []),
        (["FFMA R8, R2, R3, R8", "FFMA R9, R2, R4, R9", "FFMA R11, R2, R5, R10"], ["registers-limit-occupancy"]),
        (["FFMA R8, R2, R3, R8"] * 3, ["registers-limit-occupancy"]),  # one sum
        (["HMMA.16816.F32 R8, R4, R2, R8"], []),  # four of them
    ],
)  # fmt: skip
def test_registers_that_hold_the_sums_of_a_tile_cannot_be_fewer(inside, found):
    figures = {"blocks_by_registers": 2.0, "occupancy_limit_pct": 25.0, "registers": 5.0}
    assert names(occupancy.detect_occupancy, evidence_of(LOAD, *inside, LOOP, figures=figures)) == found


def test_sums_of_no_loop_are_over_when_they_are_made():
    figures = {"blocks_by_registers": 2.0, "occupancy_limit_pct": 25.0, "registers": 5.0}
    sums = evidence_of(LOAD, "HMMA.16816.F32 R8, R4, R2, R8", figures=figures)
    assert names(occupancy.detect_occupancy, sums) == ["registers-limit-occupancy"]


@pytest.mark.parametrize(("threads", "more"), [(1023, True), (1024, False)])
def test_a_block_has_no_more_than_1024_threads_for_its_tile(threads, more):
    figures = {"blocks_by_shared": 1.0, "occupancy_limit_pct": 50.0, "shared_bytes": 128000.0}
    (candidate,) = occupancy.detect_occupancy(evidence_of(LOAD, block=threads, figures=figures))
    assert candidate.advice.endswith("or more threads for the same tile.") == more
    assert candidate.advice.startswith("Use a smaller tile or a narrower type in shared memory")


def limited_by(limit_pct=25.0, block=256, waves=100.0, **limits):
    """The effect of lifting the smallest limit, in blocks an SM, on blocks of so many threads."""
    figures = {"launch__occupancy_limit_blocks": 32.0, "occupancy_limit_pct": limit_pct, "waves": waves}
    (candidate,) = occupancy.detect_occupancy(evidence_of(LOAD, block=block, figures=figures | limits))
    return candidate.effect


def test_of_two_limits_that_allow_as_many_blocks_one_alone_is_not_worth_lifting():
    """Shared memory binds too, unless the SM only gave it no more of its memory because there was no use for that."""
    assert limited_by(50.0, 32, blocks_by_shared=32.0).warps == 1
    divided = {"shared_bytes": 1024.0, "shared_of_sm": 1024.0 * 48}
    assert limited_by(50.0, 32, blocks_by_shared=32.0, **divided).warps == 1.5
    assert limited_by(50.0, 32, launch__occupancy_limit_warps=64.0, blocks_by_shared=40.0).warps == 1.25


def test_more_warps_are_as_many_as_the_next_limit_allows_and_the_grid_has():
    assert limited_by(blocks_by_shared=2.0).warps == 4  # 8 blocks of 8 warps fill an SM
    assert limited_by(blocks_by_shared=2.0, blocks_by_registers=3.0).warps == 1.5
    assert limited_by(blocks_by_shared=2.0, waves=1.2).warps == 1.2
    assert limited_by(blocks_by_shared=2.0, waves=0.5).warps == 1


@pytest.mark.parametrize(("loads", "reason", "warps"), [(1, "long_scoreboard", 4), (4, "long_scoreboard", 1), (1, "wait", 1)])  # fmt: skip
def test_warps_that_take_the_registers_of_what_others_have_under_way_add_nothing_to_it(loads, reason, warps):
    lines = [f"LDG.E R{4 + place}, [R2.64+{16 * place:#x}]" for place in range(loads)]
    figures = {"blocks_by_registers": 2.0, "occupancy_limit_pct": 25.0, "waves": 100.0}
    evidence = evidence_of(*lines, "FADD R9, R9, R4", facts={loads: {"waits": {reason: 9}}}, figures=figures)
    (candidate,) = occupancy.detect_occupancy(evidence)
    assert candidate.effect.warps == pytest.approx(warps)


@pytest.mark.parametrize(
    ("registers", "figures", "close"),
    [
        (131, {}, (128, 2)),
        (136, {}, (128, 2)),
        (137, {}, None),  # nine registers are more than a sixteenth
        (131, {"waves": 1.4}, None),  # the grid has no two blocks for each SM
        (131, {"blocks_by_shared": 1.0}, None),  # shared memory has no room for two
        # It has, if the SM divides its memory otherwise than for one block.
        (131, {"blocks_by_shared": 1.0, "shared_bytes": 2**14, "shared_of_sm": 2**15}, (128, 2)),
        (85, {}, (80, 3)),
        (66, {}, None),  # of three blocks, a fourth is a third
    ],
)  # fmt: skip
def test_a_few_registers_that_keep_out_a_block_are_named_even_if_they_hold_sums(registers, figures, close):
    blocks = 65_536 // (256 * 8 * math.ceil(registers / 8))
    limits = {"registers": registers, "blocks_by_registers": blocks, "occupancy_limit_pct": 12.5 * blocks, "launch__occupancy_limit_warps": 8.0, "waves": 9.0}  # fmt: skip
    inside = [f"FFMA R{8 + place}, R2, R3, R{8 + place}" for place in range(100)]
    found = list(occupancy.detect_occupancy(evidence_of(LOAD, *inside, LOOP, figures=limits | figures)))
    if close is None:
        assert [one for one in found if "Limit a thread to" in one.advice] == []
        return
    (candidate,) = found
    assert candidate.effect.warps == close[1] / blocks
    assert f"Limit a thread to {close[0]} registers" in candidate.advice
    assert f"an SM holds {close[1]} blocks of 256 threads" in candidate.advice


@pytest.mark.parametrize(
    ("block", "said"), [(1, "With blocks of one thread,"), (32, "With blocks of 32 threads,")]
)
def test_a_block_of_one_thread_is_spoken_of_in_the_singular(block, said):
    figures = {"launch__occupancy_limit_blocks": 32.0, "occupancy_limit_pct": 50.0, "waves": 9.0}
    (candidate,) = occupancy.detect_occupancy(evidence_of(LOAD, block=block, figures=figures))
    assert candidate.sentence.startswith(said)


def test_another_size_of_blocks_changes_both_limits_that_it_sets():
    by_size = limited_by(68.75, 704, launch__occupancy_limit_warps=2.0)
    assert by_size.warps == pytest.approx(64 / 44)
    assert by_size.resources["launch"] == 0
    small = limited_by(50.0, 32, launch__occupancy_limit_warps=64.0)
    assert (small.warps, small.resources["launch"]) == (
        2,
        7 / 8,
    )  # of blocks of 256 threads, an eighth is launched


def test_a_small_block_should_take_several_pieces_of_work():
    """More warps for the same row would have to exchange their sums."""
    figures = {"launch__occupancy_limit_blocks": 32.0, "launch__occupancy_limit_warps": 64.0, "occupancy_limit_pct": 50.0}  # fmt: skip
    (found,) = occupancy.detect_occupancy(evidence_of(LOAD, block=32, figures=figures))
    assert "A block that has one piece of work now (a row, a tile) then takes several" in found.advice
