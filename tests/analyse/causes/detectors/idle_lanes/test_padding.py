"""Tiles that are longer than their rows, whose warps compute with zeros where they load nothing."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.idle_lanes.padding import detect_padding

CLEARED, ROW, BEHIND = "CS2R R8, SRZ", "@!P0 LDG.E.64 R4, [R2.64]", "@!P1 LDG.E.64 R8, [R2.64+0x400]"
WHOLE, NONE, HALF = (
    {"lanes": 32.0, "acting": lanes, "sectors": sectors, "ideal_sectors": sectors}
    for lanes, sectors in ((32.0, 800.0), (0.0, 0.0), (16.0, 50.0))
)


def found(before=CLEARED, behind=BEHIND, acting=NONE, sums="FADD R7, R6, R10"):
    """What is named where a thread squares the elements of two loads and adds them up, of which so many warps make the second."""
    evidence = evidence_of(
        before,
        ROW,
        behind,
        "FMUL R6, R4, R4",
        "FMUL R10, R8, R8",
        sums,
        "STG.E [R12.64], R7",
        "EXIT",
        facts={1: WHOLE, 2: acting},
    )
    return [
        {site.instruction.text: part for site, part in one.weights.items()}
        for one in detect_padding(evidence)
    ]


def test_what_is_computed_with_elements_behind_the_row_is_for_nothing():
    (wasted,) = found()
    assert wasted == {BEHIND: 100.0, "FMUL R10, R8, R8": 100.0, "FADD R7, R6, R10": 100.0}


def test_so_is_a_part_of_it_where_a_part_of_the_warps_is_within_the_row():
    (wasted,) = found(acting=HALF)
    assert set(wasted.values()) == {50.0}


def test_what_takes_another_element_as_well_has_a_result():
    (wasted,) = found(sums="FMUL R7, R7, R6")
    assert wasted == {BEHIND: 100.0, "FMUL R10, R8, R8": 100.0}


@pytest.mark.parametrize(
    "changed",
    [
        {"acting": WHOLE},
        {"acting": HALF | {"sectors": 400.0}},  # lanes of each warp, which has something to do
        {"before": "@P1 LDG.E.64 R8, [R14.64]"},  # an element from elsewhere
        {"behind": "@!P1 LDS.64 R8, [R2+0x400]"},  # what other threads have made
    ],
)
def test_a_tile_that_its_row_fills_is_not_named(changed):
    assert found(**changed) == []


@pytest.mark.parametrize(("limit", "warps"), [("blocks_by_registers", 9 / 8), ("blocks_by_shared", 1.0)])
def test_the_registers_of_what_is_not_loaded_make_room_for_warps(limit, warps):
    """Threads of 64 registers have eight of them: nine blocks fit instead of eight, if shared memory does not limit them to eight."""
    behind = [f"@!P1 LDG.E.128 R{register}, [R2.64+0x400]" for register in (8, 12)]
    figures = {"registers": 64.0, "blocks_by_registers": 16.0, limit: 8.0, "occupancy_limit_pct": 25.0, "waves": 4.0}  # fmt: skip
    evidence = evidence_of(
        "CS2R R8, SRZ", "CS2R R10, SRZ", "CS2R R12, SRZ", "CS2R R14, SRZ", *behind, "FADD R8, R8, R12", facts={4: NONE, 5: NONE}, figures=figures, block=128,
    )  # fmt: skip
    (one,) = detect_padding(evidence)
    assert one.effect.warps == warps


def test_triton_is_told_which_block_to_choose():
    (one,) = detect_padding(evidence_of(CLEARED, ROW, BEHIND, "FMUL R10, R8, R8", facts={1: WHOLE, 2: NONE}))
    assert one.sentence.startswith("A tile is longer than the row that it holds: 50 % of the instructions")
    assert "next power of two" in one.in_triton
