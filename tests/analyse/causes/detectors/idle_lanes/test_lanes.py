"""Lanes that do nothing while their warp executes, and what that costs."""

from dataclasses import replace

import pytest
from made_evidence import LOAD, active, evidence_of, names

from profiler.analyse.causes.detectors.idle_lanes import lanes


@pytest.mark.parametrize(("acting", "found"), [(32.0, []), (31.5, []), (24.0, ["idle-lanes"])])
def test_lanes_are_idle_where_more_than_a_few_do_nothing(acting, found):
    evidence = evidence_of("FADD R4, R4, R6", "EXIT", each=active(acting))
    assert names(lanes.detect_idle_lanes, evidence) == found


@pytest.mark.parametrize(("acting", "found"), [(0.5, False), (1.5, True)])
def test_arithmetic_that_not_one_lane_of_a_warp_takes_is_for_rare_values(acting, found):
    lines = ("@P0 FMUL R4, R4, R6", ("@P0 STS [R2], R4", 0.1))
    evidence = evidence_of(*lines, each=active(acting, of=32.0))
    assert any(site.kind == "fp32" for site in _idle(evidence)) == found


@pytest.mark.parametrize(("is_retried", "found"), [(False, ["idle-lanes"]), (True, [])])
def test_who_waits_for_a_lock_gains_nothing_from_work_for_the_others(is_retried, found):
    evidence = evidence_of("@P0 STS [R2], R4", facts={0: active(1.0, of=32.0)})
    if is_retried:
        evidence = replace(evidence, retried=frozenset(evidence.sites))
    assert names(lanes.detect_idle_lanes, evidence) == found


def _idle(evidence):
    return {site for candidate in lanes.detect_idle_lanes(evidence) for site in candidate.weights}


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (["@P0 FADD R4, R4, R6"], []),  # a select instruction would take the same slot
        (["@P0 BRA 0x40"], []),  # lanes that do not branch have executed it
        (["@P0 LDS R5, [R2]", "@P0 FADD R4, R4, R5"], ["LDS", "FADD"]),  # the others lack an element
        (["@P0 LDS R5, [R2]", "@!P0 FADD R4, R4, R5"], ["LDS"]),
    ],
)
def test_predicated_lanes_are_idle_where_they_lack_an_element_not_where_values_are_chosen(lines, found):
    evidence = evidence_of(*lines, each=active(16.0, of=32.0))
    assert {site.opcode for site in _idle(evidence)} == set(found)


@pytest.mark.parametrize(
    ("sectors", "found"),
    [
        (50.0, set()),  # at most half of the warps take one, and must then act whole
        (60.0, {"LDG", "FADD"}),  # in half as many lanes as all, some of these have fewer
        (100.0, {"LDG", "FADD"}),
        (None, {"LDG", "FADD"}),
    ],
)
def test_a_predicate_keeps_whole_warps_from_what_is_loaded_in_too_few_sectors_for_more(sectors, found):
    lines = ("@P0 LDG.E.CONSTANT R5, [R2.64]", "@P0 FADD R4, R4, R5", "@!P0 FADD R6, R4, R5")
    idle = _idle(evidence_of(*lines, each=active(16.0, of=32.0), facts={0: {"sectors": sectors}}))
    assert {site.instruction.name for site in idle if site.instruction.predicate == "P0"} == found


@pytest.mark.parametrize(("predicate", "found"), [("P0", {"LDS"}), ("!PT", set())])
def test_what_the_compiler_pads_copies_with_acts_for_no_lane_whatever_the_code_is(predicate, found):
    evidence = evidence_of(f"@{predicate} LDS RZ, [RZ]", each=active(0.0, of=32.0))
    assert {site.opcode for site in _idle(evidence)} == found


def test_lanes_that_only_choose_values_are_idle_too_if_branches_split_their_warp():
    evidence = evidence_of("@P0 FADD R4, R4, R6", "EXIT", facts={0: active(8.0, of=16.0)})
    assert names(lanes.detect_idle_lanes, evidence) == ["idle-lanes"]


def test_no_lane_is_idle_in_what_the_tensor_pipe_multiplies():
    evidence = evidence_of("HGMMA.64x256x16.F32.BF16 R4", "EXIT", each=active(24.0))
    (candidate,) = lanes.detect_idle_lanes(evidence)
    assert candidate.effect.resources["tensor"] == 0


def named_for(opcode, *lines):
    """What is named for the only instruction with this opcode, of lines with the lanes that act and how often they run."""
    facts = {place: active(acting) for place, (_, acting, _) in enumerate(lines)}
    evidence = evidence_of(*((text, executed) for text, _, executed in lines), facts=facts)
    split, idle = lanes.find_idle(evidence)
    (name,) = {
        name
        for name, sites in (("divergent-branches", split), ("idle-lanes", idle))
        for site in sites
        if site.opcode == opcode
    }
    return next(one for one in lanes.detect_idle_lanes(evidence) if one.name == name)


@pytest.mark.parametrize(
    ("after", "name"), [("FMUL R4, R4, R6", "divergent-branches"), ("BSYNC B0", "idle-lanes")]
)
def test_two_sides_of_a_branch_that_share_a_warp_diverge_and_where_they_meet_is_no_side(after, name):
    lines = (("MOV R1, R2", 32.0), ("FADD R4, R4, R6", 12.0), (after, 20.0), ("EXIT", 32.0))
    found = named_for("FADD", *((text, acting, 100) for text, acting in lines))
    assert found.name == name
    assert ("execute one side after the other" in found.sentence) == (name == "divergent-branches")


@pytest.mark.parametrize(
    ("branch", "name"),
    [
        ("@P0 BRA 0x40", "idle-lanes"),  # right to where sides meet
        ("@P0 EXIT", "idle-lanes"),
        ("@P0 BRA 0x30", "divergent-branches"),  # to code of their own
        ("@P0 BRA 0x10", "divergent-branches"),  # back: it is no branch that passes this by
    ],
)
def test_half_a_warp_that_others_wait_for_is_no_side_of_its_own_other_half(branch, name):
    """Sixteen lanes act in two instructions, each of which could be the other's side."""
    lines = ((branch, 32.0), ("FADD R4, R4, R6", 16.0), ("NOP", 16.0), ("FMUL R4, R4, R6", 16.0), ("BSYNC B0", 16.0), ("EXIT", 32.0))  # fmt: skip
    assert named_for("FADD", *((text, acting, 100) for text, acting in lines)).name == name


@pytest.mark.parametrize(
    ("has_costs", "said"),
    [(True, "execute one side after the other"), (False, "or leave some of their lanes without work")],
)
def test_lanes_that_are_counted_together_show_no_other_side_of_a_branch(has_costs, said):
    acting = (12.0, 12.0, 20.0, 12.0) if has_costs else (12.0,) * 4
    facts = {place: {"lanes": count, "acting": count} for place, count in enumerate(acting)}
    facts[0] = {"lanes": 32.0, "acting": 32.0} if has_costs else facts[0]
    lines = ("MOV R1, R2", "FADD R4, R4, R6", "FMUL R4, R4, R6", "EXIT")
    evidence = replace(evidence_of(*lines, facts=facts), has_costs=has_costs)
    found = next(one for one in lanes.detect_idle_lanes(evidence) if one.name == "divergent-branches")
    assert said in found.sentence


IN_LOOP = [("FADD R5, R5, R6", 12.0, 800), ("@P0 BRA 0x20", 12.0, 800)]  # eight turns


@pytest.mark.parametrize(
    ("others", "name"),
    [
        ([("FMUL R4, R4, R6", 20.0, 50)], "divergent-branches"),
        ([("FMUL R4, R4, R6", 20.0, 49)], "idle-lanes"),
        # The other side may have turns of its own, which are no more warps.
        ([("MOV R7, R2", 20.0, 50), ("FMUL R4, R4, R6", 20.0, 400), ("@P0 BRA 0x50", 20.0, 400)], "divergent-branches"),
        ([("MOV R7, R2", 20.0, 49), ("FMUL R4, R4, R6", 20.0, 392), ("@P0 BRA 0x50", 20.0, 392)], "idle-lanes"),
        # Rare code with the lanes of the first side says nothing of how often that is come to.
        ([("FMUL R4, R4, R6", 20.0, 49), ("MOV R7, R2", 12.0, 10)], "idle-lanes"),
    ],
)  # fmt: skip
def test_code_that_half_as_many_come_to_is_another_side_and_rarer_code_of_other_lanes_is_none(others, name):
    lines = [("MOV R1, R2", 32.0, 100), ("MOV R5, R2", 12.0, 100), *IN_LOOP, *others, ("EXIT", 32.0, 100)]
    assert named_for("FADD", *lines).name == name


@pytest.mark.parametrize(("in_rest_of_loop", "name"), [(30.0, "divergent-branches"), (32.0, "idle-lanes")])
def test_what_lanes_leave_out_in_turns_of_a_loop_is_no_other_side_of_what_follows_it(in_rest_of_loop, name):
    """Here all but two lanes load in each turn. If these take part in the turn as well, they are not elsewhere meanwhile."""
    turn = [("LDG.E R4, [R2.64]", 30.0, 800), ("FADD R5, R5, R4", in_rest_of_loop, 800), ("@P0 BRA 0x10", in_rest_of_loop, 800)]  # fmt: skip
    lines = [("MOV R1, R2", 32.0, 100), *turn, ("FMUL R6, R6, R7", 2.0, 100), ("EXIT", 32.0, 100)]
    assert named_for("FMUL", *lines).name == name


@pytest.mark.parametrize(("acting", "saved"), [(1.0, True), (24.0, False)])
def test_few_lanes_that_a_block_waits_for_cost_that_waiting_too_even_if_predicates_chose_them(acting, saved):
    lines = ("@!P0 STS [R4], R6", "BAR.SYNC.DEFER_BLOCKING 0x0", "FADD R6, R6, R7")
    facts = {0: active(acting, of=32.0), 2: {"waits": {"barrier": 10}}}
    (candidate,) = lanes.detect_idle_lanes(evidence_of(*lines, each=active(32.0), facts=facts))
    assert (candidate.effect.waits["barrier"] > 0) == saved


TREE_STEP = ("ISETP.GT.AND P0, PT, R0, 0x7, PT", "@!P0 STS [R4], R6", "BAR.SYNC.DEFER_BLOCKING 0x0")


@pytest.mark.parametrize(
    ("acting", "computing", "saved"), [(8.0, 8.0, 0.75), (32.0, 32.0, 0.0), (8.0, 32.0, 0.0)]
)
def test_tests_of_a_step_are_for_its_lanes_that_access_memory_unless_it_computes(acting, computing, saved):
    """The test is one of two integer instructions; the other one comes after the step."""
    lines = ("FADD R6, R6, R7", *TREE_STEP, "IADD3 R9, R8, 0x1, RZ")
    facts = {0: active(computing, of=32.0), 2: active(acting, of=32.0)}
    found = list(lanes.detect_idle_lanes(evidence_of(*lines, each=active(32.0), facts=facts)))
    assert [one.effect.resources["alu"] for one in found] == ([saved / 2] if found else [])
    assert bool(found) == (acting < 32)


@pytest.mark.parametrize(("taken", "idle"), [(25.0, 0.75), (100.0, 0.0)])
def test_a_branch_keeps_whole_warps_from_a_step_as_a_predicate_does(taken, idle):
    lines = (TREE_STEP[0], ("STS [R4], R6", taken), TREE_STEP[2])
    found = list(lanes.detect_idle_lanes(evidence_of(*lines, each=active(32.0))))
    assert [one.effect.resources["alu"] for one in found] == ([idle] if idle else [])


@pytest.mark.parametrize(
    ("access", "waits"), [("LDG.E R4, [R8.64]", 31 / 32), ("ATOMG.E.ADD R4, [R8.64], R5", 0.0)]
)
def test_lanes_that_are_off_in_an_atomic_cost_nothing(access, waits):
    """Atomics are served lane by lane, and a full warp of them takes as long as 32 warps of one lane."""
    alone = active(1.0)
    evidence = evidence_of("MOV R8, R9", access, "FADD R5, R5, R4", facts={0: active(32.0), 1: alone, 2: {"lanes": 32.0, "acting": 32.0, "waits": {"long_scoreboard": 10}}})  # fmt: skip
    (candidate,) = lanes.detect_idle_lanes(evidence)
    assert candidate.name == "idle-lanes"
    assert candidate.effect.waits.get("long_scoreboard", 0.0) == pytest.approx(waits)


@pytest.mark.parametrize(
    ("width", "sectors", "acting", "served"),
    [
        (".128", 1600.0, 8.0, 3 / 4),  # a quarter of the lanes have an element
        (".128", 1600.0, 32.0, 0.0),
        ("", 100.0, 32.0, 0.0),  # the index that all lanes load is work for none of them, and nothing else is loaded
    ],
)  # fmt: skip
def test_code_without_a_barrier_serves_the_lanes_that_access_memory_in_it(width, sectors, acting, served):
    """Whole warps may have nothing to do, as where a program of 1,024 elements works on rows of 100."""
    lines = ("IMAD R9, R2, 0x190, RZ", "LDG.E R2, [R6.64]", f"@!P0 LDG.E{width} R8, [R2.64]", "EXIT")
    facts = {
        1: {"lanes": 32.0, "acting": 32.0, "sectors": 100.0, "ideal_sectors": 100.0},
        2: {"lanes": 32.0, "acting": acting, "sectors": sectors, "ideal_sectors": sectors},
    } | {place: active(32.0) for place in (0, 3)}
    evidence = evidence_of(*lines, facts=facts)
    _, idle = lanes.find_idle(evidence)
    assert idle.get(evidence.sites[0], 0.0) == pytest.approx(served)
    assert bool(list(lanes.detect_idle_lanes(evidence))) == bool(served)


WHOLE = active(32.0)
QUARTER = active(8.0, of=32.0)


def lanes_of(*lines, facts, **more):
    evidence = evidence_of(*lines, each=WHOLE, facts=facts, **more)
    return {one.name: one for one in lanes.detect_idle_lanes(evidence)}


@pytest.mark.parametrize(
    ("index", "columns", "idle"),
    [
        ("SR_TID.Y", 32, False),  # rows of the block are whole warps
        ("SR_TID.Y", 16, True),
        ("SR_TID.X", 32, True),
        ("SR_CTAID.X", 32, False),
    ],
)
def test_no_lane_is_idle_where_whole_warps_are_kept_from_an_access(index, columns, idle):
    lines = (f"S2R R5, {index}", "ISETP.GT.AND P3, PT, R5, 0x3, PT", "@!P3 LDG.E R4, [R2.64]", "EXIT")
    assert ("idle-lanes" in lanes_of(*lines, facts={2: QUARTER}, block=(columns, 16, 1))) == idle


def test_what_leaves_a_branch_with_few_lanes_is_idle_under_the_predicate_of_a_warp_too():
    """The lanes are those of a branch around it, and not of the predicate."""
    lines = ("S2R R5, SR_TID.Y", "ISETP.GT.AND P3, PT, R5, 0x3, PT", "@!P3 LDG.E R4, [R2.64]", "EXIT")
    few = active(8.0)
    assert lanes_of(*lines, facts={2: few}, block=(32, 16, 1))


@pytest.mark.parametrize(("load", "idle"), [("@P0 LDL R4, [R5]", False), ("@P0 LDG.E R4, [R2.64]", True)])
def test_a_lane_that_needs_no_value_of_its_own_is_not_idle(load, idle):
    assert bool(lanes_of(load, "EXIT", facts={0: QUARTER})) == idle


@pytest.mark.parametrize(
    ("back", "name"),
    [
        (WHOLE, "idle-lanes"),  # a part of the turn has something to do for few lanes
        (active(8.0), "divergent-branches"),  # the others have left the loop
    ],
)
def test_warps_are_split_by_lanes_that_leave_a_loop_and_not_by_a_part_of_its_turn(back, name):
    few = active(8.0)
    lines = ("MOV R3, RZ", "@P1 BRA 0x30", "LDG.E R4, [R2.64]", "@P0 BRA 0x10", "EXIT")
    found = lanes_of(*lines, facts={2: few, 3: back})
    assert name in found
    assert ("divergent-branches" in found) == (name == "divergent-branches")
    if name == "divergent-branches":
        assert [site.instruction.text for site in found[name].weights] == ["@P0 BRA 0x10"]
        assert found[name].sentence.startswith("Lanes leave a loop before others of their warp do")
        assert found[name].advice.startswith("Let the lanes of a warp share the turns out")


@pytest.mark.parametrize(
    ("made", "waves", "warps", "advises"),
    [
        ("FFMA R4, R4, R4, R5", 30.0, 1.0, "Let a lane take the next piece of work"),
        ("FFMA R4, R4, R4, R5", 1.5, 1.5 / 4, "Let a lane take the next piece of work"),
        ("FFMA R4, R5, R5, R4", 1.5, 1.0, "Let the lanes of a warp share the turns out"),  # a sum
    ],
)
def test_where_turns_go_on_from_each_other_the_longest_piece_of_work_stays_as_long(
    made, waves, warps, advises
):
    """Without more pieces than lanes, fewer warps are left to take them."""
    few, loop = active(8.0), [(made, 8000.0), ("@P0 BRA 0x10", 8000.0)]
    lines = (("MOV R3, RZ", 2.0), *loop, ("EXIT", 2.0))
    facts = {0: WHOLE, 1: few, 2: few}
    (found,) = lanes_of(*lines, facts=facts, figures={"waves": waves}, grid=2, block=32).values()
    assert found.advice.startswith(advises)
    assert found.effect.warps == pytest.approx(warps, rel=0.01)


def test_a_lane_that_comes_to_a_loop_again_and_again_has_as_many_pieces_of_work():
    few = active(8.0)
    loop = [("FFMA R4, R4, R4, R5", 8000.0), ("@P0 BRA 0x10", 8000.0), ("@P1 BRA 0x0", 200.0)]
    facts = {0: WHOLE, 1: few, 2: few, 3: WHOLE}
    lines = (("MOV R3, RZ", 200.0), *loop, ("EXIT", 2.0))
    found = lanes_of(*lines, facts=facts, figures={"waves": 1.5}, grid=2, block=32)
    assert found["divergent-branches"].effect.warps == 1.0


@pytest.mark.parametrize(("rounds", "is_search"), [(10, False), (60, True)])
def test_a_search_has_work_for_the_warps_that_find_nothing(rounds, is_search):
    """A few instructions test indices; more of them make the number that is compared, as a hash does."""
    making = ["LOP3.LUT R6, R6, R7, R8, 0x96, !PT"] * rounds
    test = ("ISETP.GE.U32.AND P0, PT, R6, R9, PT", "@P0 EXIT")
    lines = ("S2R R6, SR_TID.X", *making, *test, ("REDG.E.ADD.STRONG.GPU [R2.64], R6", 1.0))
    assert bool(list(lanes.detect_idle_lanes(evidence_of(*lines, each=active(32.0))))) != is_search


@pytest.mark.parametrize(
    ("block", "found"),
    [(1, [("block-too-small", 31 / 32)]), (33, [("idle-lanes", 31 / 64)]), (32, []), (256, [])],
)
def test_blocks_that_leave_lanes_without_a_thread_are_named_where_no_instruction_was_counted(block, found):
    """A block that does not fill one warp is too small."""
    named = lanes.detect_lanes_without_thread(evidence_of(block=block, waits={"long_scoreboard": 1.0}))
    assert [(one.name, one.effect.waits["long_scoreboard"]) for one in named] == found
    assert names(lanes.detect_lanes_without_thread, evidence_of(LOAD, block=block)) == []


@pytest.mark.parametrize(
    ("block", "acting", "said"),
    [
        (16, 16.0, "Blocks of 16 threads fill 16 of the 32 lanes of a warp: 50 % of the lanes do nothing."),
        (36, 18.0, "Blocks of 36 threads fill 18 of the 32 lanes of a warp on average: 44 % of the lanes do nothing."),
        # of 24 idle lanes, 16 have no thread
        (16, 8.0, "Blocks of 16 threads fill 16 of the 32 lanes of a warp: 50 % of the lanes do nothing."),
        # of 20 idle lanes, 8 have no thread
        (24, 12.0, "Lanes have nothing to do while their warp executes. Where most is lost, 12 of 32 lanes are active; "),
        (256, 16.0, "Lanes have nothing to do while their warp executes. Where most is lost, 16 of 32 lanes are active; "),
    ],
)  # fmt: skip
def test_lanes_without_a_thread_are_for_larger_blocks_and_not_for_neighbours(block, acting, said):
    evidence = evidence_of("FADD R4, R4, R6", "EXIT", each=active(acting), block=block)
    (candidate,) = lanes.detect_idle_lanes(evidence)
    assert candidate.sentence.startswith(said)
    are_missing = said.startswith("Blocks")
    assert ("a multiple of 32 threads" in candidate.advice) == are_missing
    assert candidate.name == ("block-too-small" if are_missing and block < 32 else "idle-lanes")


@pytest.mark.parametrize(("counted", "waits", "slots"), [(True, 31 / 32, 31 / 32), (False, 0.0, 31 / 64)])
def test_a_predicate_costs_slots_and_no_waiting_when_lanes_are_only_counted_together(counted, waits, slots):
    """A warp that passes an access by waits for nothing there, and a mean does not say whether whole warps do.

    Counted, all code around the only access serves the one lane that makes it.
    """
    facts = {0: {"lanes": 32.0, "acting": 1.0, "waits": {"wait": 9}}, 1: active(32.0)}
    evidence = replace(evidence_of("@P0 LDS R4, [R2]", "EXIT", facts=facts), has_costs=counted)
    (candidate,) = lanes.detect_idle_lanes(evidence)
    assert candidate.effect.waits.get("wait", 0.0) == pytest.approx(waits)
    assert candidate.effect.resources["issue"] == pytest.approx(slots)


@pytest.mark.parametrize(("block", "launched"), [(36, 1 - 36 / 256), (32, 0.5), (256, 0.5)])
def test_blocks_with_room_in_their_last_warp_can_be_one(block, launched):
    """Half of the lanes are idle, so that half as many warps would do; of blocks that leave a part of a warp, more become one."""
    evidence = evidence_of("FADD R4, R4, R6", "EXIT", each=active(16.0), block=block)
    (candidate,) = lanes.detect_idle_lanes(evidence)
    assert candidate.effect.resources["launch"] == pytest.approx(launched)


@pytest.mark.parametrize(("passes", "saved"), [(100.0, 0.5), (150.0, 1 / 6), (200.0, 0.0)])
def test_passes_that_conflict_stay_when_other_lanes_take_the_place_of_idle_ones(passes, saved):
    """16 lanes act in each of 100 loads from shared memory."""
    facts = {0: {"lanes": 32.0, "acting": 16.0, "passes": passes, "ideal_passes": 100.0}}
    evidence = evidence_of("LDS R4, [R2]", facts=facts, figures={"shared_of_l1_pct": 100.0})
    (candidate,) = lanes.detect_idle_lanes(evidence)
    assert candidate.effect.resources["l1"] == pytest.approx(saved)
