"""Powers that are multiplied together from the start in each turn of an outer loop, and loops that look like it."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.instructions.redundant_instructions import (
    detect_redundant_instructions,
)

TURNS, EACH = 100.0, 20.0
NEST = {
    "begin": "MOV R3, 0x3f800000",
    "count": "IADD3 R6, R0, RZ, RZ",
    "multiply": "FMUL R3, R3, R2",
    "down": "IADD3 R6, R6, -0x1, RZ",
    "test": "ISETP.NE.AND P1, PT, R6, RZ, PT",
    "again": "@P1 BRA 0x30",
    "add": "FFMA R7, R3, R8, R7",
    "next": "IADD3 R0, R0, 0x1, RZ",
    "end": "@P0 BRA 0x10",
}
INNER = ("multiply", "down", "test", "again")


def found(each=EACH, begun=TURNS, **changed):
    """The causes that are named in a nest of which some instructions were changed."""
    executed = [
        (line, TURNS * each if name in INNER else begun if name == "count" else TURNS)
        for name, lines in {**NEST, **changed}.items()
        for line in lines.split("; ")
    ]
    return list(detect_redundant_instructions(evidence_of("MOV R7, RZ", *executed, "EXIT")))


def test_a_power_goes_on_from_that_of_the_turn_before():
    (one,) = found()
    assert one.name == "redundant-instructions"
    assert {site.instruction.text for site in one.weights} == {NEST[name] for name in INNER}
    saved = TURNS * (4 * EACH - 1)  # one product of each turn stays
    executed = TURNS * (4 * EACH + 5) + 2 * 100
    assert one.effect.resources["issue"] == pytest.approx(saved / executed)


def test_the_copies_of_the_compiler_for_what_is_left_are_spared_with_the_loop():
    rest = "ISETP.NE.AND P2, PT, R9, RZ, PT; @!P2 BRA 0xa0; FMUL R3, R3.reuse, R2"
    (one,) = found(add=f"{rest}; FFMA R7, R3, R8, R7")
    assert {site.instruction.text for site in one.weights} == {
        *(NEST[name] for name in INNER),
        *rest.split("; "),
    }


@pytest.mark.parametrize(
    "other",
    [
        "FMUL R11, R11, R2; FMUL R3, R3, R2",  # a power that goes on from turn to turn already
        "IADD3 R12, R12, 0x4, RZ; FMUL R3, R3, R2",  # an address between the products
    ],
)
def test_what_serves_the_outer_loop_stays(other):
    (one,) = found(add=other)
    assert {site.instruction.text for site in one.weights} == {*(NEST[name] for name in INNER)}


def test_what_a_branch_passes_by_with_the_products_is_spared_with_them():
    passed_by = "@!P2 BRA 0x90; IADD3 R6, R0, RZ, RZ; ISETP.NE.AND P3, PT, R6, RZ, PT"
    (one,) = found(count=passed_by, again="@P1 BRA 0x50")
    assert {site.instruction.text for site in one.weights} == {
        *(NEST[name] for name in INNER if name != "again"),
        *passed_by.split("; "),
        "@P1 BRA 0x50",
    }


@pytest.mark.parametrize("target", ["0x40", "0xe0"])
def test_a_branch_that_passes_by_less_or_leaves_the_nest_spares_nothing(target):
    (one,) = found(count=f"@!P2 BRA {target}; IADD3 R6, R0, RZ, RZ", again="@P1 BRA 0x40")
    assert "IADD3 R6, R0, RZ, RZ" not in {site.instruction.text for site in one.weights}


def test_a_value_that_only_some_turns_begin_anew_goes_on_in_the_others():
    behind_a_branch = {"begin": "MOV R9, RZ", "count": "MOV R3, 0x3f800000"}
    assert len(found(**behind_a_branch)) == 1
    assert found(begun=TURNS - 1, **behind_a_branch) == []


@pytest.mark.parametrize("begin", ["LDC R3, c[0x3][R3]", "IADD3 R3, R3, 0x1, RZ"])
def test_a_value_that_is_made_of_the_last_power_does_not_begin_anew(begin):
    assert found(begin=begin) == []


def test_the_first_factor_may_be_another_in_each_turn():
    assert len(found(begin="SHF.L.U32 R3, R0, 0x2, RZ; LDC R3, c[0x3][R3]", again="@P1 BRA 0x40")) == 1


def test_a_factor_may_be_a_constant_or_of_double_precision():
    assert len(found(multiply="FMUL R3, R3, c[0x0][0x220]")) == 1
    assert len(found(begin="CS2R R4, SRZ", multiply="DMUL R4, R4, R10")) == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"multiply": "FMUL R3, R3, R3"},  # squares: another factor each time
        {"add": "FADD R2, R2, R8"},  # the outer loop changes the factor
        {"multiply": "FMUL R3, R3, R2; FADD R2, R2, R8"},  # or the inner one does
        {"multiply": "FMUL R3, R3, R2; FFMA R7, R3, R8, R7"},  # each power is used
        {"multiply": "FMUL R3, R3, R2; STG.E [R10.64], R3"},
        {"multiply": "FFMA R3, R3, R2, R8"},  # more than a power
        {"begin": "@P2 MOV R3, 0x3f800000"},  # sometimes it goes on
        {"begin": "MOV R9, 0x3f800000"},  # it goes on
    ],
)
def test_a_loop_that_does_more_than_take_a_power_anew_is_left(changed):
    assert found(**changed) == []


@pytest.mark.parametrize(("products", "count"), [(TURNS, 0), (TURNS + 1, 1)])
def test_with_no_more_products_than_turns_the_turn_before_saves_nothing(products, count):
    """As where a branch passes the products by in most turns, whose power is of zero."""
    assert len(found(each=products / TURNS)) == count
