"""What an inner loop computes alike in each turn of the loop around it, and nests that look like it."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.instructions.redundant_instructions import (
    detect_redundant_instructions,
)

TURNS, EACH = 10.0, 100.0
NEST = {
    "begin": "MOV R4, UR4",
    "clear": "MOV R9, RZ",
    "look up": "LDC R5, c[0x3][R4]",
    "scale": "FMUL R6, R5, R2",
    "move": "FFMA R7, R5, R3, R6",
    "fetch": "TEX.LL RZ, R8, R7, R3, UR6, 0x0.3D, 0x1",
    "sum": "FADD R9, R9, R8",
    "count": "IADD3 R4, R4, 0x4, RZ",
    "test": "ISETP.NE.AND P1, PT, R4, UR5, PT",
    "again": "@P1 BRA 0x30",
    "next": "FADD R3, R3, 1",
    "store": "STG.E [R10.64], R9",
    "end": "@P0 BRA 0x10",
}
INNER = ("look up", "scale", "move", "fetch", "sum", "count", "test", "again")


def found(turns=TURNS, **changed):
    """Returns the names of the instructions that each turn of the outer loop makes alike, and the part of them that is spared."""
    nest = {**NEST, **{name.replace("_", " "): line for name, line in changed.items()}}
    lines = [(line, turns * EACH if name in INNER else turns) for name, line in nest.items()]
    evidence = evidence_of(("MOV R3, UR7", 1.0), *lines, ("EXIT", 1.0))
    causes = [one for one in detect_redundant_instructions(evidence) if "inner loop" in one.sentence]
    names = {
        name
        for one in causes
        for name, line in nest.items()
        if line in {site.instruction.text for site in one.weights}
    }
    return names, causes[0].effect.resources["fma"] if causes else 0.0


def test_what_depends_on_the_inner_counter_alone_is_the_same_in_each_turn():
    names, spared = found()
    assert names == {"look up", "scale"}
    assert spared == pytest.approx((1 - 1 / TURNS) * TURNS * EACH / (3 * TURNS * EACH + TURNS))


@pytest.mark.parametrize(
    "changed",
    [
        {"begin": "MOV R4, R3"},  # the counter begins elsewhere in each turn
        {"begin": "LDG.E R4, [R12.64]"},
        {"look up": "LDG.E R5, [R4.64]"},  # others may store there
        {"test": "ISETP.NE.AND P1, PT, R4, R3, PT"},  # each turn makes another number of turns
        {"turns": 1.0},
    ],
)  # fmt: skip
def test_what_the_outer_loop_brings_or_memory_holds_may_change(changed):
    assert found(**{name.replace(" ", "_"): value for name, value in changed.items()}) == (set(), 0.0)


def test_a_sum_over_all_turns_is_not_alike():
    assert "scale" not in found(scale="FFMA R6, R5, R2, R6")[0]


@pytest.mark.parametrize(
    ("scale", "named"),
    [
        ("FMUL R6, R5, R2", {"look up", "scale"}),
        ("FMUL R6, R2, R2", {"look up"}),  # which changes in neither loop, and belongs before both
    ],
)
def test_what_changes_in_neither_loop_is_not_for_their_exchange(scale, named):
    names, _ = found(scale=scale)
    assert names == named


@pytest.mark.parametrize(("look_up", "said"), [("LDC R5, c[0x3][R4]", True), ("I2FP.F32.S32 R5, R4", False)])
def test_constants_are_said_to_be_looked_up_only_where_they_are(look_up, said):
    lines = [
        (line, TURNS * EACH if name in INNER else TURNS)
        for name, line in {**NEST, "look up": look_up}.items()
    ]
    evidence = evidence_of(("MOV R3, UR7", 1.0), *lines, ("EXIT", 1.0))
    (sentence,) = (
        one.sentence for one in detect_redundant_instructions(evidence) if "inner loop" in one.sentence
    )
    assert ("looks up the same constants" in sentence) == said
