"""Sums in memory to which threads add a zero: the value is loaded, and stored as it was."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.global_memory.redundant_stores import detect_sums_with_zero

# Of 100 warps, 40 go through a branch in which 8 lanes find a value; in all others, it stays zero.
SUM = {
    "zero": "HFMA2.MMA R6, -RZ, RZ, 0, 0",
    "place": "IMAD.WIDE R2, R5, 0x4, R8",
    "pass by": "@P0 BRA 0x40",
    "found": ("FMUL R6, R10, R11", 40.0),
    "load": "LDG.E R4, [R2.64]",
    "add": "FADD R4, R4, R6",
    "store": "STG.E [R2.64], R4",
    "exit": "EXIT",
}
WARPS, LANES = 1 - 40 / 100, 1 - 8 * 40 / (32 * 100)


def found(sectors=32.0, finding=8.0, storing=32.0, **changed):
    """Each request touches so many sectors; lanes that are neighbours touch four."""
    of_access = {"sectors": 100 * sectors, "ideal_sectors": 400.0, "lanes": 32.0, "acting": 32.0}
    facts = {
        3: {"lanes": finding, "acting": finding},
        4: of_access,
        5: {"waits": {"long_scoreboard": 50}},
        6: of_access | {"acting": storing},
    }
    return list(detect_sums_with_zero(evidence_of(*(SUM | changed).values(), facts=facts)))


def test_a_warp_in_which_all_add_zero_needs_neither_the_load_nor_the_store():
    (one,) = found()
    assert one.name == "redundant-global-stores"
    assert one.sentence.startswith("In at least 90 % of the sums that go back to memory, zero was added")
    assert one.effect.waits["long_scoreboard"] == pytest.approx(WARPS)
    assert one.effect.resources["lsu"] == pytest.approx(WARPS)


@pytest.mark.parametrize(("sectors", "part"), [(32.0, LANES), (4.0, WARPS)])
def test_lanes_that_lie_apart_touch_sectors_of_their_own(sectors, part):
    (one,) = found(sectors)
    assert one.effect.resources["l2"] == pytest.approx(part)


def test_a_sum_to_which_each_thread_adds_something_is_none():
    assert found(finding=32.0, found=("FMUL R6, R10, R11", 99.0))
    assert not found(finding=32.0, found=("FMUL R6, R10, R11", 100.0))


@pytest.mark.parametrize(("finding", "said"), [(0.01, "99"), (31.0, "3"), (31.6, "1"), (31.9, None)])
def test_what_is_said_to_be_at_least_so_much_is_rounded_down(finding, said):
    every = found(finding=finding, found=("FMUL R6, R10, R11", 100.0))
    assert [one.sentence.startswith(f"In at least {said} % of") for one in every] == [True] * bool(said)


def test_a_store_that_no_lane_makes_puts_no_sum_back():
    assert found(finding=0.0, storing=0.0) == []


@pytest.mark.parametrize(
    "changed",
    [
        {"zero": "MOV R6, 0x3f800000"},  # one is added
        {"zero": "MOV R6, R12"},  # who knows
        {"zero": "MOV R4, RZ", "load": ("@P0 LDG.E R4, [R2.64]", 40.0)},  # a value is added to nothing
        {"found": ("MOV R6, RZ", 40.0)},  # zero for all: what it is for, no counter says
        {"load": "LDG.E R4, [R2.64+0x4]"},  # from another place
        {"load": "LDS R4, [R2]"},
        {"add": "FMUL R4, R4, R6"},  # makes it zero
        {"store": "STG.E [R12.64], R4"},
    ],
)
def test_what_is_no_sum_with_zero_stays(changed):
    assert found(**changed) == []
