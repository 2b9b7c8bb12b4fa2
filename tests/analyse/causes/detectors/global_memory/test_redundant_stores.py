"""Stores whose value the next turn of a loop overwrites."""

import pytest
from made_evidence import evidence_of, names

from profiler.analyse.causes.detectors.global_memory import redundant_stores

SUM = (
    "MOV R4, RZ",
    ("LDG.E R6, [R2.64]", 800.0),
    ("FADD R4, R4, R6", 800.0),
    ("IADD3 R2, R2, 0x4, RZ", 800.0),
)


TURN = (("@P0 BRA 0x10", 800.0), "EXIT")


@pytest.mark.parametrize(
    ("store", "found"),
    [
        ("STG.E [R8.64], R4", ["redundant-global-stores"]),
        ("STG.E [R2.64], R4", []),  # each turn stores elsewhere
        ("STG.E.STRONG.GPU [R8.64], R4", []),  # others are to see each
        ("LDG.E R10, [R8.64]", []),
    ],
)
def test_a_store_whose_address_stays_is_overwritten_by_the_next_turn(store, found):
    evidence = evidence_of(*SUM, (store, 800.0), *TURN)
    assert names(redundant_stores.detect_redundant_stores, evidence) == found
    for candidate in redundant_stores.detect_redundant_stores(evidence):
        assert "stores 8 times to the same address" in candidate.sentence
        assert candidate.effect.resources["lsu"] == pytest.approx(
            0.5 * 7 / 8
        )  # half of the accesses are stores


@pytest.mark.parametrize(
    "access",
    [
        "MEMBAR.SC.GPU",  # `__threadfence`
        "LDG.E R7, [R8.64+0x4]",  # what the neighbour stored
    ],
)
def test_a_store_that_others_may_read_meanwhile_is_needed(access):
    assert names(redundant_stores.detect_redundant_stores, evidence_of(*SUM, ("STG.E [R8.64], R4", 800.0), (access, 800.0), *TURN)) == []  # fmt: skip


@pytest.mark.parametrize(("acting", "found"), [(4.0, []), (8.0, ["redundant-global-stores"])])
def test_a_store_that_acts_in_one_turn_of_eight_overwrites_nothing(acting, found):
    facts = {4: {"lanes": 32.0, "acting": acting}}
    evidence = evidence_of(*SUM, ("@P1 STG.E [R8.64], R4", 800.0), *TURN, facts=facts)
    assert names(redundant_stores.detect_redundant_stores, evidence) == found


def test_a_loop_that_passes_its_store_by_in_half_of_its_turns_stores_half_as_often():
    passing_by = (("@P1 BRA 0x60", 800.0), ("STG.E [R8.64], R4", 400.0))
    evidence = evidence_of(*SUM, *passing_by, *TURN)
    (candidate,) = redundant_stores.detect_redundant_stores(evidence)
    assert "stores 4 times to the same address" in candidate.sentence
