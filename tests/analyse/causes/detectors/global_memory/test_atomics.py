"""Atomics that warps wait for, and loops that repeat one until it succeeds: that is waiting for others, and no cause of its own."""

from dataclasses import replace

import pytest
from made_evidence import LOAD, TOGETHER, active, evidence_of, executing, names

from profiler.analyse.causes.detectors.global_memory import atomics
from profiler.analyse.causes.detectors.global_memory.advice_on_atomics import find_spared_by_sorting
from profiler.analyse.causes.detectors.idle_lanes import lanes
from profiler.analyse.causes.detectors.waiting import barriers
from profiler.analyse.causes.flow.memory import retries

UPDATE = ("LDS R2, [R8]", "FADD R3, R4, R2", "ATOMS.CAST.SPIN R3, [R8], R2, R3", "ISETP.EQ.U32.AND P0, PT, R3, 0x1, PT", "@!P0 BRA 0x10")  # fmt: skip
# The first thread asks for the lock, and tells the others through shared memory whether it has it.
LOCK = ("@P1 ATOMG.E.CAS.STRONG.GPU PT, R8, [R2], R8, R9", "@P1 STS [R5], R8", "BAR.SYNC.DEFER_BLOCKING 0x0", "LDS R9, [R5]", "ISETP.NE.U32.AND P0, PT, R9, 0x1, PT", "@!P0 BRA 0x10")  # fmt: skip
# A flag for each element, and its old value counts.
COUNTED = ("ATOMG.E.CAS.STRONG.GPU PT, R8, [R2], R8, R9", "IADD3 R7, R7, R8, RZ", "IADD3 R6, R6, 0x1, RZ", "ISETP.NE.U32.AND P0, PT, R6, R10, PT", "@P0 BRA 0x10")  # fmt: skip
LEFT_BY_ITS_RESULT = ("ATOMG.E.EXCH.STRONG.GPU PT, R8, [R2], R9", "ISETP.NE.U32.AND P0, PT, R8, RZ, PT", "@!P0 BRA 0x50", "NANOSLEEP 0x40", "BRA 0x10")  # fmt: skip


def retried(*loop, turns=400.0):
    evidence = evidence_of("MOV R8, R9", *executing(turns, *loop), "EXIT")
    return {site.position for site in retries.add_retries(evidence).retried}


@pytest.mark.parametrize(
    ("loop", "found"), [(UPDATE, True), (LOCK, True), (LEFT_BY_ITS_RESULT, True), (COUNTED, False)]
)
def test_a_loop_repeats_an_atomic_if_its_result_ends_the_loop(loop, found):
    assert retried(*loop) == (set(range(1, len(loop) + 1)) if found else set())


@pytest.mark.parametrize(("turns", "found"), [(190.0, False), (210.0, True)])
def test_a_loop_that_mostly_succeeds_at_once_does_work_of_its_own(turns, found):
    """100 warps enter it."""
    assert bool(retried(*UPDATE, turns=turns)) == found


@pytest.mark.parametrize("adding", [False, True])
def test_barriers_inside_a_lock_end_with_the_lock_and_not_by_themselves(adding):
    lines = ("MOV R8, R9", *executing(400.0, *LOCK), "EXIT")
    facts = {4: {"waits": {"barrier": 10}}}
    evidence = evidence_of(*lines, facts=facts)
    evidence = retries.add_retries(evidence) if adding else evidence
    assert bool(list(barriers.detect_barriers(evidence))) == (not adding)
    (candidate,) = atomics.detect_atomics(evidence)
    assert candidate.effect.waits["barrier"] > 0.9


def test_a_lock_that_is_taken_by_an_exchange_counts_with_all_of_its_loop():
    lines = ("MOV R8, R9", *executing(400.0, *LEFT_BY_ITS_RESULT), "EXIT")
    (candidate,) = atomics.detect_atomics(retries.add_retries(evidence_of(*lines)))
    assert "which are retried in a loop" in candidate.sentence
    assert {site.position for site in candidate.weights} == {1, 2, 3, 4, 5}


REDUCTION, IN_SHARED = "REDG.E.ADD.F32.FTZ.RN.STRONG.GPU [R2.64], R5", "ATOMS.ADD R8, [R4], R9"


def test_atomics_of_both_memories_are_one_cause():
    facts = {0: {"sectors": 3200.0}, 1: {"passes": 32_000.0, "waits": {"short_scoreboard": 5}}}
    evidence = evidence_of(REDUCTION, (IN_SHARED, 1000.0), *["FADD R6, R6, R7"] * 9, "EXIT", facts=facts, busy={"l2": 0.9, "l1": 0.8})  # fmt: skip
    (candidate,) = atomics.detect_atomics(evidence)
    assert {site.instruction.name for site in candidate.weights} == {"REDG", "ATOMS"}
    assert "waiting for atomics." in candidate.sentence


def test_atomics_of_both_memories_that_keep_a_unit_busy_are_of_neither():
    """Nobody waits for them; of both, those in shared memory run more often, and L2 is the busier unit."""
    facts = {0: {"sectors": 3200.0}, 1: {"passes": 32_000.0}, 2: {"waits": {"lg_throttle": 9}}}
    evidence = evidence_of(REDUCTION, (IN_SHARED, 1000.0), "FADD R6, R6, R7", "EXIT", facts=facts, busy={"l2": 0.9, "l1": 0.8})  # fmt: skip
    (candidate,) = atomics.detect_atomics(evidence)
    assert candidate.sentence == "Atomics keep L2 busy for 90 % of the time."


@pytest.mark.parametrize(
    ("update", "reader", "in_order"),
    [
        ("ATOMG.E.ADD.STRONG.GPU PT, R8, [R2.64], R9", "IMAD.WIDE R10, R8, 0x4, R12", True),
        ("ATOMS.ADD R8, [R2], R9", "IMAD.WIDE R10, R8, 0x4, R12", True),
        ("ATOMG.E.ADD.STRONG.GPU PT, R8, [R2.64], R9", "IMAD.WIDE R10, R7, 0x4, R12", False),
        ("ATOMG.E.CAS.STRONG.GPU PT, R8, [R2.64], R6, R9", "IMAD.WIDE R10, R8, 0x4, R12", False),
        ("REDG.E.ADD.STRONG.GPU [R2.64], R9", "IMAD.WIDE R10, R8, 0x4, R12", False),
        # A sum is no place, nor is a count that says which block is the last one.
        ("ATOMG.E.ADD.F32.FTZ.RN.STRONG.GPU PT, R8, [R2.64], R9", "FADD R10, R8, R9", False),
        ("ATOMG.E.ADD.STRONG.GPU PT, R8, [R2.64], R9", "ISETP.NE.AND P0, PT, R8, R12, PT", False),
    ],
)
def test_what_is_added_up_first_still_gives_each_its_place_if_the_old_value_is_used(update, reader, in_order):
    (candidate,) = atomics.detect_atomics(evidence_of(update, reader, "EXIT"))
    assert all(
        ("take room by one update for all elements" in advice) is in_order
        for advice in (candidate.advice, candidate.in_triton or candidate.advice)
    )


@pytest.mark.parametrize(("elsewhere", "is_retried"), [(99, True), (101, False)])
def test_atomics_are_said_to_be_retried_where_the_loops_that_retry_them_are_most_of_it(elsewhere, is_retried):
    """Warps wait for 100 samples in the loop, and for the others at an atomic that succeeds at once."""
    facts = {3: {"waits": {"short_scoreboard": 100}}, 6: {"waits": {"mio_throttle": elsewhere}}}
    evidence = evidence_of("MOV R8, R9", *UPDATE, "ATOMS.ADD RZ, [R6], R4", "EXIT", facts=facts)
    (candidate,) = atomics.detect_atomics(evidence)
    assert ("which are retried in a loop" in candidate.sentence) == is_retried


STORED, CHANGED = "store instead", "Read the place first"
IN_TRITON = {STORED: "`tl.store` instead of `tl.atomic_xchg`", CHANGED: "Load the places first", None: ""}
SWAPPED = "ATOMG.E.CAS.STRONG.GPU PT, R13, [R10], R12, R13"


@pytest.mark.parametrize(
    ("lines", "advised"),
    [
        (["ATOMS.EXCH RZ, [R7], R26"], STORED),
        (["ATOMS.EXCH R8, [R7], R26"], None),
        (["ATOMS.CAS R8, [R7], R5, R6", *["ATOMS.EXCH RZ, [R7], R26"] * 3], None),  # releases a lock
        (["ATOMS.EXCH RZ, [R7], R26", "ATOMS.ADD RZ, [R8], R4", "ATOMS.ADD RZ, [R9], R4"], None),
        (["REDG.E.AND.STRONG.GPU desc[UR6][R10.64], R13"], CHANGED),
        (["REDG.E.MIN.S32.STRONG.GPU desc[UR6][R10.64], R13"], CHANGED),
        (["REDG.E.ADD.STRONG.GPU desc[UR6][R10.64], R13"], None),
        (["REDG.E.XOR.STRONG.GPU desc[UR6][R10.64], R13"], None),
        (["FSEL R13, R19, R12, !P0", SWAPPED], CHANGED),  # the least, swapped in
        (["FADD R13, R19, R12", SWAPPED], None),
    ],
)
def test_what_is_no_sum_is_not_to_be_added_up(lines, advised):
    (candidate,) = atomics.detect_atomics(evidence_of(*lines, "EXIT", grid=10))
    assert [one for one in (STORED, CHANGED) if one in candidate.advice] == [advised] * bool(advised)
    assert IN_TRITON[advised] in candidate.in_triton
    assert "sum" not in candidate.in_triton


SET = "ATOMG.E.OR.STRONG.GPU PT, RZ, desc[UR6][R2.64], R5"


@pytest.mark.parametrize(
    ("address", "sectors", "contended", "spread"),
    [
        ("LDG.E R2, [R8.64]", 3200.0, False, True),  # data chooses a place for each lane
        ("LDG.E R2, [R8.64]", 3200.0, True, False),
        ("LDG.E R2, [R8.64]", 200.0, False, False),  # lanes share places: 128 bytes would fill four sectors
        ("LDG.E R2, [R8.64]", 399.9, False, True),  # some do by chance
        (
            "S2R R2, SR_TID.X",
            400.0,
            False,
            False,
        ),  # neighbours, whose places others of the grid may have, too
    ],
)
def test_reading_a_place_first_is_one_more_trip_where_few_updates_meet(address, sectors, contended, spread):
    facts = {1: {"sectors": sectors, "ideal_sectors": 400.0}}
    evidence = evidence_of(address, SET.replace("R2.64", "R2"), "EXIT", facts=facts)
    (candidate,) = atomics.detect_atomics(replace(evidence, atomics_are_contended=contended))
    assert ("is a trip to L2 for each" in candidate.advice) == spread
    assert ("is a trip to L2 for each" in candidate.in_triton) == spread
    assert "only if the bits are not set yet" in candidate.advice


@pytest.mark.parametrize(("sectors", "gone"), [(3200.0, 1 / 2), (1600.0, 0.0), (400.0, 0.0)])
def test_updates_that_need_less_than_their_sorting_are_left_as_they_are(sectors, gone):
    """The value and the place of a lane are half a sector when they are written and read again."""
    evidence = evidence_of(
        "LDG.E R2, [R8.64]",
        SET.replace("R2.64", "R2"),
        "EXIT",
        facts={1: {"sectors": sectors, "ideal_sectors": 400.0}},
    )
    assert list(find_spared_by_sorting(evidence, evidence.of("atomic")).values()) == [gone]


@pytest.mark.parametrize(
    ("change", "said"),
    [("AND", "bits that it clears are still set"), ("MIN.S32", "new value is less"), ("MAX.S32", "new value is greater")],
)  # fmt: skip
def test_what_an_update_changes_is_said_by_its_kind(change, said):
    (candidate,) = atomics.detect_atomics(evidence_of(SET.replace("OR", change), "EXIT"))
    assert f"update it only if {'the ' if 'new' in said else ''}{said}" in candidate.advice


FENCE, UPDATED = "@P1 MEMBAR.ALL.GPU", "@P1 ATOMG.E.MAX.S32.STRONG.GPU PT, RZ, desc[UR6][R2.64], R5"


@pytest.mark.parametrize(
    ("fence", "between", "belongs"),
    [
        (FENCE, (), True),
        (FENCE, ("@P1 ERRBAR",), True),
        (FENCE, ("IADD3 R7, R7, R8, RZ",), False),
        ("MEMBAR.ALL.GPU", (), False),  # for all threads, whether they update or not
    ],
)
def test_a_fence_goes_with_the_atomic_that_it_orders(fence, between, belongs):
    """A lane of each warp fences, and then updates: the waiting for the fence is that for the atomic, and not for other warps."""
    lines = ("BAR.SYNC.DEFER_BLOCKING 0x0", fence, *between, UPDATED, "EXIT")
    facts = {2: {"waits": {"membar": 30}}}
    evidence = evidence_of(*lines, facts=facts)
    (candidate,) = atomics.detect_atomics(evidence)
    assert (evidence.sites[1] in candidate.weights) == belongs
    assert ("at the fences of atomics in global memory" in candidate.sentence) == belongs
    assert bool(list(barriers.detect_barriers(evidence))) == (not belongs)


@pytest.mark.parametrize(("contended", "advised"), [(False, True), (True, False)])
def test_fences_can_be_left_out_where_updates_do_not_queue_anyway(contended, advised):
    evidence = evidence_of(FENCE, UPDATED, "EXIT", facts={1: {"waits": {"membar": 30}}})
    (candidate,) = atomics.detect_atomics(replace(evidence, atomics_are_contended=contended))
    assert ("memory_order_relaxed" in candidate.advice) == advised
    assert ('sem="relaxed"' in candidate.in_triton) == advised


@pytest.mark.parametrize(
    ("fenced", "reader", "comes_first"),
    [(15, "NOP", True), (14, "NOP", False), (15, "ISETP.EQ.AND P1, PT, R4, R9, PT", False)],
)
def test_to_leave_fences_out_comes_first_where_most_of_the_waiting_is_for_them(fenced, reader, comes_first):
    """Unless the old value is used: it may say which blocks have stored before."""
    waits = {1: {"waits": {"membar": fenced, "lg_throttle": 15}}}
    update = "@P1 ATOMG.E.ADD.STRONG.GPU PT, R4, desc[UR6][R2.64], R5"
    (candidate,) = atomics.detect_atomics(evidence_of(FENCE, update, reader, "EXIT", facts=waits))
    assert (
        "at the fences of atomics in global memory: each holds up its warp" in candidate.sentence
    ) == comes_first
    assert (
        "waiting for atomics in global memory and for the fences around them" in candidate.sentence
    ) != comes_first
    for advice in (candidate.advice, candidate.in_triton):
        assert advice.startswith("Where no other access has to be in order") == comes_first
        assert advice.count("leave out their fences") == 1
    assert (
        "Add up inside the program" in candidate.in_triton
    ) != comes_first  # fewer updates are worth less than none to wait for


@pytest.mark.parametrize(("waited_at", "comes_first"), [("@P1 CCTL.IVALL", True), ("FADD R6, R4, R5", False)])
def test_a_fence_also_waits_for_the_result_of_the_atomic_before_it(waited_at, comes_first):
    update = "@P1 ATOMG.E.ADD.STRONG.GPU PT, R4, desc[UR6][R2.64], R5"
    waits = {1: {"waits": {"membar": 14}}, 2: {"waits": {"long_scoreboard": 15}}}
    (candidate,) = atomics.detect_atomics(evidence_of(FENCE, update, waited_at, "EXIT", facts=waits))
    assert candidate.in_triton.startswith("Where no other access has to be in order") == comes_first


def test_a_fence_at_which_nobody_waits_is_not_spoken_of():
    evidence = evidence_of(FENCE, UPDATED, "EXIT", facts={1: {"waits": {"long_scoreboard": 30}}})
    (candidate,) = atomics.detect_atomics(evidence)
    assert "fences" not in candidate.sentence
    assert evidence.sites[0] in candidate.weights


@pytest.mark.parametrize(("fence", "part"), [("MEMBAR.ALL.GPU", 0.0), ("IADD3 R7, R7, R8, RZ", 31 / 32)])
def test_a_fence_takes_as_long_for_all_lanes_as_for_one(fence, part):
    facts = {1: active(1.0), 2: {"waits": {"wait": 30, "membar": 30}}}
    evidence = evidence_of("MOV R8, R9", fence, "IADD3 R8, R7, 0x1, RZ", "EXIT", facts=facts)
    evidence.charged[evidence.sites[1]].update(evidence.charged[evidence.sites[2]])
    evidence.charged[evidence.sites[2]].clear()
    (candidate,) = lanes.detect_idle_lanes(evidence)
    assert candidate.effect.waits.get("membar", 0.0) == pytest.approx(part)


@pytest.mark.parametrize(
    ("acting", "blocks", "once"), [(1.0, 100, True), (32.0, 100, False), (1.0, 199, True), (1.0, 200, False)]
)
def test_who_updates_once_a_block_already_is_told_to_make_blocks_larger(acting, blocks, once):
    """100 warps update; with all lanes, 32 times as often. Where half of the blocks do not, it is a matter of what they find."""
    evidence = evidence_of(UPDATED, "EXIT", facts={0: {"acting": acting}}, grid=blocks)
    (candidate,) = atomics.detect_atomics(evidence)
    assert ("take more elements before it" in candidate.advice) == once


# Each block adds a row to that which data says: each thread of it has a place of its own there.
ADDED_ROW = (
    "S2R R4, SR_TID.X",
    "LDG.E R0, [UR4]",
    "IMAD R1, R0, 0x80, R4",
    "IMAD.WIDE R2, R1, 0x4, R8",
    "REDG.E.ADD.F32.FTZ.RN.STRONG.GPU desc[UR6][R2.64], R5",
    "EXIT",
)
NEIGHBOURS, SAME_WORDS = 400.0, 100.0  # sectors of 100 requests


@pytest.mark.parametrize(
    ("replaced", "sectors", "larger"),
    [
        ({}, NEIGHBOURS, True),
        ({}, SAME_WORDS, False),  # lanes of a warp can add up
        ({1: "LDG.E R0, [R4.64]"}, 3200.0, False),  # another row for each thread, as in a histogram
        ({0: "S2R R7, SR_TID.X", 1: "LOP3.LUT R4, R7, 0x1f, RZ, 0xc0, !PT"}, NEIGHBOURS, False),  # warps can
        ({2: "IMAD R1, R0, 0x80, R4", 3: "SHF.R.S32.HI R3, RZ, 0x1f, R4"}, NEIGHBOURS, True),  # the sign of an index
        ({2: "IMAD R1, R0, 0x80, R4", 3: "SHF.R.S32.HI R2, RZ, 0x1, R4"}, NEIGHBOURS, False),  # half of it
        ({5: ("@P0 BRA 0x30", 100.0)}, NEIGHBOURS, False),  # a thread that updates again can
        ({4: "ATOMG.E.EXCH.STRONG.GPU PT, RZ, desc[UR6][R2.64], R5"}, NEIGHBOURS, False),  # nothing is added up
        ({4: "REDG.E.OR.STRONG.GPU desc[UR6][R2.64], R5"}, NEIGHBOURS, False),
    ],
)  # fmt: skip
def test_where_only_a_thread_can_add_up_what_it_adds_fewer_blocks_are_launched(replaced, sectors, larger):
    lines = [replaced.get(place, line) for place, line in enumerate(ADDED_ROW)]
    facts = {4: {"sectors": sectors, "acting": 32.0, "lanes": 32.0}}
    evidence = evidence_of(*lines, facts=facts, block=128, figures={"waves": 1e9}, waits={"drain": 1.0})
    (candidate,) = atomics.detect_atomics(evidence)
    assert ("The threads of a block update places of their own" in candidate.advice) == larger
    assert ("launch" in candidate.effect.resources) == larger


COUNTED_IN_BLOCK = ("ATOMS.POPC.INC.32 RZ, [R3+URZ]", "BAR.SYNC.DEFER_BLOCKING 0x0", "LDS R5, [R2]", "REDG.E.ADD.STRONG.GPU desc[UR6][R8.64], R5")  # fmt: skip


@pytest.mark.parametrize(
    ("replaced", "has_copy"),
    [
        ({}, True),
        ({0: "STS [R3], R4"}, False),  # values that only pass through shared memory
        ({2: "LDG.E R5, [R2.64]"}, False),  # what is added was not counted in the block
    ],
)
def test_a_block_that_has_a_copy_already_is_told_to_take_more_elements_for_it(replaced, has_copy):
    lines = [replaced.get(place, line) for place, line in enumerate(COUNTED_IN_BLOCK)]
    facts = {3: {"acting": 32.0, "waits": {"lg_throttle": 900}}}
    (candidate,) = atomics.detect_atomics(evidence_of(*lines, "EXIT", facts=facts, figures={"waves": 1e9}))
    assert candidate.advice.startswith("Each block updates a copy of its own") == has_copy
    assert ("launch" in candidate.effect.resources) == has_copy


@pytest.mark.parametrize(
    ("loading", "sectors", "said"),
    [
        ("LDS R0, [R7]", SAME_WORDS, "Add up inside the warp"),
        ("LDS R0, [R7]", NEIGHBOURS, "copy of its own"),  # the counters speak against it
        ("LDS R0, [R4]", SAME_WORDS, "copy of its own"),  # a place for each thread, as in a histogram
    ],
)
def test_data_that_all_threads_load_from_one_address_say_one_place(loading, sectors, said):
    lines = ("S2R R4, SR_TID.X", "MOV R7, c[0x0][0x160]", loading, "IMAD.WIDE R2, R0, 0x4, R8", ADDED_ROW[4], ("@P0 BRA 0x20", 100.0), "EXIT")  # fmt: skip
    facts = {4: {"sectors": sectors, "acting": 20.0, "lanes": 20.0}}
    (candidate,) = atomics.detect_atomics(evidence_of(*lines, facts=facts, block=128))
    assert said in candidate.advice


@pytest.mark.parametrize(
    ("loading", "said"),
    [
        ("LDG.E R0, [R7]", "The lanes of a warp update places of their own"),  # where the rows of the block begin
        ("LDG.E R0, [R4]", "Let each block update a copy of its own"),  # a place for each thread, as in a histogram
    ],
)  # fmt: skip
def test_an_index_of_a_thread_behind_what_its_block_loads_is_no_place_that_data_says(loading, said):
    lines = ("S2R R4, SR_TID.X", "MOV R7, c[0x0][0x160]", loading, "IMAD R2, R0, UR4, R4", ADDED_ROW[4], "EXIT")  # fmt: skip
    facts = {4: {"sectors": NEIGHBOURS, "acting": 20.0, "lanes": 20.0}}
    (candidate,) = atomics.detect_atomics(evidence_of(*lines, facts=facts, block=(16, 8, 1)))
    assert candidate.advice.startswith(said)


ONE_PLACE, ITS_LANES = "REDG.E.ADD.F32.FTZ.RN.STRONG.GPU desc[UR6][R2.64], R5", 32.0


@pytest.mark.parametrize(
    ("sectors", "arrived", "held", "part"),
    [
        # 100 requests of a sector each, and loads of 400 sectors: L2 serves the lanes of each request one by one.
        (100.0, 3_600.0, 0.0, 3_200 / 3_600),
        (100.0, 2_000.0, 0.0, 1_600 / 2_000),  # as far as more arrives than is touched
        # And than is left of that behind L1, which holds half of what is loaded, and none of the lanes' 1,800 requests.
        (100.0, 2_000.0, 100 * 200 / 2_200, 1_800 / 2_000),
        (100.0, 9_000.0, 0.0, 3_200 / 3_600),  # a request has no more lanes
        (100.0, 500.0, 0.0, 100 / 500),
        # Neighbours update words of their own, 32 of them in four sectors: whatever else arrives is not theirs.
        (400.0, 3_600.0, 0.0, 400 / 800),
    ],
)
def test_lanes_that_update_one_address_come_to_l2_one_by_one(sectors, arrived, held, part):
    facts = {
        0: TOGETHER,
        1: {"sectors": sectors, "ideal_sectors": sectors, "acting": ITS_LANES, "lanes": ITS_LANES},
    }
    figures = {"l2_sectors": arrived, "l1_hit_pct": held}
    evidence = evidence_of("LDG.E R5, [R8.64]", ONE_PLACE, "EXIT", facts=facts, figures=figures)
    assert evidence.part_of_l2({evidence.sites[1]: 1.0}) == pytest.approx(part)


@pytest.mark.parametrize(
    ("sectors", "arrived", "held", "unused"),
    [
        (100.0, 3_600.0, 0.0, 300.0),
        # Of these, the lanes of the atomic requested 3,200, and 100 are what loads need.
        (100.0, 3_400.0, 100 * 200 / 3_600, 100.0),
        # Neighbours that update words of their own request no more than they touch.
        (400.0, 700.0, 100 * 100 / 800, 200.0),
    ],
)
def test_what_lanes_of_atomics_request_one_by_one_is_no_unused_part_of_loads(sectors, arrived, held, unused):
    facts = {
        0: {"sectors": 400.0, "ideal_sectors": 100.0},
        1: {"sectors": sectors, "ideal_sectors": sectors, "acting": ITS_LANES, "lanes": ITS_LANES},
    }
    figures = {"l2_sectors": arrived, "l1_hit_pct": held}
    evidence = evidence_of("LDG.E R5, [R8.64]", ONE_PLACE, "EXIT", facts=facts, figures=figures)
    assert evidence.excess_beyond_l1(evidence.sites[0]) == pytest.approx(unused)


@pytest.mark.parametrize(("busy", "said"), [(0.7, True), (0.2, False)])
def test_what_atomics_keep_busy_is_said_where_it_is_more_than_warps_wait_for(busy, said):
    facts = {
        0: {"sectors": 400.0, "ideal_sectors": 400.0, "waits": {"long_scoreboard": 70}},
        1: {"sectors": 100.0, "ideal_sectors": 100.0, "waits": {"lg_throttle": 30}},
    }
    evidence = evidence_of(
        "LDG.E R5, [R8.64]",
        ONE_PLACE,
        "EXIT",
        facts=facts,
        figures={"l2_sectors": 3_600.0},
        busy={"l2": busy},
    )
    (candidate,) = atomics.detect_atomics(evidence)
    assert ("; the atomics keep L2 busy for 62 % of the time." in candidate.sentence) == said


def test_atomics_that_warps_wait_for_are_named():
    evidence = evidence_of("RED.E.ADD [R2.64], R4", "EXIT", facts={0: {"waits": {"lg_throttle": 9}}})
    assert names(atomics.detect_atomics, evidence) == ["atomic-contention"]
    assert names(atomics.detect_atomics, evidence_of(LOAD)) == []


@pytest.mark.parametrize(
    ("atomic", "said"),
    [
        ("RED.E.ADD.STRONG.GPU [R2.64], R4", "__reduce_add_sync"),
        ("RED.E.ADD.F32.FTZ.RN.STRONG.GPU [R2.64], R4", "__shfl_down_sync"),
        ("ATOMG.E.ADD.64.STRONG.GPU PT, R4, [R2.64], R6", "__shfl_down_sync"),
    ],
)
def test_only_integers_of_32_bits_are_added_up_in_a_warp_by_one_instruction(atomic, said):
    (candidate,) = atomics.detect_atomics(evidence_of(atomic, "EXIT"))
    assert {word for word in ("__reduce_add_sync", "__shfl_down_sync") if word in candidate.advice} == {said}


@pytest.mark.parametrize(("made", "said"), [("FADD", "__shfl_down_sync"), ("IADD3", "__reduce_add_sync")])
def test_a_float_that_a_loop_swaps_in_is_no_integer(made, said):
    lines = [line.replace("FADD", made) for line in UPDATE]
    (candidate,) = atomics.detect_atomics(evidence_of("MOV R8, R9", *executing(400.0, *lines), "EXIT"))
    assert said in candidate.advice


@pytest.mark.parametrize(
    ("update", "step", "acting", "once"),
    [
        ("RED.E.ADD.F32.FTZ.RN.STRONG.GPU [R6.64], R4", "NOP", 1.0, True),
        ("RED.E.ADD.F32.FTZ.RN.STRONG.GPU [R6.64], R4", "NOP", 32.0, True),
        ("RED.E.ADD.F32.FTZ.RN.STRONG.GPU [R6.64], R4", "IADD3 R6, R6, 0x4, RZ", 32.0, False),
        ("ATOMG.E.ADD.STRONG.GPU PT, R8, [R6.64], R4", "NOP", 32.0, False),  # the old value says which place comes next
    ],
)  # fmt: skip
def test_whoever_updates_one_place_in_each_turn_of_a_loop_adds_up_first(update, step, acting, once):
    """One lane of each warp, or all lanes at places of their own."""
    facts = {1: {"acting": acting, "sectors": 1600.0}}
    lines = ["S2R R6, SR_TID.X", *executing(400.0, update, step, "@P1 BRA 0x10"), "EXIT"]
    (candidate,) = atomics.detect_atomics(evidence_of(*lines, facts=facts, grid=10))
    for advice in (candidate.advice, candidate.in_triton):
        assert advice.startswith("The turns of a loop update one place") == once


@pytest.mark.parametrize(
    ("lines", "advised"),
    [
        (("IMAD.WIDE R6, R3, 0x4, R8", "RED.E.ADD.STRONG.GPU [R6.64], R5"), "Add up inside the warp"),
        ((LOAD, "IMAD.WIDE R6, R4, 0x4, R8", "RED.E.ADD.STRONG.GPU [R6.64], R5"), "Let each block update a copy"),
        ((LOAD, "IMAD.WIDE R6, R3, 0x4, R8", "RED.E.ADD.STRONG.GPU [R6.64], R4"), "Add up inside the warp"),
        ((LOAD, "IMAD.SHL.U32 R6, R4, 0x4, RZ", "ATOMS.ADD RZ, [R6], R5"), "Let each warp, or every few lanes"),
        (("IMAD.SHL.U32 R6, R3, 0x4, RZ", "ATOMS.ADD RZ, [R6], R5"), "so that one lane updates for all"),
        # Lanes do not add up for each other if each has a place of its own, as by its index.
        (("S2R R3, SR_TID.X", "IMAD.SHL.U32 R6, R3, 0x4, RZ", "ATOMS.ADD RZ, [R6], R5"), "for its place"),
        # Floats say which place is updated, as that of a particle.
        (
            (
                *("S2R R3, SR_TID.X", "FADD R4, R4, R2", "F2I.TRUNC.NTZ R5, R4", "IMAD.WIDE R6, R5, 0x4, R8"),
                *("RED.E.ADD.STRONG.GPU [R6.64], R9", "@P0 BRA 0x10"),
            ),
            "Let each block update a copy",
        ),
    ],
)  # fmt: skip
def test_updates_of_one_place_are_added_up_and_those_where_data_says_get_copies(lines, advised):
    update = next(place for place, line in enumerate(lines) if line.startswith(("RED", "ATOM")))
    (candidate,) = atomics.detect_atomics(
        evidence_of(*lines, "EXIT", facts={update: {"waits": {"lg_throttle": 90}}})
    )
    assert advised in candidate.advice


PLACE_OF_DATA, PLACE_OF_BLOCK, PLACE_OF_LANE = (
    ("LDG.E R0, [R20.64]", "IMAD.WIDE R6, R0, 0x4, R8"),
    ("S2R R0, SR_CTAID.X", "IMAD.WIDE R6, R0, 0x4, R8"),
    ("S2R R0, SR_TID.X", "IMAD.WIDE R6, R0, 0x4, R8"),
)


@pytest.mark.parametrize(
    ("finding", "acting", "then", "then_in_triton"),
    [
        (PLACE_OF_DATA, 32.0, "let each block update a copy of its own", "add up inside the program"),
        (PLACE_OF_BLOCK, 1.0, "add up inside the block in shared memory", "add up inside the program"),
        (PLACE_OF_LANE, 32.0, "", ""),  # nobody else has something for its place
    ],
)
def test_after_its_loop_a_thread_adds_up_with_others_of_the_same_place(finding, acting, then, then_in_triton):
    turn = ("RED.E.ADD.F32.FTZ.RN.STRONG.GPU [R6.64], R4", "@P1 BRA 0x20")
    lines = (*finding, *executing(400.0, *turn), "EXIT")
    facts = {2: {"acting": acting, "sectors": 1600.0}}
    (candidate,) = atomics.detect_atomics(evidence_of(*lines, facts=facts, grid=10))
    for advice, place, more in (
        (candidate.advice, "register", then),
        (candidate.in_triton, "variable", then_in_triton),
    ):
        steps = f" first. After the loop, {more}" if more else ", and update once, after the loop."
        assert advice.startswith(f"The turns of a loop update one place: add up in a {place}{steps}")


def test_a_place_that_data_says_in_each_turn_is_another_one_although_its_registers_were_used_before():
    turn = ("LDG.E R4, [R6.64]", "IMAD.WIDE R6, R4, 0x4, R10", "RED.E.ADD.F32.FTZ.RN.STRONG.GPU [R6.64], R5")
    lines = ["MOV R6, R8", *executing(400.0, "IMAD.WIDE R6, R8, 0x4, R10", *turn, "@P1 BRA 0x10"), "EXIT"]
    (candidate,) = atomics.detect_atomics(evidence_of(*lines, facts={4: {"acting": 32.0}}, grid=10))
    assert "turns of a loop" not in candidate.advice


@pytest.mark.parametrize(
    ("turns", "copies", "several"), [(100.0, 1, False), (101.0, 1, True), (100.0, 2, True)]
)
def test_a_loop_that_makes_one_turn_updates_a_place_once_unless_that_is_unrolled(turns, copies, several):
    update = "RED.E.ADD.F32.FTZ.RN.STRONG.GPU [R6.64], R4"
    lines = ["S2R R6, SR_TID.X", *executing(turns, *[update] * copies, "@P1 BRA 0x10"), "EXIT"]
    facts = {place: {"acting": 1.0} for place in range(1, copies + 1)}
    (candidate,) = atomics.detect_atomics(evidence_of(*lines, facts=facts, grid=10))
    assert candidate.advice.startswith("The turns of a loop update one place") == several


SUMMED, SCATTERED = "[R6.64]", "[R10.64]"  # the second one where loaded data says
FOR_TWO_PLACES = (
    *(LOAD, "IMAD.WIDE R10, R4, 0x4, R12"),
    f"RED.E.ADD.F32.FTZ.RN.STRONG.GPU {SUMMED}, R5",
    f"RED.E.ADD.F32.FTZ.RN.STRONG.GPU {SCATTERED}, R5",
    "EXIT",
)


@pytest.mark.parametrize(
    ("blamed", "said"), [((60, 40), "Add up inside the warp"), ((40, 60), "Let each block update a copy")]
)
def test_the_updates_that_cost_most_decide_what_is_advised(blamed, said):
    facts = {
        2 + place: {"acting": 32.0, "sectors": 100.0, "waits": {"lg_throttle": waits}}
        for place, waits in enumerate(blamed)
    }
    (candidate,) = atomics.detect_atomics(evidence_of(*FOR_TWO_PLACES, facts=facts, grid=10))
    assert candidate.advice.startswith(said)


@pytest.mark.parametrize(
    ("sectors", "said"),
    [
        (100.0, "Add up inside the warp"),  # 8 words for 32 lanes
        (300.0, "Add up inside the warp"),
        (400.0, "The lanes of a warp update places of their own"),
        (3_200.0, "The lanes of a warp update places of their own"),
    ],
)
def test_lanes_share_places_where_a_request_touches_fewer_sectors_than_their_words_fill(sectors, said):
    facts = {0: {"acting": 32.0, "sectors": sectors}}
    evidence = evidence_of("RED.E.ADD.STRONG.GPU [R6.64], R5", "@P0 BRA 0x0", "EXIT", facts=facts, grid=10)
    (candidate,) = atomics.detect_atomics(evidence)
    assert candidate.advice.startswith(said)


@pytest.mark.parametrize(
    ("atomic", "acting", "said"),
    [
        ("RED.E.ADD.STRONG.GPU [R6.64], R5", 1.0, "One lane of each warp updates already"),
        ("RED.E.ADD.STRONG.GPU [R6.64], R5", 2.0, "Add up inside the warp"),
        ("ATOMG.E.CAS.STRONG.GPU PT, R8, [R6], R8, R9", 1.0, "Add up inside the warp"),  # the last one
    ],
)
def test_one_lane_of_a_warp_has_nobody_left_to_add_up_for(atomic, acting, said):
    (candidate,) = atomics.detect_atomics(evidence_of(atomic, "EXIT", facts={0: {"acting": acting}}, grid=10))
    assert candidate.advice.startswith(said)


WORD = "RED.E.ADD.64.STRONG.GPU [R6.64], R4"


@pytest.mark.parametrize(
    ("update", "shift", "step", "stays"),
    [
        (WORD, "SHF.R.U32.HI R5, RZ, 0x6, R3", "0x1", True),  # the next bit of 64
        (WORD, "SHF.R.U32.HI R5, RZ, 0x6, R3", "0x3f", True),
        (WORD, "SHF.R.U32.HI R5, RZ, 0x6, R3", "0x40", False),  # each turn another word
        (WORD, "SHF.R.U32.HI R5, RZ, 0x6, R3", "R12", False),  # as in steps of the whole grid
        (WORD, "SHF.L.U32 R5, R3, 0x6, RZ", "0x1", False),
        ("ATOMG.E.ADD.64.STRONG.GPU PT, R14, [R6.64], R4", "SHF.R.U32.HI R5, RZ, 0x6, R3", "0x1", False),  # and asks what was there
    ],
)  # fmt: skip
def test_a_word_that_turns_update_one_after_the_other_is_kept_until_it_changes(update, shift, step, stays):
    place = ("IMAD.IADD R3, R10, 0x1, R11", shift, "IMAD.WIDE.U32 R6, R5, 0x8, R8")
    turn = executing(400.0, *place, update, f"IADD3 R11, R11, {step}, RZ", "@P1 BRA 0x20")
    facts = {5: {"acting": 32.0, "sectors": 12_800.0}}
    evidence = evidence_of("S2R R10, SR_TID.X", "MOV R11, RZ", *turn, "EXIT", facts=facts, grid=10)
    (candidate,) = atomics.detect_atomics(evidence)
    for advice, kept_in in ((candidate.advice, "register"), (candidate.in_triton, "variable")):
        said = f"Successive turns of a loop update one place: keep the value in a {kept_in} until"
        assert advice.startswith(said) == stays


@pytest.mark.parametrize(
    ("row", "then_in_block"),
    [("SR_TID.Y", False), ("SR_CTAID.Y", True)],  # a place of each warp, and one for all of them
)
def test_warps_of_places_of_their_own_add_up_inside_the_warp_alone(row, then_in_block):
    lines = (
        f"S2R R0, {row}",
        "LDC.64 R2, c[0x0][0x228]",
        "IMAD.WIDE R6, R0, 0x4, R2",
        "RED.E.ADD.F32.FTZ.RN.STRONG.GPU [R6.64], R4",
    )
    evidence = evidence_of(*lines, "EXIT", facts={3: {"acting": 32.0}}, grid=10, block=(32, 32, 1))
    (candidate,) = atomics.detect_atomics(evidence)
    assert candidate.advice.startswith("Add up inside the warp (`__shfl_down_sync`)")
    assert ("then inside the block" in candidate.advice) == then_in_block


OF_WARP = ("S2R R4, SR_TID.X", "SHF.R.U32.HI R0, RZ, 0x5, R4")
IN_BLOCK, OF_ITS_OWN = (
    "One lane of each warp updates already (the compiler",
    "One lane of each warp updates already, and each",
)


@pytest.mark.parametrize(
    ("finding", "said"),
    [
        (("MOV R2, c[0x0][0x210]",), IN_BLOCK),
        (("LDC.64 R8, c[0x0][0x210]", "S2R R0, SR_CTAID.X", "IMAD.WIDE R2, R0, 0x4, R8"), IN_BLOCK),
        (("LDC.64 R8, c[0x0][0x210]", *OF_WARP, "IMAD.WIDE R2, R0, 0x4, R8"), OF_ITS_OWN),
        ((*OF_WARP, "S2R R1, SR_CTAID.X", "IMAD R0, R1, 0x8, R0", "IMAD.WIDE R2, R0, 0x4, R8"), OF_ITS_OWN),
        (  # `out[row[warp]]`
            (*OF_WARP, "IMAD.WIDE R6, R0, 0x4, R10", "LDG.E R0, [R6.64]", "IMAD.WIDE R2, R0, 0x4, R8"),
            "Let each block update a copy of its own",
        ),
        (  # `out[row[block]]` is one place for the block
            (
                "LDC.64 R6, c[0x0][0x210]",
                "LDC.64 R8, c[0x0][0x218]",
                "LDG.E R0, [R6.64]",
                "IMAD.WIDE R2, R0, 0x4, R8",
            ),
            IN_BLOCK,
        ),
    ],
)
def test_warps_add_up_for_each_other_if_they_update_one_place(finding, said):
    lines = (*finding, "RED.E.ADD.STRONG.GPU [R2.64], R5", "EXIT")
    (candidate,) = atomics.detect_atomics(evidence_of(*lines, facts={len(finding): {"acting": 1.0}}, grid=10))
    assert candidate.advice.startswith(said)


@pytest.mark.parametrize(
    ("contended", "at_atomic", "said"), [(True, 5, True), (True, 60, False), (False, 5, False)]
)
def test_where_others_queue_behind_atomics_samples_at_other_lines_are_explained(contended, at_atomic, said):
    facts = {0: {"waits": {"lg_throttle": at_atomic}}, 1: {"waits": {"long_scoreboard": 100 - at_atomic}}}
    evidence = evidence_of(
        "RED.E.ADD [R2.64], R4", "LDG.E R5, [R8.64]", "FADD R5, R5, R5", "EXIT", facts=facts
    )
    evidence.charged[evidence.sites[0]].update(evidence.charged[evidence.sites[1]])
    evidence.charged[evidence.sites[1]].clear()
    (candidate,) = atomics.detect_atomics(replace(evidence, atomics_are_contended=contended))
    assert ("queue behind these atomics" in candidate.sentence) == said


OF_THE_GRID = ("LDC.64 R2, c[0x0][0x270]", "RED.E.ADD.STRONG.GPU [R2.64+0x84], R5")
OF_DATA = ("LDG.E R8, [R10.64]", "IMAD.WIDE R6, R8, 0x4, R2", "RED.E.ADD.STRONG.GPU [R6.64], R5")


@pytest.mark.parametrize(
    ("first", "contended", "times", "named"),
    [
        (OF_THE_GRID, True, 100.0, {1}),
        (OF_THE_GRID, True, 99.0, {1, 4}),  # a place of the others may be updated more often
        (OF_THE_GRID, False, 100.0, {1, 4}),  # none queues behind another
        (("S2R R2, SR_TID.X", OF_THE_GRID[1]), True, 100.0, {1, 4}),
        (("S2R R2, SR_CTAID.X", OF_THE_GRID[1]), True, 100.0, {1, 4}),
        (("LDG.E.64 R2, [R12.64]", OF_THE_GRID[1]), True, 100.0, {1, 4}),
    ],
)
def test_contended_atomics_queue_behind_those_of_one_place_for_the_whole_grid(first, contended, times, named):
    facts = {place: {"waits": {"lg_throttle": 40}} for place in (1, 4)}
    evidence = evidence_of(*executing(times, *first), *executing(100.0, *OF_DATA), "EXIT", facts=facts)
    (candidate,) = atomics.detect_atomics(replace(evidence, atomics_are_contended=contended))
    assert {site.position for site, weight in candidate.weights.items() if weight} == named


@pytest.mark.parametrize(("threads", "in_shared"), [(32, False), (64, True)])
def test_a_block_of_one_warp_has_no_others_to_add_up_with(threads, in_shared):
    lines = ("IMAD.WIDE R6, R3, 0x4, R8", "RED.E.ADD.STRONG.GPU [R6.64], R5", "EXIT")
    facts = {1: {"waits": {"lg_throttle": 90}}}
    (candidate,) = atomics.detect_atomics(evidence_of(*lines, facts=facts, block=threads))
    assert candidate.advice.startswith("Add up inside the warp")
    assert ("inside the block in shared memory" in candidate.advice) == in_shared


@pytest.mark.parametrize(("waits", "weights"), [(0, [9_000.0, 100.0]), (1, [0.0, 1.0])])
def test_how_often_an_instruction_runs_is_never_weighed_against_waiting(waits, weights):
    """The first atomic runs often and nobody waits for it."""
    atomics_of_two = [("RED.E.ADD [R2.64], R4", 9_000.0), ("RED.E.ADD [R6.64], R4", 100.0), "EXIT"]
    evidence = evidence_of(*atomics_of_two, facts={1: {"waits": {"lg_throttle": waits}}})
    (candidate,) = atomics.detect_atomics(evidence)
    assert list(candidate.weights.values()) == weights


TICKET, PLACED = "ATOMG.E.ADD.STRONG.GPU PT, R4, [R2.64], R5", "IADD3 R6, R4, R7, RZ"
ADDED = "REDG.E.ADD.STRONG.GPU desc[UR6][R10.64], R13"


@pytest.mark.parametrize(("waiting", "is_told_of_order"), [((90, 10), True), ((10, 90), False)])
def test_the_order_of_places_is_kept_where_most_waiting_is_for_places(waiting, is_told_of_order):
    facts = {place: {"waits": {"lg_throttle": some}} for place, some in zip((0, 2), waiting, strict=True)}
    (candidate,) = atomics.detect_atomics(evidence_of(TICKET, PLACED, ADDED, "EXIT", facts=facts, grid=10))
    assert ("prefix sum" in candidate.advice) == is_told_of_order
