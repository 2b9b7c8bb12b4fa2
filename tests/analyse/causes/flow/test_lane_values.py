"""Which results may differ between the lanes of a warp, followed through made-up code."""

from dataclasses import replace

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.evidence.latency import Effect
from profiler.analyse.causes.flow.lane_values import (
    add_shares,
    find_differing,
    find_made_by_all,
)
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


# A row that a block of four warps holds, one element a thread: its sum, and what all threads then make of the sum.
SUMMED_BY_ALL = [
    ("LDG.E R4, [R2.64]", 12800), ("FMUL R4, R4, R6", 12800), ("SHFL.BFLY PT, R8, R4, 0x10, 0x1f", 12800), ("FADD R8, R4, R8", 12800),
    ("STS [R7], R8", 12800), ("BAR.SYNC.DEFER_BLOCKING 0x0", 12800), ("LDS R9, [UR6]", 12800), ("FMUL R9, R9, UR11", 12800),
    ("FFMA R5, R4, R9, R5", 12800), ("IADD3 R2, R2, 0x4, RZ", 12800), ("@P0 BRA 0x20", 12800), "STG.E [R10.64], R5", "EXIT",
]  # fmt: skip


def made_by_all(changed=None, block=128):
    lines = [(changed or {}).get(place, line) for place, line in enumerate(SUMMED_BY_ALL)]
    evidence = evidence_of("S2R R2, SR_TID.X", "MOV R1, RZ", *lines, block=block)
    return {site.instruction.text: part for site, part in find_made_by_all(evidence).items()}, evidence


def test_threads_that_each_take_a_row_need_neither_add_over_lanes_nor_repeat_what_all_make_of_the_sum():
    parts, evidence = made_by_all()
    assert parts == {"FADD R8, R4, R8": 1.0, "FMUL R9, R9, UR11": 1 - 1 / 128}
    shared = add_shares(evidence)
    needed = (2 + 1 / 128) / 4
    assert shared.model.avoidable["fma"] == pytest.approx(1 - needed)
    bounds = [one.model.bound(Effect(), ("fma",))[0] for one in (evidence, shared)]
    assert bounds == [0.9, pytest.approx(1 - 0.1 * needed)]


@pytest.mark.parametrize(
    ("place", "by", "kept"),
    [
        (3, ("FADD R8, R6, R8", 12800), "FADD R8, R6, R8"),  # what a neighbour has is added to something else
        (2, ("SHFL.UP PT, R8, R4, 0x1, 0x1f", 12800), "FADD R8, R4, R8"),  # each lane has another sum
        (6, ("LDS R9, [R2]", 12800), "FMUL R9, R9, UR11"),  # each thread takes a sum of its own
    ],
)
def test_what_differs_between_threads_is_work(place, by, kept):
    assert kept not in made_by_all({place: by})[0]


@pytest.mark.parametrize(("place", "by", "block"), [(5, ("NOP", 12800), 128), (5, SUMMED_BY_ALL[5], 32)])
def test_threads_that_do_not_meet_make_no_value_together(place, by, block):
    parts, evidence = made_by_all({place: by}, block)
    assert parts == {}
    assert add_shares(evidence) is evidence
