"""Values that a thread stores in shared memory and loads again itself: named where no other thread can have stored there."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.shared_memory.own_values import detect_own_values

STORES, BARRIER, LOADS = (
    ("STS [R2], R4", "STS [R2+0x80], R5"),
    "BAR.SYNC 0x0",
    ("LDS R6, [R2]", "LDS R7, [R2+0x80]"),
)
STORED = "STG.E [R8.64], R6"


def found(*lines, **more):
    return [
        (len(one.weights), one.effect.resources["lsu"])
        for one in detect_own_values(evidence_of(*lines, **more))
    ]


def test_what_only_the_thread_that_stored_it_loads_again_could_stay_in_registers():
    """Loads and stores go, which are four of the five accesses."""
    assert found(*STORES, BARRIER, *LOADS, STORED, "EXIT") == [(4, pytest.approx(4 / 5))]


@pytest.mark.parametrize(
    "between",
    [
        (BARRIER, "STS [R9], R4"),  # perhaps of another thread's place
        (BARRIER, "ATOMS.ADD RZ, [R9], R4"),
        (BARRIER, "LDGSTS.E [R9], [R10.64]"),
        ("WARPSYNC.ALL", "STS [R9], R4"),
        ("IADD3 R2, R2, 0x4, RZ", BARRIER),  # which is another place
    ],
)
def test_what_other_threads_may_have_stored_has_to_be_loaded(between):
    assert not found(*STORES, *between, *LOADS, STORED, "EXIT")


def test_a_store_between_the_same_barriers_is_to_another_place():
    """Otherwise the value would depend on which thread comes first."""
    assert found(*STORES, "STS [R9], R4", BARRIER, *LOADS, STORED, "EXIT") == [(4, pytest.approx(4 / 6))]


@pytest.mark.parametrize(("also", "gone"), [("NOP", 4), ("LDS R5, [R3]", 2)])
def test_stores_stay_where_other_threads_read_them(also, gone):
    ((sites, _),) = found(*STORES, BARRIER, *LOADS, also, STORED, "EXIT")
    assert sites == gone


def test_a_lane_that_has_not_stored_loads_what_another_one_has():
    """Of a store in a branch that half of the lanes take, and of one under a predicate, a load behind it may find another value."""
    half = {0: {"acting": 16.0}}
    assert not found(STORES[0], BARRIER, LOADS[0], STORED, "EXIT", facts=half)
    assert not found("@P0 STS [R2], R4", BARRIER, LOADS[0], STORED, "EXIT")
    assert not found(
        "STS.64 [R2], R4", BARRIER, LOADS[0], STORED, "EXIT"
    )  # two words, of which one is loaded


def test_what_stands_before_a_loop_is_not_what_its_turns_find():
    """A later turn loads what the turn before it stored."""
    turn = [(line, 800.0) for line in ("LDS R6, [R2]", "BAR.SYNC 0x0", "STS [R3], R6", "@P0 BRA 0x20")]
    assert not found("MOV R2, RZ", "STS [R2], R4", *turn, "EXIT")
