"""Lanes that compute what others of their warp do as well: how many there are, and when a block has room for more results."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.idle_lanes.copies import detect_copies

LINES = ("S2R R0, SR_TID.X", "LDG.E R4, [R0.64]", "FMUL R4, R4, R4", "STG.E [R0.64], R4", "EXIT")
STORE = 3


def copies_in(storing, block=32, waves=8.0):
    """Returns the candidates of a kernel that loads with all lanes, and stores with so many."""
    facts = {STORE: {"acting": storing}}
    return list(detect_copies(evidence_of(*LINES, facts=facts, block=block, figures={"waves": waves})))


def test_fewer_warps_do_all_where_each_lane_has_a_result_of_its_own():
    (found,) = copies_in(8.0)
    assert found.name == "idle-lanes"
    assert found.effect.resources["issue"] == pytest.approx(3 / 4)
    assert "4 times as many elements" in found.in_triton


def test_lanes_that_store_what_each_of_them_computes_are_no_copies():
    assert copies_in(32.0) == []


@pytest.mark.parametrize(("storing", "named"), [(8.0, False), (4.0, True)])
def test_whole_warps_of_copies_are_not_lanes(storing, named):
    """A block of four warps has results for one of them, or for one with idle lanes."""
    assert bool(copies_in(storing, block=128)) == named


@pytest.mark.parametrize(("waves", "spared"), [(8.0, 3 / 4), (4.0, 1 / 2)])
def test_blocks_are_joined_for_as_long_as_they_fill_the_gpu(waves, spared):
    (found,) = copies_in(8.0, waves=waves)
    assert found.effect.resources["issue"] == pytest.approx(spared)


@pytest.mark.parametrize("waves", [0.5, 2.0])
def test_a_grid_that_hardly_fills_the_gpu_has_no_blocks_to_spare(waves):
    assert all(not any(one.effect.resources.values()) for one in copies_in(8.0, waves=waves))
