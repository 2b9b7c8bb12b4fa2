"""Loops in which all threads of a block do the same: what makes every turn one that a thread could make alone."""

import pytest
from made_evidence import evidence_of, executing
from msgspec.structs import replace

from profiler.analyse.causes.detectors.idle_lanes.alike import detect_repeated_by_threads

THREAD = "S2R R0, SR_TID.X"
ELEMENT_BY_ELEMENT = (
    "S2R R1, SR_CTAID.X",
    "IMAD.WIDE.U32 R6, R1, 0x100, R6",
    "IMAD.WIDE.U32 R4, R1, 0x100, R4",
    (THREAD, 100),
    ("ISETP.NE.AND P2, PT, R0, RZ, PT", 100),
    ("LDG.E R8, [R6.64]", 6400),
    ("FMUL R9, R8, R8", 6400),
    ("@!P2 STG.E [R4.64], R9", 6400),
    ("IADD3 R6, R6, 0x4, RZ", 6400),
    ("IADD3 R4, R4, 0x4, RZ", 6400),
    ("ISETP.LT.AND P1, PT, R6, R3, PT", 6400),
    ("@P1 BRA 0x50", 6400),
    "EXIT",
)
LOAD, MULTIPLY, STORE = 5, 6, 7


def parts_in(replaced=None, block=128, lanes=32.0, after=()):
    """Returns the part of each instruction that other threads repeat, if some of the lines are others, and others come `after` the loop."""
    lines = [(replaced or {}).get(place, line) for place, line in enumerate(ELEMENT_BY_ELEMENT)]
    lines = [
        (line, 6400) if isinstance(line, str) and LOAD <= place < 12 else line
        for place, line in enumerate(lines)
    ]
    facts = {place: {"lanes": lanes} for place in range(LOAD, len(lines) - 1)}
    lines[-1:-1] = after
    evidence = evidence_of(*lines, block=block, facts=facts)
    found = list(detect_repeated_by_threads(evidence))
    return [found[0].weights.get(site, 0.0) / site.executed if found else 0.0 for site in evidence.sites]


def test_each_turn_needs_one_thread_where_only_the_store_is_of_one():
    assert parts_in()[LOAD] == pytest.approx(1 - 1 / 64)
    assert parts_in()[-1] == 0.0  # outside of the loop


def test_no_more_threads_can_share_the_turns_than_a_block_has():
    assert parts_in(block=32)[LOAD] == pytest.approx(1 - 1 / 32)
    assert parts_in(block=1) == [0.0] * len(ELEMENT_BY_ELEMENT)


# Each of 64 turns tests an element, and a tenth of them stores it at a place that one thread asks for.
TESTING = ("LDG.E R8, [R6.64]", "FMUL R9, R8, R8", "FSETP.GT.AND P3, PT, R9, R10, PT", "@P3 BRA 0xc0")
GOING_ON = ("IADD3 R6, R6, 0x4, RZ", "ISETP.LT.AND P1, PT, R6, R3, PT", "@P1 BRA 0x50")
ASK, KEEP = "@!P2 ATOMG.E.ADD.STRONG.GPU PT, R14, [R12.64], R11", "@!P2 STG.E [R4.64], R9"


def parts_of_filter(*found, after=()):
    """Returns the part of the load, and of the first of three instructions where something is `found`, that other threads repeat."""
    turn = [(line, 640 if line in found else 6400) for line in (*TESTING, *found, *GOING_ON)]
    facts = {place: {"lanes": 32.0} for place in range(LOAD, LOAD + len(TESTING))}
    evidence = evidence_of(*ELEMENT_BY_ELEMENT[:LOAD], *turn, *after, "EXIT", block=128, facts=facts)
    candidates = list(detect_repeated_by_threads(evidence))
    load, first = (evidence.sites[place] for place in (LOAD, LOAD + len(TESTING)))
    return [
        candidates[0].weights.get(site, 0.0) / site.executed if candidates else 0.0 for site in (load, first)
    ]


def test_a_turn_may_store_what_it_finds_where_one_thread_asks_for_a_place():
    """All threads meet for that, which stays as it is; what each turn tests can be shared out."""
    assert parts_of_filter(ASK, "BAR.SYNC.DEFER_BLOCKING 0x0", KEEP) == [pytest.approx(1 - 1 / 64), 0.0]


@pytest.mark.parametrize(
    ("found", "after"),
    [
        ("FADD R14, R9, R0", ()),  # each thread has something of its own to do
        ("FADD R10, R9, R9", ()),  # the next turn compares with that
        ("IADD3 R15, R15, 0x1, RZ", ()),  # counts: the place depends on the turns before
        ("FADD R14, R9, R9", ("STG.E [R2.64], R14",)),  # the last one is needed behind the loop
        ("ATOMG.E.CAS.STRONG.GPU PT, R14, [R12.64], R11, R16", ()),  # a lock
        ("HMMA.16816.F32 R20, R16, R18, R20", ()),
    ],
)
def test_a_turn_that_finds_something_is_no_repetition_where_others_go_on_with_it(found, after):
    assert parts_of_filter(found, ASK, KEEP, after=after) == [0.0, 0.0]
    assert parts_of_filter("NOP", ASK, KEEP) == [pytest.approx(1 - 1 / 64), 0.0]


@pytest.mark.parametrize(
    "replaced",
    [
        {MULTIPLY: "FMUL R9, R8, R0"},  # each thread multiplies by another value
        {1: (THREAD, 100), 2: ("IMAD.WIDE.U32 R6, R0, 0x4, R6", 100)},  # and loads from another place
        {MULTIPLY: "FFMA R9, R9, R8, R8"},  # goes on with what the turn before left
        {STORE: "MOV R12, R9"},  # leaves nothing: what it finds may be asked for by each thread
        {8: "IADD3 R6, R6, R8, RZ"},  # the next place is loaded, as in a list
        {8: "IADD3 R10, R10, 0x4, RZ", 10: "ISETP.LT.AND P1, PT, R10, R3, PT"},  # loads the same place until it changes
        {MULTIPLY: "BAR.SYNC.DEFER_BLOCKING 0x0"},
        {MULTIPLY: "ATOMG.E.ADD.STRONG.GPU PT, R9, [R2.64], R8"},
        {STORE: "@!P2 STG.E [R4.64], R0"},
    ],
)  # fmt: skip
def test_a_loop_is_no_repetition_where_threads_or_turns_differ(replaced):
    assert parts_in(replaced) == [0.0] * len(ELEMENT_BY_ELEMENT)


@pytest.mark.parametrize(
    "adding", ["FADD R9, R9, R8", "FFMA R9, R8, R8, R9", "DADD R10, R10, R8", "FFMA R9, R8, R3, R9"]
)
def test_turns_that_only_add_to_a_sum_can_be_shared_out_and_added_up(adding):
    assert parts_in({MULTIPLY: adding, STORE: "NOP"}, after=["@!P2 STG.E [R4.64], R9"])[LOAD] == pytest.approx(1 - 1 / 64)  # fmt: skip


@pytest.mark.parametrize(
    ("replaced", "after"),
    [
        ({MULTIPLY: "FFMA R9, R9, R8, R8"}, []),  # a power and not a sum
        ({STORE: "@!P2 STG.E [R4.64], R9"}, []),  # each turn stores how far the sum has come
        ({8: "FSETP.LT.AND P1, PT, R9, R8, PT"}, []),  # the sum may end the loop
        ({MULTIPLY: "IADD3 R9, R9, R8, RZ"}, []),  # perhaps a counter
        ({MULTIPLY: "FADD R9, R9, R0"}, []),  # each thread adds what is its own
        ({LOAD: "NOP"}, []),  # nothing is loaded
    ],
)
def test_a_sum_is_no_repetition_where_turns_follow_from_it_or_threads_add_to_it_what_is_their_own(
    replaced, after
):
    summing = {MULTIPLY: "FADD R9, R9, R8", STORE: "NOP"} | replaced
    assert parts_in(summing, after=[*after, "@!P2 STG.E [R4.64], R9"]) == [0.0] * (len(ELEMENT_BY_ELEMENT) + 1 + len(after))  # fmt: skip


OF_ITS_OWN = ["FMUL R9, R9, R0", "STG.E [R4.64], R9"]
OF_ALL_BLOCKS = {0: "MOV R1, R3"}


@pytest.mark.parametrize(("replaced", "repeated"), [({}, 1 - 1 / 64), (OF_ALL_BLOCKS, 0.0)])
def test_threads_add_up_together_what_each_goes_on_with_unless_it_can_be_made_before_the_kernel(replaced, repeated):  # fmt: skip
    parts = parts_in({MULTIPLY: "FADD R9, R9, R8", STORE: "NOP"} | replaced, after=OF_ITS_OWN)
    assert parts[LOAD] == pytest.approx(repeated)


# Two turns of the source in one of the machine code: the register that holds the sum between turns holds a factor in them.
UNROLLED = {MULTIPLY: "FADD R11, R9, R8", STORE: "LDG.E R9, [R6.64+0x4]", 9: "IADD3 R6, R6, 0x8, RZ"}


@pytest.mark.parametrize(
    ("adding", "repeated"), [("FFMA R9, R9, R9, R11", 1 - 1 / 64), ("FFMA R9, R11, R9, R11", 0.0)]
)
def test_an_unrolled_loop_may_need_the_register_of_a_sum_for_a_factor_but_not_the_sum(adding, repeated):
    parts = parts_in(UNROLLED | {8: adding}, after=["@!P2 STG.E [R4.64], R9"])
    assert parts[LOAD] == pytest.approx(repeated)


ROW_BY_ROW = (
    "S2R R1, SR_CTAID.X",
    ("IMAD.WIDE.U32 R4, R1, 0x100, R4", 100),
    ("MOV R9, RZ", 100),
    ("IADD3 R4, R4, 0x20, RZ", 800),  # eight rows
    ("NOP", 800),
    ("MOV R6, R4", 800),
    ("LDG.E R8, [R6.64]", 6400),  # of eight elements
    ("FADD R9, R9, R8", 6400),
    ("IADD3 R6, R6, 0x4, RZ", 6400),
    ("ISETP.LT.AND P1, PT, R6, R4, PT", 6400),
    ("@P1 BRA 0x60", 6400),
    ("ISETP.LT.AND P1, PT, R4, R2, PT", 800),
    ("@P1 BRA 0x30", 800),
    ("STG.E [R10.64], R9", 100),
    "EXIT",
)


def parts_of_rows(replaced=None, block=128):
    """Returns the part of the first instruction of each loop, the outer one first, that other threads repeat."""
    lines = [
        ((replaced or {}).get(place, text), count) for place, (text, count) in enumerate(ROW_BY_ROW[1:-1], 1)
    ]
    evidence = evidence_of(ROW_BY_ROW[0], *lines, ROW_BY_ROW[-1], block=block)
    found = list(detect_repeated_by_threads(evidence))
    return [found[0].weights.get(site, 0.0) / site.executed if found else 0.0 for site in (evidence.sites[3], evidence.sites[6])]  # fmt: skip


def test_the_turns_of_loops_in_each_other_can_be_shared_out_together():
    assert parts_of_rows() == [pytest.approx(1 - 1 / 8), pytest.approx(1 - 1 / 64)]
    assert parts_of_rows(block=32)[1] == pytest.approx(1 - 1 / 32)


@pytest.mark.parametrize(
    "replaced",
    [
        {4: "BAR.SYNC.DEFER_BLOCKING 0x0"},  # each row needs all threads
        {5: "MOV R6, R12"},  # each turn of the outer loop loads the same row
        {4: "FMUL R9, R9, R14"},  # each row goes on with what those before have left
    ],
)
def test_the_turns_around_a_loop_stay_where_they_need_all_threads_or_each_other(replaced):
    assert parts_of_rows(replaced) == [0.0, pytest.approx(1 - 1 / 8)]


def test_a_sum_that_each_thread_goes_on_with_in_turns_of_another_loop_would_need_a_barrier_in_each():
    thread = {2: THREAD}
    assert parts_of_rows(thread) == parts_of_rows()
    assert parts_of_rows(thread | {4: "FMUL R14, R9, R0"}) == [0.0, 0.0]


CLEAR = {LOAD: "NOP", MULTIPLY: "NOP", STORE: "STS.U8 [R4], RZ"}


@pytest.mark.parametrize("store", ["STS.U8 [R4], RZ", "STG.E [R4.64], R3"])
def test_what_all_threads_clear_each_could_clear_a_part_of(store):
    assert parts_in(CLEAR | {STORE: store})[STORE] == pytest.approx(1 - 1 / 64)


@pytest.mark.parametrize(
    "replaced",
    [
        {STORE: "STS.U8 [R4], R0"},  # each thread stores another value
        {9: "IADD3 R4, R4, R0, RZ"},  # or elsewhere
        {9: "NOP"},  # each turn stores at the same place: only the last one counts
        {MULTIPLY: "BAR.SYNC.DEFER_BLOCKING 0x0"},
    ],
)
def test_what_threads_store_of_their_own_none_clears_for_others(replaced):
    assert parts_in(CLEAR | replaced) == [0.0] * len(ELEMENT_BY_ELEMENT)


ADVICE = "begin at the thread's index"
GOES_ON = "Each turn goes on with what the one before has made"


def advice_on(**changed):
    """Returns the advice on a table that all threads of a block make, if some lines of a turn are others."""
    turn = {
        "first": "NOP", "store": "STS.U8 [R4], R9", "go_on": "IADD3 R4, R4, 0x1, RZ", "last": "NOP",
    } | changed  # fmt: skip
    lines = [*turn.values(), "ISETP.LT.AND P1, PT, R4, R3, PT", "@P1 BRA 0x20"]
    (candidate,) = detect_repeated_by_threads(
        evidence_of(
            "MOV R4, R6", "MOV R9, R7", *executing(6400, *lines), "STG.E [R12.64], R14", "EXIT", block=128
        )
    )
    assert "sum of all turns" not in candidate.advice
    return [text in candidate.advice for text in (ADVICE, GOES_ON)] + [GOES_ON in candidate.in_triton]


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"first": "SHF.L.U32 R9, R4, 0x1, RZ"},  # made of the number of the turn
        {"first": "IADD3 R9, R9, R2, RZ"},
        {"first": "IMAD.IADD R9, R9, 0x1, R2"},
        {"first": "IMAD.WIDE.U32 R8, R2, R3, R8"},
        {"first": "LEA R9, R2, R9, 0x2"},
        {"first": "UIADD3 UR4, UR4, 0x1, URZ"},
        {"first": "MOV R10, R9", "last": "VIADD R9, R10, 0x1"},
        {"first": "LDC R2, c[0x0][0x210]", "last": "IADD3 R9, R9, R2, RZ"},  # the same in each turn
        {"first": "LDC R2, c[0x0][0x210]", "last": "IMAD R9, R2, 0x3, R9"},
    ],
)
def test_a_turn_that_only_counts_can_be_any_threads(changed):
    assert advice_on(**changed) == [True, False, False]


@pytest.mark.parametrize(
    "changed",
    [
        {"first": "IMAD R9, R9, R2, RZ"},  # a power
        {"first": "IMAD.WIDE.U32 R8, R9, R2, R6"},
        {"first": "LEA R9, R9, R2, 0x1"},
        {"first": "LEA R9, P2, R9, R2, 0x2"},
        {"first": "IMAD R9, R9, R2, 0x1"},
        {"first": "SHF.L.U32 R9, R9, 0x1, RZ", "last": "@P2 LOP3.LUT R9, R9, 0x11d, RZ, 0x3c, !PT"},
        {"first": "LDG.E R2, [R4.64]", "last": "IADD3 R9, R9, R2, RZ"},  # a running sum
        {"first": "ISETP.GT.AND P2, PT, R4, R2, PT", "last": "@P2 IADD3 R9, R9, 0x1, RZ"},  # or number
    ],
)
def test_a_turn_that_goes_on_with_a_value_needs_one_to_begin_with(changed):
    assert advice_on(**changed) == [False, True, True]


def test_the_advice_tells_turns_that_go_on_from_others_where_a_kernel_has_both():
    turn = ("STS.U8 [R4], R9", "IADD3 R4, R4, 0x1, RZ", "ISETP.LT.AND P1, PT, R4, R3, PT")
    power = executing(6400, "IMAD R9, R9, R2, RZ", *turn, "@P1 BRA 0x20")
    clearing = executing(6400, *turn, "@P1 BRA 0x80")
    (candidate,) = detect_repeated_by_threads(
        evidence_of("MOV R4, R6", "MOV R9, R7", *power, "MOV R4, R6", *clearing, "EXIT", block=128)
    )
    assert ADVICE in candidate.advice
    assert "Where a turn goes on with what the one before has made" in candidate.advice


def test_one_thread_that_makes_all_turns_repeats_none():
    assert parts_in(lanes=1.0) == [0.0] * len(ELEMENT_BY_ELEMENT)


PLACE = "LEA R4, R2, R5, 0x2"
COPY = ("LDG.E R8, [R6.64]", PLACE, "STS [R4], R8", "IADD3 R2, R2, 0x1, RZ", "@P1 BRA 0x20")


def copying(*loop, turns, shared_bytes=4096):
    """Returns a copy to shared memory, which two warps enter 100 times."""
    evidence = evidence_of(
        "S2R R2, SR_TID.X",
        "ISETP.LT.AND P1, PT, R2, R3, PT",
        *executing(100 * turns, *loop),
        "EXIT",
        block=64,
    )
    evidence.profile.shapes[0] = replace(evidence.profile.shapes[0], shared_bytes=shared_bytes)
    return evidence


def parts_of_copy(*loop, turns, shared_bytes=4096):
    """Returns the parts that other threads repeat of a copy to shared memory, and its sentence."""
    found = list(detect_repeated_by_threads(copying(*loop, turns=turns, shared_bytes=shared_bytes)))
    return {part / site.executed for one in found for site, part in one.weights.items()}, [
        one.sentence for one in found
    ]


def test_threads_store_the_same_where_a_warp_stores_more_than_a_block_has_room_for():
    # 4 bytes of 32 lanes in each of 64 turns are twice what the block has, and its other warp stores as much.
    parts, (sentence,) = parts_of_copy(*COPY, turns=64)
    assert parts == {1 - 1 / 4}
    assert "a block stores 4 times as many bytes as its shared memory holds" in sentence
    assert "74 % of the executed" in sentence


@pytest.mark.parametrize(
    ("load", "name"), [(COPY[0], "redundant-global-loads"), ("MOV R8, RZ", "redundant-shared-accesses")]
)
def test_what_threads_copy_once_more_is_named_by_where_it_comes_from(load, name):
    """No lane is idle there: all load and store."""
    evidence = copying(load, *COPY[1:], turns=64)
    assert [one.name for one in detect_repeated_by_threads(evidence)] == [name]


def test_what_each_thread_makes_from_turn_to_turn_and_stores_for_all_needs_a_value_to_begin_with():
    (candidate,) = detect_repeated_by_threads(copying("IMAD R8, R8, R3, RZ", *COPY[1:], turns=64))
    assert "Each turn goes on with what the one before has made" in candidate.advice


def test_turns_that_all_make_and_stores_that_others_make_are_told_apart():
    adding = ("FADD R9, R9, R8", "IADD3 R10, R10, 0x4, RZ", "ISETP.LT.AND P2, PT, R10, R3, PT", "@P2 BRA 0x80")  # fmt: skip
    turns = executing(6400, "LDG.E R8, [R10.64]", *adding)
    copying = executing(6400, *COPY)
    evidence = evidence_of(
        "S2R R2, SR_TID.X", "ISETP.LT.AND P1, PT, R2, R3, PT", *copying, "MOV R10, R11", *turns, "STG.E [R12.64], R9", "EXIT",
        block=64,
    )  # fmt: skip
    evidence.profile.shapes[0] = replace(evidence.profile.shapes[0], shared_bytes=4096)
    same, stored = detect_repeated_by_threads(evidence)
    assert "same values" in same.sentence
    assert "begin at the thread's index" in same.advice
    assert "sum" in same.advice
    assert "as its shared memory holds" in stored.sentence
    assert "begin at the thread's index" in stored.advice
    assert "sum" not in stored.advice
    assert {site.position for site in same.weights} == {8, 9, 10, 11, 12}
    assert {site.position for site in stored.weights} == {2, 3, 4, 5, 6}


def test_what_each_thread_keeps_in_a_place_of_its_own_is_not_what_others_store():
    assert parts_of_copy(*(line for line in COPY if line != PLACE), turns=64) == (set(), [])


def test_a_warp_may_fill_shared_memory_once():
    assert parts_of_copy(*COPY, turns=32) == (set(), [])


def test_threads_without_shared_memory_that_is_known_are_not_said_to_store_too_much():
    assert parts_of_copy(*COPY, turns=64, shared_bytes=None) == (set(), [])


@pytest.mark.parametrize("meeting", ["BAR.SYNC.DEFER_BLOCKING 0x0", "WARPSYNC R3", "LDS R9, [R4]"])
def test_what_is_read_before_it_is_stored_anew_counts(meeting):
    assert parts_of_copy(*COPY[:-1], meeting, COPY[-1], turns=64) == (set(), [])
