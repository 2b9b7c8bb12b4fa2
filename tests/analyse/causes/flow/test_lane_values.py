"""Which results may differ between the lanes of a warp, followed through made-up code."""

from dataclasses import replace

import pytest
from made_evidence import active, evidence_of

from profiler.analyse.causes.evidence.latency import Effect
from profiler.analyse.causes.flow.lane_values import (
    add_shares,
    find_alike_in_lanes,
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


# A row of `elements` that each thread adds up: 100 warps, of which each makes 128 turns.
SUM = [
    ("LDG.E R4, [R2.64]", 12800), ("FADD R5, R5, R4", 12800), ("IADD3 R2, R2, 0x4, RZ", 12800), ("ISETP.LT.AND P0, PT, R2, R9, PT", 12800),
    ("@P0 BRA 0x20", 12800), "STG.E [R10.64], R5", "EXIT",
]  # fmt: skip


def summed(before="IMAD R2, R1, 0x200, RZ", body=SUM, lanes=32.0):
    evidence = evidence_of(BLOCK, before, *body, facts={place: active(lanes) for place in range(2, 7)})
    return {site.instruction.name: part for site, part in find_alike_in_lanes(evidence).items()}


def test_a_loop_over_the_same_row_in_all_lanes_can_be_shared_out():
    shared = summed()
    assert list(shared) == ["LDG", "FADD", "IADD3", "ISETP", "BRA"]
    assert set(shared.values()) == {31 / 32}


def test_few_lanes_or_turns_share_less():
    assert summed(lanes=1.0)["FADD"] == 0.0  # the first thread alone
    few = [(line[0], 400) if isinstance(line, tuple) else line for line in SUM]
    assert summed(body=few)["FADD"] == 3 / 4


@pytest.mark.parametrize(
    ("before", "body"),
    [
        ("S2R R2, SR_TID.X", SUM),  # each lane has its own row
        ("S2R R9, SR_TID.X", SUM),  # or its own end
        ("S2R R5, SR_TID.X", SUM),  # or begins its sum with another number
        ("IMAD R2, R1, 0x200, RZ", [("LDG.E R2, [R2.64]", 12800), *SUM[1:2], *SUM[3:]]),  # follows a list
        ("IMAD R2, R1, 0x200, RZ", [SUM[0], *SUM[2:]]),  # computes nothing
        ("IMAD R2, R1, 0x200, RZ", [*SUM[:4], ("STG.E [R2.64], R5", 12800), *SUM[4:]]),  # others read what it leaves
    ],
)  # fmt: skip
def test_other_loops_are_not_shared_out(before, body):
    assert summed(before, body) == {}


def test_bounds_do_not_count_what_lanes_could_share_out():
    evidence = evidence_of(BLOCK, "IMAD R2, R1, 0x200, RZ", *SUM)
    own = evidence_of(BLOCK, "S2R R2, SR_TID.X", *SUM)
    assert add_shares(own) is own
    avoidable = add_shares(evidence).model.avoidable
    assert avoidable["fma"] == pytest.approx(1 - 12800 / 32 / 12900)  # beside the product before the loop
    bounds = [one.model.bound(Effect(), ("fma",))[0] for one in (evidence, add_shares(evidence))]
    assert bounds == [0.9, pytest.approx(1 - 0.1 * 12800 / 32 / 12900)]


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
    fmas = add_shares(evidence).model.avoidable["fma"]
    assert fmas == pytest.approx(1 - 12800 * (2 + 1 / 128) / (12800 * 4))


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
    assert made_by_all({place: by}, block)[0] == {}
