"""What a loop costs: the instructions that keep it going, and waiting that ends when its turns are computed beside each other."""

import pytest
from made_evidence import LOOP, evidence_of, executing, names

from profiler.analyse.causes.detectors.instructions import loops

BEFORE = ("MOV R2, RZ", 1)
KEEPING = ("IADD3 R2, R2, 0x1, RZ", "ISETP.NE.AND P0, PT, R2, R3, PT", "@P0 BRA 0x10")


def loop_of(*body, facts=None):
    """The loop begins at the second instruction of the code."""
    return evidence_of(BEFORE, *executing(100, *body, *KEEPING), facts=facts)


def kept(evidence):
    (candidate,) = loops.detect_loop_overhead(evidence)
    return [site.instruction.text for site in candidate.weights]


@pytest.mark.parametrize(
    ("work", "counted"),
    [
        ("ISETP.LT.AND P1, PT, R6, R7, PT", False),  # a test of bounds
        ("@P1 BRA 0x40", False),  # around a part of the turn
        ("IADD3 R9, R9, R8, RZ", False),  # a sum of what is loaded
        ("IADD3 R9, R9, 0x80, RZ", True),
        ("UIADD3 UR9, UR9, 0x80, URZ", True),
        ("IADD3 R9, R9, R10, RZ", True),  # a step that the loop does not change
        ("VIADD R9, R8, 0x80", False),
        ("IMAD R9, R9, R10, 0x3", False),  # a generator of random numbers
        ("IMAD.IADD R9, R9, 0x1, R10", True),
        ("@P1 VIADD R9, R9, 0x1", False),  # a count of what is found
        ("VIADD R8, R8, 0x1", False),  # to what is loaded
    ],
)
def test_tests_and_sums_of_the_data_are_made_in_each_turn_unrolled_or_not(work, counted):
    assert (work in kept(loop_of("LDG.E R8, [R4.64]", work, "FADD R5, R5, R8"))) == counted


@pytest.mark.parametrize(("index", "counted"), [("R2", True), ("R8", False)])
def test_a_place_that_data_names_is_computed_in_each_turn_unrolled_or_not(index, counted):
    """A table is looked up by what the loop loads; an array is gone through by the counter."""
    work = f"IMAD.SHL.U32 R12, {index}, 0x4, RZ"
    assert (work in kept(loop_of("LDG.E R8, [R4.64]", work, "LDS R9, [R12]", "FADD R5, R5, R9"))) == counted


@pytest.mark.parametrize(
    ("inside", "behind", "counted"),
    [
        ("LDG.E R8, [R12.64]", "EXIT", True),  # each turn accesses the next address, which unrolled is an offset
        ("FADD R5, R5, R7", "LDG.E R8, [R12.64]", False),  # all turns find one, as those of a loop over dimensions
    ],
)  # fmt: skip
def test_an_address_that_all_turns_find_together_is_what_they_are_for(inside, behind, counted):
    step = "IMAD R12, R2, R10, R12"
    evidence = evidence_of(BEFORE, *executing(100, step, inside, *KEEPING), (behind, 1))
    assert (step in kept(evidence)) == counted


@pytest.mark.parametrize(
    ("more", "said"),
    [((), "a loop of 4 instructions"), (("FADD R6, R6, R7",), "2 loops of 4 to 5 instructions")],
)
def test_the_lengths_of_all_loops_are_told(more, said):
    second = (
        [(line.replace("0x10", "0x60"), 100) for line in (*more, "FADD R6, R6, R7", *KEEPING)] if more else []
    )
    first = executing(100, "FADD R5, R5, R7", *KEEPING)
    (candidate,) = loops.detect_loop_overhead(evidence_of(BEFORE, *first, BEFORE, *second))
    assert f"only keep {said} going" in candidate.sentence


def test_a_test_of_64_bits_is_both_of_its_halves_and_a_carry_is_a_part_of_the_counter():
    wide = ("IADD3 R2, P1, R2, 0x1, RZ", "IADD3.X R3, RZ, R3, RZ, P1, !PT", "ISETP.GE.U32.AND P0, PT, R2, R6, PT",
            "ISETP.GE.U32.AND.EX P0, PT, R3, R7, PT, P0", "@!P0 BRA 0x10")  # fmt: skip
    body = ("LDG.E R8, [R4.64]", "ISETP.LT.AND P0, PT, R9, R10, PT", "@P0 FADD R5, R5, R8")
    assert kept(evidence_of(BEFORE, *executing(100, *body, *wide))) == list(wide)


def test_of_several_tests_the_one_that_the_branch_back_reads_keeps_the_loop_going():
    texts = kept(loop_of("ISETP.LT.AND P0, PT, R6, R7, PT", "@P0 LDG.E R8, [R4.64]"))
    assert "ISETP.NE.AND P0, PT, R2, R3, PT" in texts
    assert "ISETP.LT.AND P0, PT, R6, R7, PT" not in texts


@pytest.mark.parametrize(
    ("tests", "counted"),
    [
        (["UISETP.NE.AND UP0, UPT, UR4, UR5, UPT", "PLOP3.LUT P0, PT, PT, PT, UP0, 0x80, 0x0"], [True, True]),
        (
            [
                "ISETP.NE.AND P2, PT, R8, RZ, PT",  # of what is loaded: each turn makes its own
                "ISETP.NE.AND P1, PT, R2, R3, PT",
                "PLOP3.LUT P0, PT, P1, P2, PT, 0x80, 0x0",
            ],
            [False, True, True],
        ),
        (
            ["ISETP.LT.AND P1, PT, R6, R7, PT", "MOV R9, R7", "PLOP3.LUT P0, PT, P2, PT, PT, 0x80, 0x0"],
            [False, False, True],  # another test, which the branch does not depend on
        ),
        (
            [
                "ISETP.LT.AND P1, PT, R6, R7, PT",  # overwritten by the next one
                "ISETP.NE.AND P1, PT, R2, R3, PT",
                "PLOP3.LUT P0, PT, P1, PT, PT, 0x80, 0x0",
            ],
            [False, True, True],
        ),
    ],
)
def test_the_tests_that_are_combined_for_the_branch_back_keep_the_loop_going_too(tests, counted):
    body = ["LDG.E R8, [R4.64]", "FADD R5, R5, R8", *tests, "IADD3 R2, R2, 0x1, RZ", "@P0 BRA 0x10"]
    texts = kept(evidence_of(BEFORE, *executing(100, *body)))
    assert [one in texts for one in tests] == counted


@pytest.mark.parametrize(
    ("line", "gone"), [("FADD R5, R4, R7", 3 / 4), ("FADD R5, R5, R7", 0.0), ("FFMA R5, R5, R5, R6", 0.0)]
)
def test_a_turn_waits_only_for_what_the_turn_before_hands_on(line, gone):
    (candidate,) = loops.detect_loop_overhead(loop_of(line, facts={1: {"waits": {"wait": 50}}}))
    assert candidate.effect.waits.get("wait", 0.0) == pytest.approx(gone)


@pytest.mark.parametrize(("other", "found"), [(100, 1), (0.5, 0)])
def test_loops_that_are_hot_together_are_named_together(other, found):
    """Neither of the two executes more than half; with a rare second one, the first does not either."""
    first = executing(100, "FADD R5, R5, R7", *KEEPING)
    second = [(line.replace("0x10", "0x60"), other) for line in ("FADD R6, R6, R7", *KEEPING)]
    straight = ("FADD R9, R8, R7", 450)
    evidence = evidence_of(BEFORE, *first, ("MOV R2, RZ", 1), *second, straight)
    candidates = list(loops.detect_loop_overhead(evidence))
    assert len(candidates) == found
    assert all(candidate.evidence["loops"] == 2 for candidate in candidates)


@pytest.mark.parametrize(("length", "found"), [(21, ["loop-overhead"]), (22, [])])
def test_a_loop_that_spends_less_than_an_eighth_on_itself_is_unrolled_enough(length, found):
    """With its counter, its test and its branch."""
    body = [("FFMA R6, R4, R5, R6", 100)] * length
    keeping = [("IADD3 R2, R2, 0x1, RZ", 100), ("ISETP.NE.AND P0, PT, R2, R3, PT", 100), (LOOP, 100)]
    assert names(loops.detect_loop_overhead, evidence_of(("MOV R2, RZ", 1), *body, *keeping)) == found


def test_unrolling_a_loop_also_counts_addresses_up_no_more_and_waits_once_for_its_shared_loads():
    body = [("LDS R4, [R2]", 100), ("FFMA R6, R4, R5, R6", 100), ("LEA R2, R3, R7, 0x2", 100)]
    keeping = [("IADD3 R3, R3, 0x1, RZ", 100), ("ISETP.NE.AND P0, PT, R3, R9, PT", 100), (LOOP, 100)]
    waiting = {2: {"waits": {"short_scoreboard": 9}}}
    (candidate,) = loops.detect_loop_overhead(evidence_of(("MOV R3, RZ", 1), *body, *keeping, facts=waiting))
    assert "LEA" in [site.opcode for site in candidate.weights]
    assert candidate.effect.waits["short_scoreboard"] == pytest.approx(7 / 8)


@pytest.mark.parametrize(
    ("stored", "meets", "in_steps"),
    [
        ("R9", True, True),  # what the turn before stored, and what is made of it, as in a tree
        ("R6", True, False),  # a tile, which each turn loads anew
        ("R9", False, False),  # a thread's own place
    ],
)
def test_steps_that_start_from_what_others_stored_are_not_promised_to_overlap(stored, meets, in_steps):
    barrier = "BAR.SYNC.DEFER_BLOCKING 0x0" if meets else "NOP"
    turn = ("LDG.E R6, [R12.64]", "LDS R8, [R4]", "FADD R9, R8, R7", f"STS [R5], {stored}", barrier)
    (candidate,) = loops.detect_loop_overhead(loop_of(*turn, facts={3: {"waits": {"short_scoreboard": 90}}}))
    assert ("with independent work in its copies" in candidate.advice) != in_steps
    assert ("needs what the one before stored in shared memory" in candidate.advice) == in_steps
    assert (candidate.effect.waits.get("short_scoreboard", 0.0) > 0) != in_steps
