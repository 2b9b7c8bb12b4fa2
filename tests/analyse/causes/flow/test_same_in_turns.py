"""Which accesses of a loop come to the same address in each of its turns."""

import pytest
from made_evidence import evidence_of, executing

from profiler.analyse.causes.flow.same_in_turns import has_fixed_address

LOADED = "LDG.E R4, [R2.64+0x8]"


def fixed_in_loop(*turn, after=()):
    """Returns the part of the load's executions that repeat its address, in a loop of 100 turns."""
    lines = [("MOV R6, R8", 10), *executing(1000, *turn), ("@P0 BRA 0x10", 1000), *after, ("EXIT", 10)]
    evidence = evidence_of(*lines)
    (load,) = (site for site in evidence.sites if site.instruction.text == LOADED)
    return has_fixed_address(evidence, load)


def test_an_address_that_its_loop_does_not_change_is_loaded_once_too_often_in_all_turns_but_one():
    assert fixed_in_loop(LOADED) == 1 - 1 / 100


def test_an_address_that_its_loop_counts_up_is_not_fixed():
    assert fixed_in_loop(LOADED, "IADD3 R2, R2, 0x4, RZ") == 0


@pytest.mark.parametrize(
    ("makers", "fixed"),
    [
        (["LDC.64 R2, c[0x0][0x218]"], 0.99),  # the pointer, looked up anew in each turn
        (["LDCU.64 UR4, c[0x0][0x398]", "IMAD.WIDE R2, R6, 0x4, UR4"], 0.99),  # the same on Blackwell
        (["LDC.64 R2, c[0x0][R6+0x218]"], 0.99),  # one of several, but always the same
        (["IADD3 R6, R6, 0x8, RZ", "LDC.64 R2, c[0x0][R6+0x218]"], 0.0),
        (["IMAD.WIDE R2, R6, 0x4, R8"], 0.99),  # a row of which the index stays
        (["IADD3 R6, R6, 0x1, RZ", "IMAD.WIDE R2, R6, 0x4, R8"], 0.0),
        (["UMOV UR4, URZ", "UIADD3 UR4, UR4, 0x1, URZ", "IMAD.WIDE R2, R6, UR4, R8"], 0.99),  # begins anew
        (["UIADD3 UR4, UR4, 0x1, URZ", "IMAD.WIDE R2, R6, UR4, R8"], 0.0),  # counts on
        (["@P1 LDC.64 R2, c[0x0][0x218]"], 0.0),  # not in all lanes
        (["LDG.E.64 R2, [R10.64]"], 0.0),  # others may have stored another pointer
        (["@P1 BRA 0x30", "LDC.64 R2, c[0x0][0x218]"], 0.0),  # some turns pass it by
    ],
)
def test_an_address_that_each_turn_finds_anew_is_the_same_if_it_comes_of_the_same_values(makers, fixed):
    written_elsewhere = ["MOV R2, R14", "MOV R3, R15"]  # for what is behind the load
    assert fixed_in_loop(*makers, LOADED, *written_elsewhere) == pytest.approx(fixed)


TESTED = "ISETP.GT.AND P1, PT, R6, R7, PT"


@pytest.mark.parametrize(
    ("makers", "fixed"),
    [
        (["@P1 LDC.64 R2, c[0x0][0x218]"], 0.99),
        (["@P1 LDC.64 R8, c[0x0][0x218]", "@P1 IADD3 R2, R8, 0x8, RZ"], 0.99),
        (["@!P1 LDC.64 R2, c[0x0][0x218]"], 0.0),  # what it loads by is of another turn
        (["@P1 LDC.64 R2, c[0x0][0x218]", TESTED], 0.0),  # other turns now load by it
        (["@P1 LDC.64 R2, c[0x0][R6+0x218]"], 0.0),
        (["LDC.64 R2, c[0x0][0x210]", "@P1 LDC.64 R2, c[0x0][0x218]"], 0.99),
    ],
)
def test_what_a_predicate_lets_act_in_some_turns_is_the_same_in_those(makers, fixed):
    lines = [
        ("MOV R6, R8", 10),
        *executing(1000, "IADD3 R6, R6, 0x1, RZ", TESTED, *makers, f"@P1 {LOADED}"),
        ("@P0 BRA 0x10", 1000),
        ("EXIT", 10),
    ]
    evidence = evidence_of(*lines)
    assert has_fixed_address(evidence, evidence.sites[-3]) == pytest.approx(fixed)


def test_an_address_that_only_some_turns_replace_is_not_the_same_for_all():
    made = ["LDC.64 R2, c[0x0][0x210]", "IADD3 R6, R6, 0x1, RZ", TESTED, "@P1 LDC.64 R2, c[0x0][0x218]"]
    assert fixed_in_loop(*made, LOADED) == 0
    assert fixed_in_loop(*made[:1], *made[3:], LOADED) == 0.99  # as each turn does, or none


def test_what_an_inner_loop_writes_says_nothing_of_the_loop_around_it():
    lines = (
        ("MOV R6, R8", 10),
        ("MOV R2, R8", 1000),
        ("MOV R3, R9", 1000),
        ("IADD3 R2, R2, 0x4, RZ", 5000),
        ("@P1 BRA 0x30", 5000),
        (LOADED, 1000),
        ("@P0 BRA 0x10", 1000),
        ("EXIT", 10),
    )
    evidence = evidence_of(*lines)
    assert has_fixed_address(evidence, evidence.sites[5]) == 0


def test_an_address_that_is_found_behind_the_load_says_nothing_of_it():
    assert fixed_in_loop(LOADED, "LDC.64 R2, c[0x0][0x218]") == 0


@pytest.mark.parametrize(
    ("of_outer_loop", "fixed"),
    [
        ("IADD3 R5, R5, 0x1, RZ", 1 - 1 / 100),
        ("IADD3 R2, R2, 0x4, RZ", 1 - 1 / 10),  # the next row of it
        ("BAR.SYNC.DEFER_BLOCKING 0x0", 1 - 1 / 10),  # after which others may have stored there
        ("MEMBAR.SC.GPU", 1 - 1 / 10),
    ],
)
def test_an_address_stays_for_the_turns_of_all_loops_that_leave_it_as_it_is(of_outer_loop, fixed):
    inner = ((LOADED, 1000), ("@P0 BRA 0x20", 1000))
    evidence = evidence_of(
        ("NOP", 10), ("MOV R6, R8", 100), *inner, (of_outer_loop, 100), ("@P1 BRA 0x10", 100), ("EXIT", 10)
    )
    assert has_fixed_address(evidence, evidence.sites[2]) == pytest.approx(fixed)
