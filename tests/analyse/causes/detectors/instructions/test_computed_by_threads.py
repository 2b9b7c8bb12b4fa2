"""What all threads of a block compute alike in each turn of a loop, where each could compute it for a turn of its own and pass it on."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.instructions.computed_by_threads import detect_computed_by_threads

# A block weighs 64 rows by the sum of their squares, which each thread makes of 8 elements, and each thread adds up a column.
WEIGHTED_ROWS = (
    ("S2R R0, SR_TID.X", 100),
    ("S2R R1, SR_CTAID.X", 100),
    ("IMAD.WIDE.U32 R6, R1, 0x100, R6", 100),
    ("IMAD.WIDE.U32 R4, R0, 0x4, R4", 100),
    ("MOV R9, RZ", 100),
    ("MOV R10, R6", 6400),
    ("MOV R12, RZ", 6400),
    ("LDG.E R8, [R10.64]", 51200),
    ("FFMA R12, R8, R8, R12", 51200),
    ("IADD3 R10, R10, 0x4, RZ", 51200),
    ("ISETP.LT.AND P1, PT, R10, R3, PT", 51200),
    ("@P1 BRA 0x70", 51200),
    ("MUFU.RSQ R13, R12", 6400),
    ("LDG.E R14, [R4.64]", 6400),
    ("FFMA R9, R13, R14, R9", 6400),
    ("IADD3 R6, R6, 0x100, RZ", 6400),
    ("IADD3 R4, R4, 0x400, RZ", 6400),
    ("ISETP.LT.AND P2, PT, R6, R2, PT", 6400),
    ("@P2 BRA 0x50", 6400),
    ("STG.E [R16.64], R9", 100),
    ("EXIT", 100),
)
OF_ROW, SUM_OF_ROW, ELEMENT, WEIGHT, OWN, ADDING = 5, 6, 7, 12, 13, 14
INNER = range(ELEMENT, WEIGHT)


def parts_of(replaced=None, block=128, lanes=32.0, counts=None):
    """Returns by its place the part of an instruction that other threads repeat, if some lines are others, or run more or less often."""
    lines = [
        ((replaced or {}).get(place, text), (counts or {}).get(place, count))
        for place, (text, count) in enumerate(WEIGHTED_ROWS)
    ]
    facts = {place: {"lanes": lanes} for place in range(len(lines))}
    evidence = evidence_of(*lines, block=block, facts=facts)
    weights = [one.weights for one in detect_computed_by_threads(evidence)]
    return {site.position: part / site.executed for one in weights for site, part in one.items()}


def test_each_thread_could_make_the_weight_of_a_row_of_its_own():
    """It then looks each weight up, in place of the root."""
    assert parts_of() == dict.fromkeys(INNER, pytest.approx(1 - 1 / 64))


@pytest.mark.parametrize(
    ("block", "lanes", "sharing"), [(32, 32.0, 32), (16, 16.0, 16), (128, 4.0, 16), (32, 1.0, 1)]
)
def test_no_more_threads_share_the_rows_than_come_to_the_loop(block, lanes, sharing):
    threads = min(block, 32)
    parts = parts_of(block=block, lanes=lanes if block >= 32 else threads)
    assert parts == (dict.fromkeys(INNER, pytest.approx(1 - 1 / sharing)) if sharing > 1 else {})


def test_warps_that_never_come_to_the_loop_share_nothing():
    ended = dict.fromkeys(range(3), 400)
    assert parts_of(counts=ended)[ELEMENT] == pytest.approx(1 - 1 / 32)


@pytest.mark.parametrize(
    "replaced",
    [
        {ELEMENT: "LDG.E R8, [R4.64]"},  # each thread loads something else
        {SUM_OF_ROW: "MOV R12, R0"},
        {OF_ROW: "MOV R10, R18"},  # each turn makes the same sum: before the loop, once is enough
        {SUM_OF_ROW: "NOP"},  # the sum goes on from row to row
        {15: "IADD3 R6, R6, R8, RZ"},  # a row says where the next one is
        {
            OWN: "BAR.SYNC.DEFER_BLOCKING 0x0",
            ADDING: "FFMA R9, R13, R0, R9",
        },  # threads may change the next row
        {OWN: "STS [R4], R13", ADDING: "FFMA R9, R13, R0, R9"},
        {OWN: "STG.E [R6.64], R13", ADDING: "FFMA R9, R13, R0, R9"},  # and so may what all of them store
        {ELEMENT: "LDG.E.STRONG.GPU R8, [R10.64]"},
        {OWN: "LDGSTS.E [R4], [R16.64]", ADDING: "FFMA R9, R13, R0, R9"},
        {
            ELEMENT: "FMUL R8, R6, R6",
            10: "FFMA R9, R12, R0, R9",
        },  # turns of the inner loop have own work, too
        {OWN: "HMMA.16816.F32 R20, R16, R18, R20", ADDING: "FFMA R9, R13, R0, R9"},
        {OWN: "ATOMS.ADD RZ, [R4], R13", ADDING: "FFMA R9, R13, R0, R9"},
        {OWN: "MOV R14, R3"},  # no thread does anything of its own with the weight
        {ADDING: "FADD R9, R14, R9"},  # or has a use for it
    ],
)
def test_what_differs_by_thread_or_follows_from_other_turns_each_makes_itself(replaced):
    assert parts_of(replaced) == {}


def test_rows_that_few_turns_weigh_are_not_worth_passing_on():
    assert parts_of(counts=dict.fromkeys(INNER, 1600)) == {}


def test_what_each_thread_adds_to_in_global_memory_is_its_own_result():
    assert set(parts_of({ADDING: "RED.E.ADD.F32.FTZ.RN.STRONG.GPU [R4.64], R13"})) == set(INNER)


def test_a_value_may_go_on_from_turn_to_turn_where_what_it_is_made_of_does_not():
    """As the largest weight so far."""
    assert set(parts_of({WEIGHT: "FMNMX R13, R13, R12, !PT"})) == set(INNER)


# Each turn loads a value, and makes a weight of it.
WITHOUT_INNER_LOOP = {
    SUM_OF_ROW: "LDG.E R8, [R6.64]",
    **dict.fromkeys(INNER, "NOP"),
    11: "FMUL R12, R8, R3",
}


@pytest.mark.parametrize(
    ("replaced", "repeated"),
    [
        ({}, {SUM_OF_ROW, 11}),
        ({WEIGHT: "MOV R13, R12"}, {SUM_OF_ROW, 11}),
        ({11: "NOP", WEIGHT: "MUFU.RSQ R13, R8"}, set()),  # to look it up takes as long
        ({SUM_OF_ROW: "NOP", 11: "FMUL R12, R3, R2"}, set()),  # the same in each turn
        ({11: "NOP", WEIGHT: "LDG.E R13, [R8.64]"}, set()),  # an element of a list
    ],
)
def test_a_turn_may_compute_what_threads_look_up_without_an_inner_loop(replaced, repeated):
    counts = dict.fromkeys(INNER, 6400)
    assert set(parts_of(WITHOUT_INNER_LOOP | replaced, counts=counts)) == repeated


def test_the_advice_says_how_the_values_reach_all_threads():
    evidence = evidence_of(*WEIGHTED_ROWS, block=128)
    (candidate,) = detect_computed_by_threads(evidence)
    assert candidate.name == "redundant-instructions"
    assert "shared memory" in candidate.advice
    assert candidate.evidence["repeated_instructions_pct"] == pytest.approx(100 * (1 - 1 / 64) * 5 * 51200 / evidence.executed)  # fmt: skip
