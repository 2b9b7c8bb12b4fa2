"""Results that warps compute for rows which the data has not."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.idle_lanes.results_not_stored import detect_results_not_stored

# Each thread brings an element to shared memory, and adds up what all have brought; one row of four is there.
ROWS = (
    "S2R R0, SR_TID.Y",
    "LDG.E R4, [R2.64]",
    "STS [R6], R4",
    "BAR.SYNC.DEFER_BLOCKING 0x0",
    ("LDS R7, [R8]", 800.0),
    ("FADD R9, R9, R7", 800.0),
    ("IADD3 R8, R8, 0x4, RZ", 800.0),
    ("ISETP.NE.AND P0, PT, R8, R10, PT", 800.0),
    ("@P0 BRA 0x40", 800.0),
    "FMUL R9, R9, R12",
    "ISETP.GE.AND P1, PT, R0, R11, PT",
    "@P1 EXIT",
    ("STG.E [R14.64], R9", 25.0),
    ("EXIT", 25.0),
)
WHOLE = {"lanes": 32.0, "acting": 32.0}


def not_stored(replaced=None):
    lines = [(replaced or {}).get(place, line) for place, line in enumerate(ROWS)]
    evidence = evidence_of(*lines, facts=dict.fromkeys(range(len(lines)), WHOLE), block=(32, 4, 1))
    return evidence, list(detect_results_not_stored(evidence))


def test_what_most_warps_compute_without_storing_it_is_for_nobody():
    evidence, (candidate,) = not_stored()
    assert candidate.name == "idle-lanes"
    assert candidate.sentence.startswith(
        "75 % of the warps do not store what they compute from shared memory"
    )
    spared = {
        evidence.sites.index(site): weight / site.executed for site, weight in candidate.weights.items()
    }
    assert spared == dict.fromkeys((4, 5, 9), pytest.approx(0.75))
    assert candidate.effect.resources["l2"] == 0.0


@pytest.mark.parametrize(
    "replaced",
    [
        {12: ("STG.E [R14.64], R9", 75.0)},  # most of the warps store: no smaller block would do
        # What a thread has loaded decides whether it stores.
        {1: "LDG.E R4, [R0.64]", 10: "ISETP.GE.AND P1, PT, R4, R11, PT"},
        {9: "RED.E.ADD.F32 [R14.64], R9"},  # added elsewhere
        {9: "STS [R6], R9", 12: ("STG.E [R14.64], R4", 25.0)},  # others read it
        {4: ("LDG.E R7, [R8.64]", 800.0)},  # the elements of others are no part of it
    ],
)
def test_what_others_need_or_the_data_decides_is_not_for_nobody(replaced):
    assert not not_stored(replaced)[1]


def test_what_else_reads_a_value_keeps_all_that_leads_to_it():
    evidence, (candidate,) = not_stored({10: "FSETP.GE.AND P2, PT, R7, R11, PT", 11: "EXIT"})
    assert {evidence.sites.index(site) for site in candidate.weights} == {5, 9}
