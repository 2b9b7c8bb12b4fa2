"""Where a tile has fewer elements than a block has threads, several threads compute each result, and one of them stores it."""

import pytest
from made_evidence import evidence_of, executing

from profiler.analyse.causes.flow.copies import count_copies

THREAD = "S2R R0, SR_TID.X"


def copies_of(storing, *between, load="LDG.E R4, [R0.64]", store="STG.E [R0.64], R4", loading=32.0):
    """How many threads compute each result, where so many lanes load, and a store runs so often for so many lanes."""
    executed, acting = storing
    evidence = evidence_of(
        THREAD,
        load,
        *between,
        (store, executed),
        ("EXIT", executed),
        facts={1: {"acting": loading}, 2 + len(between): {"acting": acting}},
        block=128,
    )
    return count_copies(evidence)


SHUFFLE = "SHFL.BFLY PT, R5, R4, 0x10, 0x1f"


@pytest.mark.parametrize(
    ("storing", "copies"), [((100.0, 32.0), 1), ((100.0, 8.0), 4), ((25.0, 32.0), 4), ((25.0, 8.0), 16)]
)
def test_where_a_part_of_the_threads_stores_the_others_have_copies(storing, copies):
    """Lanes of each warp may do so, or one warp of several."""
    assert copies_of(storing) == copies


@pytest.mark.parametrize(
    ("kernel", "copies"),
    [
        (copies_of((100.0, 6.0)), 1),  # data chooses
        (copies_of((100.0, 5.0), loading=20.0), 4),  # a mask leaves out the end of a row, in all copies
        (copies_of((100.0, 8.0), loading=8.0), 1),  # the others have nothing to do
        (copies_of((100.0, 8.0), load="LDG.E R4, [R8.64]"), 1),  # all load one value
        (copies_of((100.0, 1.0), SHUFFLE), 1),  # a lane stores what its warp has made
        (copies_of((25.0, 32.0), SHUFFLE), 4),
        (copies_of((100.0, 0.25), SHUFFLE), 4),  # one lane of four warps does
        (copies_of((100.0, 1.0), "CREDUX.MIN.S32 UR6, R4"), 1),
        (copies_of((25.0, 1.0), "BAR.RED.OR.DEFER_BLOCKING 0x0, !P0"), 1),  # a thread stores what its block has found
        (copies_of((25.0, 32.0), "STS [R9], R4"), 1),  # warps leave their values for others
        (copies_of((25.0, 32.0), store="ATOMG.E.ADD.STRONG.GPU PT, R4, [R0.64], R4"), 4),
    ],
)  # fmt: skip
def test_threads_whose_results_others_need_have_no_copies(kernel, copies):
    assert kernel == copies


TEST = "ISETP.NE.AND P0, PT, {0}, RZ, PT"


@pytest.mark.parametrize(
    ("between", "copies"),
    [
        ((TEST.format("R4"), "@!P0 EXIT"), 1),
        ((TEST.format("R4"), "@!P0 BRA 0x50"), 1),
        ((TEST.format("R0"), "@!P0 EXIT"), 4),  # the index of a thread chooses
        (("S2R R2, SR_CTAID.X", "LDG.E R5, [R2.64]", TEST.format("R5"), "@!P0 EXIT"), 4),  # all of a block end
    ],
)  # fmt: skip
def test_threads_that_store_nothing_because_of_what_they_load_have_no_copies(between, copies):
    """A quarter of all elements may be of interest, as one of four colours."""
    assert copies_of((100.0, 8.0), *between) == copies


@pytest.mark.parametrize(("condition", "copies"), [("R4", 1), ("R0", 4)])
def test_a_predicate_may_choose_what_to_store_by_data(condition, copies):
    assert copies_of((100.0, 8.0), TEST.format(condition), store="@P0 STG.E [R0.64], R4") == copies


@pytest.mark.parametrize(("turns", "copies"), [(100.0, 1), (25.0, 4)])
def test_each_turn_of_a_loop_may_store(turns, copies):
    lines = (THREAD, *executing(1000.0, "LDG.E R4, [R0.64]", "@P1 BRA 0x40"))
    stored = ("STG.E [R0.64], R4", 10 * turns)
    assert count_copies(evidence_of(*lines, stored, ("@P0 BRA 0x10", 1000.0), "EXIT", block=128)) == copies


# A tile of 4 x 4 elements in the registers of 32 lanes or more: the column and the row of a lane's element are bits of its index.
TILE = (
    THREAD,
    "LOP3.LUT R1, R0, 0x3, RZ, 0xc0, !PT",
    "SHF.R.U32.HI R2, RZ, 0x2, R0",
    "SGXT.U32 R2, R2, 0x2",
    "LDC R8, c[0x0][0x220]",
    "LDC R9, c[0x0][0x210]",
    "IMAD R2, R2, R8, R1",
    "LEA R2, R2, R9, 0x2",
    "LDG.E R4, [R2.64]",
)
OVER_ROWS, OVER_COLUMNS = "SHFL.BFLY PT, R5, R4, 0x8, 0x1f", "SHFL.BFLY PT, R5, R4, 0x2, 0x1f"


def copies_in_tile(*passing, acting=16.0, of_warps=1.0, lines=TILE, block=128):
    stored = 100.0 * of_warps
    at = len(lines) + len(passing)
    evidence = evidence_of(
        *lines,
        *passing,
        ("STG.E [R2.64], R4", stored),
        ("EXIT", stored),
        facts={at: {"acting": acting}},
        block=block,
    )
    return count_copies(evidence)


def test_lanes_with_copies_of_a_tile_pass_values_among_themselves():
    assert copies_in_tile(OVER_ROWS, OVER_COLUMNS, of_warps=1 / 4) == 8
    assert copies_in_tile(OVER_ROWS, OVER_COLUMNS, block=32) == 2


def test_one_value_of_a_tile_takes_all_its_lanes():
    """A lane stores what sixteen have added up: only the other sixteen have copies."""
    assert copies_in_tile(OVER_ROWS, OVER_COLUMNS, acting=1.0, block=32) == 2


@pytest.mark.parametrize(
    ("passing", "copies"),
    [
        ("SHFL.BFLY PT, R5, R4, 0x10, 0x1f", 1),  # from one half of the warp to the other
        ("SHFL.DOWN PT, R5, R4, 0x4, 0x1f", 2),
        ("SHFL.DOWN PT, R5, R4, R1, 0x1f", 1),  # from a lane that nobody knows
        ("SHFL.IDX PT, R5, R4, R1, 0x1f", 2),  # whichever copy it comes from
        ("REDUX.SUM UR4, R4", 1),
    ],
)
def test_what_passes_beyond_the_tile_needs_all_lanes(passing, copies):
    assert copies_in_tile(passing, block=32) == copies


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("SGXT.U32 R2, R2, 0x2", "SGXT.U32 R2, R2, 0x3"),  # 32 elements
        ("LOP3.LUT R1, R0, 0x3, RZ, 0xc0, !PT", "S2R R1, SR_LANEID"),
        ("SHF.R.U32.HI R2, RZ, 0x2, R0", "LDG.E R2, [R0.64]"),  # data says which
    ],
)
def test_a_warp_whose_lanes_load_elements_of_their_own_has_no_parts_alike(old, new):
    lines = tuple(line.replace(old, new) for line in TILE)
    assert lines != TILE
    assert copies_in_tile(OVER_COLUMNS, lines=lines, block=32) == 1


def test_rows_of_a_block_are_not_known_to_load_alike():
    assert copies_in_tile(OVER_ROWS, block=(32, 4, 1)) == 1
