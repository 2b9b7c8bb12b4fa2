"""Blocks that end at once leave their place to the next: those that have work decide how far they fill the GPU."""

import pytest
from made_evidence import change_instruction, evidence_of, executing

from profiler.analyse.causes.detectors.launch import grid
from profiler.analyse.causes.flow.working_blocks import (
    count_working_blocks,
    find_lone_warps,
    find_lonely_loops,
)

TEST = "ISETP.GE.AND P0, PT, R3, R5, PT"


def launched(*before, index="SR_CTAID.X", going_on=1000.0, end="@P0 EXIT", waves=1.25, sms=100.0):
    """A thousand blocks of four warps, 800 of which fit: those past the end of a list have nothing to do."""
    lines = executing(4000.0, f"S2R R3, {index}", "LDC R5, c[0x0][0x248]", TEST, *before, end)
    lines += [("LDG.E R4, [R8.64]", going_on), ("STG.E [R6.64], R4", going_on), ("EXIT", going_on)]
    return evidence_of(
        *lines,
        figures={"waves": waves, "sms": sms},
        waits={"long_scoreboard": 0.8, "issue": 0.2},
        grid=1000,
        block=128,
    )


def test_only_blocks_that_go_on_fill_the_gpu():
    evidence = launched()
    assert list(grid.detect_last_wave(evidence)) == []
    (candidate,) = grid.detect_small_grid(evidence)
    assert candidate.advice.startswith("Let each block that has work take less of it")
    assert candidate.sentence.startswith(
        "250 of 1,000 blocks have work, for 100 SMs, which hold 800 at once: 69 %"
    )
    assert candidate.saves == pytest.approx(0.8 * evidence.model.exposed * (1 - 250 / 800))


@pytest.mark.parametrize(("going_on", "working"), [(1000.0, "250"), (3.0, "1"), (2.5, "1")])
def test_an_sm_holds_as_many_blocks_however_many_have_work(going_on, working):
    """Less than a block on average is said to be one."""
    (candidate,) = grid.detect_small_grid(launched(going_on=going_on))
    assert candidate.sentence.startswith(f"{working} of 1,000 blocks ")
    assert "for 100 SMs, which hold 800 at once" in candidate.sentence
    assert candidate.evidence["blocks_at_once"] == 800


@pytest.mark.parametrize(
    ("going_on", "name"), [(1996.0, "load-imbalance"), (2000.0, "grid-too-small"), (2004.0, "grid-too-small")]
)
def test_where_most_blocks_end_at_once_the_work_is_not_shared_out(going_on, name):
    (candidate,) = grid.detect_small_grid(launched(going_on=going_on))
    assert candidate.name == name


def test_blocks_without_work_take_turns_of_a_loop_that_stores_its_own_results():
    lines = executing(
        4000.0, "S2R R3, SR_CTAID.X", "LDC.64 R8, c[0x0][0x210]", "LDC.64 R6, c[0x0][0x218]", TEST, "@P0 EXIT"
    )
    turn = (
        "LDG.E R4, [R8.64]",
        "STG.E [R6.64], R4",
        "IADD3 R8, R8, 0x4, RZ",
        "IADD3 R6, R6, 0x4, RZ",
        "@P1 BRA 0x60",
    )
    evidence = evidence_of(
        *lines, ("MOV R20, RZ", 400.0), *executing(3200.0, *turn), ("EXIT", 400.0), figures={"waves": 1.25, "sms": 100.0}, grid=1000, block=128,
        facts={6: {"waits": {"long_scoreboard": 90}}}, waits={"long_scoreboard": 0.8, "issue": 0.2},
    )  # fmt: skip
    assert count_working_blocks(evidence) == 100
    (candidate,) = grid.detect_small_grid(evidence)
    assert candidate.advice.startswith("Let the blocks without work take turns of the loop at made.cu:11")


def test_sharing_work_out_saves_no_more_than_there_are_blocks_for_it():
    (candidate,) = grid.detect_small_grid(launched(going_on=1900.0, waves=0.1))
    assert candidate.saves == pytest.approx(1 - 475 / 1000)


@pytest.mark.parametrize(
    ("sms", "name", "advice"),
    [
        (4000.0, "load-imbalance", "Let each block that has work take less"),
        (4001.0, "grid-too-small", "Split the work into more blocks"),
    ],
)
def test_blocks_of_which_more_would_help_most_are_too_few_whichever_of_them_have_work(sms, name, advice):
    """To share out among all that are launched makes it four times as fast, and as many blocks as SMs another four times, or more."""
    (candidate,) = grid.detect_small_grid(launched(waves=0.1, sms=sms))
    assert candidate.name == name
    assert candidate.advice.startswith(advice)
    shared_out, idle = 1 - 250 / 1000, 1 - 250 / sms
    assert candidate.saves == pytest.approx(shared_out if sms == 4000.0 else idle)


@pytest.mark.parametrize(
    "evidence",
    [
        launched(going_on=4000.0),  # no block ends there
        launched(index="SR_TID.X"),  # some warps of each block end, and the block keeps its place
        launched("STG.E [R6.64], R3"),  # after some work
        launched("BAR.SYNC.DEFER_BLOCKING 0x0"),
        launched(end="@P0 BRA 0x80"),  # to other work
    ],
)
def test_all_blocks_count_where_none_ends_at_once(evidence):
    assert count_working_blocks(evidence) == 1000
    assert list(grid.detect_small_grid(evidence)) == []
    (candidate,) = grid.detect_last_wave(evidence)
    assert candidate.evidence["waves"] == 1.25


def test_where_all_blocks_have_work_more_of_them_are_launched():
    (candidate,) = grid.detect_small_grid(launched(going_on=4000.0, waves=0.5))
    assert candidate.advice.startswith("Split the work into more blocks")


def test_a_round_of_those_that_have_work_may_be_uneven_too():
    (candidate,) = grid.detect_last_wave(launched(waves=5.0))
    assert candidate.sentence.startswith("The blocks that have work fill the GPU 1.25 times")


def test_no_more_blocks_have_work_than_warps_go_on():
    """Which warps of a block end, a test that depends on the thread does not say; but a block without a warp is gone."""
    evidence = launched(index="SR_TID.X", going_on=200.0)
    (candidate,) = grid.detect_small_grid(evidence)
    assert candidate.sentence.startswith("At most 200 of 1,000 blocks have work, for 100 SMs")
    assert candidate.saves == pytest.approx(0.8 * evidence.model.exposed * (1 - 200 / 800))
    assert list(grid.detect_last_wave(launched(index="SR_TID.X", going_on=200.0, waves=6.0))) == []


@pytest.mark.parametrize(
    ("coming", "passing", "guard", "lanes", "occupancy", "part"),
    [
        # All eight warps of 1,000 blocks work, and then one of each for as long: half of the time, seven of eight are missing.
        (8000.0, 1000.0, "@P0 ", 1.0, 100 * 9 / 16, 31 / 32),
        (8000.0, 1000.0, "@P0 ", 1.0, 100 * 9 / 32, 31 / 32 * 7 / 23),  # as many are missing for other reasons
        (8000.0, 1000.0, "@P0 ", 1.0, 75.0, 1.0),  # others still work meanwhile
        (8000.0, 1000.0, "@P0 ", 1.0, 100.0, 0.0),  # none is missing
        (8000.0, 1001.0, "@P0 ", 1.0, 100 * 9 / 16, 0.0),  # two warps of a block go on
        (8000.0, 999.0, "@P0 ", 1.0, 100 * 9 / 16, 0.0),  # not one of each block: the data chooses those that go on
        (1000.0, 1000.0, "@P0 ", 1.0, 100 * 9 / 16, 0.0),  # none has ended
        (8000.0, 1000.0, "", 1.0, 100 * 9 / 16, 0.0),  # another part of the code
        (8000.0, 1000.0, "@P0 ", 32.0, 100 * 9 / 16, 0.0),  # a warp of which all lanes work
    ],
)  # fmt: skip
def test_a_warp_that_goes_on_alone_behind_an_exit_explains_that_the_others_of_its_block_are_missing(
    coming, passing, guard, lanes, occupancy, part
):
    lines = ((TEST, coming), (f"{guard}EXIT", coming), ("FADD R4, R4, R6", passing), ("EXIT", passing), "MOV R2, R3")  # fmt: skip
    figures = {"occupancy_pct": occupancy, "occupancy_limit_pct": 100.0, "waves": 20.0}
    evidence = evidence_of(*lines, facts={place: {"lanes": lanes} for place in range(2, 5)}, figures=figures)
    for site, samples in zip(evidence.sites, (40, 40, 9, 1, 0), strict=True):
        change_instruction(site, samples=samples)
    assert sum(find_lone_warps(evidence).values()) == pytest.approx(part)


@pytest.mark.parametrize(
    ("executed", "lanes", "threads", "part"),
    [
        (2000.0, 1.0, 128, 0.6 * 31 / 32),  # one of four warps, in each turn: for each that works, three are missing
        (1999.0, 1.0, 128, 0.0),  # data decides
        (2000.0, 32.0, 128, 0.0),  # a warp of which all lanes work
        (8000.0, 1.0, 32, 0.0),  # a block of one warp has no others
    ],
)  # fmt: skip
def test_a_warp_to_which_each_turn_of_a_loop_sends_one_lane_works_alone(executed, lanes, threads, part):
    lines = (TEST, 80.0), ("@P0 BRA 0x30", 8000.0), ("FADD R4, R4, R6", executed), ("@P1 BRA 0x10", 8000.0)
    figures = {"occupancy_pct": 25.0, "occupancy_limit_pct": 100.0, "waves": 20.0}
    evidence = evidence_of(*lines, facts={2: {"lanes": lanes}}, figures=figures, block=threads)
    for site, samples in zip(evidence.sites, (30, 10, 60, 0), strict=True):
        change_instruction(site, samples=samples)
    assert sum(find_lone_warps(evidence).values()) == pytest.approx(part)


# 1,000 blocks of 8 warps execute a million instructions. In front of a loop of two instructions, so many warps arrive.
def with_lonely_loop(entering=1.0, turns=300.0, waves=1.0, sms=132.0):
    loop = (("FADD R4, R4, R5", entering * turns), ("@P0 BRA 0x20", entering * turns))
    code = (("FFMA R2, R3, R4, R2", 999_000.0), ("MOV R4, RZ", entering), *loop, ("EXIT", 400.0))
    return evidence_of(*code, figures={"waves": waves} | ({"sms": sms} if sms else {}))


@pytest.mark.parametrize(
    ("changed", "times"),
    [
        ({}, 4.8),  # 600 instructions, where a warp executes 125 on average
        ({"turns": 62.0}, None),  # no more than others
        ({"waves": 4.7}, 4.8),
        ({"waves": 4.9}, None),  # all rounds of blocks take longer
        ({"entering": 66.0}, 4.6),
        ({"entering": 67.0}, None),  # over half of the SMs may have such a warp
        ({"sms": None}, None),
    ],
)
def test_a_loop_that_few_warps_enter_lasts_for_longer_than_all_rounds_of_blocks(changed, times):
    lonely = find_lonely_loops(with_lonely_loop(**changed))
    assert {site.instruction.line for site in lonely} == (set() if times is None else {3, 4})
    assert times is None or max(lonely.values()) == pytest.approx(times, abs=0.05)
