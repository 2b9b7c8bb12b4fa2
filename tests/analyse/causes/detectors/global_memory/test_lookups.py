"""L1 looks up a line a cycle: lanes that lie apart take a cycle for each sector, and neighbours one for four of them."""

from __future__ import annotations

import pytest
from made_evidence import APART, TOGETHER, evidence_of

from profiler.analyse.causes.detectors.global_memory.lookups import find_spared_lookups

LOAD, STORE = "LDG.E R4, [R2.64]", "STG.E [R6.64], R4"


def spared_by(*lines, facts, figures=None):
    """The part of L1's work that goes, and the part of the first access's own."""
    evidence = evidence_of(*lines, facts=facts, figures=figures)
    part, own = find_spared_lookups(evidence, evidence.sites[:1])
    return part, own[evidence.sites[0]]


@pytest.mark.parametrize(
    ("line", "facts", "own"),
    [(LOAD, APART, 31 / 32), (STORE, APART, 60 / 64), (LOAD, TOGETHER, 0.0), (STORE, TOGETHER, 0.0)],
)
def test_an_access_whose_lanes_lie_apart_takes_a_cycle_for_each_sector_and_a_store_two(line, facts, own):
    assert spared_by(line, facts={0: facts}) == (pytest.approx(own), pytest.approx(own))


def test_other_accesses_have_their_part_of_the_work():
    part, own = spared_by(LOAD, STORE, facts={0: APART, 1: TOGETHER})
    assert (part, own) == (
        pytest.approx(31 / 36),
        pytest.approx(31 / 32),
    )  # a load of 32 cycles, a store of four


@pytest.mark.parametrize(
    ("cycles", "part", "own"),
    [
        (800.0, 7 / 8, 7 / 8),  # a structure of 32 bytes a lane: 32 sectors, but eight lines
        (6400.0, 31 / 64, 31 / 32),  # L1 works for something else, too
        (50.0, 0.0, 0.0),
    ],
)
def test_no_more_cycles_are_spared_than_l1_was_busy_for(cycles, part, own):
    found = spared_by(LOAD, facts={0: APART}, figures={"l1_cycles": cycles})
    assert found == (pytest.approx(part), pytest.approx(own))


def test_shared_memory_has_its_part_of_the_cycles():
    figures = {"l1_cycles": 1600.0, "shared_of_l1_pct": 50.0}
    part, own = spared_by(LOAD, "STS [R8], R4", facts={0: APART, 1: {"passes": 800.0}}, figures=figures)
    assert (part, own) == (pytest.approx(7 / 16), pytest.approx(7 / 8))
