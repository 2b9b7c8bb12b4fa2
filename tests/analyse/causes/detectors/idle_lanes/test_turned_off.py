"""Which tests turn lanes off, and what is said of them: the form is that of the code where most is lost."""

import pytest
from made_evidence import active, evidence_of

from profiler.analyse.causes.detectors.idle_lanes import lanes
from profiler.analyse.causes.detectors.idle_lanes.turned_off import find_turned_off

ALL, SOME, ONE = active(32.0), active(18.0), active(1.0)
BARRIER = "BAR.SYNC.DEFER_BLOCKING 0x0"


def evidence_with(*lines, **more):
    facts = {place: lanes_of_it for place, (_, lanes_of_it) in enumerate(lines)}
    return evidence_of(*(text for text, _ in lines), facts=facts, **more)


def in_turns(lines, first, last):
    """The same lines, of which those from the `first` to the `last` are a loop that makes eight turns."""
    return [
        ((text, 800.0 if first <= place <= last else 100.0), acting)
        for place, (text, acting) in enumerate(lines)
    ]


def named(*lines, **more):
    return next(
        one for one in lanes.detect_idle_lanes(evidence_with(*lines, **more)) if one.name == "idle-lanes"
    )


def opcodes(found):
    return [site.instruction.text for site in found.weights]


INDEX = ("S2R R0, SR_TID.X", ALL)
OTHERS_END = [INDEX, ("ISETP.GE.AND P0, PT, R0, R4, PT", ALL), ("@P0 EXIT", ALL)]


def test_lanes_are_missing_because_of_each_test_on_the_way_and_of_the_predicate():
    lines = [*OTHERS_END, ("ISETP.GT.AND P1, PT, R7, 0x1, PT", SOME), ("@P1 BRA 0x60", SOME), ("FADD R6, R6, R6", active(12.0)), ("@!P1 FADD R8, R8, R6", active(9.0, of=18.0)), ("EXIT", SOME)]  # fmt: skip
    evidence = evidence_with(*lines)
    found = find_turned_off(evidence, {site: site.idle_share for site in evidence.sites[5:7]})
    lost = {
        test.position: {site.position: 32 * part / 100 for site, part in behind.items()}
        for test, behind in found.items()
    }
    assert lost == {2: {5: 14.0, 6: 14.0}, 4: {5: 6.0}, 3: {6: 9.0}}


def test_the_end_of_a_loop_is_blamed_for_the_lanes_that_have_left_and_not_for_those_that_a_turn_sends_past():
    lines = [("MOV R3, RZ", ALL), ("FADD R6, R6, R6", active(20.0)), ("@P1 BRA 0x40", active(20.0)), ("FMUL R6, R6, R6", active(5.0)), ("@P0 BRA 0x10", active(20.0)), ("EXIT", ALL)]  # fmt: skip
    evidence = evidence_with(*lines)
    found = find_turned_off(evidence, {site: site.idle_share for site in evidence.sites[1:4]})
    lost = {
        test.position: {site.position: round(32 * part / 100) for site, part in behind.items()}
        for test, behind in found.items()
    }
    assert lost == {4: {1: 12, 2: 12, 3: 12}, 2: {3: 15}}


TILE = [("LDG.E R5, [R2.64]", ALL), ("STS [R3], R5", ALL), (BARRIER, ALL)]


def test_a_test_of_the_threads_index_is_the_place_and_says_how_many_warps_end():
    """All threads load a tile with its edges, and those within the edges compute."""
    work = [(("LDS R6, [R3]", 50), SOME), (("FADD R7, R7, R6", 50), SOME), (("STG.E [R8.64], R7", 50), SOME)]
    lines = [*TILE, *OTHERS_END, *work]
    found = named(*lines, block=1024)
    assert found.sentence.startswith(
        "A test of the thread's index in its block leaves 736 of 1,024 threads without work, and 50 % of the warps as a whole. Where most is lost, 18 of 32 "
    )
    assert "as many threads as that has elements" in found.advice
    assert opcodes(found) == ["@P0 EXIT"]


@pytest.mark.parametrize(
    ("acting", "block", "leaves", "advises"),
    [
        (27.5, 64, "9 of 64 threads", "a multiple of 32 threads"),
        (27.5, 256, "36 of 256 threads", "as many threads as that has elements"),  # a whole warp
        (27.3, 64, "15 % of the threads", "as many threads as that has elements"),
    ],
)
def test_a_smaller_block_only_helps_if_it_has_fewer_warps(acting, block, leaves, advises):
    some = active(acting)
    work = [("LDS R6, [R3]", some), ("FADD R7, R7, R6", some), ("STG.E [R8.64], R7", some)]
    found = named(*TILE, *OTHERS_END, *work, block=block)
    assert found.sentence.startswith(
        f"A test of the thread's index in its block leaves {leaves} without work."
    )
    assert advises in found.advice


@pytest.mark.parametrize(
    "replaced",
    [
        {3: "S2R R0, SR_CTAID.X"},  # the end of the data
        {4: "ISETP.NE.AND P0, PT, R0, R4, PT"},  # every so many threads
        {4: "ISETP.GE.AND P0, PT, R0, R5, PT"},  # what the lane has loaded
    ],
)
def test_other_tests_do_not_say_how_many_threads_a_block_needs(replaced):
    lines = [
        *TILE,
        *OTHERS_END,
        ("LDS R6, [R3]", SOME),
        ("FADD R7, R7, R6", SOME),
        ("STG.E [R8.64], R7", SOME),
    ]
    found = named(*((replaced.get(place, text), acting) for place, (text, acting) in enumerate(lines)))
    assert not found.sentence.startswith("A test of the thread's index")


def test_a_turn_may_leave_other_threads_without_work_than_the_next_one():
    """As along the diagonals of a table."""
    lines = [INDEX, ("MOV R4, RZ", ALL), ("ISETP.GE.AND P0, PT, R0, R4, PT", ALL), ("@P0 BRA 0x60", ALL), ("FADD R7, R7, R6", SOME), ("FMUL R7, R7, R6", SOME), ("IADD3 R4, R4, 0x1, RZ", ALL), ("@P1 BRA 0x20", ALL), ("EXIT", ALL)]  # fmt: skip
    assert named(*in_turns(lines, 2, 7)).sentence.startswith("Lanes have nothing to do")
    steady = [(text.replace("R4, R4", "R9, R9"), acting) for text, acting in lines]
    assert named(*in_turns(steady, 2, 7)).sentence.startswith("A test of the thread's index")


def test_what_turns_before_have_left_cannot_be_sorted_before():
    lines = [INDEX, ("MOV R4, RZ", ALL), ("ISETP.GE.AND P0, PT, R4, 0x5, PT", ALL), ("@P0 BRA 0x60", ALL), ("FADD R7, R7, R6", SOME), ("FMUL R7, R7, R6", SOME), ("F2I R4, R7", ALL), ("@P1 BRA 0x20", ALL), ("EXIT", ALL)]  # fmt: skip
    found = named(*in_turns(lines, 2, 7))
    assert found.sentence.startswith("A test of what turns before have left sends lanes past")
    assert "a formula instead of a loop" in found.advice
    assert opcodes(found) == ["@P0 BRA 0x60"]


def test_lanes_that_leave_an_outer_loop_are_missing_in_the_inner_one():
    inner = [("FADD R7, R7, R6", SOME), ("@P2 BRA 0x20", SOME)]
    lines = [("MOV R4, RZ", ALL), ("MOV R5, RZ", SOME), *inner, ("@P1 BRA 0x10", SOME), ("EXIT", ALL)]
    found = named(*lines)
    assert found.sentence.startswith("Lanes leave a loop before others")
    assert opcodes(found) == ["@P1 BRA 0x10"]


ALONE = [("S2R R9, SR_CTAID.X", ALL), INDEX, ("ISETP.NE.AND P0, PT, R0, RZ, PT", ALL), ("@P0 EXIT", ALL), ("IMAD.WIDE R2, R9, 0x4, R2", ONE), ("LDG.E R5, [R2.64]", ONE), ("DADD R6, R6, R5", ONE), ("STG.E [R2.64], R6", ONE)]  # fmt: skip


def alone(grid, *, replaced=(), executed=100.0, block=32):
    lines = [(dict(replaced).get(place, text), acting) for place, (text, acting) in enumerate(ALONE)]
    return named(
        *(((text, executed), acting) for text, acting in lines), grid=grid, block=block, figures={"sms": 2.0}
    )


def test_a_thread_can_take_the_place_of_a_block_in_which_one_does_all_the_work():
    found = alone(100)
    assert found.sentence.startswith("One thread of a block does all of its work")
    assert "(`blockIdx.x * blockDim.x + threadIdx.x` in place of `blockIdx.x`)" in found.advice
    assert opcodes(found) == ["S2R R9, SR_CTAID.X"]
    of_rows = alone(100, replaced={0: "S2R R9, SR_CTAID.Y"})
    assert "in place of" not in of_rows.advice


def test_so_it_can_where_one_lane_of_each_warp_works():
    assert alone(100, executed=400.0, block=128).sentence.startswith("One thread of a warp does all")


@pytest.mark.parametrize(
    ("grid", "replaced"),
    [
        (63, {}),  # too few blocks for a warp on each of two SMs
        (100, {0: "MOV R9, R10"}),  # all blocks do the same
    ],
)
def test_else_its_lanes_share_the_work_out(grid, replaced):
    found = alone(grid, replaced=replaced)
    assert found.sentence.startswith("One lane of a warp does all of its work")
    assert "Let all lanes take part" in found.advice


def test_rows_are_only_short_where_most_is_lost_by_that():
    """One lane then works alone on what the lanes of short rows have left."""
    rows = [*OTHERS_END, ("LDG.E R4, [R2.64]", SOME), ("STS [R3], R4", SOME)]
    assert named(*rows, ("LDS R5, [R6]", SOME)).sentence.startswith(
        "Loads of elements act for 18 of 32 lanes"
    )
    found = named(*rows, *[("LDS R5, [R6]", ONE), ("FADD R7, R7, R5", ONE)] * 3)
    assert found.sentence.startswith("One lane works on what all have left in shared memory")


@pytest.mark.parametrize(
    ("test", "block", "says"),
    [
        ("ISETP.GT.U32.AND P0, PT, R0, 0x8f, PT", 256, "A test of the thread's index in its block leaves 112 of 256 threads without work."),  # four warps and half of one
        ("ISETP.GT.U32.AND P0, PT, R0, 0x8f, PT", (16, 16, 1), "Loads of elements act for 18 of 32 lanes"),  # of each row of the block, some
        ("ISETP.GT.U32.AND P0, PT, R5, 0x8f, PT", 256, "Loads of elements act for 18 of 32 lanes"),
    ],
)  # fmt: skip
def test_warps_in_which_no_thread_loads_are_no_short_rows(test, block, says):
    lines = [INDEX, ("LOP3.LUT R5, R0, 0x1f, RZ, 0xc0, !PT", ALL), (test, ALL), ("@!P0 LDG.E R4, [R2.64]", active(18.0, of=32.0)), ("@!P0 STS [R3], R4", active(18.0, of=32.0)), ("EXIT", ALL)]  # fmt: skip
    assert named(*lines, block=block).sentence.startswith(says)


def test_warps_in_which_no_thread_loads_wait_for_no_load():
    """Of 8 warps, 4 load with all lanes and one with half of them."""
    lines = [INDEX, ("ISETP.GT.U32.AND P0, PT, R0, 0x8f, PT", ALL), ("@!P0 LDG.E R4, [R2.64]", active(18.0, of=32.0) | {"waits": {"long_scoreboard": 10}}), ("EXIT", ALL)]  # fmt: skip
    assert named(*lines).effect.waits["long_scoreboard"] == pytest.approx(1 - 144 / 5 / 32)


def test_a_predicate_of_the_warp_turns_none_of_its_lanes_off():
    lines = [
        *OTHERS_END,
        ("ULDC UR4, c[0x0][0x210]", SOME),
        ("ISETP.NE.AND P2, PT, RZ, UR4, PT", SOME),
        ("@P2 LDS R4, [R3]", active(10.0, of=18.0)),
    ]
    assert named(*lines).evidence["acting_lanes"] == pytest.approx(18.0)


def test_one_lane_that_came_alone_is_one_lane_whatever_a_predicate_leaves_of_it():
    assert "one lane of a warp is active" in named(("@P0 LDS R4, [R3]", active(0.2, of=1.0))).sentence


@pytest.mark.parametrize(("last", "l1"), [(("EXIT", ALL), 0.0), (("STS [R3], R7", active(16.0)), 0.5)])
def test_passes_that_conflict_go_with_shuffles(last, l1):
    """What threads store for the next step, others may pass to each other by shuffles."""
    half = {"lanes": 32.0, "acting": 16.0, "passes": 200.0, "ideal_passes": 100.0}
    lines = [("LDG.E R4, [R2.64]", ALL), ("STS [R3], R4", ALL), (BARRIER, ALL), ("LDS R5, [R6]", half), ("FADD R7, R7, R5", active(16.0)), last]  # fmt: skip
    found = named(*lines, figures={"shared_of_l1_pct": 100.0})
    assert found.effect.resources["l1"] == pytest.approx(l1)


@pytest.mark.parametrize(("waiting", "is_said"), [(10, True), (0, False)])
def test_a_block_that_waits_for_one_lane_loses_more_than_its_idle_lanes_show(waiting, is_said):
    lines = [*[("FADD R6, R6, R7", ALL)] * 9, ("@!P0 STS [R4], R6", active(1.0, of=32.0)), (BARRIER, ALL | {"waits": {"barrier": waiting, "wait": 1}})]  # fmt: skip
    assert ("and warps wait at barriers for what few lanes do" in named(*lines).sentence) == is_said
