"""Values in shared memory that could stay in registers."""

import pytest
from made_evidence import LOOP, evidence_of, executing, names

from profiler.analyse.causes.detectors.shared_memory import redundant_accesses


def test_an_accumulator_in_shared_memory_could_be_a_register():
    lines = [("MOV R2, RZ", 1), ("LDS R4, [R2]", 100), ("FADD R4, R4, R5", 100), ("STS [R2], R4", 100), (LOOP, 100)]  # fmt: skip
    assert names(redundant_accesses.detect_redundant_shared, evidence_of(*lines)) == [
        "redundant-shared-accesses"
    ]
    lines[2] = ("IADD3 R2, R2, 0x4, RZ", 100)
    assert names(redundant_accesses.detect_redundant_shared, evidence_of(*lines)) == []


def test_a_place_in_shared_memory_that_other_threads_store_in_too_is_no_register():
    """A thread that stores in two places stores in its neighbour's."""
    lines = [("MOV R2, RZ", 1), ("LDS R4, [R2]", 100), ("STS [R2], R4", 100), ("STS [R2+0x4], R4", 100), (LOOP, 100)]  # fmt: skip
    assert names(redundant_accesses.detect_redundant_shared, evidence_of(*lines)) == []
    assert names(redundant_accesses.detect_redundant_shared, evidence_of(*lines[:3], lines[4])) == [
        "redundant-shared-accesses"
    ]


@pytest.mark.parametrize(("others", "named"), [("LDS R10, [R23+-0x4]", True), ("STS [R23+-0x4], R10", False)])
def test_a_thread_need_not_load_what_it_stores_for_its_neighbour(others, named):
    """The neighbour's store would change the value."""
    before = ("S2R R5, SR_TID.X", "UMOV UR4, 0x400", "LEA R23, R5, UR4, 0x2")
    inside = ("LDS R8, [R23]", "FADD R8, R8, R10", "BAR.SYNC 0x0", "STS [R23], R8", others, "BAR.SYNC 0x0", "@P0 BRA 0x30")  # fmt: skip
    lines = [*executing(100.0, *before), *executing(800.0, *inside)]
    found = list(redundant_accesses.detect_redundant_shared(evidence_of(*lines, "EXIT", block=64)))
    assert [(one.name, [site.instruction.text for site in one.weights]) for one in found] == (
        [("redundant-shared-accesses", ["LDS R8, [R23]"])] if named else []
    )


ADDING = ("LDS R4, [R2]", "LDG.E R5, [R6.64]", "FADD R4, R4, R5", "STS [R2], R4", "BAR.SYNC 0x0", "IADD3 R6, R6, 0x80, RZ", "@P0 BRA 0x10")  # fmt: skip


def without_barrier(*others):
    """Returns what is spared of a loop that adds to a thread's own place in shared memory and has a barrier, if it also does something else."""
    inside = (*others, *ADDING) if others else ADDING
    waits = {2 + len(others): {"waits": {"long_scoreboard": 100}}}
    lines = [("MOV R2, RZ", 100.0), *executing(1600.0, *inside)]
    (found,) = redundant_accesses.detect_redundant_shared(evidence_of(*lines, "EXIT", facts=waits))
    return found


def test_a_barrier_behind_which_nobody_reads_goes_with_the_value_that_a_register_holds():
    found = without_barrier()
    assert "barrier" in found.advice
    assert found.effect.resources["lsu"] == pytest.approx(2 / 3, abs=0.05)  # the load and the store, of three
    assert found.effect.waits["long_scoreboard"] == pytest.approx(3 / 4)  # four turns load at once


@pytest.mark.parametrize("other", ["LDS R9, [R3]", "STG.E [R8.64], R4", "BAR.RED.OR.DEFER_BLOCKING 0x0, !P1"])
def test_a_barrier_may_order_what_threads_leave_for_each_other(other):
    found = without_barrier(other)
    assert "barrier" not in found.advice
    assert not found.effect.waits.get("long_scoreboard")


@pytest.mark.parametrize(
    ("turns", "changed", "named"),
    [
        (11, {}, True),
        (10, {}, False),  # a tree over the largest block has as many steps
        (11, {"store": "STS [R3], R6"}, False),  # moves on, too
        (11, {"load": "LDS R4, [R9]"}, False),  # may be the place of another lane of the warp
        (11, {"more": "BAR.SYNC.DEFER_BLOCKING 0x0"}, False),
        (11, {"more": "WARPSYNC 0xffffffff"}, False),
        (11, {"more": "LDG.E R5, [R10.64]"}, True),
    ],
)
def test_what_a_loop_overwrites_in_shared_memory_before_anyone_can_read_it_is_stored_in_vain(
    turns, changed, named
):
    """The sum itself stays in a register, and each turn stores it."""
    turn = {"load": "LDS R4, [R3]", "sum": "FADD R6, R6, R4", "store": "STS [R2], R6", "more": "NOP"}
    lines = [*(turn | changed).values(), "IADD3 R3, R3, 0x4, RZ", LOOP]
    evidence = evidence_of(("MOV R2, RZ", 100.0), *((line, 100.0 * turns) for line in lines), "EXIT")
    found = list(redundant_accesses.detect_redundant_shared_stores(evidence))
    assert [one.name for one in found] == ["redundant-shared-accesses"] * named
    assert all([site.instruction.name for site in one.weights] == ["STS"] for one in found)
    assert all(one.effect.resources["lsu"] >= (1 - 1 / turns) / 3 for one in found)
