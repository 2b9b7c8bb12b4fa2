"""What a loop carries from turn to turn: by registers, by the predicates that choose between them, and not by what another predicate guards."""

from __future__ import annotations

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.waiting.dependent_chains import detect_dependent_chain
from profiler.analyse.causes.flow.carried import is_carried

# As nvcc 13 writes `while (low < high) { middle = (low + high) >> 1; if (table[middle] < value) low = middle + 1; else high = middle; }`.
SEARCH = (
    "IMAD.IADD R2, R7, 0x1, R6",
    "SHF.R.S32.HI R9, RZ, 0x1, R2",
    "IMAD.WIDE R2, R9, 0x4, R4",
    "LDG.E R3, desc[UR4][R2.64]",
    "ISETP.GE.AND P0, PT, R3, R8, PT",
    "SEL R6, R6, R9, !P0",
    "@!P0 VIADD R7, R9, 0x1",
    "ISETP.GE.AND P0, PT, R7, R6, PT",
    "@!P0 BRA 0x10",
)
# The sweep of a scan over a tree: each turn computes where its two elements are, if it has any, and the next turn reuses the registers.
SWEEP = (
    "ISETP.GE.AND P2, PT, R0, UR4, PT",
    "@!P2 IMAD R6, R8, R9, RZ",
    "@!P2 LEA R6, R6, UR5, 0x2",
    "@!P2 LDS R6, [R6+-0x4]",
    "@!P2 FADD R7, R6, R7",
    "UISETP.GT.AND UP0, UPT, UR4, 0x1, UPT",
    "@P1 BRA 0x10",
)


def loop_of(lines, facts=None):
    return evidence_of(("MOV R2, R8", 10.0), *((line, 1000.0) for line in lines), ("EXIT", 10.0), facts=facts)


def first_load_is_chased(lines):
    evidence = loop_of(lines)
    return is_carried(evidence, load_in(evidence))


def load_in(evidence):
    return next(site for site in evidence.sites if site.kind in ("global load", "shared load"))


def test_where_a_search_looks_next_depends_on_what_it_found_by_a_comparison():
    evidence = loop_of(SEARCH, facts={5: {"waits": {"long_scoreboard": 90}}})
    assert is_carried(evidence, load_in(evidence))
    (candidate,) = detect_dependent_chain(evidence)
    assert "address from the one before it" in candidate.sentence


def test_a_comparison_that_only_chooses_a_result_does_not_lead_to_the_next_load():
    largest = (
        "LDG.E R3, desc[UR4][R2.64]",
        "FSETP.GT.AND P0, PT, R3, R8, PT",
        "FSEL R8, R3, R8, P0",
        "@P0 MOV R9, R2",
        "IADD3 R2, R2, 0x4, RZ",
        "@P1 BRA 0x10",
    )
    evidence = loop_of(largest)
    assert not is_carried(evidence, load_in(evidence))


def test_what_a_register_held_is_not_read_under_the_predicate_that_has_replaced_it():
    evidence = loop_of(SWEEP)
    assert not is_carried(evidence, load_in(evidence))


@pytest.mark.parametrize(
    ("line", "by"),
    [
        ("@!P2 LEA R6, R6, UR5, 0x2", "@!P3 LEA R6, R8, UR5, 0x2"),  # another predicate
        ("@!P2 LEA R6, R6, UR5, 0x2", "ISETP.GE.AND P2, PT, R0, UR6, PT"),  # the predicate has changed since
        ("@!P2 LEA R6, R6, UR5, 0x2", "@P2 LEA R6, R6, UR5, 0x2"),  # what it holds otherwise
    ],
)
def test_under_another_predicate_the_old_value_may_still_be_there(line, by):
    lines = [by if one == line else one for one in SWEEP if not one.startswith("@!P2 IMAD")]
    evidence = loop_of(lines)
    assert is_carried(evidence, load_in(evidence))


# Two sorted lists are merged: whichever has the smaller element goes on.
MERGE = (
    "LDG.E R3, desc[UR4][R2.64]",
    "LDG.E R5, desc[UR4][R4.64]",
    "ISETP.GT.AND P0, PT, R3, R5, PT",
    "@P0 BRA 0x80",
    "MOV R9, R3",
    "IADD3 R2, R2, 0x4, RZ",
    "BRA 0xa0",
    "MOV R9, R5",
    "IADD3 R4, R4, 0x4, RZ",
    "STG.E desc[UR4][R6.64], R9",
    "IADD3 R6, R6, 0x4, RZ",
    "@P1 BRA 0x10",
)


def test_what_a_branch_passes_by_depends_on_what_the_branch_compares():
    assert first_load_is_chased(MERGE)


def test_a_branch_on_a_counter_leads_to_no_load():
    by_count = [one.replace("R3, R5", "R6, R7") for one in MERGE]
    assert not first_load_is_chased(by_count)


def test_a_branch_out_of_the_loop_ends_it_and_says_nothing_of_the_next_address():
    """The next addresses are known ahead, as where a text is searched for a letter."""
    found = (
        "LDG.E.U8 R3, desc[UR4][R2.64]",
        "ISETP.EQ.AND P0, PT, R3, R5, PT",
        "@P0 BRA 0x70",
        "IADD3 R2, R2, 0x1, RZ",
        "@P1 BRA 0x10",
        "NOP",
    )
    assert not first_load_is_chased(found)
