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
