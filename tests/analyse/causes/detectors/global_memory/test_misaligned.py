"""Rows that start inside a sector, and lanes that take short pieces of several rows."""

import pytest
from made_evidence import LOAD, evidence_of

from profiler.analyse.causes.detectors.global_memory import layout


@pytest.mark.parametrize(
    ("acting", "sectors", "is_apart"),
    [
        (20.0, 300.0, True),  # two pieces of ten elements, each in 1.5 sectors
        (20.0, 225.0, False),  # one run of twenty, wherever it starts
        (32.0, 300.0, False),
        (None, 300.0, False),  # how many lanes have an element is not known
    ],
)
def test_short_pieces_of_several_rows_are_no_neighbours(acting, sectors, is_apart):
    facts = {0: {"sectors": sectors, "ideal_sectors": 200.0, "acting": acting}}
    evidence = evidence_of("LDG.E.U16 R4, desc[UR6][R24.64]", "EXIT", facts=facts)
    apart = list(layout.detect_uncoalesced(evidence))
    assert bool(apart) == is_apart
    assert bool(list(layout.detect_misaligned(evidence))) == (not is_apart and sectors == 300)


@pytest.mark.parametrize(
    ("block", "index", "named"),
    [
        ((32, 32, 1), "R5", "misaligned-accesses"),  # bytes of neighbours, wherever the row of a warp begins
        ((64, 16, 1), "R5", "misaligned-accesses"),
        ((16, 16, 1), "R5", "uncoalesced-loads"),  # a warp has two rows, which may be pieces
        ((32, 32, 1), "R8", "uncoalesced-loads"),  # data says where each lane goes
    ],
)
def test_lanes_that_a_test_leaves_lie_in_the_run_of_their_neighbours(block, index, named):
    """Thirty lanes of a row load a byte each, of rows whose length is a parameter: 1.96 sectors are more than a run of thirty needs."""
    lines = (
        "S2R R5, SR_TID.X", "S2R R6, SR_TID.Y", "LDG.E R8, [R10.64]", "LDC R7, c[0x0][0x210]",
        f"IMAD R9, R6, R7, {index}", "IADD3 R2, P0, R9, c[0x0][0x218], RZ", "LDG.E.U8 R4, [R2]", "EXIT",
    )  # fmt: skip
    facts = {6: {"sectors": 196.0, "ideal_sectors": 100.0, "acting": 30.0}}
    evidence = evidence_of(*lines, facts=facts, block=block)
    found = [*layout.detect_uncoalesced(evidence), *layout.detect_misaligned(evidence)]
    assert [one.name for one in found] == [named]


@pytest.mark.parametrize(
    ("columns", "sectors", "named"),
    [
        (32, 6.0, "uncoalesced-loads"),
        (16, 6.0, "misaligned-accesses"),  # two rows of 64 bytes touch three sectors each
        (16, 6.5, "uncoalesced-loads"),
        (8, 8.0, "uncoalesced-loads"),  # rows of one sector, whose elements may as well lie apart by two
        (24, 6.0, "uncoalesced-loads"),  # a warp has no whole rows
    ],
)
def test_each_row_of_a_block_may_start_inside_a_sector(columns, sectors, named):
    facts = {0: {"sectors": 100 * sectors, "ideal_sectors": 400.0}}
    evidence = evidence_of(LOAD, facts=facts, block=(columns, 8, 1))
    found = [*layout.detect_uncoalesced(evidence), *layout.detect_misaligned(evidence)]
    assert [one.name for one in found] == [named]


@pytest.mark.parametrize(("sectors", "named"), [(400.0, False), (500.0, True)])
def test_no_shift_aligns_neighbours_that_are_loaded_beside_aligned_elements(sectors, named):
    """A stencil loads x[i - 1], x[i] and x[i + 1]."""
    facts = {0: {"sectors": sectors, "ideal_sectors": 400.0}, 1: {"sectors": 500.0, "ideal_sectors": 400.0}}
    evidence = evidence_of(LOAD, "LDG.E R5, [R2.64+0x4]", facts=facts)
    assert bool(list(layout.detect_misaligned(evidence))) == named


@pytest.mark.parametrize(
    ("block", "scale", "is_wider"),
    [
        ((4, 64, 1), "0x4", True),  # 16 bytes of each of eight rows
        ((7, 32, 1), "0x4", True),
        ((8, 32, 1), "0x4", False),  # a whole sector of each row: something else sets them apart
        ((4, 64, 1), "0x8", False),  # the threads of a row lie apart themselves
        ((1, 256, 1), "0x4", False),  # no row to take more of
    ],
)
def test_a_narrow_block_takes_a_piece_of_a_sector_of_each_row(block, scale, is_wider):
    facts = {4: {"sectors": 800.0, "ideal_sectors": 400.0, "acting": 32.0}}
    evidence = evidence_of(
        "S2R R4, SR_TID.X",
        "S2R R5, SR_TID.Y",
        "IMAD R6, R5, 0x100, R4",
        f"IMAD.WIDE R2, R6, {scale}, c[0x0][0x160]",
        "LDG.E R9, desc[UR6][R2.64]",
        "EXIT",
        facts=facts,
        block=block,
    )
    (candidate,) = layout.detect_uncoalesced(evidence)
    assert ("Make the block wider in x" in candidate.advice) == is_wider
