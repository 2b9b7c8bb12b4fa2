"""Blocks that share the sectors of memory with their neighbours, and keep their elements together."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.global_memory import layout

BARRIER = "BAR.SYNC.DEFER_BLOCKING 0x0"


def columns(*lines, l1_misses=1.0, delivered=16.0, dram=0.1):
    """A warp of each block loads a column of halves: 32 sectors, of which it uses a sixteenth."""
    needed = 200 * 32
    evidence = evidence_of(
        *(lines or ("LDG.E.U16 R4, [R2.64]", "SHFL.BFLY PT, R5, R4, 0x10, 0x1f", BARRIER, "EXIT")),
        facts={0: {"sectors": 3200.0, "ideal_sectors": 200.0}},
        figures={"l2_sectors": 3200 * l1_misses},
        busy={"issue": 0.4, "dram": dram},
    )
    object.__setattr__(evidence, "wasted_dram", max(0.0, 1 - needed / (needed * delivered / 16)))
    (candidate,) = layout.detect_uncoalesced(evidence)
    return evidence, candidate


@pytest.mark.parametrize(
    ("changes", "launches"),
    [
        ({}, 1 / 16),
        ({"lines": ("LDG.E.U16 R4, [R2.64]", "STG.E.U16 [R8.64], R4", "EXIT")}, 1.0),  # any block may take any element
        ({"lines": ("LDG.E.U16 R4, [R2.64]", "SHFL.BFLY PT, R5, R4, 0x10, 0x1f", "EXIT")}, 1.0),  # warps are on their own
        ({"l1_misses": 0.4}, 1.0),  # the block finds most sectors in L1
        ({"delivered": 64.0}, 1.0),  # device memory delivers three quarters for nobody
        ({"lines": (("LDG.E.U16 R4, [R2.64]", 100.0), BARRIER, "@P0 BRA 0x0", "EXIT")}, 1.0),  # the next turn may use the rest
    ],
)  # fmt: skip
def test_a_block_that_keeps_its_column_takes_its_neighbours_too(changes, launches):
    lines = changes.pop("lines", ())
    _, candidate = columns(*lines, **changes)
    assert 1 - candidate.effect.resources.get("launch", 0.0) == pytest.approx(launches)


def test_what_a_block_does_once_does_not_bound_what_fewer_blocks_save():
    """Instructions are issued for 40 % of the time, and device memory is busy for 10 %."""
    _, merged = columns()
    assert merged.at_most == pytest.approx(0.9)
    _, alone = columns("LDG.E.U16 R4, [R2.64]", "STG.E.U16 [R8.64], R4", "EXIT")
    assert alone.at_most is None
