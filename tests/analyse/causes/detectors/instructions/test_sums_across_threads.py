"""A loop in whose turns threads exchange values only to add them to a sum, and loops that look like it."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.instructions import sums_across_threads

BARRIER = "BAR.SYNC.DEFER_BLOCKING 0x0"
TURN = {
    "load": "LDG.E R8, [R2]",
    "own": "FADD R8, R8, R9",
    "shuffle": "SHFL.BFLY PT, R10, R8, 0x10, 0x1f",
    "add": "FADD R10, R8, R10",
    "store": "@!P2 STS [R23], R10",
    "meet": BARRIER,
    "fetch": "LDS R12, [R24]",
    "sum": "FADD R4, R12, R4",
    "next": "IADD3 R2, R2, 0x80, RZ",
    "end": "@P0 BRA 0x10",
}
# The same without shared memory, by the lanes of a warp.
IN_A_WARP = {"store": "", "meet": "", "fetch": "", "sum": "FADD R4, R10, R4"}


def found(turns=64, line=None, **changed):
    """The causes that are named in a loop of which some instructions were changed, or left out."""
    turn = [one for each in {**TURN, **changed}.values() if each for one in each.split("; ")]
    executed = [(one, 100.0 * turns) for one in turn]
    evidence = evidence_of("MOV R4, RZ", *executed, "EXIT", line=line)
    return list(sums_across_threads.detect_sums_across_threads(evidence))


@pytest.mark.parametrize(
    ("line", "said"), [(None, "In each of 64 turns of a loop, "), (1, "In each turn of a loop, ")]
)
def test_the_turns_are_not_counted_where_the_loop_may_be_unrolled(line, said):
    """Each load, store and barrier of a line stands in it twice."""
    twice = {part: f"{TURN[part]}; {TURN[part]}" for part in ("load", "store", "meet")}
    (one,) = found(line=line, **twice)
    assert one.sentence.startswith(said)
    assert ("turns" in one.evidence) == ("64" in said)


def test_threads_could_add_up_their_own_values_and_exchange_sums_once():
    (one,) = found()
    names = [site.instruction.name for site in one.weights]
    assert names == ["SHFL", "FADD", "STS", "BAR", "LDS"]  # each thread's own additions stay
    assert set(one.effect.resources) >= {"lsu", "issue"}
    assert one.effect.resources["lsu"] == pytest.approx(
        (1 - 1 / 64) * 3 / 4
    )  # the shuffle, and all accesses but the load


@pytest.mark.parametrize(
    "own", [TURN["own"], f"STS [R23], R8; {BARRIER}; LDS R8, [R24]"], ids=["alone", "beside a tile"]
)
def test_lanes_that_add_up_by_shuffles_alone_could_do_so_once_as_well(own):
    """What threads exchange through shared memory before they add anything up stays."""
    (one,) = found(**IN_A_WARP, own=own)
    assert [site.instruction.name for site in one.weights] == ["SHFL", "FADD"]
    assert "by shuffles" in one.sentence


def test_the_last_product_of_a_thread_may_be_added_with_what_the_others_have():
    (one,) = found(add="FFMA R10, R8, R9, R10")
    assert [site.instruction.name for site in one.weights] == ["SHFL", "FFMA", "STS", "BAR", "LDS"]


def test_a_half_that_is_loaded_anew_in_each_turn_is_not_left_from_the_turn_before():
    """Its register held what the others had."""
    load = "PRMT R12, RZ, 0x7610, R12; @P3 LDG.E.U16 R12, [R2]; HADD2.F32 R8, -RZ, R12.H0_H0"
    assert found(load=load)
    assert not found(load=load.replace(".U16", ""))


@pytest.mark.parametrize(
    "changed",
    [
        {"add": "FFMA R10, R10, R9, R8"},  # a product with what the others have
        {"add": "FFMA R10, R8, R9, R10; FMNMX R10, R8, R10, !PT"},  # the greater of a sum and a value
        {"sum": "FADD R4, R12, R4; FMUL R8, R4, R7"},  # each turn needs the sum
        {"sum": "FADD R4, R12, R4; FMUL R13, R12, R7"},  # or the result of the exchange
        {"own": "FADD R8, R8, R12"},  # or the next turn does
        {"sum": "FFMA R4, R12, R7, R4"},  # a weighted sum, with another weight in each turn
        {"sum": "FMNMX R4, R12, R4, !PT"},  # the greatest of sums
        {"sum": "STG.E [R2], R12"},  # each turn has its own result
        {"shuffle": "", "add": "", "store": "STS [R23], R8"},  # a tile, whose values others need
        {
            "store": "STS [R25], R8; STS [R23], R10"
        },  # so is what is stored as it was loaded, before it is shuffled
        {**IN_A_WARP, "sum": "FADD R4, R10, R4; FMUL R8, R10, R7"},
        {"turns": 3},
    ],
)
def test_an_exchange_that_a_turn_needs_stays(changed):
    assert found(**changed) == []


def test_the_greatest_of_the_greatest_is_found_after_the_loop_too():
    assert found(add="FMNMX R10, R8, R10, !PT", sum="FMNMX R4, R12, R4, !PT")


ADDED = "@!P2 REDG.E.ADD.F32.FTZ.RN.STRONG.GPU desc[UR4][R16.64], R10"
# Each lane computes its own values from what it holds, and one lane adds the sum of all to a place of the turn's own.
IN_MEMORY = {**IN_A_WARP, "load": "I2FP.F32.S32 R8, R3", "sum": f"{ADDED}; IADD3 R16, R16, 0x4, RZ"}


def found_in_memory(lanes=1.0, turns=64, **changed):
    lines = [line for one in {**TURN, **IN_MEMORY, **changed}.values() if one for line in one.split("; ")]
    at = next(place for place, line in enumerate(lines, start=1) if "ATOM" in line or "RED" in line)
    executed = ((line, 100.0 * turns) for line in lines)
    evidence = evidence_of("MOV R4, RZ", *executed, "EXIT", facts={at: {"acting": lanes, "lanes": lanes}})
    return list(sums_across_threads.detect_sums_across_threads(evidence))


def test_threads_exchange_their_roles_where_each_turn_has_a_sum_of_its_own_in_memory():
    (one,) = found_in_memory()
    assert [site.instruction.name for site in one.weights] == ["SHFL", "FADD", "REDG"]
    assert "one of them adds the result to what is in memory" in one.sentence
    assert one.advice.startswith("Exchange the roles")


def test_turns_that_add_to_one_place_in_memory_can_do_so_once():
    (one,) = found_in_memory(sum=ADDED)
    assert one.advice.startswith("Let each thread add up its own values in the loop")


@pytest.mark.parametrize(
    "changed",
    [
        {"lanes": 2.0},  # more than one lane of each warp updates
        {"sum": f"{ADDED.replace('ADD', 'MAX')}; IADD3 R16, R16, 0x4, RZ"},  # no sum
        {"sum": "ATOMG.E.ADD.STRONG.GPU PT, R12, desc[UR4][R16.64], R10; IADD3 R16, R16, 0x4, RZ"},  # the old value counts
        {"sum": f"{ADDED}; IADD3 R16, R16, R10, RZ"},  # the sum says where the next one goes
        {"load": TURN["load"]},  # rows, which lanes load side by side
        {"turns": 31},  # too few for the lanes of a warp to share out
    ],
)  # fmt: skip
def test_an_exchange_for_an_update_that_threads_could_not_make_alone_stays(changed):
    assert found_in_memory(**changed) == []
