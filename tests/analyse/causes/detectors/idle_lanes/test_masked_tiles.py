"""Tiles of which most elements are masked off: what is done for the rest."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.idle_lanes.masked_tiles import (
    detect_masked_tiles,
    detect_tiles_of_zeros,
)

TILE = (
    "ISETP.LT.U32.AND P0, PT, R10, UR12, PT",
    "LEA R14, P3, R10, R3, 0x2",
    "@P0 LDG.E.128 R20, [R14.64]",
    "ISETP.LT.U32.AND P1, PT, R11, UR12, PT",
    "LEA R16, P3, R11, R3, 0x2",
    "@P1 LDG.E.128 R24, [R16.64]",
    "FADD R20, R20, R24",
    "SHFL.BFLY PT, R13, R20, 0x10, 0x1f",
    "FADD R20, R20, R13",
    "STG.E [R4.64], R20",
)
LOADS = (2, 5)
ADDRESS, TEST, SUM, SHUFFLE = 4, 3, 6, 7


def parts_in(acting=(16.0, 0.0), replaced=None):
    """Returns the part of each instruction that is for what is not there, if the two loads act for so many lanes."""
    lines = [(replaced or {}).get(place, line) for place, line in enumerate(TILE)]
    facts = {
        place: {"acting": lanes, "lanes": 32.0, "sectors": 16 * lanes}
        for place, lanes in zip(LOADS, acting, strict=True)
    }
    evidence = evidence_of(*lines, facts=facts)
    found = list(detect_masked_tiles(evidence))
    return [found[0].weights.get(site, 0.0) / site.executed if found else 0.0 for site in evidence.sites]


def test_addresses_tests_and_sums_are_for_each_element_and_the_exchange_for_each_thread():
    found = parts_in()
    assert [found[place] for place in (ADDRESS, TEST, SUM)] == pytest.approx([0.75] * 3)
    assert found[SHUFFLE] == pytest.approx(0.5)
    assert [found[place] for place in LOADS] == pytest.approx([0.5, 1.0])
    assert found[-1] == 0.0


def test_a_tile_of_which_half_is_there_has_no_size_that_fits_better():
    assert parts_in(acting=(32.0, 0.0)) == [0.0] * len(TILE)
    assert parts_in(acting=(31.0, 0.0))[SUM] > 0.5


@pytest.mark.parametrize(
    "replaced",
    [
        {3: "ISETP.EQ.U32.AND P1, PT, R11, 0x1f, PT"},  # the edge of a stencil, and no bound of rows
        {5: "LDG.E.128 R24, [R16.64]"},  # an element that is always there
        {5: "@P1 LDG.E R24, [R16.64]"},  # of another array
        {6: "@P1 FADD R20, R20, R24"},  # what is not there is passed by
    ],
)
def test_loads_that_act_seldom_are_no_tile(replaced):
    assert parts_in(replaced=replaced) == [0.0] * len(TILE)


COPIES = (
    "LEA R8, P3, R10, R3, 0x4",
    "LDGSTS.E.BYPASS.128 [R23], desc[UR4][R8.64], P1",
    "LDGSTS.E.BYPASS.128 [R24], desc[UR4][R14.64], P2",
    "HMMA.16816.F32 R40, R28, R32, R40",
    "@P0 BRA 0x10",
)
GATHERED, WEIGHTS = 2, 3  # the places of the two copies


def zeros_in(gathered, weights=16.0, **replaced):
    """Returns the causes that are named in a loop whose two copies touch so many of 16 sectors."""
    lines = [(replaced.get(f"at_{place}", line), 6400.0) for place, line in enumerate(COPIES, 1)]
    facts = {GATHERED: {"sectors": 6400 * gathered}, WEIGHTS: {"sectors": 6400 * weights}}
    return list(detect_tiles_of_zeros(evidence_of("MOV R1, R2", *lines, "EXIT", facts=facts)))


def test_what_copies_fill_with_zeros_is_multiplied_for_nothing():
    (one,) = zeros_in(6.0)
    assert [site.instruction.text for site in one.weights] == [COPIES[GATHERED - 1]]
    assert one.evidence["elements_there_pct"] == pytest.approx(100 * 6 / 16)
    assert one.effect.resources["tensor"] == pytest.approx(0.5)  # by tiles of half the size
    assert one.regrouped["tensor"] == pytest.approx(10 / 16)
    assert one.effect.resources["l2"] == 0.0  # which delivered only what is there
    assert zeros_in(3.0)[0].effect.resources["tensor"] == pytest.approx(0.75)


@pytest.mark.parametrize(
    "changed",
    [
        {"gathered": 9.0},  # over half is there
        {"gathered": 6.0, "weights": 7.0},  # no tile has anything in turns past the end
        {
            "gathered": 6.0,
            "at_2": "LDGSTS.E.BYPASS.128 [R23], desc[UR4][R8.64]",
        },  # lanes that copy the same data
        {"gathered": 6.0, "at_2": "LDGSTS.E [R23], desc[UR4][R8.64], P1"},  # so may those of indices
        {"gathered": 6.0, "at_4": "FFMA R40, R28, R32, R40"},
    ],
)
def test_other_copies_bring_what_is_multiplied(changed):
    assert zeros_in(**changed) == []
