"""What a loop carries from turn to turn: by registers, by the predicates that choose between them, and not by what another predicate guards."""

import pytest
from made_evidence import evidence_of, executing

from profiler.analyse.causes.detectors.waiting.dependent_chains import detect_dependent_chain
from profiler.analyse.causes.flow.loop_carried import count_chains, follows_itself, is_carried

# As nvcc 13 writes `while (low < high) { middle = (low + high) >> 1; if (table[middle] < value) low = middle + 1; else high = middle; }`.
SEARCH = (
    "IMAD.IADD R2, R7, 0x1, R6",
    "SHF.R.S32.HI R9, RZ, 0x1, R2",
    "IMAD.WIDE R2, R9, 0x4, R4",
    "LDG.E R13, desc[UR4][R2.64]",
    "ISETP.GE.AND P0, PT, R13, R8, PT",
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
    return evidence_of(("MOV R2, R8", 10.0), *executing(1000.0, *lines), ("EXIT", 10.0), facts=facts)


def first_load_is_chased(lines):
    evidence = loop_of(lines)
    return is_carried(evidence, load_in(evidence))


def load_in(evidence):
    return next(site for site in evidence.sites if site.kind in ("global load", "shared load"))


def test_where_a_search_looks_next_depends_on_what_it_found_by_a_comparison():
    evidence = loop_of(SEARCH, facts={5: {"waits": {"long_scoreboard": 90}}})
    assert is_carried(evidence, load_in(evidence))
    (candidate,) = detect_dependent_chain(evidence)
    assert "decided by a comparison of what the one before it has found" in candidate.sentence


def test_a_comparison_that_only_chooses_a_result_does_not_lead_to_the_next_load():
    largest = (
        "LDG.E R13, desc[UR4][R2.64]",
        "FSETP.GT.AND P0, PT, R13, R8, PT",
        "FSEL R8, R13, R8, P0",
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


@pytest.mark.parametrize(("other", "carried"), [("@!P2 MOV R13, RZ", False), ("@!P4 MOV R13, RZ", True)])
def test_what_two_opposite_predicates_replace_is_not_carried_on(other, carried):
    lines = ("@P2 LDG.E R13, desc[UR4][R2.64]", other, "FADD R13, R13, R9", "IADD3 R2, R2, 0x4, RZ", "@P1 BRA 0x10")  # fmt: skip
    evidence = loop_of(lines)
    (addition,) = (site for site in evidence.sites if site.opcode == "FADD")
    assert is_carried(evidence, addition) == carried


# Two sorted lists are merged: whichever has the smaller element goes on.
MERGE = (
    "LDG.E R13, desc[UR4][R2.64]",
    "LDG.E R15, desc[UR4][R4.64]",
    "ISETP.GT.AND P0, PT, R13, R15, PT",
    "@P0 BRA 0x80",
    "MOV R9, R13",
    "IADD3 R2, R2, 0x4, RZ",
    "BRA 0xa0",
    "MOV R9, R15",
    "IADD3 R4, R4, 0x4, RZ",
    "STG.E desc[UR4][R6.64], R9",
    "IADD3 R6, R6, 0x4, RZ",
    "@P1 BRA 0x10",
)


def test_what_a_branch_passes_by_depends_on_what_the_branch_compares():
    assert first_load_is_chased(MERGE)


def test_a_branch_on_a_counter_leads_to_no_load():
    by_count = [one.replace("R13, R15", "R6, R7") for one in MERGE]
    assert not first_load_is_chased(by_count)


def test_a_branch_out_of_the_loop_ends_it_and_says_nothing_of_the_next_address():
    """The next addresses are known ahead, as where a text is searched for a letter."""
    found = (
        "LDG.E.U8 R13, desc[UR4][R2.64]",
        "ISETP.EQ.AND P0, PT, R13, R15, PT",
        "@P0 BRA 0x70",
        "IADD3 R2, R2, 0x1, RZ",
        "@P1 BRA 0x10",
        "NOP",
    )
    assert not first_load_is_chased(found)


# As nvcc 13 writes `y = x + a * (y - x); out[i] = y;` where x is a whole number, such as that of a picture's channel.
STORE = "STG.E desc[UR4][R10.64], R7"
FILTER = (
    "LDG.E R4, desc[UR4][R2.64]",
    "I2F.U8 R15, R4",
    "FADD R7, -R15, R7",
    "FFMA R7, R7, R20, R15",
    STORE,
    "IADD3 R2, R2, 0x4, RZ",
    "IADD3 R10, R10, 0x4, RZ",
    "@P0 BRA 0x10",
)


def follows(lines):
    return follows_itself(loop_of(lines, facts={1: {"waits": {"long_scoreboard": 90}}}))


def test_a_filter_follows_itself():
    assert follows(FILTER)


@pytest.mark.parametrize(
    ("place", "does"),
    [("[R10]", True), ("[R1+0x10]", False)],  # an element for each turn, or a register that is spilled
)
def test_a_chain_that_is_kept_in_an_array_of_the_thread_follows_itself_too(place, does):
    """As that of a solver, whose second pass goes back through what the first one made."""
    lines = [f"STL {place}, R7" if one.startswith("STG") else one for one in FILTER]
    assert follows(lines) == does


def test_what_is_made_of_one_element_does_not_follow_itself():
    assert not follows([one.replace("R7", "R15") if one == STORE else one for one in FILTER])


@pytest.mark.parametrize(("waits_inside", "does"), [(40, False), (60, True)])
def test_one_filter_within_another_is_counted_once(waits_inside, does):
    """An inner loop is a part of the outer one: what warps wait for there, they do not wait for twice."""
    outer = [one.replace("P0", "P1") for one in FILTER]
    after = (("LDG.E R40, desc[UR4][R41.64]", 10.0), ("FADD R42, R40, R42", 10.0), ("EXIT", 10.0))
    waits = {2: waits_inside, 18: 100 - waits_inside}
    evidence = evidence_of(
        ("MOV R2, R8", 10.0),
        *executing(1000.0, *FILTER),
        *executing(100.0, *outer),
        *after,
        facts={place: {"waits": {"long_scoreboard": count}} for place, count in waits.items()},
    )
    assert follows_itself(evidence) is does


# Four filters side by side, whose results one store takes.
FOUR_FILTERS = (
    "LDG.E.128 R24, desc[UR4][R2.64]",
    "FFMA R12, R12, R20, R24",
    "FFMA R13, R13, R20, R25",
    "FFMA R14, R14, R20, R26",
    "FFMA R15, R15, R20, R27",
    "STG.E.128 desc[UR4][R10.64], R12",
    "IADD3 R2, R2, 0x10, RZ",
    "IADD3 R10, R10, 0x10, RZ",
    "@P0 BRA 0x10",
)


def chains(lines, **changed):
    return count_chains(loop_of([changed.get(one.partition(" ")[2].partition(",")[0], one) for one in lines]))


def test_filters_side_by_side_are_chains_that_threads_could_share_out():
    assert chains(FOUR_FILTERS) == 4
    assert chains(FILTER) == 1


def test_steps_of_one_filter_that_are_stored_together_are_one_chain():
    one_after_the_other = {
        f"R{to}": f"FFMA R{to}, R{of}, R20, R{to + 12}" for to, of in ((12, 15), (13, 12), (14, 13), (15, 14))
    }
    assert chains(FOUR_FILTERS, **one_after_the_other) == 1


def test_filters_of_which_one_takes_the_result_of_another_are_not_shared_out():
    assert chains(FOUR_FILTERS, R15="FFMA R15, R15, R12, R27") == 1
