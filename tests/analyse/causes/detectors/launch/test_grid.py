"""Launches that are short, grids that are small, and blocks that leave places empty."""

from dataclasses import replace

import pytest
from made_evidence import (
    BUSY,
    FORWARD,
    LOAD,
    LOOP,
    NEXT,
    STORED,
    change_instruction,
    evidence_of,
    executing,
    names,
)

from profiler.analyse.causes.detectors.idle_lanes.lanes import detect_idle_lanes
from profiler.analyse.causes.detectors.launch import grid, little_work
from profiler.analyse.causes.evidence.latency import UNNAMED, WarpSlots
from profiler.analyse.causes.evidence.time_model import NO_WARP
from profiler.analyse.causes.flow.branch_conditions import may_work_differently
from profiler.analyse.causes.flow.loop_carried import find_loop_storing_its_own
from profiler.analyse.causes.flow.memory.retries import add_retries

ADD, ATOMIC = "FADD R5, R5, R4", "RED.E.ADD.F32.FTZ.RN.STRONG.GPU [R8.64], R5"
# The length of each list decides how often a warp passes a branch.
BY_DATA = ("LDG.E R3, [R6.64]", "ISETP.NE.AND P0, PT, R3, RZ, PT", "@P0 BRA 0x0")


@pytest.mark.parametrize(("duration", "found"), [(9_999.0, ["launch-too-short"]), (10_000.0, [])])
def test_a_launch_below_10_us_is_short(duration, found):
    assert names(grid.detect_short_launch, evidence_of(LOAD, figures={"duration_ns": duration})) == found


@pytest.mark.parametrize(("waves", "found"), [(0.99, ["grid-too-small"]), (1.0, []), (0.0, [])])
def test_a_grid_that_fills_the_gpu_once_is_not_too_small(waves, found):
    evidence = evidence_of(LOAD, grid=64, figures={"waves": waves, "sms": 132.0})
    assert names(grid.detect_small_grid, evidence) == found


@pytest.mark.parametrize(("waits", "saved"), [({UNNAMED: 1.0}, 0.8 * 0.9), ({"mio_throttle": 1.0}, 0.5)])
def test_more_warps_hide_waiting_of_which_it_is_not_known_that_it_is_a_queue(waits, saved):
    """Half of the SMs have a block, and a tenth of all places; the busiest unit works for a fifth of the time."""
    figures = {"waves": 0.1, "sms": 132.0}
    (candidate,) = grid.detect_small_grid(evidence_of(LOAD, grid=66, waits=waits, figures=figures))
    assert candidate.saves == pytest.approx(saved)


@pytest.mark.parametrize(("contended", "saved"), [(False, 0.9), (True, 0.9 / 4)])
def test_atomics_of_one_address_are_served_no_sooner_if_they_come_from_more_sms(contended, saved):
    """Three quarters of the waiting are for atomics; nine in ten SMs have no block."""
    facts = {0: {"waits": {"drain": 0}}, 2: {"waits": {"long_scoreboard": 25}}}
    figures = {"waves": 0.05, "sms": 132.0}
    evidence = evidence_of(
        ATOMIC, LOAD, ADD, facts=facts, figures=figures, grid=13, waits={"long_scoreboard": 1.0}
    )
    evidence.charged[evidence.sites[0]]["long_scoreboard"] = 75.0
    (candidate,) = grid.detect_small_grid(replace(evidence, atomics_are_contended=contended))
    assert candidate.saves == pytest.approx(saved, abs=0.02)


@pytest.mark.parametrize(("place", "saved"), [("ATOMG", 0.0), ("ATOMS", 0.9)])
def test_a_lock_is_free_no_sooner_if_more_sms_wait_for_it(place, saved):
    """All waiting is for a lock: one for all blocks in global memory, or one for each block in its shared memory."""
    lines = ["MOV R8, R9", (f"{place}.CAS R4, [R2], R8, R9", 400.0), ("ISETP.NE.AND P0, PT, R4, RZ, PT", 400.0), ("@P0 BRA 0x10", 400.0)]  # fmt: skip
    figures = {"waves": 0.05, "sms": 132.0}
    facts = {2: {"waits": {"long_scoreboard": 100}}}
    evidence = evidence_of(*lines, facts=facts, figures=figures, grid=13)
    (candidate,) = grid.detect_small_grid(add_retries(evidence))
    assert candidate.saves == pytest.approx(saved, abs=0.02)


@pytest.mark.parametrize(
    ("inside", "after", "waiting", "found"),
    [
        ([NEXT, STORED, FORWARD], [], 2, []),
        ([NEXT, STORED, FORWARD], ["FADD R9, R9, R7", "EXIT"], 7, ["grid-too-small"]),  # warps wait elsewhere
        ([NEXT, FORWARD], [STORED], 2, ["grid-too-small"]),  # a sum, whose parts add up
        ([NEXT, STORED], [], 2, ["grid-too-small"]),  # only the last one stays
        (["FFMA R7, R4, R9, R8", STORED, FORWARD], [], 2, ["grid-too-small"]),  # each turn by itself
        ([STORED, FORWARD], [], 2, ["grid-too-small"]),
    ],
)
def test_turns_of_a_loop_that_need_each_other_are_no_work_for_more_blocks(inside, after, waiting, found):
    lines = [("NOP", 1.0), LOAD, *inside, LOOP, *after]
    evidence = evidence_of(
        *lines, facts={waiting: {"waits": {"wait": 90}}}, grid=64, figures={"waves": 0.5, "sms": 132.0}
    )
    assert names(grid.detect_small_grid, evidence) == found


def test_chains_that_a_thread_makes_side_by_side_are_work_for_more_blocks():
    """A warp waits for loads for half of its time; of the other half, a quarter stays with each of four threads."""
    filters = [f"FFMA R{one}, R{one}, R20, R{one + 12}" for one in range(12, 16)]
    lines = [
        ("NOP", 1.0),
        "LDG.E.128 R24, desc[UR4][R2.64]",
        *filters,
        "STG.E.128 desc[UR4][R10.64], R12",
        FORWARD,
        LOOP,
    ]
    waits = {"long_scoreboard": 0.4, "wait": 0.4}
    figures = {"waves": 0.05, "sms": 132.0}
    evidence = evidence_of(*lines, facts={2: {"waits": {"wait": 90}}}, grid=8, waits=waits, figures=figures)
    (candidate,) = grid.detect_small_grid(evidence)
    waiting = evidence.model.life_share("long_scoreboard")
    assert candidate.saves == pytest.approx((1 - waiting) * 3 / 4)
    assert "4 such rows" in candidate.advice


ADDED, ASKED = "REDG.E.ADD.F32.FTZ.RN.STRONG.GPU [R10.64], R7", "ATOMG.E.ADD.STRONG.GPU PT, R8, [R10.64], R7"
LOADED, MADE, FROM = "LDC.64 R10, c[0x0][0x210]", "FADD R7, R4, R8", "LDC.64 R2, c[0x0][0x218]"


@pytest.mark.parametrize(
    ("lines", "shared_out"),
    [
        ([FROM, LOADED, ("NOP", 1.0), LOAD, MADE, STORED, FORWARD, LOOP], True),
        ([FROM, LOADED, ("NOP", 1.0), LOAD, MADE, ADDED, FORWARD, LOOP], True),
        ([FROM, LOADED, ("NOP", 1.0), LOAD, MADE, ADDED, LOOP], False),
        ([FROM, LOADED, ("NOP", 1.0), LOAD, MADE, ASKED, FORWARD, LOOP], False),  # the old value may lead to the next turn
        ([FROM, LOADED, ("NOP", 1.0), LOAD, MADE, (STORED, 49.0), FORWARD, LOOP], False),  # what it has found
        ([FROM, LOADED, ("NOP", 1.0), LOAD, MADE, STORED, LOOP], False),  # the same place in each turn
        ([FROM, LOADED, ("NOP", 1.0), LOAD, MADE, "STS [R5], R7", STORED, FORWARD, LOOP], False),
        ([FROM, LOADED, ("NOP", 1.0), LOAD, "BAR.SYNC 0x0", MADE, STORED, FORWARD, LOOP], False),
        (["LDC.64 R2, c[0x0][0x210]", LOADED, ("NOP", 1.0), LOAD, MADE, STORED, FORWARD, LOOP], False),
        ([FROM, LOADED, ("NOP", 1.0), LOAD, "FADD R7, R4, R7", LOOP, STORED], False),  # a sum
        ([FROM, LOADED, ("NOP", 1.0), LOAD, MADE, STORED, "FADD R9, R7, R9", FORWARD, LOOP], False),  # one beside
        ([FROM, LOADED, ("NOP", 1.0), LOAD, MADE, STORED, "FADD R9, R7, R8", FORWARD, LOOP], True),
        # Each warp enters the loop as often as it makes a turn.
        ([FROM, LOADED, ("NOP", 1e9), LOAD, MADE, STORED, FORWARD, LOOP], False),
        # A count of what it finds; a sum of what it loads.
        ([FROM, LOADED, ("NOP", 1.0), LOAD, "@P1 IADD3 R7, R7, 0x1, RZ", STORED, FORWARD, LOOP], False),
        ([FROM, LOADED, ("NOP", 1.0), LOAD, "IADD3 R7, R7, R4, RZ", STORED, FORWARD, LOOP], False),
    ],
)  # fmt: skip
def test_turns_that_store_results_of_their_own_are_shared_out_by_a_larger_grid(lines, shared_out):
    """The loop begins behind the NOP; where it loads from the array to which it stores, a turn may need what another one stored."""
    lines = [line.replace("0x10", "0x30") if line == LOOP else line for line in lines]
    figures = {"waves": 0.5, "sms": 132.0}
    evidence = evidence_of(*lines, facts={3: {"waits": {"wait": 90}}}, grid=64, figures=figures)
    (candidate,) = grid.detect_small_grid(evidence)
    assert ("none of its turns needs what another one has computed" in candidate.advice) is shared_out


@pytest.mark.parametrize(
    ("row", "shared_out"), [("MOV R12, R9", True), ("ATOMG.E.ADD.STRONG.GPU PT, R12, [R14.64], R9", False)]
)
def test_what_stores_where_an_atomic_has_taken_room_is_not_shared_out_among_blocks(row, shared_out):
    """Each of the blocks would take room of its own."""
    before = "S2R R9, SR_TID.X", row, "LDC.64 R16, c[0x0][0x210]", "IMAD.WIDE R10, R12, 0x40, R16"
    turn = LOAD, MADE, STORED, FORWARD, LOOP.replace("0x10", "0x50")
    evidence = evidence_of(
        FROM,
        *((line, 1.0) for line in before),
        *turn,
        facts={5: {"waits": {"wait": 90}}},
        grid=64,
        figures={"waves": 0.5, "sms": 132.0},
    )
    (candidate,) = grid.detect_small_grid(evidence)
    assert ("none of its turns needs what another one has computed" in candidate.advice) is shared_out


@pytest.mark.parametrize(
    ("step", "grid_stride"),
    [
        ("IADD3 R10, R10, c[0x0][0xc], RZ", True),
        ("IADD3 R10, R10, R20, RZ", True),  # of the size of the grid, which R20 holds
        ("IADD3 R10, R10, 0x4, RZ", False),
    ],
)
@pytest.mark.parametrize(
    ("turn", "otherwise"),
    [
        ((MADE, STORED), "Launch more blocks, with a dimension of the grid for what the loop at made.cu:8 counts"),
        (("FADD R7, R4, R7", "NOP"), "Let several threads or blocks share each result: the turns of the loop at made.cu:8 only"),
    ],
)  # fmt: skip
def test_more_blocks_take_their_turns_of_a_loop_by_themselves_where_it_steps_by_the_grid(
    step, grid_stride, turn, otherwise
):
    """The size of the grid is not read again in each turn."""
    lines = ["LDC R20, c[0x0][0xc]", FROM, LOADED, LOAD, *turn, step, LOOP.replace("0x10", "0x30")]
    waits = {3: {"waits": {"wait": 90}}}
    before = [(line, 1.0) for line in lines[:3]]
    evidence = evidence_of(*before, *lines[3:], facts=waits, grid=64, figures={"waves": 0.5, "sms": 132.0})
    (candidate,) = grid.detect_small_grid(evidence)
    shared = "Launch more blocks: the loop at made.cu:8 steps by the whole grid"
    assert candidate.advice.startswith(shared if grid_stride else otherwise)


@pytest.mark.parametrize(("result", "grid_stride"), [(ATOMIC, True), (STORED, False)])
def test_parts_of_a_sum_that_threads_store_for_themselves_would_be_more_results(result, grid_stride):
    lines = [
        ("LDC R20, c[0x0][0xc]", 1.0),
        LOAD,
        "FADD R7, R4, R7",
        "IADD3 R2, R2, R20, RZ",
        LOOP,
        (result, 1.0),
    ]
    waits = {1: {"waits": {"wait": 90}}}
    evidence = evidence_of(*lines, facts=waits, grid=64, figures={"waves": 0.5, "sms": 132.0})
    (candidate,) = grid.detect_small_grid(evidence)
    assert ("steps by the whole grid" in candidate.advice) == grid_stride


@pytest.mark.parametrize(("size", "along"), [("c[0x0][0xc]", "x"), ("c[0x0][0x10]", "y")])
def test_of_a_grid_of_several_dimensions_one_shares_the_turns_out(size, along):
    lines = [(f"LDC R20, {size}", 1.0), LOAD, "FADD R7, R4, R7", "IADD3 R2, R2, R20, RZ", LOOP, (ATOMIC, 1.0)]
    waits = {1: {"waits": {"wait": 90}}}
    evidence = evidence_of(*lines, facts=waits, grid=(8, 8, 1), figures={"waves": 0.5, "sms": 132.0})
    (candidate,) = grid.detect_small_grid(evidence)
    assert candidate.advice.startswith(
        f"Launch more blocks along {along}: the loop at made.cu:5 steps by the size of the grid there"
    )
    assert candidate.in_triton.startswith(f"Launch more programs along axis {'xy'.index(along)}: ")


@pytest.mark.parametrize(
    ("text", "named"),
    [(None, "the loop at made.cu:4"), ("  for (int i = 0; i < n; i++) {", "the loop at made.cu:4"), ("@cute.jit", "a loop")],
)  # fmt: skip
def test_a_loop_is_named_by_a_line_that_turns_back(text, named):
    evidence = evidence_of(
        ("NOP", 1.0), LOAD, "FADD R7, R4, R7", LOOP, STORED, facts={1: {"waits": {"wait": 90}}, 3: {"text": text}},
        grid=64, figures={"waves": 0.5, "sms": 132.0},
    )  # fmt: skip
    (candidate,) = grid.detect_small_grid(evidence)
    assert f"the turns of {named} only add up" in candidate.advice


@pytest.mark.parametrize(
    ("lines", "is_said"),
    [
        ([("NOP", 1.0), LOAD, "FFMA R7, R7, R7, R4", LOOP, STORED], True),
        ([("NOP", 1e9), LOAD, "FFMA R7, R7, R7, R4", LOOP, STORED], False),  # each warp makes one turn
        ([LOAD, "FADD R7, R4, R7", STORED], False),
    ],
)
def test_turns_of_a_loop_may_be_work_for_more_blocks_or_need_each_other(lines, is_said):
    """Of a loop of which it is not known, the advice says what each case takes."""
    (candidate,) = grid.detect_small_grid(evidence_of(*lines, grid=64, figures={"waves": 0.5, "sms": 132.0}))
    assert (
        "a dimension of the grid for a loop whose turns do not need each other" in candidate.advice
    ) is is_said
    assert ("Where each turn needs the one before" in candidate.advice) is is_said
    assert "combine their parts of one result" in candidate.advice


CHOSEN = "ISETP.GT.AND P1, PT, R4, R6, PT"


@pytest.mark.parametrize(
    ("lines", "acting", "shared_out"),
    [
        ([("NOP", 1.0), LOAD, MADE, CHOSEN], 16.0, False),  # each turn chooses anew
        ([("NOP", 1.0), LOAD, MADE, CHOSEN], 16.1, True),
        ([("NOP", 1.0), LOAD, MADE, CHOSEN, "@P2 BRA 0x50"], 8.0, False),  # in a loop within
        ([CHOSEN, ("NOP", 1.0), LOAD, MADE], 8.0, True),  # the other lanes have no element in any turn
    ],
)
def test_turns_in_which_few_lanes_store_may_need_those_before(lines, acting, shared_out):
    lines = [
        FROM,
        LOADED,
        *lines,
        "@P1 " + STORED,
        FORWARD,
        LOOP.replace("0x10", f"{16 * lines.index(LOAD) + 32:#x}"),
    ]
    waits = {lines.index(LOAD): {"waits": {"wait": 90}}, len(lines) - 3: {"acting": acting}}
    assert (find_loop_storing_its_own(evidence_of(*lines, facts=waits)) is not None) is shared_out


@pytest.mark.parametrize(("starting", "saved"), [(0.0, 0.5), (0.9, 0.05), (1.0, 0.0)])
def test_a_larger_grid_saves_nothing_of_what_starting_and_ending_the_launch_takes(starting, saved):
    evidence = evidence_of(LOAD, grid=66, figures={"waves": 0.5, "sms": 132.0})
    tiny = replace(evidence, model=replace(evidence.model, starting=starting))
    (candidate,) = grid.detect_small_grid(tiny)
    assert candidate.saves == pytest.approx(saved)


@pytest.mark.parametrize(("waves", "found"), [(1.9, []), (2.0, ["too-little-work-a-thread"])])
def test_threads_can_do_more_where_there_are_two_rounds_of_blocks(waves, found):
    assert names(little_work.detect_little_work, evidence_of(LOAD, figures={"waves": waves})) == found


def test_a_load_that_a_thread_repeats_is_no_reason_to_give_it_more_to_do():
    once, twice = (
        little_work.detect_little_work(evidence_of(*[LOAD] * count, figures={"waves": 20.0}))
        for count in (1, 2)
    )
    assert [len(candidate.weights) for candidate in (*once, *twice)] == [1, 1]


@pytest.mark.parametrize(("waves", "launched"), [(2.0, 0.0), (20.0, 0.9)])
def test_blocks_that_do_more_each_are_fewer_until_they_fill_the_gpu_twice(waves, launched):
    (candidate,) = little_work.detect_little_work(evidence_of(LOAD, figures={"waves": waves}))
    assert candidate.effect.resources["launch"] == pytest.approx(launched)


@pytest.mark.parametrize(("latency", "worth"), [(0.0, 0.2), (0.5, 0.6), (1.0, 1.0)])
def test_warps_between_blocks_queue_for_memory_but_hide_its_latency(latency, worth):
    evidence = evidence_of(
        LOAD,
        figures={"waves": 20.0},
        waits={"long_scoreboard": 0.8, "wait": 0.2},
        warp_slots=WarpSlots(unloaded={"long_scoreboard": latency}),
    )
    (candidate,) = little_work.detect_little_work(evidence)
    assert candidate.effect.resources["launch"] == pytest.approx(worth * 0.9)


@pytest.mark.parametrize(
    ("length", "may_differ"),
    [
        ("LDG.E R3, [R6.64]", True),
        ("LDS R3, [R6]", True),
        ("S2R R3, SR_CTAID.X", True),  # a triangle
        ("MOV R3, c[0x0][0x160]", False),  # as many turns for all
    ],
)
def test_warps_that_make_as_many_turns_as_all_others_do_not_work_longer(length, may_differ):
    """Half of the warps are missing on average, as where a queue serves one after the other.

    A whole number of turns for each of 100 warps, on average, may be half as many for every second one, and half as many again for the others.
    """
    figures = {"occupancy_pct": 50.0, "occupancy_limit_pct": 100.0, "waves": 20.0}
    turn = ("IADD3 R2, R2, 0x1, RZ", "ISETP.NE.AND P0, PT, R2, R3, PT", "@P0 BRA 0x20")
    lines = ("MOV R2, RZ", length, *executing(1e9, *turn), "EXIT")
    evidence = evidence_of(*lines, figures=figures, waits={"long_scoreboard": 1.0})
    assert bool(names(grid.detect_imbalance, evidence)) == may_differ


@pytest.mark.parametrize(
    ("flag", "may_differ"),
    [
        (("S2R R6, SR_TID.X", "LDG.E R3, [R6.64]"), True),
        (("LDS R3, [R6]",), True),
        (("S2R R3, SR_TID.X",), False),  # those past the last element
        (("MOV R6, c[0x0][0x160]", "LDG.E R3, [R6.64]"), False),  # one number for all
    ],
)
def test_where_data_decides_which_threads_end_some_warps_work_longer(flag, may_differ):
    evidence = evidence_of(*flag, "ISETP.NE.AND P0, PT, R3, R5, PT", "@P0 EXIT", (LOAD, 99), "EXIT")
    assert may_work_differently(evidence) == may_differ


@pytest.mark.parametrize(("launching", "saves"), [(0.0, 0.5), (0.5, 0.25), (1.0, None)])
def test_places_that_no_block_comes_for_are_no_imbalance(launching, saves):
    """Blocks loop, so that they are not short-lived. The GPU launches all that it can, in this part of the time."""
    figures = {"occupancy_pct": 50.0, "occupancy_limit_pct": 100.0, "waves": 20.0}
    evidence = evidence_of(
        *BY_DATA,
        (LOAD, 1e9),
        figures=figures,
        busy=dict.fromkeys(BUSY, 0.0),
        waits={"long_scoreboard": 1.0},
        warp_slots=WarpSlots(launching=launching),
    )
    found = list(grid.detect_imbalance(evidence))
    assert [one.saves for one in found] == ([] if saves is None else [pytest.approx(saves)])


@pytest.mark.parametrize(("samples", "is_known"), [(60, True), (40, False)])
def test_warps_that_end_early_surely_have_less_to_do_only_where_data_decide_their_turns(samples, is_known):
    """Elsewhere, they may wait less. So many percent of the samples are in the loop whose turns data decide."""
    turn = ("IADD3 R2, R2, 0x1, RZ", "ISETP.NE.AND P0, PT, R2, R3, PT", "@P0 BRA 0x20")
    evidence = evidence_of(
        *(("S2R R6, SR_CTAID.X", 1e6), ("LDG.E R3, [R6.64]", 1e6), *executing(1e9, *turn), "EXIT"),
        figures={"occupancy_pct": 50.0, "occupancy_limit_pct": 100.0, "waves": 20.0},
        waits={"long_scoreboard": 1.0},
    )
    for site, here in ((evidence.sites[2], samples), (evidence.sites[-1], 100 - samples)):
        change_instruction(site, samples=here)
    (candidate,) = grid.detect_imbalance(evidence)
    assert candidate.sentence.startswith("On average, an SM holds 50 % of the warps that fit: ")
    assert candidate.sentence.endswith(": some warps work much longer than those beside them.") == is_known
    assert candidate.sentence.endswith("which do more or wait longer.") != is_known
    assert candidate.advice.startswith("If some do more than others, share the work out") != is_known


@pytest.mark.parametrize(("executed", "explained"), [(1e9 / 8, 31 / 32), (1e9 / 4, 0.0)])
def test_warps_that_pass_by_what_one_lane_of_a_block_does_each_turn_are_for_idle_lanes(executed, explained):
    """Seven of eight places are empty, and half of the samples are where one of eight warps works in each turn, or two of them."""
    turn = [(BY_DATA[0], 1e9), (BY_DATA[1], 1e9), ("FADD R4, R4, R6", executed), (BY_DATA[2], 1e9)]
    evidence = evidence_of(
        *turn,
        figures={"occupancy_pct": 12.5, "occupancy_limit_pct": 100.0, "waves": 20.0},
        busy=dict.fromkeys(BUSY, 0.0),
        waits={"long_scoreboard": 1.0},
        facts={2: {"lanes": 1.0}},
    )
    for site in (evidence.sites[0], evidence.sites[2]):
        change_instruction(site, samples=50)
    (candidate,) = grid.detect_imbalance(evidence)
    assert candidate.saves == pytest.approx(7 / 8 * (1 - 0.5 * explained))


@pytest.mark.parametrize(("lanes", "explained"), [(1.0, 31 / 32), (32.0, 0.0)])
def test_warps_that_have_ended_while_one_lane_of_their_block_works_on_are_for_idle_lanes(lanes, explained):
    """Half of the places are empty, and half of the samples are of the one of the two warps of each block that passes an exit."""
    evidence = evidence_of(
        *executing(1e6, *BY_DATA),
        ("@P0 EXIT", 2000),
        ("FADD R4, R4, R6", 1000),
        block=64,
        figures={"occupancy_pct": 50.0, "occupancy_limit_pct": 100.0, "waves": 20.0},
        busy=dict.fromkeys(BUSY, 0.0),
        waits={"long_scoreboard": 1.0},
        facts={len(BY_DATA) + 1: {"lanes": lanes}},
    )
    for site in (evidence.sites[0], evidence.sites[-1]):
        change_instruction(site, samples=50)
    (candidate,) = grid.detect_imbalance(evidence)
    assert candidate.saves == pytest.approx(0.5 * (1 - 0.5 * explained))
    idle = [one for one in detect_idle_lanes(evidence) if one.effect.waits[NO_WARP]]
    assert [one.effect.waits[NO_WARP] for one in idle] == (
        [pytest.approx(0.5 * explained)] if explained else []
    )


@pytest.mark.parametrize(
    ("waves", "found"), [(1.0, []), (1.01, ["uneven-last-wave"]), (2.0, []), (9.9, ["uneven-last-wave"])]
)  # fmt: skip
def test_a_last_round_matters_unless_it_is_full(waves, found):
    assert names(grid.detect_last_wave, evidence_of(LOAD, figures={"waves": waves})) == found


def test_an_uneven_last_round_never_saves_more_than_the_places_that_it_leaves_empty():
    figures = {"waves": 1.25, "occupancy_pct": 10.0, "occupancy_limit_pct": 100.0}
    (candidate,) = grid.detect_last_wave(evidence_of(LOAD, figures=figures))
    assert candidate.saves <= candidate.at_most == pytest.approx(0.375)


@pytest.mark.parametrize(("busy", "saved"), [(0.2, 0.25), (0.9, 0.1)])
def test_an_even_last_round_gives_the_busiest_resource_no_less_to_do(busy, saved):
    figures = {"waves": 1.5, "occupancy_pct": 37.5, "occupancy_limit_pct": 50.0}
    (candidate,) = grid.detect_last_wave(evidence_of(LOAD, ADD, busy={"alu": busy}, figures=figures))
    assert candidate.saves == pytest.approx(saved)
    assert candidate.at_most == pytest.approx(0.25)


@pytest.mark.parametrize(("resting", "saved"), [(0.0, 0.0), (0.25, 0.25), (0.5, 0.375)])
def test_sms_without_a_block_in_the_last_round_are_missing_although_all_at_work_are_full(resting, saved):
    """The occupancy is the mean over the cycles in which an SM has a block at all."""
    figures = {"waves": 1.25, "occupancy_pct": 100.0, "occupancy_limit_pct": 100.0, "blocks_by_registers": 1.0,
               "l1tex__cycles_active.avg": 1 - resting, "l1tex__cycles_active.max": 1.0}  # fmt: skip
    assert grid.find_unfilled(evidence_of((LOAD, 1e9), figures=figures)) == pytest.approx(saved)


@pytest.mark.parametrize(
    ("waves", "executed", "found"),
    [
        (2.0, 100.0, []),  # all execute as much: the SM that took longest was given a block more
        (2.0, 150.0, ["load-imbalance"]),
        (2.0, None, ["load-imbalance"]),  # not recorded
        (20.0, 100.0, ["load-imbalance"]),  # a block more takes a twentieth of the time, and a long one more
    ],
)
def test_an_sm_that_takes_less_than_a_round_longer_has_more_to_do_if_it_executes_more(waves, executed, found):
    figures = {"waves": waves, "sms": 132.0, "l1tex__cycles_active.min": 60.0,
               "l1tex__cycles_active.avg": 60.0, "l1tex__cycles_active.max": 100.0}  # fmt: skip
    if executed is not None:
        figures |= {"smsp__inst_executed.avg": 100.0, "smsp__inst_executed.max": executed}
    assert names(grid.detect_imbalance, evidence_of(LOAD, figures=figures)) == found


@pytest.mark.parametrize(
    ("executed", "saved"),
    [
        # Each of 8 warps of 1,000 blocks once: the next block comes too slowly, in all rounds.
        (8 * 1000.0, 0.0),
        (8 * 5000.0, 0.2 / 11),
    ],
)
def test_warps_that_are_missing_between_short_blocks_are_not_missing_in_the_last_round(executed, saved):
    figures = {"waves": 10.8, "occupancy_pct": 60.0, "occupancy_limit_pct": 100.0}
    evidence = evidence_of((LOAD, executed), figures=figures, grid=1000, block=256)
    assert grid.find_unfilled(evidence) == pytest.approx(saved)


def test_sms_that_work_equally_long_are_in_balance():
    def cycles(mean):
        return {
            "waves": 20.0,
            "sms": 132.0,
            "l1tex__cycles_active.min": mean,
            "l1tex__cycles_active.avg": mean,
            "l1tex__cycles_active.max": 100.0,
        }

    assert names(grid.detect_imbalance, evidence_of(LOAD, figures=cycles(100.0))) == []
    assert names(grid.detect_imbalance, evidence_of(LOAD, figures=cycles(60.0))) == ["load-imbalance"]


@pytest.mark.parametrize(("empty", "found"), [(0.5, ["load-imbalance"]), (0.02, [])])
def test_without_counters_of_each_sm_schedulers_without_a_warp_show_uneven_work(empty, found):
    """3 us are what starting the launch takes, in which there is no warp either."""
    figures = {"waves": 20.0, "sms": 132.0, "duration_ns": 100_000.0}
    evidence = evidence_of(
        (LOAD, 1e9), figures=figures, busy={"issue": 0.0}, waits={"no_warp": empty, "wait": 1 - empty}
    )
    assert names(grid.detect_imbalance, evidence) == found


def test_a_small_grid_is_described_by_what_it_costs():
    lines = [LOAD, "FADD R9, R9, R4"]

    def sentence(blocks, waves=0.1, **facts):
        figures = {"waves": waves, "sms": 132.0}
        evidence = evidence_of(*lines, grid=blocks, facts={1: facts}, figures=figures)
        (candidate,) = grid.detect_small_grid(evidence)
        return candidate.sentence

    assert sentence(66).endswith("50 % of the SMs have nothing to do.")
    assert sentence(131, waits={"long_scoreboard": 90}).endswith("90 % of their places are empty.")
    nearly_all = sentence(131, waves=0.002, waits={"long_scoreboard": 90})
    assert nearly_all.endswith("> 99 % of their places are empty.")


@pytest.mark.parametrize(
    ("duration", "said"),
    [
        (2_200.0, "The launch takes 2.2 us, about as long as one that does nothing."),
        (6_900.0, "The launch takes 6.9 us, and starting and ending any launch takes about 3 us."),
    ],
)
def test_a_launch_is_not_said_to_take_less_than_starting_one(duration, said):
    (candidate,) = grid.detect_short_launch(evidence_of(LOAD, figures={"duration_ns": duration}))
    assert candidate.sentence == said


def test_one_block_is_not_called_blocks():
    (candidate,) = grid.detect_small_grid(evidence_of(LOAD, grid=1, figures={"waves": 0.01, "sms": 30.0}))
    assert candidate.sentence.startswith("1 block for 30 SMs, which hold 100 at once")


@pytest.mark.parametrize(
    ("mean", "found"),
    [
        (50.0, []),  # 66 of 132 SMs have a block, and all of these are done at the same time
        (49.0, ["98 %"]),
        (25.0, ["50 %"]),
    ],
)
def test_sms_that_get_no_block_are_no_imbalance(mean, found):
    """What too few blocks explain belongs to that cause: least and mean of all SMs would say it once more."""
    figures = {"waves": 0.25, "sms": 132.0, "l1tex__cycles_active.min": 0.0,
               "l1tex__cycles_active.avg": mean, "l1tex__cycles_active.max": 100.0}  # fmt: skip
    candidates = list(grid.detect_imbalance(evidence_of(LOAD, figures=figures, grid=66)))
    assert [one.sentence.partition(" are active for ")[2][:4] for one in candidates] == found
    for one in candidates:
        assert one.sentence.startswith("SMs with a block are active")
        assert one.saves == pytest.approx((50.0 - mean) / 100)


@pytest.mark.parametrize(
    ("blocks", "waves", "executed", "said"),
    [
        (256, 0.25, 97.0, "some have a block more than others."),  # 124 SMs have two blocks, and 8 have one
        (256, 0.25, 95.0, "some blocks take longer than the rest."),
        (157, 0.25, 80.0, "some blocks take longer than the rest."),  # 25 SMs have two, which would execute 40 % more
        (264, 0.25, 97.0, "some blocks take longer than the rest."),  # each SM has two
        (256, 3.0, 97.0, "some blocks take longer than the rest."),  # whoever is done takes the next block
    ],
)  # fmt: skip
def test_an_sm_with_a_block_more_has_no_longer_block(blocks, waves, executed, said):
    figures = {"waves": waves, "sms": 132.0, "l1tex__cycles_active.min": 50.0, "l1tex__cycles_active.avg": 80.0,
               "l1tex__cycles_active.max": 100.0, "smsp__inst_executed.avg": executed, "smsp__inst_executed.max": 100.0}  # fmt: skip
    (candidate,) = grid.detect_imbalance(evidence_of(LOAD, figures=figures, grid=blocks))
    assert candidate.sentence.endswith(said)
    assert ("a multiple of 132 blocks" in candidate.advice) == ("a block more" in said)


@pytest.mark.parametrize(
    ("least", "waves", "advised"),
    [
        (10.0, 3.0, "Split the long pieces: one block lasts for 90 % of the time at least"),
        (70.0, 3.0, "start them first"),  # 70 % of the time are more than the 20 % that could be saved
        (10.0, 1.0, "start them first"),  # a block of the only round may take many pieces, one after the other
    ],
)  # fmt: skip
def test_a_block_that_lasts_for_most_of_the_time_is_to_be_split(least, waves, advised):
    active = {"min": least, "avg": max(least, 80.0), "max": 100.0}
    figures = {"waves": waves, "sms": 132.0} | {
        f"l1tex__cycles_active.{one}": value for one, value in active.items()
    }
    (candidate,) = grid.detect_imbalance(evidence_of(LOAD, figures=figures, grid=2640))
    assert advised in candidate.advice


@pytest.mark.parametrize(
    ("place", "length", "samples", "blamed"),
    [
        ("S2R R6, SR_CTAID.X", "LDG.E R3, [R6.64]", 60, True),
        ("S2R R6, SR_TID.X", "LDG.E R3, [R6.64]", 60, True),
        ("LDS R6, [R8]", "LDG.E R3, [R6.64]", 60, True),  # from a list that threads have left there
        ("S2R R6, SR_CTAID.X", "LDG.E R3, [R6.64]", 40, False),  # in other code for most of the time
        ("MOV R6, c[0x0][0x160]", "LDG.E R3, [R6.64]", 60, False),  # as many turns for all
        ("S2R R6, SR_CTAID.X", "MOV R3, c[0x0][0x160]", 60, False),
    ],
)
def test_an_imbalance_is_at_the_loop_whose_turns_data_decide_if_warps_are(place, length, samples, blamed):
    candidate, behind = uneven(place, length, samples)
    assert candidate.blames_lines == blamed
    assert (behind in candidate.weights) != blamed


def uneven(place, length, samples, lanes=32.0, active=60.0):
    """Returns the cause that a loop is of so many turns as `length` says, with the instruction behind it; `lanes` are left in a turn."""
    figures = {"waves": 20.0, "sms": 132.0, "l1tex__cycles_active.min": active,
               "l1tex__cycles_active.avg": active, "l1tex__cycles_active.max": 100.0}  # fmt: skip
    turn = ("FADD R5, R5, R4", "IADD3 R2, R2, 0x1, RZ", "ISETP.NE.AND P0, PT, R2, R3, PT", "@P0 BRA 0x30")
    evidence = evidence_of("MOV R2, RZ", place, length, *executing(900, *turn), "EXIT", figures=figures)
    for site in evidence.sites:
        site.lanes = lanes if site.instruction.text in turn else 32.0
        here = samples // len(turn) if site.instruction.text in turn else (100 - samples) // 4
        change_instruction(site, samples=here)
    (candidate,) = grid.detect_imbalance(evidence)
    return candidate, evidence.sites[-1]


@pytest.mark.parametrize(
    ("lanes", "active", "advice", "in_triton"),
    [
        (3.2, 60.0, "a warp for each row", ""),
        (3.2, 20.0, "a warp for each row", ""),
        (32.0, 60.0, "Share the work out evenly", ""),
        (32.0, 20.0, "one block lasts for 80 %", "one program lasts for 80 %"),
    ],
)
def test_turns_of_which_some_lanes_make_more_are_shared_out_in_their_warp(lanes, active, advice, in_triton):
    candidate, _ = uneven("S2R R6, SR_TID.X", "LDG.E R3, [R6.64]", 60, lanes, active)
    assert advice in candidate.advice
    assert in_triton in candidate.in_triton
    assert bool(in_triton) == bool(candidate.in_triton)


@pytest.mark.parametrize(("turns", "is_lonely"), [(300.0, True), (30.0, False)])
def test_where_few_warps_are_left_in_a_loop_its_turns_are_to_be_shared_out(turns, is_lonely):
    """All else takes a tenth of the time of the SM on which one warp stays."""
    active = {f"l1tex__cycles_active.{which}": 10.0 for which in ("min", "avg")}
    evidence = evidence_of(
        ("FFMA R2, R3, R4, R2", 999_000.0), ("MOV R4, RZ", 1.0), ("FADD R4, R4, R5", turns), ("@P0 BRA 0x20", turns), ("EXIT", 400.0),
        figures={"waves": 1.0, "sms": 132.0, "l1tex__cycles_active.max": 100.0} | active,
    )  # fmt: skip
    (candidate,) = grid.detect_imbalance(evidence)
    assert (
        "each of them executes 5 times as much as a warp does on average" in candidate.sentence
    ) == is_lonely
    assert candidate.advice.startswith("Share the turns of this loop out") == is_lonely
    if is_lonely:
        assert candidate.weights.keys() == set(evidence.sites[2:4])
        assert candidate.blames_lines
