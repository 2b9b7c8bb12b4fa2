"""Rows that start inside a sector, and the narrow accesses to which they force each thread."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.global_memory import layout

INSIDE_A_SECTOR = {"sectors": 300.0, "ideal_sectors": 200.0, "acting": 32.0}


def fewer(*offsets, width="U16"):
    """The part of the instructions that go where a block of 256 threads loads at these offsets, and nothing else."""
    lines = [f"LDG.E.{width} R{index}, desc[UR6][R24.64+{hex(offset)}]" for index, offset in enumerate(offsets)]  # fmt: skip
    facts = dict.fromkeys(range(len(lines)), INSIDE_A_SECTOR)
    (candidate,) = layout.detect_misaligned(evidence_of(*lines, facts=facts))
    return candidate.effect.resources.get("issue", 0.0)


@pytest.mark.parametrize(
    ("offsets", "part"),
    [
        ((0, 512), 1 / 2),  # two pieces of a row, with 2 bytes a thread of each
        (tuple(512 * piece for piece in range(16)), 7 / 8),  # 16 bytes at once are the most
        ((0, 2), 0.0),  # neighbours, as a stencil reads
        ((0, 0), 0.0),
        ((512,), 0.0),
    ],
)
def test_threads_that_take_an_element_of_each_piece_of_a_row_could_access_several_at_once_if_it_were_aligned(
    offsets, part
):
    assert fewer(*offsets) == pytest.approx(part)


def test_what_few_wide_accesses_move_is_no_less():
    facts = dict.fromkeys(range(2), INSIDE_A_SECTOR)
    lines = ("LDG.E.U16 R4, desc[UR6][R24.64]", "LDG.E.U16 R5, desc[UR6][R24.64+0x200]")
    (candidate,) = layout.detect_misaligned(evidence_of(*lines, facts=facts))
    assert candidate.effect.resources["l2"] == pytest.approx(1 / 3)


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
    assert all("short pieces of several rows" in one.advice for one in apart)


@pytest.mark.parametrize(("sectors", "is_apart"), [(600.0, False), (700.0, True)])
def test_each_row_of_a_block_may_start_inside_a_sector(sectors, is_apart):
    """Rows of 16 threads, two to a warp, which access 64 bytes each."""
    facts = {0: {"sectors": sectors, "ideal_sectors": 400.0, "acting": 32.0}}
    evidence = evidence_of("LDG.E R4, desc[UR6][R24.64]", "EXIT", facts=facts, block=(16, 16, 1))
    assert bool(list(layout.detect_uncoalesced(evidence))) == is_apart
