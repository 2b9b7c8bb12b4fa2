"""Why lanes have nothing to do, and what to do about each form of it."""

import pytest
from made_evidence import active, evidence_of

from profiler.analyse.causes.detectors.idle_lanes import lanes

ALL, MOST, SOME, ONE = (active(count) for count in (32.0, 24.0, 12.0, 1.0))
BARRIER = "BAR.SYNC.DEFER_BLOCKING 0x0"


def found_in(*lines, block=256):
    """Returns what is said of idle lanes in these instructions, each with the lanes that act."""
    facts = {place: lanes_of_it for place, (_, lanes_of_it) in enumerate(lines)}
    return [*lanes.detect_idle_lanes(evidence_of(*(text for text, _ in lines), facts=facts, block=block))]


def named(*lines, block=256):
    (found,) = found_in(*lines, block=block)
    return found


def added_up(lanes_of_it):
    return [("LDS R5, [R6]", lanes_of_it), ("FADD R7, R7, R5", lanes_of_it), ("STS [R6], R7", lanes_of_it)]


# The lanes of a warp take the elements of one row, whose end comes before the last lane.
BEHIND_THE_END = [
    ("S2R R0, SR_TID.X", ALL),
    ("LOP3.LUT R0, R0, 0x1f, RZ, 0xc0, !PT", ALL),
    ("ISETP.GE.AND P0, PT, R0, R9, PT", ALL),
    ("@P0 EXIT", ALL),
]
LOADED = [("LDG.E R4, [R2.64]", ALL), ("STS [R3], R4", ALL), (BARRIER, ALL)]


@pytest.mark.parametrize(
    ("lines", "says", "advises"),
    [
        ([("LDG.E.64 R4, [R2.64]", ONE), ("STS [R3], R4", ONE), ("STS [R3+0x4], R5", ONE), (BARRIER, ALL)], "One lane fills shared memory for all", "what it copies"),
        ([*LOADED, *added_up(ONE)], "One lane works on what all have left in shared memory", "combine the values"),
        ([(line, ONE) for line, _ in LOADED] + added_up(ONE), "One lane of a warp does all of its work", "its share of the elements"),
        ([*LOADED, *added_up(SOME), (BARRIER, ALL), *added_up(ONE)], "Values pass through shared memory in steps", "by shuffles"),
        # Nothing goes on from what is made of it.
        ([*LOADED, *added_up(SOME)[:2], ("STG.E [R8.64], R7", SOME)], "Lanes have nothing to do", "end the others' warps"),
        # The edge of a tile is there for its neighbours.
        ([*LOADED, *added_up(MOST)], "Lanes have nothing to do", "end the others' warps"),
        (
            [("SHFL.DOWN PT, R5, R4, 0x10, 0x1f", ALL), ("FADD R4, R4, R5", ALL), ("STS [R6], R4", ONE), (BARRIER, ALL)],
            "One lane of each warp takes part where values pass between warps",
            "several elements before its warp combines them",
        ),
        ([*BEHIND_THE_END, ("LDG.E R4, [R2.64]", SOME), ("FADD R4, R4, R4", SOME), ("STG.E [R2.64], R4", SOME)], "Loads of elements act for 12 of 32 lanes", "several rows at once"),
        ([("LDG.E R4, [R2.64]", ALL), ("FADD R4, R4, R4", SOME), ("FMUL R4, R4, R4", SOME)], "Lanes have nothing to do", "end the others' warps"),
    ],
)  # fmt: skip
def test_each_form_has_a_remedy_of_its_own(lines, says, advises):
    found = named(*lines)
    assert found.sentence.startswith(says)
    assert advises in found.advice
    # A larger block in Triton has as few lanes where warps exchange values.
    of_triton = ("Values pass", "One lane of each warp takes part", "Loads of elements act", "A test of data")
    assert bool(found.in_triton) == says.startswith(of_triton)


def test_steps_stand_where_an_index_lets_few_lanes_take_part():
    """What data decides within a step is none, and what one lane does with the result may be more code than all steps."""
    tests = [("ISETP.GT.AND P0, PT, R0, 0xb, PT", ALL), ("ISETP.GT.AND P1, PT, R0, 0x7, PT", ALL)]
    data = [("FSETP.GT.AND P2, PT, R5, R7, PT", SOME), ("@P2 STS [R6], R5", active(1.5, of=12.0))]
    step = [("@P0 BRA 0xc0", ALL), *added_up(SOME), *data, ("NOP", ALL)]
    under_predicate = [(f"@!P1 {line}", active(8.0, of=32.0)) for line, _ in added_up(SOME)]
    result = [("LDS R5, [R6]", ONE), ("RED.E.ADD.F32.FTZ.RN.STRONG.GPU [R8.64], R5", ONE)]
    last = [(BARRIER, ALL), ("@P3 BRA 0x1f0", ALL), *result * 3]
    found = named(("S2R R0, SR_TID.X", ALL), *LOADED, *tests, *step, *under_predicate, *last)
    assert found.sentence.startswith("Values pass through shared memory in steps")
    weights = {site.instruction.text: lost for site, lost in found.weights.items()}
    assert weights.keys() == {"@P0 BRA 0xc0", *(line for line, _ in under_predicate)}
    assert max(weights, key=weights.get) == "@P0 BRA 0xc0"


@pytest.mark.parametrize(
    ("divisor", "test", "advises"),
    [
        ("I2F.U32.RP R9, R8", "ISETP.NE.AND P0, PT, R9, RZ, PT", "be neighbours without bank conflicts"),  # `thread % (2 * width) == 0`: ever farther apart
        ("I2F.U32.RP R9, R8", "ISETP.GE.AND P0, PT, R9, R10, PT", "launch half as many"),  # `thread / width < rows`
        ("I2F.U32.RP R9, R8", "ISETP.NE.AND P0, PT, R11, RZ, PT", "launch half as many"),  # the division is for something else
        ("IMAD.U32 R9, R8, 0x2, RZ", "ISETP.NE.AND P0, PT, R9, RZ, PT", "launch half as many"),
    ],
)  # fmt: skip
def test_threads_that_a_remainder_chooses_are_to_be_neighbours(divisor, test, advises):
    test = [(divisor, ALL), (test, ALL)]
    step = [(f"@!P0 {line}", lanes_of_it) for line, lanes_of_it in added_up(SOME)]
    found = named(*LOADED, *test, *step, (BARRIER, ALL), *added_up(ONE))
    assert found.sentence.startswith("Values pass through shared memory in steps")
    assert advises in found.advice


@pytest.mark.parametrize(
    ("block", "advises", "in_half_a_block"),
    [(32, "neither shared memory nor barriers", False), (48, "between warps only", False), (64, "between warps only", True)],
)  # fmt: skip
def test_how_to_exchange_values_depends_on_how_many_warps_a_block_has(block, advises, in_half_a_block):
    """Half of the threads of a block would not fill a warp, in one of fewer than 64."""
    found = named(*LOADED, *added_up(SOME), (BARRIER, ALL), *added_up(ONE), block=block)
    assert advises in found.advice
    assert ("launch half as many" in found.advice) == in_half_a_block


ADDRESS = [
    ("S2R R0, SR_TID.X", ALL),
    ("IMAD.WIDE R2, R0, 0x4, c[0x0][0x160]", ALL),
    ("IMAD.WIDE R8, R0, 0x4, c[0x0][0x168]", ALL),
]
LEFT = [("STS [R3], R4", ALL), (BARRIER, ALL)]


@pytest.mark.parametrize(
    ("brought", "step", "is_half_idle"),
    [
        ([("LDG.E R4, [R2.64]", ALL)], SOME, True),
        ([("LDG.E R4, [R2.64]", ALL), ("LDG.E R5, [R8.64]", ALL), ("FMUL R4, R4, R5", ALL)], SOME, True),  # of two arrays
        ([("LDG.E R4, [R2.64]", ALL), ("LDG.E R5, [R2.64+0x400]", ALL), ("FADD R4, R4, R5", ALL)], SOME, False),
        ([("LDG.E.64 R4, [R2.64]", ALL), ("FADD R4, R4, R5", ALL)], SOME, False),
        ([("LDG.E R5, [R2.64]", ALL), ("FADD R4, R4, R5", ALL), ("@P1 BRA 0x30", ALL)], SOME, False),  # in a loop
        ([("LDG.E R4, [R2.64]", ALL)], active(31.5), False),  # sums of all elements before each one
    ],
)  # fmt: skip
def test_half_of_the_threads_may_go_where_each_brings_one_element(brought, step, is_half_idle):
    step = [*added_up(step), (BARRIER, ALL), *added_up(SOME)]
    found = named(*ADDRESS, *brought, *LEFT, *step)
    assert found.sentence.startswith("Values pass through shared memory in steps")
    assert ("launch half as many" in found.advice) == is_half_idle


@pytest.mark.parametrize(
    ("begin", "is_advised"),
    [("0x0", True), ("0x30", False)],  # a loop that loads; one that only goes through the steps
)
def test_what_each_turn_of_a_loop_adds_up_can_be_added_up_once(begin, is_advised):
    steps = [*added_up(SOME), (BARRIER, ALL), *added_up(ONE)]
    found = named(*LOADED, *steps, (f"@P0 BRA {begin}", ALL), ("EXIT", ALL))
    assert found.sentence.startswith("Values pass through shared memory in steps")
    assert ("once, after the loop" in found.advice) == is_advised


@pytest.mark.parametrize(
    ("place", "target", "says"),
    [
        ("S2R R2, SR_TID.X", "0x60", "A test of data sends lanes past"),
        ("MOV R2, c[0x0][0x160]", "0x60", "Lanes have nothing to do"),  # one value for all of them
        ("S2R R2, SR_TID.X", "0x40", "Lanes have nothing to do"),  # it passes nothing by that counts
    ],
)
def test_a_test_of_data_is_told_from_one_of_an_index(place, target, says):
    found = named(
        (place, ALL),
        ("LDG.E R4, [R2.64]", ALL),
        ("FSETP.GT.AND P0, PT, R4, R5, PT", ALL),
        (f"@P0 BRA {target}", ALL),
        ("FMUL R6, R4, R4", SOME),
        ("FMUL R6, R6, R4", SOME),
        ("EXIT", ALL),
    )
    assert found.sentence.startswith(says)


@pytest.mark.parametrize(
    ("decides", "says", "advises"),
    [
        ("LDG.E R4, [R2.64]", "A test of data sends lanes past", "Find out first for which elements the test holds"),
        ("LDS R4, [R2]", "Branches split warps", "choose by warp or block instead of by thread"),  # such as a size
        ("MOV R4, R2", "Branches split warps", "choose by warp or block instead of by thread"),
    ],
)  # fmt: skip
def test_where_data_chooses_the_side_of_a_branch_no_warp_or_block_can(decides, says, advises):
    """Most lanes are idle on the second side, past which the first one goes in any case."""
    others = active(20.0)
    found = named(
        ("S2R R2, SR_TID.X", ALL),
        (decides, ALL),
        ("ISETP.GT.AND P0, PT, R4, 0x7, PT", ALL),
        ("@P0 BRA 0x60", ALL),
        ("FMUL R6, R4, R4", others),
        ("BRA 0x80", others),
        ("FADD R6, R4, R4", SOME),
        ("FADD R6, R6, R4", SOME),
        ("EXIT", ALL),
    )
    assert found.name == "divergent-branches"
    assert found.sentence.startswith(says)
    assert advises in found.advice


@pytest.mark.parametrize(
    ("compares", "says"),
    [
        ("FSETP.GT.AND P0, PT, R7, 0.5, PT", "A test of data sends lanes past"),
        ("ISETP.GT.AND P0, PT, R7, 0x5, PT", "Lanes have nothing to do"),  # such as a size
    ],
)
def test_floats_made_of_what_shared_memory_holds_are_data(compares, says):
    made = [("LDS R4, [R2]", ALL), ("FMUL R7, R4, R6", ALL), (compares, ALL), ("@P0 BRA 0x70", ALL)]
    behind = [("FADD R8, R8, R6", SOME), ("FMUL R8, R8, R6", SOME), ("FADD R9, R8, R6", SOME)]
    assert named(*made, *behind, ("EXIT", ALL)).sentence.startswith(says)


@pytest.mark.parametrize(
    ("first", "says"),
    [(MOST, "A test of data sends lanes past"), (ALL, "A test of the thread's index")],
)
def test_data_that_sends_whole_warps_past_the_code_turns_no_lane_off_there(first, says):
    """Each block has a length of its own, and a test of the index leaves lanes of its warps without work."""
    found = named(
        ("S2R R2, SR_TID.X", ALL),
        ("LDG.E R4, [R2.64]", ALL),
        ("ISETP.GT.AND P0, PT, R4, 0x7, PT", ALL),
        ("@P0 BRA 0x90", ALL),
        ("ISETP.GT.U32.AND P1, PT, R2, 0x5, PT", first),
        ("@P1 BRA 0x90", first),
        ("FMUL R6, R4, R4", SOME),
        ("FADD R6, R6, R6", SOME),
        ("STG.E [R2.64], R6", SOME),
        ("EXIT", ALL),
    )
    assert found.sentence.startswith(says)


@pytest.mark.parametrize(
    ("end", "says"),
    [
        (("LDG.E R9, [R12.64]", ALL | {"ideal_sectors": 100.0}), "Loads of elements act for 12 of 32 lanes"),  # of the row of a warp
        (("LDG.E R9, [R12.64]", ALL | {"ideal_sectors": 400.0}), "A test of data sends lanes past"),  # each lane has a list
        (("LDC R9, c[0x0][0x210]", ALL), "Loads of elements act for 12 of 32 lanes"),
    ],
)  # fmt: skip
def test_rows_are_short_where_lanes_share_them_out_and_not_where_each_has_an_item(end, says):
    index, lane, test, _ = BEHIND_THE_END
    row = ("IMAD R12, R0, 0x4, RZ", ALL)
    behind = [("LDG.E R4, [R2.64]", SOME), ("FADD R4, R4, R4", SOME), ("STG.E [R2.64], R4", SOME)]
    found = named(index, row, end, lane, test, ("@P0 BRA 0x90", ALL), *behind, ("EXIT", ALL))
    assert found.sentence.startswith(says)


def test_a_bit_of_a_word_that_all_lanes_load_is_data_of_its_lane():
    word = ("LDG.E R9, [R12.64]", ALL | {"ideal_sectors": 100.0})
    bit = ("LOP3.LUT P0, RZ, R9, R0, RZ, 0xc0, !PT", ALL)
    behind = [("LDG.E R4, [R2.64]", SOME), ("FADD R4, R4, R4", SOME), ("STG.E [R2.64], R4", SOME)]
    found = named(BEHIND_THE_END[0], ("IMAD R12, R0, 0x4, RZ", ALL), word, bit, ("@!P0 BRA 0x80", ALL), *behind, ("EXIT", ALL))  # fmt: skip
    assert found.sentence.startswith("A test of data sends lanes past")


@pytest.mark.parametrize(
    ("length", "sectors", "advises"),
    [
        (ALL | {"ideal_sectors": 100.0}, 200.0, "Let a warp take several rows at once"),  # each lane takes every 32nd element of one row
        (ALL | {"ideal_sectors": 400.0}, 200.0, "Let the lanes of a warp share the turns out"),  # each has a row of its own
        (ALL | {"ideal_sectors": 100.0}, 1200.0, "Let the lanes of a warp share the turns out"),  # each goes on alone from its place in a list
    ],
)  # fmt: skip
def test_lanes_that_share_the_turns_of_a_row_are_not_told_to_do_so(length, sectors, advises):
    index, lane, *_ = BEHIND_THE_END
    turn = [
        ("LDG.E R4, [R2.64]", SOME | {"sectors": sectors, "ideal_sectors": 200.0}),
        ("FADD R5, R5, R4", SOME),
        ("IADD3 R0, R0, 0x20, RZ", SOME),
        ("ISETP.LT.AND P0, PT, R0, R9, PT", SOME),
        ("@P0 BRA 0x40", SOME),
    ]
    row = [("IMAD R12, R0, 0x4, RZ", ALL), ("LDG.E R9, [R12.64]", length)]
    found = found_in(index, *row, lane, *turn, ("EXIT", ALL))[0]
    assert found.name == "divergent-branches"
    assert found.sentence.startswith("Lanes leave a loop before others of their warp do")
    assert found.advice.startswith(advises)


@pytest.mark.parametrize(
    ("length", "says"),
    [
        (ALL | {"ideal_sectors": 100.0}, "Lanes have nothing to do"),  # of the row that a warp shares out
        (ALL | {"ideal_sectors": 400.0}, "A test of data sends lanes past"),
    ],
)
def test_the_end_of_a_shared_row_is_no_test_of_data(length, says):
    """The first loads are for all lanes, so that rows are not short."""
    index, lane, test, _ = BEHIND_THE_END
    row = [("LDG.E R4, [R2.64]", ALL), ("IMAD R12, R0, 0x4, RZ", ALL), ("LDG.E R9, [R12.64]", length)]
    behind = [("FADD R4, R4, R4", SOME), ("FMUL R4, R4, R4", SOME)]
    assert named(index, *row, lane, test, ("@P0 BRA 0x90", ALL), *behind, ("EXIT", ALL)).sentence.startswith(
        says
    )


@pytest.mark.parametrize("test", [(), (BEHIND_THE_END[2],)])
def test_rows_are_not_known_to_be_short_if_no_test_shows_why_lanes_do_not_load(test):
    found = named(*test, ("@P0 EXIT", ALL), ("LDG.E R4, [R2.64]", SOME), ("FADD R4, R4, R4", SOME))
    assert found.sentence.startswith("Lanes have nothing to do")


def test_a_loop_may_test_an_index_that_was_compared_before_it():
    """Where the lanes of one half have no column, the test of that is made once, and each row asks for its result."""
    index, lane, test, _ = BEHIND_THE_END
    turn = [
        ("@P0 BRA 0x60", ALL),
        ("LDG.E R4, [R2.64]", SOME),
        ("FADD R5, R5, R4", SOME),
        ("@P1 BRA 0x30", ALL),
    ]
    assert named(index, lane, test, *turn, ("EXIT", ALL)).sentence.startswith("Loads of elements act for 12")


def test_lanes_that_leave_by_what_they_loaded_had_an_element():
    """The first load of the loop is for all lanes, and the second one only for those that go on."""
    found = named(("LDG.E R4, [R2.64]", ALL), ("LDG.E R5, [R2.64+0x4]", SOME), ("FADD R4, R4, R5", SOME))
    assert found.sentence.startswith("Lanes have nothing to do")


def test_the_lanes_that_act_are_those_at_the_place_that_is_named_first():
    found = named(*LOADED, *added_up(ONE), ("FADD R8, R8, R5", SOME))
    assert "one lane of a warp is active" in found.sentence
    assert found.evidence["acting_lanes"] == 1.0


def test_what_whole_warps_do_for_a_few_lanes_is_not_the_place():
    """The test is made by all lanes for half of them, which load and store."""
    found = named(
        ("ISETP.GT.AND P0, PT, R0, 0xf, PT", ALL),
        ("@!P0 LDS R4, [R3]", ALL | {"acting": 16.0}),
        (BARRIER, ALL),
    )
    assert {site.opcode for site in found.weights} == {"LDS"}
    assert found.effect.resources["alu"] == pytest.approx(1 / 2)  # with full warps, half of the tests go


@pytest.mark.parametrize("add", ["IADD3 R4, R5, R4, RZ", "FADD R4, R5, R4"])
def test_a_sum_of_what_all_warps_hold_is_for_all_lanes_whatever_its_type(add):
    """Only the store of the warp's sum is for one lane."""
    lines = [
        ("SHFL.DOWN PT, R5, R4, 0x10, 0x1f", ALL),
        (add, ALL),
        ("@!P0 STS [R6], R4", ALL | {"acting": 1.0}),
        (BARRIER, ALL),
    ]
    assert named(*lines).effect.resources["issue"] == pytest.approx(31 / 32 / 4)
