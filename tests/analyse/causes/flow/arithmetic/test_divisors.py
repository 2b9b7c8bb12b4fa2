"""Which precise divisions a product with a reciprocal replaces that is there already, or that the host knows."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.flow.arithmetic.divisors import find_products_for_quotients

LOADED = ("S2R R8, SR_TID.X", "IMAD.WIDE R2, R8, 0x4, R4", "LDG.E R3, [R2.64]")
PASSED = ("LDC R3, c[0x0][0x218]",)
TURN = ("VIADD R30, R30, 0x1", "ISETP.NE.AND P0, PT, R30, 0x40, PT", "@P0 BRA 0x{:x}")


def division_by(divisor):
    return (
        f"MUFU.RCP R6, {divisor}", f"FCHK P1, R0, {divisor}", f"FFMA R7, -{divisor}, R6, 1", "FFMA R7, R6, R7, R6", "FFMA R6, R0, R7, RZ",
        f"FFMA R9, -{divisor}, R6, R0", "FFMA R10, R7, R9, R6",
    )  # fmt: skip


def who_inverts(*lines):
    """Returns for each division of the code who takes its reciprocal once, if anyone does."""
    evidence = evidence_of(*lines)
    found = find_products_for_quotients(evidence)
    return [found.get(site) for site in evidence.sites if site.instruction.name == "FCHK"]


@pytest.mark.parametrize(
    ("between", "second"),
    [
        ((), "thread"),
        (("FADD R3, R3, 1",), None),  # another number
        (("FADD R5, R3, 1",), "thread"),
    ],
)
def test_the_second_division_by_a_number_is_a_product(between, second):
    assert who_inverts(*LOADED, *division_by("R3"), *between, *division_by("R3.reuse")) == [None, second]


@pytest.mark.parametrize(
    ("divisor", "who"),
    [
        (PASSED, "host"),
        ((*PASSED, "FADD R5, R3, R3", "FMUL R3, R5, R3"), "host"),  # 2 * h * h
        (LOADED, None),
        (
            ("MOV R2, 0x400", "LDG.E R3, [R2.64]"),
            None,
        ),  # which all threads load, but which the host need not know
        (("S2R R8, SR_CTAID.X", "I2FP.F32.U32 R3, R8"), None),
        ((*PASSED, "S2R R8, SR_TID.X", "I2FP.F32.U32 R8, R8", "FADD R3, R3, R8"), None),
    ],
)
def test_the_host_inverts_what_is_made_of_parameters_alone(divisor, who):
    assert who_inverts(*divisor, *division_by("R3")) == [who]


@pytest.mark.parametrize("divisor", ["3", "c[0x0][0x168]"])
def test_a_constant_or_a_parameter_may_stand_in_the_division_itself(divisor):
    assert who_inverts(*LOADED, *division_by(divisor)) == ["host"]


@pytest.mark.parametrize(
    ("before", "inside", "who"),
    [
        (LOADED, (), "thread"),
        (LOADED, ("FADD R3, R3, 1",), None),  # each turn divides by another number
        (("MOV R3, 0x3f800000",), ("FADD R3, R3, 1",), None),  # as if it counted
    ],
)
def test_a_loop_divides_by_what_it_leaves_as_it_is(before, inside, who):
    turn = [line.format(16 * len(before)) for line in TURN]
    assert who_inverts(*before, *inside, *division_by("R3"), *turn) == [who]
