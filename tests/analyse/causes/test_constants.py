"""Tables in constant memory: named where lanes index them apart and warps wait for it, and nowhere else."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from profiler.analyse.causes.detectors.constants import detect_divergent_constants

sys.path.insert(0, str(Path(__file__).parent))
from made_evidence import evidence_of

PIXEL = ["S2R R0, SR_TID.X", "LDG.E R4, [R0.64]"]
WAITING = "FADD R6, R6, R5"


def find(*lines, waiting=50):
    """Warps wait at the last instruction for what is looked up."""
    facts = {len(lines) - 1: {"waits": {"short_scoreboard": waiting, "wait": 50}}}
    return list(detect_divergent_constants(evidence_of(*lines, facts=facts)))


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ([*PIXEL, "LDC R5, c[0x3][R4]"], 1),  # each lane has a pixel of its own
        (["S2R R0, SR_TID.X", "LDC R5, c[0x3][R0+0x400]"], 1),
        (["S2R R1, SR_CTAID.X", "LDG.E R4, [R1.64]", "LDC R5, c[0x3][R4]"], 0),  # one pixel for the block
        ([*PIXEL, "LDC R5, c[0x3][RZ]"], 0),
        ([*PIXEL, "LDC R5, c[0x0][0x28]"], 0),  # a parameter of the kernel
        ([*PIXEL, "ULDC UR4, c[0x3][UR5]", "LDC R5, c[0x3][UR4]"], 0),
        ([*PIXEL, "LDS R5, [R4]"], 0),
    ],
)
def test_lanes_index_a_table_apart_where_the_index_depends_on_the_lane(lines, found):
    assert len(find(*lines, WAITING)) == found


def test_what_nobody_waits_for_is_no_cause():
    assert find(*PIXEL, "LDC R5, c[0x3][R4]", WAITING, waiting=0) == []
