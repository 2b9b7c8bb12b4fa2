"""Passes that accesses to shared memory take beyond what their width needs."""

import pytest
from made_evidence import change_instruction, evidence_of, executing, names

from profiler.analyse.causes.detectors.global_memory import atomics
from profiler.analyse.causes.detectors.shared_memory import bank_conflicts
from profiler.analyse.causes.flow.memory import retries
from profiler.catalog.causes import BY_NAME as CAUSES


@pytest.mark.parametrize(
    ("access", "more", "block", "said"),
    [
        ("LDS R4, [R2]", [], 256, "Pad the rows of the array by one word"),
        ("LDS R4, [R2]", [], 16, "2 rows of 16 threads in a warp start 16 banks apart"),
        ("LDS.64 R4, [R2]", [], 256, "odd multiple of 8 bytes"),
        # which one word would misalign
        ("LDS R4, [R2]", ["STS.128 [R3], R8"], 256, "or by 16 bytes where accesses of that width have to stay aligned"),
        ("LDS R4, [R2]", ["HMMA.1688.F32 R20, R38, R51, R20"], 256, "odd multiple of 16 bytes"),
    ],
)  # fmt: skip
def test_rows_get_a_length_that_keeps_every_access_aligned(access, more, block, said):
    facts = {0: {"passes": 200.0, "ideal_passes": 100.0}}
    (candidate,) = bank_conflicts.detect_bank_conflicts(evidence_of(access, *more, facts=facts, block=block))
    assert said in candidate.advice


@pytest.mark.parametrize(("passes", "found"), [(1.0, []), (2.0, ["bank-conflicts"]), (32.0, ["bank-conflicts"])])  # fmt: skip
def test_more_passes_than_needed_are_conflicts(passes, found):
    facts = {0: {"passes": 100 * passes, "ideal_passes": 100.0, "waits": {"short_scoreboard": 9}}}
    assert (
        names(bank_conflicts.detect_bank_conflicts, evidence_of("LDS R4, [R2]", "EXIT", facts=facts)) == found
    )


@pytest.mark.parametrize(
    ("access", "passes", "ideal", "said"),
    [
        ("LDS R4, [R2]", 3200.0, 100.0, "LDS makes 32 passes through shared memory where one would do"),
        ("LDS.128 R4, [R2]", 3200.0, 400.0, "LDS.128 makes 32 passes through shared memory where 4 would do"),
        # One warp of sixteen makes the access, and the others are kept from it by a predicate.
        ("@!P0 LDS R4, [R2]", 200.0, 6.25, "LDS makes 32 passes through shared memory where one would do"),
    ],
)
def test_passes_are_those_of_a_warp_that_makes_the_access(access, passes, ideal, said):
    facts = {0: {"passes": passes, "ideal_passes": ideal}}
    (candidate,) = bank_conflicts.detect_bank_conflicts(evidence_of(access, facts=facts))
    assert candidate.sentence.startswith(said)


@pytest.mark.parametrize(("lines", "said"), [((1, 2, 3), "STS makes 32"), ((1, 2, 2), "LDS makes 30")])
def test_the_access_of_which_passes_are_told_is_on_the_line_that_is_named(lines, said):
    """Two loads of one line cost more together than the store of another, which costs most by itself."""
    passes = [{"passes": made, "ideal_passes": 100.0} for made in (3200.0, 3000.0, 3000.0)]
    evidence = evidence_of("STS [R2], R4", "LDS R6, [R3]", "LDS R7, [R3+0x4]", facts=dict(enumerate(passes)))
    for site, line in zip(evidence.sites, lines, strict=True):
        change_instruction(site, line=line)
    (candidate,) = bank_conflicts.detect_bank_conflicts(evidence)
    assert candidate.sentence.startswith(said)


@pytest.mark.parametrize(("passes", "advised"), [(200.0, "16 banks apart"), (800.0, "by one word")])
def test_rows_of_few_threads_are_set_apart_unless_the_threads_of_a_row_meet(passes, advised):
    """Where 16 threads walk down a column, rows of 48 words would bring all of them into one bank."""
    facts = {0: {"passes": passes, "ideal_passes": 100.0}}
    (candidate,) = bank_conflicts.detect_bank_conflicts(evidence_of("LDS R4, [R2]", facts=facts, block=16))
    assert advised in candidate.advice


@pytest.mark.parametrize(("other", "advised"), [("STS [R8], R4", False), ("STS.64 [R8], R4", True)])
def test_wide_accesses_that_do_not_meet_only_have_to_stay_aligned(other, advised):
    facts = {0: {"passes": 3200.0, "ideal_passes": 100.0}, 1: {"passes": 100.0, "ideal_passes": 100.0}}
    (candidate,) = bank_conflicts.detect_bank_conflicts(evidence_of("LDS R4, [R2]", other, facts=facts))
    assert candidate.advice.startswith("Pad the rows of the array by one word")
    assert ("by 8 bytes where" in candidate.advice) == advised


@pytest.mark.parametrize(("lanes", "kept"), [(32.0, 0.4), (16.0, 0.2)])
def test_lanes_that_become_neighbours_may_also_share_out_what_few_of_them_execute(lanes, kept):
    """Instructions are issued for 40 % of the time, all of them for so many lanes."""
    facts = {0: {"passes": 800.0, "ideal_passes": 100.0, "lanes": lanes}, 1: {"lanes": lanes}}
    evidence = evidence_of("LDS R4, [R2]", "FADD R5, R5, R4", facts=facts, busy={"issue": 0.4})
    (candidate,) = bank_conflicts.detect_bank_conflicts(evidence)
    leaves = CAUSES["bank-conflicts"].leaves
    bound, limit = evidence.model.bound(candidate.effect, leaves, candidate.regrouped)
    assert (1 - bound, limit) == (pytest.approx(kept), "issue")


def test_copies_make_more_passes_without_a_conflict():
    """Eight lanes of 16 bytes side by side have all banks, whatever is counted."""
    facts = {2: {"passes": 800.0, "ideal_passes": 400.0, "waits": {"long_scoreboard": 9}}}
    copy = "LDGSTS.E.BYPASS.128 [R4], [R2.64]"
    evidence = evidence_of("S2R R5, SR_TID.X", "IMAD.SHL.U32 R4, R5, 0x10, RZ", copy, "EXIT", facts=facts)
    assert names(bank_conflicts.detect_bank_conflicts, evidence) == []


def test_a_wide_access_needs_several_passes():
    facts = {0: {"passes": 400.0, "ideal_passes": 400.0}}
    assert (
        names(bank_conflicts.detect_bank_conflicts, evidence_of("LDS.128 R4, [R2]", "EXIT", facts=facts))
        == []
    )


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("IMAD R2, R5, 0x80, RZ", "its lanes are 128 bytes apart and meet in the same banks"),
        ("LDG.E R2, [R6.64]", "its lanes meet in the same banks"),  # nobody knows
    ],
)
def test_the_answer_says_how_far_apart_lanes_are_where_the_code_does(address, said):
    facts = {2: {"passes": 3200.0, "ideal_passes": 100.0}}
    evidence = evidence_of("S2R R5, SR_TID.X", address, "LDS R4, [R2]", "EXIT", facts=facts)
    (candidate,) = bank_conflicts.detect_bank_conflicts(evidence)
    assert said in candidate.sentence


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("SHF.L.U32 R2, R6, 0x7, RZ", "Pad the rows"),  # rows of 32 words: one bank, whatever the index
        (
            "LOP3.LUT R2, R6, 0x1e00, RZ, 0xc0, !PT",
            "Pad the rows",
        ),  # so it is where a mask takes it out of a word
        ("SHF.L.U32 R2, R6, 0x6, RZ", "Give each lane"),  # 16 words: one of two banks
        ("IMAD R2, R6, 0x204, RZ", "Give each lane"),  # 129 words: padded already
    ],
)
def test_rows_of_all_banks_are_padded_even_where_loaded_data_say_which(address, said):
    facts = {4: {"passes": 1600.0, "ideal_passes": 100.0}}
    code = (
        "S2R R5, SR_TID.X",
        "IMAD.WIDE R4, R5, 0x4, R8",
        "LDG.E R6, [R4.64]",
        address,
        "LDS R4, [R2+0x10]",
        "EXIT",
    )
    (candidate,) = bank_conflicts.detect_bank_conflicts(evidence_of(*code, facts=facts))
    assert candidate.advice.startswith(said)


@pytest.mark.parametrize(
    ("loading", "said"),
    [
        ("LDS.U8 R6, [R5]", "Give each lane a bank of its own"),  # a byte of each thread says the place
        ("LDG.E R6, [R5.64]", "Give each lane a bank of its own"),
        ("LDS.U8 R6, [R9]", "Pad the rows of the array by one word"),  # one place for all threads
        ("MOV R6, R9", "Pad the rows of the array by one word"),
    ],
)
def test_padding_does_not_help_where_loaded_data_say_the_place(loading, said):
    facts = {4: {"passes": 350.0, "ideal_passes": 100.0}}
    lines = ("S2R R5, SR_TID.X", "MOV R9, c[0x0][0x160]", loading, "IMAD R2, R5, 0x104, R6", "LDS.U8 R4, [R2]")  # fmt: skip
    (candidate,) = bank_conflicts.detect_bank_conflicts(evidence_of(*lines, "EXIT", facts=facts))
    assert candidate.advice.startswith(said)


@pytest.mark.parametrize(
    ("passes", "of", "swap", "turns", "named"),
    [
        (17.0, "[R8]", "CAST.SPIN", 16.0, "bank-conflicts"),  # a pass for each of the lanes that still try
        (9.0, "[R8]", "CAST.SPIN", 16.0, "bank-conflicts"),
        (8.0, "[R8]", "CAST.SPIN", 16.0, "atomic-contention"),  # two lanes a pass may have the same place
        (17.0, "[R9]", "CAST.SPIN", 16.0, "atomic-contention"),  # of a load from elsewhere
        (17.0, "[R8]", "CAST.SPIN", 66.0, "bank-conflicts"),
        (17.0, "[R8]", "CAST.SPIN", 67.0, "atomic-contention"),  # mostly, other warps come before them
        (17.0, "[R8]", "CAS", 16.0, "atomic-contention"),  # the code's own loop, whose lanes pass together
    ],
)
def test_lanes_of_one_bank_swap_one_by_one_although_their_places_differ(passes, of, swap, turns, named):
    lines = (f"LDS R2, {of}", "FADD R3, R4, R2", f"ATOMS.{swap} R3, [R8], R2, R3", "ISETP.EQ.U32.AND P0, PT, R3, 0x1, PT", "@!P0 BRA 0x10")  # fmt: skip
    executed = 100 * turns
    facts = {
        1: {"passes": passes * executed, "ideal_passes": executed, "acting": 17.0},
        2: {"waits": {"short_scoreboard": 90}},
        4: {"waits": {"short_scoreboard": 90}},
    }
    evidence = retries.add_retries(
        evidence_of("MOV R8, R9", *executing(executed, *lines), "EXIT", facts=facts)
    )
    found = [*atomics.detect_atomics(evidence), *bank_conflicts.detect_bank_conflicts(evidence)]
    assert found[0].name == named
    (conflicts,) = (one for one in found if one.name == "bank-conflicts")
    is_first = named == "bank-conflicts"
    assert ("the others try again" in conflicts.sentence) == is_first
    # The turns go, and with them what they wait for.
    assert conflicts.effect.waits.get("short_scoreboard", 0.0) == pytest.approx(
        1 - 1 / passes if is_first else 0
    )
