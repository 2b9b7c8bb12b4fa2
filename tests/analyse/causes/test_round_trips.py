"""Values that go through shared memory in each turn of a loop: named where a turn does little else with them."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.shared_memory import detect_redundant_shared

SUM, DIFFERENCE = "FADD R9, R7, R8", "FADD R10, -R7, R8"


def butterflies(
    turns=8.0, loads=("LDS R8, [R4]", "LDS R7, [R6]"), work=(SUM, DIFFERENCE), stored=("R9", "R10"), **more
):
    """Returns a loop of so many turns that combines pairs of values in shared memory, with a barrier in each."""
    inside = (
        "BAR.SYNC 0x0",
        "IMAD R4, R2, 0x4, R15",
        "IMAD R6, R11, 0x4, R4",
        *loads,
        *work,
        *[f"STS [{address}], {value}" for address, value in zip(("R4", "R6"), stored, strict=False)],
        "IADD3 R2, R2, 0x1, RZ",
        "@P1 BRA 0x10",
    )
    return evidence_of("MOV R2, RZ", *[(line, 100 * turns) for line in inside], "EXIT", **more)


def test_a_loop_that_takes_all_values_through_shared_memory_in_each_turn_could_take_two_turns_at_once():
    (candidate,) = detect_redundant_shared(butterflies())
    assert candidate.name == "redundant-shared-accesses"
    assert candidate.evidence["operations_per_trip"] == pytest.approx(1)
    assert {site.opcode for site in candidate.weights} == {"LDS", "STS"}
    assert candidate.effect.resources["lsu"] == pytest.approx(1 / 2)
    assert candidate.effect.resources["issue"] == pytest.approx(
        1 / 2 * 9 * 800 / (11 * 800 + 200)
    )  # the sums stay


@pytest.mark.parametrize(
    "otherwise",
    [
        {"turns": 3.0},  # no two turns that could be joined twice
        {
            "loads": ("LDS R8, [R4]", "LDS R7, [R6]", "LDS R5, [R6+0x4]", "LDS R3, [R6+0x8]")
        },  # each is used by several threads
        {"work": (SUM, DIFFERENCE, *["FMUL R9, R9, R9"] * 3)},  # more than two operations for each store
        {"stored": ("R13", "R14")},  # other values
        {"loads": ("LDS R8, [R4]", "LDS R7, [R4+0x4]")},  # neighbours
        {"loads": ("LDG.E R8, [R4.64]", "LDS R7, [R6]"), "stored": ("R8", "R10")},  # a tile that is filled
    ],
)
def test_a_loop_does_not_only_carry_values_through_shared_memory_where(otherwise):
    assert not list(detect_redundant_shared(butterflies(**otherwise)))


@pytest.mark.parametrize(("passes", "gone"), [(1, 1 / 2), (2, 1 / 4)])
def test_passes_in_which_lanes_meet_stay_where_turns_are_joined(passes, gone):
    accesses = (4, 5, 8, 9)
    facts = {place: {"passes": 800.0 * passes, "ideal_passes": 800.0} for place in accesses}
    evidence = butterflies(facts=facts, figures={"shared_of_l1_pct": 100.0})
    (candidate,) = detect_redundant_shared(evidence)
    assert candidate.effect.resources["l1"] == pytest.approx(gone)
