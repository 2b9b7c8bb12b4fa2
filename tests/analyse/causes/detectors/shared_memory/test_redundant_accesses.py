"""Values in shared memory that could stay in registers."""

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
