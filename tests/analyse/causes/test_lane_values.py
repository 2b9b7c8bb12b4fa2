"""Which results may differ between the lanes of a warp, followed through made-up code."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.flow.lane_values import find_differing
from profiler.analyse.recording.launch_shapes import LaunchShape

THREAD, BLOCK = "S2R R0, SR_TID.X", "S2R R1, SR_CTAID.X"


def last_differs(*lines, block=(256, 1, 1)):
    evidence = evidence_of(*lines)
    shape = LaunchShape((1000, 1, 1), block, None, None, 1)
    profile = replace(evidence.profile, shapes=[shape])
    vars(profile)["code"] = evidence.profile.code
    evidence = replace(evidence, profile=profile)
    return evidence.sites[-1] in find_differing(evidence)


@pytest.mark.parametrize(
    ("lines", "differs"),
    [
        ([THREAD, "IADD3 R2, R0, 0x1, RZ"], True),
        ([BLOCK, "IADD3 R2, R1, 0x1, RZ"], False),
        ([BLOCK, "LDG.E R4, [R1.64]", "IADD3 R2, R4, 0x1, RZ"], False),  # all lanes load the same
        ([THREAD, "LDG.E R4, [R0.64]", "IADD3 R2, R4, 0x1, RZ"], True),
        ([THREAD, "MOV R0, 0x5", "IADD3 R2, R0, 0x1, RZ"], False),  # overwritten
        ([THREAD, "ISETP.GT.AND P0, PT, R0, 0x5, PT", "SEL R2, RZ, 0x1, P0"], True),  # by a predicate
        ([THREAD, "VOTE.ANY R3, PT, P0", "IADD3 R2, R3, 0x1, RZ"], False),
        (["S2R R0, SR_LANEID", "IADD3 R2, R0, 0x1, RZ"], True),
        (["ATOMG.E.ADD.STRONG.GPU PT, R4, [R2.64], R5", "IADD3 R2, R4, 0x1, RZ"], True),
        ([THREAD, "SHF.R.U32.HI R2, RZ, 0x5, R0"], False),  # the index of the warp
        ([THREAD, "SHF.R.U32.HI R2, RZ, 0x4, R0"], True),  # two halves of a warp
        ([BLOCK, THREAD, "IMAD R3, R1, 0x100, R0", "SHF.R.S32.HI R2, RZ, 0x5, R3"], False),
        ([THREAD, "LDG.E R4, [R0.64]", "IMAD R3, R4, 0x100, R0", "SHF.R.S32.HI R2, RZ, 0x5, R3"], True),
    ],
)
def test_a_result_differs_where_the_lane_decides_it(lines, differs):
    assert last_differs(*lines) is differs


@pytest.mark.parametrize(
    ("block", "axis", "differs"),
    [
        ((32, 8, 1), "Y", False),  # each row is a warp
        ((16, 16, 1), "Y", True),
        ((48, 4, 1), "Y", True),
        ((64, 2, 2), "Z", False),
        ((1, 64, 1), "X", False),
        ((1, 64, 1), "Y", True),
    ],
)
def test_a_row_of_the_block_is_the_same_for_a_warp_where_rows_are_whole_warps(block, axis, differs):
    assert last_differs(f"S2R R0, SR_TID.{axis}", "IADD3 R2, R0, 0x1, RZ", block=block) is differs


def test_half_a_warp_has_no_index_of_its_own_where_rows_are_shorter_than_warps():
    assert last_differs(THREAD, "SHF.R.U32.HI R2, RZ, 0x5, R0", block=(48, 4, 1))
