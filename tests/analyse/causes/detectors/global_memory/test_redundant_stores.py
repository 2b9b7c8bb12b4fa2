"""Stores whose value the next turn of a loop overwrites, and those of all threads to one place, which one slice of L2 takes one after the other."""

import pytest
from made_evidence import active, evidence_of, names

from profiler.analyse.causes.detectors.global_memory import redundant_stores
from profiler.analyse.causes.evidence.latency import ONE_SLICE
from profiler.analyse.causes.flow.memory.repeated_stores import add_stores_alike

SUM = ("MOV R4, RZ", ("LDG.E R6, [R2.64]", 800.0), ("FADD R4, R4, R6", 800.0), ("IADD3 R2, R2, 0x4, RZ", 800.0))  # fmt: skip


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
        assert "stores again and again to the same address" in candidate.sentence
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
    facts = {4: active(acting, of=32.0)}
    evidence = evidence_of(*SUM, ("@P1 STG.E [R8.64], R4", 800.0), *TURN, facts=facts)
    assert names(redundant_stores.detect_redundant_stores, evidence) == found


def test_a_loop_that_passes_its_store_by_in_half_of_its_turns_stores_half_as_often():
    passing_by = (("@P1 BRA 0x60", 800.0), ("STG.E [R8.64], R4", 400.0))
    (candidate,) = redundant_stores.detect_redundant_stores(evidence_of(*SUM, *passing_by, *TURN))
    assert candidate.effect.resources["lsu"] == pytest.approx(1 / 3 * 3 / 4)


CHASED = ("MOV R4, RZ", ("LDG.E.64 R2, [R2.64]", 800.0), ("FADD R4, R4, R2", 800.0), ("MOV R12, R13", 800.0))
FOUR = (
    "MOV R4, RZ",
    *((f"LDG.E R{10 + one}, [R2.64+{4 * one:#x}]", 800.0) for one in range(4)),
    ("FADD R4, R4, R10", 800.0),
    ("IADD3 R2, R2, 0x10, RZ", 800.0),
)


@pytest.mark.parametrize(("loop", "saved"), [(SUM, 3 / 4), (CHASED, 0.0), (FOUR, 0.0)])
def test_without_a_store_in_each_turn_the_loads_of_four_turns_are_issued_together(loop, saved):
    """The compiler moves no load before a store that may change what it reads; a list has to be followed one by one all the same."""
    add = next(place for place, line in enumerate(loop) if "FADD" in line[0])
    evidence = evidence_of(
        *loop, ("STG.E [R8.64], R4", 800.0), *TURN, facts={add: {"waits": {"long_scoreboard": 100}}}
    )
    (candidate,) = redundant_stores.detect_redundant_stores(evidence)
    assert candidate.effect.waits.get("long_scoreboard", 0.0) == pytest.approx(saved)


CYCLES = "lts__cycles_elapsed.max"  # of L2
LENGTH = ("LDC.64 R2, c[0x0][0x210]", "S2R R5, SR_TID.X", "S2R R6, SR_CTAID.X")


def stored(*made, store="STG.E [R2.64], R7", cycles=1000.0, sectors=100.0):
    """100 warps execute the store, which touches a sector each."""
    lines = (*LENGTH, *made, store, "EXIT")
    facts = {len(lines) - 2: {"sectors": sectors}}
    return add_stores_alike(evidence_of(*lines, facts=facts, figures={CYCLES: cycles}))


@pytest.mark.parametrize(
    "made",
    [
        (),
        ("IADD3 R2, R2, 0x8, RZ",),
        ("LDC R4, c[0x0][0x218]", "IMAD.WIDE R2, R4, 0x8, R2"),  # where the host says
    ],
)
def test_a_store_of_all_threads_to_one_place_is_named(made):
    evidence = stored(*made)
    assert names(redundant_stores.detect_redundant_stores, evidence) == ["redundant-global-stores"]
    assert evidence.model.busy[ONE_SLICE] == pytest.approx(0.0586)  # 0.586 cycles for each of 100 sectors


@pytest.mark.parametrize(
    "made",
    [
        ("IMAD.WIDE R2, R5, 0x4, R2",),  # a place for each thread
        ("IMAD.WIDE R2, R6, 0x4, R2",),  # for each block
        ("LDG.E R4, [R2.64]", "IMAD.WIDE R2, R4, 0x4, R2"),  # where data says
    ],
)
def test_stores_to_several_places_are_needed(made):
    assert names(redundant_stores.detect_redundant_stores, stored(*made)) == []


@pytest.mark.parametrize(
    ("other", "found"),
    [
        ({}, True),
        ({"cycles": 2000.0}, False),  # they take less than 3 % of the time
        ({"sectors": 200.0}, False),  # each warp stores in two sectors
        ({"store": "STG.E.STRONG.GPU [R2.64], R7"}, False),  # others are to see each
    ],
)
def test_a_store_is_named_where_it_costs_time(other, found):
    evidence = stored(**other)
    assert (
        bool(names(redundant_stores.detect_redundant_stores, evidence))
        == (ONE_SLICE in evidence.model.busy)
        == found
    )


def test_places_in_one_sector_are_in_one_slice():
    lines = (*LENGTH, "STG.E [R2.64], R7", "STG.E [R2.64+0x8], R7", "STG.E [R2.64+0x20], R7", "EXIT")
    facts = {place: {"sectors": 100.0} for place in (3, 4, 5)}
    evidence = add_stores_alike(evidence_of(*lines, facts=facts, figures={CYCLES: 1000.0}))
    assert evidence.model.busy[ONE_SLICE] == pytest.approx(0.1172)


def test_two_places_are_counted_apart_although_one_register_holds_both_addresses():
    second = ("LDC.64 R2, c[0x0][0x218]", "STG.E [R2.64], R8")
    lines = (*LENGTH, "STG.E [R2.64], R7", *second, "EXIT")
    facts = {3: {"sectors": 100.0}, 5: {"sectors": 100.0}}
    evidence = add_stores_alike(evidence_of(*lines, facts=facts, figures={CYCLES: 1000.0}))
    assert evidence.model.busy[ONE_SLICE] == pytest.approx(0.0586)
    (candidate,) = redundant_stores.detect_redundant_stores(evidence)
    assert candidate.evidence == {"stores_alike": 100.0}
