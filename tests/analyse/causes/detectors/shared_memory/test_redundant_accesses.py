"""Values in shared memory that could stay in registers."""

import pytest
from made_evidence import LOOP, evidence_of, names

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
    lines = [
        ("MOV R2, RZ", 1),
        ("LDS R4, [R2]", 100),
        ("STS [R2], R4", 100),
        ("STS [R2+0x4], R4", 100),
        (LOOP, 100),
    ]
    assert names(redundant_accesses.detect_redundant_shared, evidence_of(*lines)) == []
    assert names(redundant_accesses.detect_redundant_shared, evidence_of(*lines[:3], lines[4])) == [
        "redundant-shared-accesses"
    ]


@pytest.mark.parametrize(
    ("between", "found"),
    [
        ("NOP", ["redundant-shared-accesses"]),
        ("BAR.SYNC 0x0", []),  # after which another thread may have stored there
        ("WARPSYNC.ALL", []),
        ("LDS R7, [R2+0x40]", []),  # what another lane stored
        ("STS [R2+0x40], R4", []),  # for another lane
        ("ATOMS.ADD RZ, [R2], R4", []),
    ],
)
def test_several_sums_that_a_thread_alone_keeps_in_shared_memory_could_be_registers(between, found):
    sums = (
        "LDS R4, [R2]",
        "FADD R4, R4, R5",
        "STS [R2], R4",
        "LDS R6, [R3]",
        "FADD R6, R6, R5",
        "STS [R3], R6",
    )
    lines = [("MOV R2, RZ", 1), *[(line, 100) for line in (*sums, between, LOOP)]]
    everything = redundant_accesses.detect_redundant_shared(evidence_of(*lines))
    candidates = [one for one in everything if one.sentence.startswith("In every iteration")]
    assert [one.name for one in candidates] == found
    # Nobody else reads what is stored, so that loads and stores go.
    assert [one.effect.resources["lsu"] for one in candidates] == [pytest.approx(99 / 100)] * len(found)
