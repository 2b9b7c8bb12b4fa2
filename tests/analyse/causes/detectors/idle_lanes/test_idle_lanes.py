"""Lanes without an element: what their warps do for them all the same."""

import pytest
from made_evidence import active, evidence_of, executing

from profiler.analyse.causes.detectors.idle_lanes import lanes
from profiler.analyse.causes.evidence.latency import WarpSlots
from profiler.analyse.causes.flow.lane_values import find_warps_without_work

WHOLE = active(32.0)
FEW = active(4.0)
ALIKE = {"sectors": 100.0, "ideal_sectors": 100.0}
ROW_OF_A_WARP = (
    "LDG.E R4, desc[UR4][R2.64]",
    "LDG.E R8, desc[UR4][R6.64]",
    "FFMA R9, R8, R10, RZ",
    "SHFL.DOWN PT, R3, R9, 0x10, 0x1f",
    "FADD R9, R9, R3",
    "STG.E desc[UR4][R2.64], R9",
)


def idle_in(*lines):
    """Returns the part of each instruction that is for idle lanes, if four lanes load an element, and the last one stores."""
    facts = {0: ALIKE, 1: FEW | ALIKE, 2: FEW, len(lines) - 1: active(1.0)}
    return idle_parts(evidence_of(*lines, each=WHOLE, facts=facts))


def idle_parts(evidence):
    _, idle = lanes.find_idle(evidence)
    return [idle.get(site, 0.0) for site in evidence.sites]


def test_a_warp_adds_up_and_loads_its_row_for_the_lanes_that_have_an_element():
    """With eight rows in a warp, one load brings the starts of all, and one shuffle is a step of all sums."""
    assert idle_in(*ROW_OF_A_WARP) == pytest.approx([7 / 8, 7 / 8, 7 / 8, 7 / 8, 7 / 8, 31 / 32])


@pytest.mark.parametrize(
    ("place", "line"),
    [
        (4, "FADD R9, R9, R7"),  # all lanes compute with what they have themselves
        (3, "BAR.SYNC.DEFER_BLOCKING 0x0"),  # nothing is exchanged
    ],
)
def test_what_all_lanes_compute_is_for_all_of_them(place, line):
    lines = list(ROW_OF_A_WARP)
    lines[place] = line
    found = idle_in(*lines)
    assert (found[3], found[4]) == (0.0, 0.0)


def test_sums_behind_a_barrier_may_be_of_what_all_warps_have_left():
    barrier = "BAR.SYNC.DEFER_BLOCKING 0x0"
    found = idle_in(*ROW_OF_A_WARP[:5], barrier, ROW_OF_A_WARP[5])
    assert (found[0], found[3], found[4]) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(("back", "idle"), [("F2I.FTZ.U32.TRUNC.NTZ", 31 / 32), ("FMUL", 0.0)])
def test_a_division_that_chooses_the_lanes_is_no_result_of_theirs(back, idle):
    """A reciprocal that becomes an integer again is a part of a division; another one may be what all lanes are there for."""
    lines = ("I2F.RP R6, R5", "MUFU.RCP R7, R6", f"{back} R8, R7", "ISETP.NE.AND P0, PT, R8, RZ, PT", "@P0 EXIT", "LDG.E R4, [R2.64]")  # fmt: skip
    if back == "FMUL":
        lines = ("MOV R6, R5", *lines[1:])
    evidence = evidence_of(*lines, each=WHOLE, facts={5: active(1.0)}, line=1)
    assert idle_parts(evidence)[3] == pytest.approx(idle)


@pytest.mark.parametrize(
    ("acting", "said"),
    [
        (0.0, "no lane is active; over all instructions, 100 % of the lanes do nothing."),
        (0.04, "one lane of every 25 warps is active; over all instructions, > 99 % of the lanes do nothing."),
        (1.0, "one lane of a warp is active; over all instructions, 97 % of the lanes do nothing."),
    ],
)  # fmt: skip
def test_no_part_of_a_lane_acts(acting, said):
    """Where most warps are past the end of the data, their predicate leaves no lane."""
    facts = dict.fromkeys((0, 1), active(acting) | ALIKE)
    evidence = evidence_of("LDG.E R4, desc[UR4][R2.64]", "STG.E desc[UR4][R2.64], R4", facts=facts)
    (candidate,) = lanes.detect_idle_lanes(evidence)
    assert candidate.sentence.endswith(f". Where most is lost, {said}")


@pytest.mark.parametrize(("stored_at", "idle"), [("R6", 0.0), ("R8", 7 / 8)])
def test_an_index_that_all_lanes_need_behind_a_barrier_is_not_for_those_that_load_before_it(stored_at, idle):
    """Four lanes load what all of them share. Where all store at the same index later, full warps would compute it as often."""
    evidence = evidence_of(
        "SHF.R.U32.HI R6, RZ, 0x5, R2",
        "ISETP.NE.AND P1, PT, R7, RZ, PT",
        "@!P1 LOP3.LUT R6, RZ, R7, RZ, 0x33, !PT",
        "LDG.E R4, desc[UR4][R6.64]",
        "STS [R3], R4",
        "BAR.SYNC.DEFER_BLOCKING 0x0",
        f"STG.E desc[UR4][{stored_at}.64], R9",
        each=WHOLE,
        facts={3: FEW, 4: FEW},
    )
    parts = idle_parts(evidence)
    assert parts[:3] == pytest.approx([idle] * 3)
    assert parts[3] == pytest.approx(7 / 8)


@pytest.mark.parametrize(
    ("test", "idle"),
    [
        (("MOV R7, R5", "FCHK P0, R5, R6"), 0.0),
        (("IADD3 R7, R5, 0x1800000, RZ", "ISETP.GT.U32.AND P0, PT, R7, 0x1ffffff, PT"), 0.0),
        (("MOV R7, R5", "ISETP.NE.AND P0, PT, R7, RZ, PT"), 15 / 16),  # a branch of the source
    ],
)
def test_the_slow_path_of_a_division_leaves_no_lane_without_work(test, idle):
    """Nor does the call of it, and the place where its lanes meet the others."""
    two = {"lanes": 2.0, "acting": 2.0}
    slow = (3, 4, 6, 9)  # the call, the way back, the meeting, and the function
    facts = dict.fromkeys(range(9), WHOLE) | dict.fromkeys((*slow, 10), two)
    evidence = evidence_of(
        *test, "@!P0 BRA 0x50", "CALL.REL.NOINC 0x90", "BRA 0x60", "FMUL R5, R5, R8", "BSYNC B0",
        "STG.E desc[UR4][R2.64], R5", "EXIT", "FMUL R5, R5, R6", "RET.REL.NODEC R16, 0x0", facts=facts, file=None,
    )  # fmt: skip
    weights = [candidate.weights for candidate in lanes.detect_idle_lanes(evidence)]
    idles = [sum(one.get(evidence.sites[place], 0.0) / 100 for one in weights) for place in slow]
    assert idles == [pytest.approx(idle)] * 4


@pytest.mark.parametrize(
    ("warps", "lanes_of_them", "said"),
    [
        (12.5, 32.0, "Whole warps have nothing to do: 88 % of those that test whether they have work find none; over all instructions, 62 % of the lanes do nothing."),
        (100.0, 4.0, "Loads of elements act for 4 of 32 lanes on average, as where rows or lists are shorter than a warp. Where most is lost, 4 of 32 lanes are active; over all instructions, 73 % of the lanes do nothing."),
    ],
)  # fmt: skip
def test_warps_without_work_are_no_lanes_that_watch_their_warp(warps, lanes_of_them, said):
    """One warp of eight acts with all of its lanes, or all warps do with an eighth of theirs."""
    lines = ["S2R R3, SR_TID.X", "IADD3 R5, R3, 0x1, RZ", "ISETP.GE.AND P0, PT, R5, c[0x0][0x220], PT"]
    behind = ("LDG.E R4, [R2.64]", "STG.E [R2.64], R4")
    some = dict.fromkeys((4, 5), active(lanes_of_them))
    evidence = evidence_of(*lines, "@P0 EXIT", *executing(warps, *behind), each=WHOLE, facts=some)
    (candidate,) = lanes.detect_idle_lanes(evidence)
    assert candidate.sentence == said
    is_whole = warps < 100
    assert (set(candidate.weights) == {evidence.sites[3]}) == is_whole  # the test, where a change begins
    assert ("a row for each of its warps" in candidate.advice) == is_whole
    assert ("warps_without_work_pct" in candidate.evidence) == is_whole


@pytest.mark.parametrize(("index", "of_blocks"), [("SR_TID.X", False), ("SR_CTAID.X", True)])
def test_only_what_differs_in_a_block_leaves_some_of_its_warps_without_work(index, of_blocks):
    """One warp of eight works: by its place in its block, or by that of its block in the grid."""
    lines = [f"S2R R5, {index}", "ISETP.GE.AND P0, PT, R5, c[0x0][0x220], PT", "@P0 EXIT"]
    behind = (("LDG.E R4, [R2.64]", 12.5), ("STG.E [R2.64], R4", 12.5))
    evidence = evidence_of(*lines, *behind, facts=dict.fromkeys(range(3), WHOLE))
    (candidate,) = lanes.detect_idle_lanes(evidence)
    assert candidate.advice.startswith("Launch no block that") == of_blocks
    assert ("use smaller blocks" in candidate.advice) != of_blocks
    assert candidate.in_triton.startswith("Start no program") == of_blocks
    assert ("choose BLOCK by the length of the row" in candidate.in_triton) != of_blocks


def test_the_end_of_a_loop_sends_no_warp_away():
    """One lane of a warp makes all turns; the branch back is followed once."""
    lines = ("LDG.E R4, [R2.64]", "IADD3 R2, R2, 0x4, RZ", "ISETP.NE.AND P0, PT, R2, R3, PT", "@P0 BRA 0x10")
    evidence = evidence_of(("MOV R2, RZ", 1.0), *executing(100.0, *lines), ("EXIT", 1.0), each=active(1.0))
    said = [candidate.sentence for candidate in lanes.detect_idle_lanes(evidence)]
    assert not any(text.startswith("Whole warps") for text in said)
    assert said


@pytest.mark.parametrize("leaving", ["@P0 BRA 0x60", "@P0 EXIT"])
def test_a_warp_that_leaves_a_loop_at_its_top_has_made_its_turns(leaving):
    """Each of 100 warps makes one turn: it comes to the test twice, and goes on once."""
    tests = (("ISETP.GE.AND P0, PT, R2, R3, PT", 200.0), (leaving, 200.0))
    lines = ("LDG.E R4, [R2.64]", "IADD3 R2, R2, 0x4, RZ", "BRA 0x10", "EXIT")
    (candidate,) = lanes.detect_idle_lanes(evidence_of("MOV R2, RZ", *tests, *lines, each=active(24.0)))
    assert not candidate.sentence.startswith("Whole warps")


@pytest.mark.parametrize(("tested", "found"), [("R4", False), ("R6", True)])
def test_data_that_ends_a_turn_of_a_loop_leaves_the_next_one(tested, found):
    """Four warps of ten pass the rest of a turn by: the element that each loads decides that, or an index that none of its turns changes."""
    turn = ("LDG.E R4, [R2.64]", f"ISETP.GE.AND P0, PT, {tested}, 0x9, PT", "@P0 BRA 0x50")
    work = [("LDG.E R8, [R10.64]", 60.0)]
    evidence = evidence_of(
        ("S2R R2, SR_TID.X", 10.0), *turn, *work, "IADD3 R2, R2, 0x4, RZ", "@P1 BRA 0x10", ("EXIT", 10.0),
        each=active(8.0),
    )  # fmt: skip
    assert bool(find_warps_without_work(evidence, set(evidence.sites))) == found


def test_what_stands_behind_a_test_asks_for_no_work_by_it():
    """Of 100 warps 60 have no work; 100 execute the end of the kernel, where few lanes act."""
    lines = ["ISETP.GE.AND P0, PT, R5, R6, PT", "@P0 BRA 0x40"]
    work = [("IADD3 R2, R2, 0x4, RZ", 40.0), ("LDG.E R4, [R2.64]", 40.0)]
    evidence = evidence_of(*lines, *work, "MOV R8, RZ", "MOV R9, RZ", "EXIT", each=active(8.0))
    warps = find_warps_without_work(evidence, set(evidence.sites))
    assert set(warps) == {evidence.sites[0], evidence.sites[1]}
    assert warps[evidence.sites[0]] == (pytest.approx(0.6), evidence.sites[1])


@pytest.mark.parametrize(
    ("behind", "found"),
    [("FFMA R8, R8, R4, R5", False), ("MUFU.RCP R8, R5", False), ("IADD3 R8, R8, 0x1, RZ", True)],
)
def test_warps_that_compute_behind_a_branch_have_work(behind, found):
    """As behind the slow path of a division that few warps need."""
    lines = ["ISETP.GE.AND P0, PT, R5, R6, PT", "@P0 BRA 0x30", ("LDG.E R4, [R2.64]", 40.0), behind, "EXIT"]
    evidence = evidence_of(*lines, each=active(8.0))
    assert bool(find_warps_without_work(evidence, set(evidence.sites))) == found


@pytest.mark.parametrize(
    ("store", "had_work"),
    [
        ("STG.E [R2.64], R4", True),
        ("@P1 STG.E [R2.64], R4", False),  # it may be for the warps that go on
        ("STS [R2], R4", False),  # as zeros for a tree
    ],
)
def test_a_warp_that_has_stored_had_work_until_then(store, had_work):
    """As where a last test is for those that have another element besides."""
    lines = ["FMUL R4, R5, R6", store, "ISETP.NE.AND P0, PT, R5, RZ, PT", "@P0 EXIT", ("STG.E [R8.64], R4", 1.0)]  # fmt: skip
    evidence = evidence_of(*lines, each=active(8.0))
    without_work = find_warps_without_work(evidence, set(evidence.sites))
    assert set(without_work) == set(evidence.sites[2 if had_work else 0 : 4])


@pytest.mark.parametrize(("loaded", "had_work"), [("LDL.U8 R5, [R1]", True), ("LDG.E R5, [R2.64]", False)])
def test_a_warp_that_tests_its_own_array_had_work_until_then(loaded, had_work):
    """As where it has computed a hash there, and goes on if that is small."""
    lines = ["FMUL R4, R5, R6", loaded, "ISETP.NE.AND P0, PT, R5, RZ, PT", "@P0 EXIT", ("STG.E [R8.64], R4", 1.0)]  # fmt: skip
    evidence = evidence_of(*lines, each=active(8.0))
    assert bool(find_warps_without_work(evidence, set(evidence.sites))) != had_work


@pytest.mark.parametrize(("threads", "said"), [(16, "Blocks of 16 threads"), (32, "Whole warps")])
def test_blocks_that_lack_threads_are_not_advised_to_be_smaller(threads, said):
    """Of 100 warps, in which 16 lanes have a thread, or work, 20 go on."""
    lines = ("S2R R3, SR_TID.X", "ISETP.GE.AND P0, PT, R3, c[0x0][0x220], PT", "@P0 EXIT")
    work = executing(20.0, "LDG.E R4, [R2.64]", "STG.E [R2.64], R4")
    (candidate,) = lanes.detect_idle_lanes(evidence_of(*lines, *work, each=active(16.0), block=threads))
    assert candidate.sentence.startswith(said)


@pytest.mark.parametrize(
    ("tested", "leaving", "empty", "times"),
    [
        ("SR_TID.X", "@P0 EXIT", 0.8, 1 + 0.7 / 0.2),
        ("SR_TID.X", "@P0 EXIT", 0.4, 1 + 0.4 / 0.6),  # no more places than are empty
        ("SR_CTAID.X", "@P0 EXIT", 0.8, 1.0),  # whole blocks end, and leave their places to others
        ("SR_TID.X", "@P0 BRA 0x50", 0.8, 1.0),  # they may meet the rest at a barrier
    ],
)
def test_warps_that_end_without_work_keep_places_from_others_until_their_block_ends(tested, leaving, empty, times):  # fmt: skip
    """Of 100 warps of 50 blocks, 70 end."""
    lines = (f"S2R R3, {tested}", "ISETP.GE.AND P0, PT, R3, c[0x0][0x220], PT", leaving)
    work = executing(30.0, "LDG.E R4, [R2.64]", "STG.E [R2.64], R4")
    slots = WarpSlots(empty=empty)
    evidence = evidence_of(*lines, *work, "EXIT", each=active(30.0), grid=50, block=64, warp_slots=slots)
    (candidate,) = lanes.detect_idle_lanes(evidence)
    assert candidate.sentence.startswith("Whole warps")
    assert candidate.effect.warps == pytest.approx(times)
