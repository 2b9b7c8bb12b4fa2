"""Sums in global memory to which a zero is added wherever a branch passes by what computes the other part."""

import pytest
from made_evidence import evidence_of, names

from profiler.analyse.causes.detectors.global_memory.added_zeros import detect_added_zeros

# 800 warps add to what lies at R2. A tenth of them computes R6, each in 8 of its 32 lanes; for all others it is zero.
ADDING = {
    "zero": ("MOV R6, RZ", 800.0),
    "branch": ("@P0 BRA 0x30", 800.0),
    "compute": ("MUFU.EX2 R6, R8", 80.0),
    "load": ("LDG.E R4, [R2.64]", 800.0),
    "between": ("NOP", 800.0),
    "add": ("FADD R5, R4, R6", 800.0),
    "store": ("STG.E [R2.64], R5", 800.0),
}
COMPUTE, LOAD, STORE = (list(ADDING).index(name) for name in ("compute", "load", "store"))


def added(acting=8.0, sectors=3200.0, storing=32.0, **changed):
    facts = {
        COMPUTE: {"acting": acting},
        LOAD: {"acting": 32.0, "sectors": sectors},
        STORE: {"acting": storing, "sectors": sectors},
    }
    return evidence_of(*(ADDING | changed).values(), "EXIT", facts=facts)


def test_a_sum_to_which_most_lanes_add_zero_is_stored_in_vain():
    (candidate,) = detect_added_zeros(added())
    assert candidate.name == "redundant-global-stores"
    assert candidate.evidence["zeros_added_pct"] == pytest.approx(
        97.5
    )  # 80 x 8 of 800 x 32 lanes add something
    assert candidate.effect.resources["lsu"] == pytest.approx(0.9)  # a tenth of the warps still accesses it


@pytest.mark.parametrize(
    ("sectors", "spared"),
    [
        (3200.0, 0.9),  # 4 a request, of 8 lanes each: those of a tenth of the requests are still touched
        (25600.0, 0.975),  # one for each lane: a lane without something to add touches none
    ],
)
def test_a_lane_spares_a_sector_only_where_it_has_one_of_its_own(sectors, spared):
    (candidate,) = detect_added_zeros(added(sectors=sectors))
    assert candidate.effect.resources["l2"] == pytest.approx(spared)


@pytest.mark.parametrize(
    "changed",
    [
        {"zero": ("IMAD.MOV.U32 R6, RZ, RZ, RZ", 800.0)},
        {"zero": ("HFMA2.MMA R6, -RZ, RZ, 0, 0", 800.0)},
        {"zero": ("CS2R R6, SRZ", 800.0)},
        {"add": ("IADD3 R5, R6, R4, RZ", 800.0)},
    ],
)
def test_zeros_and_sums_are_known_in_each_form(changed):
    assert names(detect_added_zeros, added(**changed)) == ["redundant-global-stores"]


@pytest.mark.parametrize(
    "changed",
    [
        {"zero": ("MOV R6, 0x3f800000", 800.0)},  # one is added
        {"zero": ("MOV R6, R9", 800.0)},  # whatever R9 holds
        {"compute": ("MUFU.EX2 R7, R8", 80.0)},  # the compiler would have added nothing
        {"compute": ("MUFU.EX2 R6, R8", 800.0), "branch": ("NOP", 800.0)},  # always something
        {"load": ("LDG.E R4, [R10.64]", 800.0)},  # a sum of two arrays
        {"load": ("LDG.E R4, [R2.64+0x4]", 800.0)},  # of the neighbour
        {"between": ("IADD3 R2, R2, 0x4, RZ", 800.0)},  # stored to the neighbour
        {"store": ("STG.E.STRONG.GPU [R2.64], R5", 800.0)},  # others wait for it
        {"store": ("STG.E.64 [R2.64], R5", 800.0)},  # the other half may change
        {"add": ("FMUL R5, R4, R6", 800.0)},  # a product with zero is zero
    ],
)
def test_what_may_change_the_stored_value_is_needed(changed):
    assert names(detect_added_zeros, added(**changed)) == []


@pytest.mark.parametrize(("executed", "found"), [(799.0, True), (800.0, False)])
def test_where_each_lane_computes_something_no_zero_is_added(executed, found):
    evidence = added(acting=32.0, compute=("MUFU.EX2 R6, R8", executed))
    assert bool(names(detect_added_zeros, evidence)) == found


def test_a_store_of_no_lane_stores_nothing_in_vain():
    assert names(detect_added_zeros, added(storing=0.0)) == []
