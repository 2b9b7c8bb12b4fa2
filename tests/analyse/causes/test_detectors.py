"""Each detector on both sides of its threshold, with made-up evidence."""

import math
from dataclasses import replace

import pytest
from made_evidence import BUSY, evidence_of

from profiler.analyse.causes.detectors import ceilings
from profiler.analyse.causes.detectors.every import DETECTORS
from profiler.analyse.causes.detectors.global_memory import (
    atomics,
    layout,
    narrow_accesses,
    redundant_loads,
    redundant_stores,
)
from profiler.analyse.causes.detectors.instructions import (
    compilation,
    integer_overhead,
    lanes,
    loops,
    number_types,
    redundant_instructions,
    special_functions,
)
from profiler.analyse.causes.detectors.launch import grid, occupancy
from profiler.analyse.causes.detectors.shared_memory import (
    bank_conflicts,
    redundant_accesses,
    too_little_reuse,
)
from profiler.analyse.causes.detectors.waiting import (
    barriers,
    dependent_chains,
    instruction_cache,
    unoverlapped_loads,
)
from profiler.analyse.causes.evidence.latency import UNNAMED, Places
from profiler.analyse.causes.flow.block_sharing import count_blocks_alike

LOAD = "LDG.E R4, [R2.64]"
LOOP = "@P0 BRA 0x10"


def names(detect, evidence):
    return [candidate.name for candidate in detect(evidence)]


def load_with(sectors, opcode="LDG.E", **more):
    """One load, executed 100 times, that touches so many sectors each time; 4 are what its lanes' 4 bytes fill."""
    facts = {"sectors": 100 * sectors, "ideal_sectors": 400.0, "waits": {"long_scoreboard": 50}} | more
    return evidence_of(f"{opcode} R4, [R2.64]", "EXIT", facts={0: facts})


@pytest.mark.parametrize(
    ("sectors", "found"),
    [
        (4.0, []),
        (4.1, []),  # a few edges
        (5.0, ["misaligned-accesses"]),  # every request touches one sector more
        (5.2, ["uncoalesced-loads"]),  # more than one: the lanes lie apart
        (32.0, ["uncoalesced-loads"]),
    ],
)
def test_one_sector_too_many_is_a_matter_of_alignment_and_more_of_the_layout(sectors, found):
    evidence = load_with(sectors)
    assert names(layout.detect_uncoalesced, evidence) + names(layout.detect_misaligned, evidence) == found


def test_what_lanes_use_of_a_request_has_no_more_digits_than_its_sectors():
    texts = []
    for sectors in (3200.0, 3197.65625):
        facts = {0: {"sectors": sectors, "ideal_sectors": 100.0}, 1: {"waits": {"long_scoreboard": 9}}}
        (candidate,) = layout.detect_uncoalesced(evidence_of(LOAD, "FADD R5, R5, R4", facts=facts))
        texts.append(candidate.sentence)
    assert texts[0] == texts[1]
    assert (
        "32 sectors of 32 bytes a request where 1 would hold its data: its lanes use 3.1 % of what"
        in texts[0]
    )


def apart_with(arrived):
    """The effect of mending loads that touch 12 sectors where 4 would do, of which so many reached L2."""
    facts = {0: {"sectors": 1200.0, "ideal_sectors": 400.0}, 1: {"waits": {"long_scoreboard": 9}}}
    evidence = evidence_of(LOAD, "FADD R5, R5, R4", facts=facts, figures={"l2_sectors": arrived})
    (candidate,) = layout.detect_uncoalesced(evidence)
    return candidate.effect


@pytest.mark.parametrize(("arrived", "saved"), [(1200.0, 2 / 3), (800.0, 1 / 2), (400.0, 0.0)])
def test_sectors_that_l1_holds_are_no_traffic_to_l2_and_nothing_that_warps_wait_long_for(arrived, saved):
    effect = apart_with(arrived)
    assert effect.resources["l2"] == pytest.approx(saved)
    assert effect.lighter["long_scoreboard"] == pytest.approx(saved)  # queues: each load keeps its latency
    assert "long_scoreboard" not in effect.waits
    assert effect.resources["l1"] == pytest.approx(11 / 12)  # which looks up twelve lines instead of one


@pytest.mark.parametrize("sectors", [4.0, 16.0])
def test_loads_that_are_not_made_touch_no_sectors_but_count_only_the_waiting_for_those_that_the_data_fills(
    sectors,
):
    """The waiting for the others goes by a change of the layout, which is a cause of its own."""
    facts = {0: {"sectors": 100 * sectors, "ideal_sectors": 400.0}, 1: {"waits": {"long_scoreboard": 9}}}
    figures = {"l1_hit_pct": 100.0, "dram_bytes_read": 100 * 4 * 32 / 4}
    evidence = evidence_of(LOAD, "FADD R5, R5, R4", facts=facts, figures=figures)
    (candidate,) = redundant_loads.detect_redundant_loads(evidence)
    assert "4 times" in candidate.sentence
    repeated = 3 / 4
    assert candidate.effect.resources["lsu"] == pytest.approx(repeated)
    assert candidate.effect.resources["l1"] == pytest.approx(repeated)
    assert candidate.effect.lighter["long_scoreboard"] == pytest.approx(repeated * 4 / sectors)
    (estimated,) = redundant_loads.detect_redundant_loads(replace(evidence, has_costs=False))
    assert estimated.effect.resources["l1"] == pytest.approx(repeated * 4 / sectors)


@pytest.mark.parametrize(("waits_for_loads", "fewer"), [(30, 3 / 4 * 1 / 2), (0, 0.0)])
def test_fewer_loads_bring_warps_to_a_barrier_closer_together_where_they_wait_for_loads_before_it(
    waits_for_loads, fewer
):
    facts = {
        0: {"sectors": 400.0, "ideal_sectors": 400.0},
        1: {"waits": {"long_scoreboard": waits_for_loads}},
        3: {"waits": {"barrier": 30}},
    }
    figures = {"l1_hit_pct": 100.0, "dram_bytes_read": 100 * 4 * 32 / 4}
    evidence = evidence_of(LOAD, "FADD R5, R5, R4", "BAR.SYNC 0x0", "EXIT", facts=facts, figures=figures)
    (candidate,) = redundant_loads.detect_redundant_loads(evidence)
    assert candidate.effect.waits["barrier"] == pytest.approx(fewer)


# Of a loop that adds up rows: the row depends on the block's y, and x is that of the lane.
ROWS = ("S2R R2, SR_CTAID.{}", "S2R R9, SR_TID.X", "IMAD R2, R2, 0x400, R9", ("LDG.E R4, [R2]", 400.0),
        ("IADD3 R2, R2, 0x80, RZ", 400.0), ("@P0 BRA 0x30", 400.0))  # fmt: skip


def rows_of(index, delivered, facts=None):
    """The loads ask for 51,200 bytes: four blocks of a grid of 4 x 1 for the same quarter, where only y decides."""
    lines = [one.format(index) if isinstance(one, str) else one for one in ROWS]
    known = {3: {"sectors": 1600.0, "ideal_sectors": 1600.0} | (facts or {})}
    return evidence_of(*lines, facts=known, figures={"dram_bytes_read": delivered}, grid=4)


@pytest.mark.parametrize(
    ("index", "delivered", "found"),
    [
        ("Y", 51_200.0, ["redundant-global-loads"]),  # four blocks, four times
        ("Y", 25_600.0, []),  # twice: caches hold it for most of them
        ("X", 51_200.0, []),  # each block has its own
    ],
)
def test_blocks_that_load_the_same_data_are_named_if_device_memory_delivers_it_again(index, delivered, found):
    evidence = rows_of(index, delivered)
    assert names(redundant_loads.detect_redundant_loads, evidence) == found
    for candidate in redundant_loads.detect_redundant_loads(evidence):
        assert candidate.evidence == {"delivered_again": 4.0, "blocks_alike": 4.0}
        assert candidate.effect.resources["dram"] == pytest.approx(3 / 4)


@pytest.mark.parametrize(
    ("more", "sectors", "found"),
    [
        ("LDG.E R5, [R30.64]", 800.0, []),  # may have asked for half of it
        ("LDG.E R5, [R30.64]", 700.0, ["redundant-global-loads"]),
        ("LDL R5, [R1]", 800.0, []),
        ("STG.E [R30.64], R5", 800.0, ["redundant-global-loads"]),
        ("UTMALDG.2D [UR8], [UR4]", 0.0, []),  # of any size
    ],
)
def test_bytes_that_other_accesses_may_have_read_are_not_blamed_on_redundant_loads(more, sectors, found):
    lines = [one.format("Y") if isinstance(one, str) else one for one in ROWS]
    facts = {
        3: {"sectors": 1600.0, "ideal_sectors": 1600.0},
        6: {"sectors": sectors, "ideal_sectors": sectors},
    }
    evidence = evidence_of(*lines, more, facts=facts, figures={"dram_bytes_read": 51_200.0}, grid=4)
    assert names(redundant_loads.detect_redundant_loads, evidence) == found


@pytest.mark.parametrize(("sectors", "found"), [(800.0, []), (799.0, ["redundant-global-loads"])])
def test_the_same_for_every_block_must_be_most_of_what_device_memory_delivers(sectors, found):
    """1,000 blocks load the same 51 bytes beside rows of their own: what is left may be those rows, fetched twice."""
    lines = [one.format("Y") if isinstance(one, str) else one for one in ROWS]
    facts = {
        3: {"sectors": 1600.0, "ideal_sectors": 1600.0},
        6: {"sectors": sectors, "ideal_sectors": sectors},
    }
    evidence = evidence_of(*lines, "LDG.E R5, [R30.64]", facts=facts, figures={"dram_bytes_read": 51_200.0})
    assert names(redundant_loads.detect_redundant_loads, evidence) == found


def test_sectors_that_no_lane_uses_are_not_delivered_for_other_blocks():
    (candidate,) = redundant_loads.detect_redundant_loads(rows_of("Y", 102_400.0, {"sectors": 3200.0}))
    assert candidate.evidence["delivered_again"] == 4.0


def test_an_address_that_was_loaded_may_be_any():
    evidence = evidence_of("MOV R8, 0x100", "LDG.E R2, [R8]", "LDG.E R4, [R2]", "LDG.E R4, [R30]", grid=4)
    alike = [count_blocks_alike(evidence, site) for site in evidence.of("global load")]
    assert alike == [4, 1, 1]  # the last one's address was written where nothing is known of


@pytest.mark.parametrize(
    ("lines", "alike"),
    [
        (["S2R R2, SR_CTAID.X", "MOV R2, 0x100"], 4),  # what was written before is gone
        (["S2R R2, SR_CTAID.X", "@P0 MOV R2, 0x100"], 1),  # and stays where the predicate does not hold
    ],
)
def test_the_last_writers_of_an_address_decide(lines, alike):
    evidence = evidence_of(*lines, "LDG.E R4, [R2]", grid=4)
    assert count_blocks_alike(evidence, evidence.sites[-1]) == alike


@pytest.mark.parametrize(("counter", "alike"), [("IADD3 R2, R2, R6, RZ", 1), ("MOV R2, R7", 4)])
def test_in_a_loop_the_turn_before_writes_the_address_too(counter, alike):
    """R6 is of the block, and R7 is not; the load comes before both."""
    lines = ["S2R R6, SR_CTAID.X", "MOV R7, 0x100", "MOV R2, R7", ("LDG.E R4, [R2]", 800.0), (counter, 800.0), ("@P0 BRA 0x30", 800.0)]  # fmt: skip
    evidence = evidence_of(*lines, grid=4)
    assert count_blocks_alike(evidence, evidence.sites[3]) == alike


# Stores of a loop

SUM = (
    "MOV R4, RZ",
    ("LDG.E R6, [R2.64]", 800.0),
    ("FADD R4, R4, R6", 800.0),
    ("IADD3 R2, R2, 0x4, RZ", 800.0),
)
TURN = (("@P0 BRA 0x10", 800.0), "EXIT")


@pytest.mark.parametrize(
    ("store", "found"),
    [
        ("STG.E [R8.64], R4", ["redundant-global-stores"]),
        ("STG.E [R2.64], R4", []),  # each turn stores elsewhere
        ("STG.E.STRONG.GPU [R8.64], R4", []),  # others are to see each
        ("LDG.E R10, [R8.64]", []),
    ],
)
def test_a_store_whose_address_stays_is_overwritten_by_the_next_turn(store, found):
    evidence = evidence_of(*SUM, (store, 800.0), *TURN)
    assert names(redundant_stores.detect_redundant_stores, evidence) == found
    for candidate in redundant_stores.detect_redundant_stores(evidence):
        assert "each of its 8 turns" in candidate.sentence
        assert candidate.effect.resources["lsu"] == pytest.approx(
            0.5 * 7 / 8
        )  # half of the accesses are stores


@pytest.mark.parametrize(
    "access",
    [
        "MEMBAR.SC.GPU",  # `__threadfence`
        "LDG.E R7, [R8.64+0x4]",  # what the neighbour stored
    ],
)
def test_a_store_that_others_may_read_meanwhile_is_needed(access):
    assert names(redundant_stores.detect_redundant_stores, evidence_of(*SUM, ("STG.E [R8.64], R4", 800.0), (access, 800.0), *TURN)) == []  # fmt: skip


@pytest.mark.parametrize(("acting", "found"), [(4.0, []), (8.0, ["redundant-global-stores"])])
def test_a_store_that_acts_in_one_turn_of_eight_overwrites_nothing(acting, found):
    facts = {4: {"lanes": 32.0, "acting": acting}}
    evidence = evidence_of(*SUM, ("@P1 STG.E [R8.64], R4", 800.0), *TURN, facts=facts)
    assert names(redundant_stores.detect_redundant_stores, evidence) == found


# The length of rows


@pytest.mark.parametrize(
    ("access", "more", "block", "said"),
    [
        ("LDS R4, [R2]", [], 256, "Pad the rows of the array by one word"),
        ("LDS R4, [R2]", [], 16, "2 rows of 16 threads in a warp start 16 banks apart"),
        ("LDS.64 R4, [R2]", [], 256, "odd multiple of 8 bytes"),
        (
            "LDS R4, [R2]",
            ["STS.128 [R3], R8"],
            256,
            "or by 16 bytes where accesses of that width have to stay aligned",
        ),  # which one word would misalign
        ("LDS R4, [R2]", ["HMMA.1688.F32 R20, R38, R51, R20"], 256, "odd multiple of 16 bytes"),
    ],
)
def test_rows_get_a_length_that_keeps_every_access_aligned(access, more, block, said):
    facts = {0: {"passes": 200.0, "ideal_passes": 100.0}}
    (candidate,) = bank_conflicts.detect_bank_conflicts(evidence_of(access, *more, facts=facts, block=block))
    assert said in candidate.advice


def test_stores_that_lie_apart_are_named_apart_from_loads():
    facts = {"sectors": 3200.0, "ideal_sectors": 400.0}
    evidence = evidence_of("STG.E [R2.64], R4", "EXIT", facts={0: facts})
    assert names(layout.detect_uncoalesced, evidence) == ["uncoalesced-stores"]


@pytest.mark.parametrize(
    ("stored", "in_l2", "joint"),
    [
        (
            3200.0,
            6400.0,
            ["uncoalesced-loads", "uncoalesced-stores"],
        ),  # alike: either is mended with the other
        (1200.0, 4400.0, ["uncoalesced-loads"]),  # the loads are the most of it
        (1200.0, 1600.0, ["uncoalesced-stores"]),  # L1 holds what the loads touch, and L2 gets what is stored
        (400.0, 3600.0, []),
    ],
)
def test_scattered_loads_and_stores_with_one_index_are_corrected_together(stored, in_l2, joint):
    facts = {0: {"sectors": 3200.0, "ideal_sectors": 400.0}, 1: {"sectors": stored, "ideal_sectors": 400.0}}
    lines = (LOAD, "STG.E [R8.64], R4")
    evidence = evidence_of(*lines, facts=facts, figures={"l2_sectors": in_l2}, busy={"l2": 0.9})
    found = list(layout.detect_uncoalesced(evidence))
    assert [one.name for one in found if "correcting both at once" in one.sentence] == joint
    assert all(
        "stores lie apart too" not in one.sentence or "includes theirs" in one.sentence for one in found
    )
    if len(joint) == 2:
        assert found[0].effect == found[1].effect


@pytest.mark.parametrize(("counted", "found"), [(True, []), (False, ["narrow-accesses"])])
def test_estimated_sectors_are_those_of_all_lanes(counted, found):
    evidence = replace(load_with(4.0, acting=14.0), has_costs=counted)
    assert names(narrow_accesses.detect_narrow, evidence) == found


@pytest.mark.parametrize(
    ("opcode", "sectors", "found"),
    [
        ("LDG.E", 4.0, ["narrow-accesses"]),
        ("LDG.E.64", 8.0, ["narrow-accesses"]),
        ("LDG.E.128", 16.0, []),  # there is no wider one
        ("LDG.E", 1.0, []),  # a broadcast
        ("LDG.E", 5.0, []),  # misaligned: a wide access would be refused
        ("LDG.E", 32.0, []),  # lanes that lie apart
    ],
)
def test_contiguous_accesses_below_16_bytes_are_narrow(opcode, sectors, found):
    assert names(narrow_accesses.detect_narrow, load_with(sectors, opcode)) == found


@pytest.mark.parametrize(
    ("acting", "present", "end", "found"),
    [
        (1.0, 32.0, "EXIT", []),  # nobody asks for what lies beside its element
        (2.0, 32.0, "EXIT", ["narrow-accesses"]),
        (1.0, 1.0, "EXIT", ["narrow-accesses"]),  # no other lanes are there: the next block asks
        (1.0, 32.0, "@P0 BRA 0x10", ["narrow-accesses"]),  # its own next element may lie there
    ],
)
def test_what_one_lane_of_a_warp_accesses_once_is_no_part_of_a_wider_access(acting, present, end, found):
    first, one = {"lanes": present}, {"acting": acting, "sectors": 100.0, "ideal_sectors": 100.0}
    evidence = evidence_of(
        "S2R R2, SR_TID.X", LOAD, end, facts={0: first, 1: one | {"waits": {"long_scoreboard": 50}}}
    )
    assert names(narrow_accesses.detect_narrow, evidence) == found


@pytest.mark.parametrize(
    ("second", "accesses", "elements"),
    [
        ("LDG.E R6, [R8.64]", "4 bytes a thread, 128 bytes a request.", "4 neighbouring elements"),
        (
            "LDG.E.64 R6, [R8.64]",
            "4 or 8 bytes a thread, 192 bytes a request on average.",
            "several neighbouring",
        ),
    ],
)
def test_accesses_of_different_widths_are_not_said_to_have_one_that_none_of_them_has(
    second, accesses, elements
):
    contiguous = {"ideal_sectors": 400.0, "sectors": 400.0}
    wider = {"ideal_sectors": 800.0, "sectors": 800.0} if ".64 " in second else contiguous
    (candidate,) = narrow_accesses.detect_narrow(evidence_of(LOAD, second, facts={0: contiguous, 1: wider}))
    assert candidate.sentence.endswith(accesses)
    assert elements in candidate.advice


@pytest.mark.parametrize(("stored", "found"), [(100.0, ["narrow-accesses"]), (10.0, [])])
def test_accesses_are_narrow_if_they_move_most_bytes(stored, found):
    """The store of a sum is narrow, and next to nothing of what moves."""
    facts = {0: {"sectors": 1600.0, "ideal_sectors": 1600.0}}
    facts[1] = {"sectors": 16 * stored, "ideal_sectors": 16 * stored}
    lines = ("LDG.E.128 R4, [R2.64]", ("STG.E.64 [R8.64], R4", 2 * stored))
    assert names(narrow_accesses.detect_narrow, evidence_of(*lines, facts=facts)) == found


@pytest.mark.parametrize("store", ["STG.E [R8.64], R4", "RED.E.ADD [R8.64], R4"])
def test_scattered_accesses_and_atomics_stay_one_for_each_element_however_wide_the_others_are(
    store,
):
    """As in a naive transpose: wide loads of a row leave each store of a column as it is."""
    neighbours = {"sectors": 400.0, "ideal_sectors": 400.0, "waits": {"long_scoreboard": 10}}
    apart = {"sectors": 3200.0, "ideal_sectors": 400.0, "waits": {"lg_throttle": 90}}
    (candidate,) = narrow_accesses.detect_narrow(evidence_of(LOAD, store, facts={0: neighbours, 1: apart}))
    assert candidate.effect.waits["lg_throttle"] == 0
    (candidate,) = narrow_accesses.detect_narrow(
        evidence_of(LOAD, "STG.E [R8.64], R4", facts={0: neighbours, 1: neighbours | {"waits": {"lg_throttle": 90}}})
    )  # fmt: skip
    assert candidate.effect.waits["lg_throttle"] == 0.75


@pytest.mark.parametrize(
    ("address", "saved"),
    [("[R2.64+0x1]", 0.875), ("[R2.64+-0x1]", 0.875), ("[R6.64+0x1]", 0.4375)],
)
def test_misaligned_accesses_become_part_of_a_wide_one_of_the_same_base(address, saved):
    """A thread that takes 16 bytes at once has those beside each of them, too."""
    facts = {0: {"sectors": 200.0, "ideal_sectors": 200.0}, 1: {"sectors": 300.0, "ideal_sectors": 200.0}}
    evidence = evidence_of("LDG.E.U16 R4, [R2.64]", f"LDG.E.U16 R5, {address}", facts=facts)
    (candidate,) = narrow_accesses.detect_narrow(evidence)
    assert candidate.effect.resources["lsu"] == pytest.approx(saved)


@pytest.mark.parametrize(
    ("addresses", "found"),
    [(("[R2.64+0x4]", "[R2.64+0x8]"), ["narrow-accesses"]), (("[R6.64]", "[R8.64]"), [])],
)
def test_places_of_one_base_that_a_wide_access_brings_together_are_requested_once(addresses, found):
    """Three loads of 12,800 bytes, of which device memory delivers 12,800."""
    facts = {place: {"sectors": 400.0, "ideal_sectors": 400.0} for place in range(3)}
    lines = (LOAD, *(f"LDG.E R5, {address}" for address in addresses))
    evidence = evidence_of(*lines, facts=facts, figures={"dram_bytes_read": 12800.0})
    assert names(narrow_accesses.detect_narrow, evidence) == found


@pytest.mark.parametrize(
    ("lines", "launched"),
    [
        (("NOP", LOAD), 0.75),
        (("NOP", (LOAD, 800.0), ("IADD3 R2, R2, 0x10, RZ", 800.0), (LOOP, 800.0)), 0.0),
        (("NOP", LOAD, LOOP), 0.75),  # each thread makes one turn
        (("NOP", LOAD, "EXIT", ("NOP", 0.0), ("@P1 BRA 0x30", 0.0)), 0.75),  # which does not run
    ],
)
def test_without_a_loop_a_thread_takes_the_place_of_several_so_that_fewer_blocks_are_launched(
    lines, launched
):
    sectors = 4.0 * (100.0 if isinstance(lines[1], str) else lines[1][1])
    facts = {1: {"sectors": sectors, "ideal_sectors": sectors}}
    (candidate,) = narrow_accesses.detect_narrow(evidence_of(*lines, facts=facts))
    assert candidate.effect.resources.get("launch", 0.0) == launched


def test_a_wider_access_saves_addresses_and_no_arithmetic():
    facts = {1: {"sectors": 400.0, "ideal_sectors": 400.0}}
    (few,) = narrow_accesses.detect_narrow(evidence_of("IADD3 R2, R2, R8, RZ", LOAD, facts=facts))
    (most,) = narrow_accesses.detect_narrow(evidence_of(*["FADD R5, R4, R5"] * 8, LOAD, facts={8: facts[1]}))
    assert few.effect.resources["issue"] == 0.75
    assert most.effect.resources["issue"] == pytest.approx(0.75 / 9)


@pytest.mark.parametrize(("delivered", "hits", "found"), [(6000.0, 90.0, 1), (7000.0, 90.0, 0)])  # fmt: skip
def test_loads_are_redundant_if_caches_serve_each_byte_more_than_twice(delivered, hits, found):
    """100 loads of 128 bytes ask for 12,800."""
    facts = {0: {"sectors": 400.0, "ideal_sectors": 400.0}}
    evidence = evidence_of(
        LOAD, "EXIT", facts=facts, figures={"dram_bytes_read": delivered, "l1_hit_pct": hits}
    )
    assert names(redundant_loads.detect_redundant_loads, evidence) == ["redundant-global-loads"] * found


@pytest.mark.parametrize(("delivered", "saved"), [(3200.0, 3 / 4), (1600.0, 7 / 8), (100.0, 7 / 8)])
def test_a_tile_of_eight_results_loads_a_value_once_in_place_of_eight_times(delivered, saved):
    """100 loads of 128 bytes ask four times for what was delivered, eight times, or 128 times."""
    facts = {0: {"sectors": 400.0, "ideal_sectors": 400.0}, 1: {"waits": {"long_scoreboard": 9}}}
    figures = {"dram_bytes_read": delivered, "l1_hit_pct": 100.0}
    evidence = evidence_of(LOAD, "FADD R5, R5, R4", facts=facts, figures=figures)
    (candidate,) = redundant_loads.detect_redundant_loads(evidence)
    assert candidate.effect.waits["long_scoreboard"] == pytest.approx(saved)


@pytest.mark.parametrize(
    ("sectors", "again"),
    [
        (3200.0, 0.0),  # each lane another struct: L1 serves its second word, which nobody has loaded before
        (500.0, 7 / 16),  # a stencil: the word of the next lane
    ],
)
def test_another_word_of_a_struct_is_not_the_same_data_again(sectors, again):
    """Two words of 4 bytes; half of what is looked up hits L1."""
    facts = {place: {"sectors": sectors, "ideal_sectors": 400.0} for place in (0, 1)}
    evidence = evidence_of(
        "LDG.E R4, [R2.64]",
        "LDG.E R5, [R2.64+0x4]",
        "EXIT",
        facts=facts,
        figures={"dram_bytes_read": 100.0, "l1_hit_pct": 50.0},
    )
    (candidate,) = redundant_loads.detect_redundant_loads(evidence)
    assert candidate.effect.resources["lsu"] == pytest.approx(again)


def test_a_flag_that_is_polled_is_loaded_again_on_purpose():
    code = [("MOV R2, R8", 10), ("LDG.E.STRONG.GPU R4, [R2.64]", 1000), (LOOP, 1000), ("EXIT", 10)]
    assert names(redundant_loads.detect_redundant_loads, evidence_of(*code)) == []
    code[1] = (LOAD, 1000)
    assert names(redundant_loads.detect_redundant_loads, evidence_of(*code)) == ["redundant-global-loads"]


@pytest.mark.parametrize(
    ("registers", "advice"), [(254.0, "Allow more registers"), (255.0, "A thread can have no more")]
)
def test_a_thread_with_all_registers_is_not_advised_to_take_more(registers, advice):
    figures = {"registers": registers, "local_spill_inst": 1.0}
    (candidate,) = compilation.detect_spills(evidence_of("LDL R4, [R1]", "EXIT", figures=figures))
    assert candidate.advice.startswith(advice)


def test_local_memory_is_a_spill_whether_registers_or_an_array_went_there():
    assert names(compilation.detect_spills, evidence_of("LDL R4, [R1]", "EXIT")) == ["register-spills"]
    assert names(compilation.detect_spills, evidence_of("LDG.E R4, [R2.64]", "EXIT")) == []


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


@pytest.mark.parametrize(("passes", "found"), [(1.0, []), (2.0, ["bank-conflicts"]), (32.0, ["bank-conflicts"])])  # fmt: skip
def test_more_passes_than_needed_are_conflicts(passes, found):
    facts = {0: {"passes": 100 * passes, "ideal_passes": 100.0, "waits": {"short_scoreboard": 9}}}
    assert (
        names(bank_conflicts.detect_bank_conflicts, evidence_of("LDS R4, [R2]", "EXIT", facts=facts)) == found
    )


def test_a_wide_access_needs_several_passes():
    facts = {0: {"passes": 400.0, "ideal_passes": 400.0}}
    assert (
        names(bank_conflicts.detect_bank_conflicts, evidence_of("LDS.128 R4, [R2]", "EXIT", facts=facts))
        == []
    )


@pytest.mark.parametrize(("fmas", "saves"), [(1, True), (16, False)])
def test_a_load_from_shared_memory_that_feeds_sixteen_multiplications_is_reused_enough(fmas, saves):
    lines = [("MOV R9, RZ", 1), ("LDS R4, [R2]", 100), *[("FFMA R6, R4, R5, R6", 100)] * fmas, (LOOP, 100)]
    (candidate,) = too_little_reuse.detect_too_little_reuse(evidence_of(*lines))
    assert (candidate.effect.resources["issue"] > 0) == saves


@pytest.mark.parametrize(
    ("load", "fmas", "part"),
    [
        ("LDS", 1, 5 / 8),
        ("LDS", 2, 1 - 2 / 6.4),
        ("LDS", 3, 1 - 3 / 6.4),
        ("LDS", 4, 0),
        ("LDS.128", 1, 1 - 9 / 32),
        ("LDS.128", 2, 1 - 18 / 32),  # one result a thread: two loads for four multiply-adds
        ("LDS.128", 3, 1 - 3 / 6.4),
    ],
)
def test_the_next_column_or_tile_makes_much_more_of_each_load(load, fmas, part):
    """A column of eight results reaches 8/3 multiply-adds a load, or 32/9 where loads are wide already, and a tile of 8 x 8 reaches 6.4."""
    lines = [
        ("MOV R9, RZ", 1),
        (f"{load} R4, [R2]", 100),
        *[("FFMA R6, R4, R5, R6", 100)] * fmas,
        (LOOP, 100),
    ]
    (candidate,) = too_little_reuse.detect_too_little_reuse(evidence_of(*lines))
    assert candidate.effect.resources["lsu"] == pytest.approx(part)


@pytest.mark.parametrize(
    ("others", "found"),
    [
        ((), ["too-little-reuse"]),
        (("LDS R7, [R3]", "FADD R5, R5, R7"), []),  # a sum over neighbours, multiplied once
        (("LDS R7, [R3]", "IADD3 R2, R2, R7, RZ"), ["too-little-reuse"]),  # where the next tile begins
    ],
)
def test_a_product_multiplies_at_most_two_loaded_values_at_a_time(others, found):
    """Differences that are squared are products as well. What else the loop loads does not count."""
    body = ("LDS R4, [R2]", "LDS R5, [R2+0x40]", *others, "FADD R8, R4, -R5", "FFMA R6, R8, R8, R6", LOOP)
    lines = [("MOV R9, RZ", 1), *[(line, 100) for line in body]]
    candidates = list(too_little_reuse.detect_too_little_reuse(evidence_of(*lines)))
    assert [one.name for one in candidates] == found
    assert all("R3" not in site.instruction.text for one in candidates for site in one.weights)


def test_an_accumulator_in_shared_memory_could_be_a_register():
    lines = [("MOV R2, RZ", 1), ("LDS R4, [R2]", 100), ("FADD R4, R4, R5", 100), ("STS [R2], R4", 100), (LOOP, 100)]  # fmt: skip
    assert names(redundant_accesses.detect_redundant_shared, evidence_of(*lines)) == [
        "redundant-shared-accesses"
    ]
    lines[2] = ("IADD3 R2, R2, 0x4, RZ", 100)
    assert names(redundant_accesses.detect_redundant_shared, evidence_of(*lines)) == []


def test_a_place_in_shared_memory_that_other_threads_store_in_too_is_no_register():
    """A thread that stores in two places stores in its neighbour's."""
    lines = [
        ("MOV R2, RZ", 1),
        ("LDS R4, [R2]", 100),
        ("STS [R2], R4", 100),
        ("STS [R2+0x4], R4", 100),
        (LOOP, 100),
    ]
    assert names(redundant_accesses.detect_redundant_shared, evidence_of(*lines)) == []
    assert names(redundant_accesses.detect_redundant_shared, evidence_of(*lines[:3], lines[4])) == [
        "redundant-shared-accesses"
    ]


@pytest.mark.parametrize(
    ("between", "found"),
    [
        ("NOP", ["redundant-shared-accesses"]),
        ("BAR.SYNC 0x0", []),  # after which another thread may have stored there
        ("WARPSYNC.ALL", []),
        ("LDS R7, [R2+0x40]", []),  # what another lane stored
        ("STS [R2+0x40], R4", []),  # for another lane
        ("ATOMS.ADD RZ, [R2], R4", []),
    ],
)
def test_several_sums_that_a_thread_alone_keeps_in_shared_memory_could_be_registers(between, found):
    sums = (
        "LDS R4, [R2]",
        "FADD R4, R4, R5",
        "STS [R2], R4",
        "LDS R6, [R3]",
        "FADD R6, R6, R5",
        "STS [R3], R6",
    )
    lines = [("MOV R2, RZ", 1), *[(line, 100) for line in (*sums, between, LOOP)]]
    everything = redundant_accesses.detect_redundant_shared(evidence_of(*lines))
    candidates = [one for one in everything if one.sentence.startswith("In every iteration")]
    assert [one.name for one in candidates] == found
    # Nobody else reads what is stored, so that loads and stores go.
    assert [one.effect.resources["lsu"] for one in candidates] == [pytest.approx(99 / 100)] * len(found)


@pytest.mark.parametrize(("integers", "found"), [(2, []), (3, ["integer-overhead"])])
def test_two_integer_instructions_for_each_access_are_what_an_address_takes(integers, found):
    lines = ["IADD3 R2, R2, R8, RZ"] * integers
    assert names(integer_overhead.detect_integer_overhead, evidence_of(*lines, "LDG.E R4, [R2]")) == found


DIVISION = [
    "I2F.U32.RP R0, R9",
    "MUFU.RCP R0, R0",
    "F2I.FTZ.U32.TRUNC.NTZ R5, R0",
    "IMAD.HI.U32 R5, R5, R2, RZ",
]


def test_without_lines_a_division_is_what_follows_its_first_conversion():
    far = ["FADD R20, R21, R22"] * 30
    (candidate,) = integer_overhead.detect_integer_overhead(
        evidence_of(*DIVISION, *far, "LOP3.LUT R6, R6, R7, RZ", "LDG.E R4, [R30]", file=None)
    )
    assert [site.opcode for site in candidate.weights] == [line.split()[0] for line in DIVISION]
    near = ["LOP3.LUT R5, R5, R2, RZ, 0xc0, !PT"] * 16  # from the first conversion on, 20 instructions
    (candidate,) = integer_overhead.detect_integer_overhead(evidence_of(*DIVISION, *near, *far, file=None))
    assert len(candidate.weights) == 20


@pytest.mark.parametrize(("executed", "part"), [(100.0, True), (101.0, False)])
def test_an_instruction_that_runs_more_often_than_the_division_on_its_line_is_no_part_of_it(executed, part):
    """`for (int s = n / 2; s; s >>= 1)` divides once, and tests in every turn."""
    evidence = evidence_of(*DIVISION, ("SHF.R.U32.HI R6, RZ, 0x1, R6", executed), "LDG.E R4, [R30]", line=1)
    assert ("SHF" in [site.instruction.name for site in integer_overhead.find_dividing(evidence)]) == part


@pytest.mark.parametrize(("addresses", "divides"), [(10, True), (90, False)])
def test_quotients_are_blamed_where_most_of_the_saving_is_theirs(addresses, divides):
    lines = [*DIVISION, *["IADD3 R30, R30, R8, RZ"] * addresses, "LDG.E R4, [R30]"]
    evidence = evidence_of(*lines, file=None)
    (candidate,) = integer_overhead.detect_integer_overhead(evidence)
    assert ("divide integers" in candidate.sentence) == ("dividing" in candidate.advice) == divides


@pytest.mark.parametrize(
    ("conversion", "divides"), [("I2F.U16 R3, UR6", True), ("I2FP.F32.U32 R3, R6", False)]
)
def test_integers_of_16_bits_are_divided_by_a_function_behind_the_end(conversion, divides):
    """What converts a float to an integer is the same as in a function of floats, and what converts the divisor is not."""
    lines = ("CALL.REL.NOINC 0x30", "STG.E.U8 [R2.64], R7", "EXIT", conversion, "FMUL R5, R3, R4", "MUFU.RCP R5, R5",
             "FMUL.RZ R4, R2, R5", "F2I.U32.TRUNC.NTZ R4, R4", "RET.REL.NODEC R2 0x0")  # fmt: skip
    evidence = evidence_of(*lines)
    dividing = list(integer_overhead.detect_integer_overhead(evidence))
    assert [site.position for one in dividing for site in one.weights] == (
        [3, 4, 5, 6, 7, 8] if divides else []
    )
    assert bool(list(special_functions.detect_special_functions(evidence))) != divides
    assert bool(list(number_types.detect_conversions(evidence))) != divides


@pytest.mark.parametrize(
    "accesses", ["STS.128 [R2], R4", "LDG.E R4, [R2.64]", "BAR.SYNC.DEFER_BLOCKING 0x0", None]
)
def test_called_code_that_accesses_memory_or_waits_for_others_is_no_slow_path_of_a_function(accesses):
    """A kernel of cuBLAS calls its own last steps, which stand behind its EXIT."""
    lines = ["CALL.REL.NOINC 0x20", "EXIT", "FMUL R0, R0, R3", accesses or "FMUL R0, R0, R4", "RET.REL.NODEC R20, 0x0"]  # fmt: skip
    assert bool(list(special_functions.detect_special_functions(evidence_of(*lines)))) == (accesses is None)


def test_a_function_behind_the_end_that_divides_64_bit_integers_is_no_slow_path_of_a_float_function():
    lines = ["CALL.REL.NOINC 0x30", "LDG.E R4, [R2.64]", "EXIT",
             "I2F.U64.RP R8, R4", "MUFU.RCP R8, R8", "F2I.U64.TRUNC R4, R8", "IMAD.WIDE.U32 R6, R4, R6, RZ", "RET.REL.NODEC R20, 0x0",
             "MUFU.RSQ R0, R3", "FMUL R0, R0, R3", "RET.REL.NODEC R20, 0x0"]  # fmt: skip
    (dividing,) = integer_overhead.detect_integer_overhead(evidence_of(*lines))
    assert [site.position for site in dividing.weights] == [3, 4, 5, 6, 7]
    (special,) = special_functions.detect_special_functions(evidence_of(*lines))
    assert [site.position for site, weight in special.weights.items() if weight] == [8, 9, 10]


def test_without_lines_a_function_takes_the_arithmetic_near_it_alone():
    far = ["FFMA R20, R21, R22, R20"] * 100
    evaluating = ["FFMA R2, R1, 1.4426950216293334961, -R3", "FFMA R2, R1, 1.925963033500011079e-08, R2", *["FFMA R2, R1, R3, R2"] * 7, "MUFU.EX2 R2, R2"]  # fmt: skip
    (candidate,) = special_functions.detect_special_functions(evidence_of(*far, *evaluating, *far, file=None))
    assert candidate.evidence["special_pct"] < 20
    (candidate,) = special_functions.detect_special_functions(evidence_of(*evaluating, file=None))
    assert candidate.evidence["special_pct"] == 100


def test_an_instruction_whose_inputs_do_not_change_in_a_loop_is_redundant():
    lines = [("MOV R9, RZ", 1), ("MUFU.SIN R4, R5", 100), ("FADD R6, R6, R4", 100), (LOOP, 100)]
    (candidate,) = redundant_instructions.detect_redundant_instructions(evidence_of(*lines))
    assert [site.opcode for site in candidate.weights] == ["MUFU.SIN"]
    lines[2] = ("FADD R5, R5, R4", 100)
    assert names(redundant_instructions.detect_redundant_instructions, evidence_of(*lines)) == []


BRANCH = {
    "test": "ISETP.NE.AND P5, PT, R8, RZ, PT",
    "open": "BSSY B2, 0x80",
    "branch": "@P5 BRA 0x70",
    "square": "FMUL R30, R10, R10",
    "cube": "FMUL R30, R30, R10",
    "weight": "FMNMX R11, R30, R12, !PT",
    "meet": "BSYNC B2",
    "add": "FFMA R6, R11, R7, R6",
    "end": "@P0 BRA 0x10",
}


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({}, {"test", "open", "branch", "square", "cube", "weight", "meet"}),
        ({"test": "ISETP.NE.AND P5, PT, R6, RZ, PT"}, {"square", "cube", "weight"}),  # turns choose anew
        ({"cube": "FMUL R30, R30, R6"}, {"square"}),  # another value in each turn
        ({"open": "MOV R11, R9"}, {"test", "branch", "square", "cube", "weight", "meet"}),
        ({"weight": "LDG.E R11, [R12.64]"}, {"square", "cube"}),  # the branch spares a load
        ({"add": "FFMA R10, R30, R7, R10"}, set()),
    ],
)
def test_what_comes_of_the_same_inputs_by_several_steps_is_redundant_with_the_branch_around_it(
    changed, found
):
    """A weight that some turns' threads compute: registers are used for it anew in each turn, and hold the same again."""
    lines = BRANCH | changed
    evidence = evidence_of(("MOV R6, RZ", 1), *((line, 100) for line in lines.values()))
    found_here = {
        site for one in redundant_instructions.detect_redundant_instructions(evidence) for site in one.weights
    }
    assert {name for name, site in zip(lines, evidence.sites[1:], strict=True) if site in found_here} == found


@pytest.mark.parametrize(
    ("load", "found"),
    [
        ("LDC R13, c[0x0][0x240]", True),  # a parameter, which nothing changes
        ("LDC R13, c[0x3][R7]", True),
        ("LDC R13, c[0x3][R6]", False),  # another place of the table in each turn
        ("LDS R13, [R7]", False),  # others may have stored there
        ("SHFL.BFLY PT, R13, R7, 0x1, 0x1f", False),
    ],
)
def test_what_comes_of_constants_is_the_same_in_each_turn(load, found):
    turn = (load, "FADD R14, R5, R13", "MUFU.EX2 R14, R14", "FADD R6, R6, R14", LOOP)
    evidence = evidence_of(("MOV R6, RZ", 1), *((line, 100) for line in turn))
    causes = redundant_instructions.detect_redundant_instructions(evidence)
    spared = {site.opcode for one in causes for site in one.weights}
    assert spared >= {"FADD", "MUFU.EX2"} if found else not spared


@pytest.mark.parametrize(
    ("taking_in", "behind", "found"),
    [
        ("FADD R6, R6, R14", "MOV R8, R6", {"I2FP.F32.S32", "FSETP.GEU.AND", "FADD", "FMUL"}),
        ("FFMA R6, R14, R8, R6", "MOV R8, R6", {"FSETP.GEU.AND", "FADD", "FMUL"}),
        ("FADD R6, R6, R14", "FADD R6, R6, R8", {"FSETP.GEU.AND", "FADD", "FMUL"}),
        ("@P1 FADD R6, R6, R14", "MOV R8, R6", {"FADD", "FMUL"}),
    ],
)
def test_what_serves_nothing_but_arithmetic_that_is_repeated_is_spared_with_it(taking_in, behind, found):
    turn = ("I2FP.F32.S32 R8, R5", "FSETP.GEU.AND P1, PT, R8, R9, PT", "FADD R14, R8, R13", "@!P1 FMUL R14, R14, R14", taking_in, LOOP)  # fmt: skip
    evidence = evidence_of(("MOV R6, RZ", 1), *((line, 100) for line in turn), (behind, 1))
    causes = redundant_instructions.detect_redundant_instructions(evidence)
    spared = {site for one in causes for site in one.weights}
    assert {site.opcode for site in evidence.sites[1:5] if site in spared} == found


def test_a_product_and_its_sum_are_one_multiply_add_unless_others_use_the_product():
    assert names(
        redundant_instructions.detect_redundant_instructions,
        evidence_of("FMUL R4, R1, R2", "FADD R5, R4, R3"),
    ) == ["redundant-instructions"]
    assert (
        names(
            redundant_instructions.detect_redundant_instructions,
            evidence_of("FMUL R4, R1, R2", "STG.E [R8.64], R4"),
        )
        == []
    )


@pytest.mark.parametrize(
    ("product", "use", "found"),
    [
        ("DMUL R4, R6, R8", "DADD R10, R10, R4", True),
        ("HMUL2 R4, R1, R2", "HADD2 R5, R5, R4", True),
        ("FMUL R4, R1, R2", "FADD R5, |R4|, -RZ", False),  # so compilers write an absolute value
        ("FMUL R4, R1, R2", "FMUL R5, R4, R3", False),
        ("HMUL2 R4, R1, R2", "HADD2.F32 R5, -RZ, R4.H0_H0", False),  # and a conversion
        ("FMUL R4, R1, R2", "HADD2 R5, R5, R4", False),
    ],
)
def test_a_product_is_fused_with_an_addition_of_its_own_kind(product, use, found):
    fused = names(redundant_instructions.detect_redundant_instructions, evidence_of(product, use))
    assert fused == ["redundant-instructions"] * found


@pytest.mark.parametrize(("length", "found"), [(21, ["loop-overhead"]), (22, [])])
def test_a_loop_that_spends_less_than_an_eighth_on_itself_is_unrolled_enough(length, found):
    """With its counter, its test and its branch."""
    body = [("FFMA R6, R4, R5, R6", 100)] * length
    keeping = [("IADD3 R2, R2, 0x1, RZ", 100), ("ISETP.NE.AND P0, PT, R2, R3, PT", 100), (LOOP, 100)]
    assert names(loops.detect_loop_overhead, evidence_of(("MOV R2, RZ", 1), *body, *keeping)) == found


def test_unrolling_a_loop_also_counts_addresses_up_no_more_and_waits_once_for_its_shared_loads():
    body = [("LDS R4, [R2]", 100), ("FFMA R6, R4, R5, R6", 100), ("LEA R2, R3, R7, 0x2", 100)]
    keeping = [("IADD3 R3, R3, 0x1, RZ", 100), ("ISETP.NE.AND P0, PT, R3, R9, PT", 100), (LOOP, 100)]
    waiting = {2: {"waits": {"short_scoreboard": 9}}}
    (candidate,) = loops.detect_loop_overhead(evidence_of(("MOV R3, RZ", 1), *body, *keeping, facts=waiting))
    assert "LEA" in [site.opcode for site in candidate.weights]
    assert candidate.effect.waits["short_scoreboard"] == pytest.approx(7 / 8)


def test_a_value_that_is_converted_and_back_is_rounded_which_still_takes_instructions():
    (there_and_back,) = number_types.detect_conversions(
        evidence_of("F2I.NTZ R4, R5", "I2FP.F32.S32 R6, R4", "EXIT")
    )
    assert there_and_back.effect.resources["issue"] == 0
    assert there_and_back.effect.resources["xu"] == 1
    (one_way,) = number_types.detect_conversions(evidence_of("F2I.NTZ R4, R5", "STG.E [R8.64], R4", "EXIT"))
    assert one_way.effect.resources["issue"] > 0


def issue_of_fp64(*lines, **more):
    """Returns the part of the issue slots that single precision would save."""
    (candidate,) = number_types.detect_fp64(evidence_of(*lines, **more))
    return candidate.effect.resources["issue"]


@pytest.mark.parametrize(
    ("made", "issue", "added"),
    [
        ("LDS R4, [R2]", 1 / 3, {}),
        ("IADD3 R4, R4, 0x1, RZ", 0.0, {"fma": -0.2 / 3 / 0.1}),
        ("IMAD R4, R4, R5, R6", -1 / 3, {"alu": -2 * 2 * 0.2 / 3 / 0.1}),
    ],
)
def test_removing_a_conversion_is_free_for_a_loaded_value_and_costs_instructions_for_a_computed_one(
    made, issue, added
):
    """A sum takes one addition of floats, and any other integer two instructions, each two cycles of its pipe."""
    (candidate,) = number_types.detect_conversions(
        evidence_of(made, "I2F.U16 R7, R4", "FADD R8, R8, R7", busy={"issue": 0.2, "alu": 0.1, "fma": 0.1})
    )
    assert candidate.effect.resources["issue"] == pytest.approx(issue)
    assert {
        name: part for name, part in candidate.effect.resources.items() if part < 0 and name != "issue"
    } == pytest.approx(added)


def test_bytes_that_are_taken_out_of_a_loaded_word_were_loaded():
    lines = ("LDG.E R4, [R2.64]", "SHF.R.U32.HI R5, RZ, 0x10, R4", "I2F.U8 R7, R5", "FADD R8, R8, R7")
    (candidate,) = number_types.detect_conversions(evidence_of(*lines))
    assert candidate.effect.resources["issue"] == pytest.approx(1 / 4)


@pytest.mark.parametrize(
    ("constant", "found"),
    [
        ("-0.0013887860113754868507", True),  # the cosine of an angle of which the line before takes the sine
        ("-0.0014", False),
        ("0.2", False),
        ("-4.9348020553588867188", True),  # cospif
    ],
)
def test_a_function_that_has_no_other_mark_is_known_by_its_polynomial(constant, found):
    evidence = evidence_of(*["FMUL R4, R4, R4"] * 7, f"FFMA R5, R4, R5, {constant}", line=9)
    found_ones = list(special_functions.detect_special_functions(evidence))
    assert [one.effect.resources["issue"] for one in found_ones] == ([0.5] if found else [])


ON_ONE_LINE = (
    "FMUL R6, R0, 0.63661974668502807617",
    "FFMA R9, R4, R5, -0.0013887860113754868507",
    "FMUL R7, R6, R6",
)
REDUCED = ("I2F.F64.S64 R6, R8", "DMUL R6, R6, UR4", "F2F.F32.F64 R6, R6")


def test_a_large_angle_of_single_precision_is_reduced_with_a_double_that_no_source_has():
    assert list(number_types.detect_fp64(evidence_of(*ON_ONE_LINE, *REDUCED, line=9))) == []
    assert list(
        number_types.detect_fp64(evidence_of(*ON_ONE_LINE[1:], *REDUCED, line=9))
    )  # no sine: a sum of integers
    (mixed,) = number_types.detect_fp64(evidence_of(*ON_ONE_LINE, *REDUCED, "DADD R10, R10, R12", line=9))
    assert [site.opcode for site in mixed.weights] == ["DADD"]


def test_the_polynomial_of_a_sine_in_single_precision_is_none_of_double_precision():
    """A sum of doubles takes the place of one of floats; the sine beside it stays as it is."""
    sine = (*ON_ONE_LINE, *["FFMA R7, R6, R7, R8"] * 7)
    (candidate,) = number_types.detect_fp64(evidence_of(*sine, "DADD R10, R10, R12", line=9))
    assert candidate.effect.resources["issue"] == 0


@pytest.mark.parametrize(("bound", "found"), [("|R7|", True), ("|R7|.reuse", True), ("R7", False)])
def test_a_remainder_of_floats_is_known_by_its_test_of_the_quotient(bound, found):
    """A logarithm multiplies a tiny argument by the same number, and has marks of its own."""
    lines = (f"FMUL R5, {bound}, 8388608", *["FFMA R4, R4, R5, R6"] * 7)
    assert bool(list(special_functions.detect_special_functions(evidence_of(*lines, file=None)))) == found


def test_single_precision_needs_as_many_multiply_adds_but_no_conversions_moves_of_constants_or_refinements():
    assert issue_of_fp64("DFMA R4, R6, R8, R4", "EXIT") == 0
    assert issue_of_fp64("F2F.F64.F32 R4, R6", "EXIT") == 0.5
    assert issue_of_fp64("MOV R9, 0x3fd80000", "DMUL R4, R6, R8", "EXIT") == pytest.approx(1 / 3)
    assert issue_of_fp64("MOV R9, 0x3fd80000", "FMUL R4, R6, R9", "DADD R2, R2, R10") == 0
    refined = ["MUFU.RCP64H R9, R7", *["DFMA R8, R8, R10, R8"] * 9]
    assert issue_of_fp64(*refined, file=None) == pytest.approx(0.6)  # four of ten instructions stay


@pytest.mark.parametrize(
    ("terms", "constants", "issue"),
    [
        (5, 5, 2 / 3),  # the moves alone
        (6, 6, (2 + 1 - 24 / 53) / 3),
        (6, 1, 2 / 8),  # the same constant again and again, as in a loop that was unrolled
    ],
)
def test_a_long_polynomial_in_double_precision_has_more_terms_than_single_precision_needs(
    terms, constants, issue
):
    lines = []
    for term in range(terms):
        moves = [f"UMOV UR4, 0x{term}5555555", f"UMOV UR5, 0x3fa5555{term}"] if term < constants else []
        lines += [*moves, "DFMA R20, R18, R20, UR4"]
    assert issue_of_fp64(*lines) == pytest.approx(issue)


@pytest.mark.parametrize(
    ("registers", "pairs", "by_registers", "waves", "warps"),
    [
        (40, 8, 6, 9.0, 8 / 6),  # as many as other limits allow
        (41, 8, 5, 9.0, 6 / 5),  # 33 registers are allocated as 40
        (40, 8, 6, 1.2, 1.2),  # the grid has no more blocks
        (32, 8, 8, 9.0, 1.0),  # registers limit nothing
    ],
)
def test_values_of_one_register_leave_places_for_more_warps(registers, pairs, by_registers, waves, warps):
    evidence = evidence_of(
        *[f"DADD R{2 * pair}, R{2 * pair}, 1" for pair in range(pairs)],
        figures={
            "registers": registers,
            "blocks_by_registers": by_registers,
            "launch__occupancy_limit_warps": 8,
            "occupancy_limit_pct": 100 * by_registers / 8,
            "waves": waves,
        },
    )
    (candidate,) = number_types.detect_fp64(evidence)
    assert candidate.effect.warps == pytest.approx(warps)


def test_conversions_count_unless_they_belong_to_a_division_of_integers():
    assert names(number_types.detect_conversions, evidence_of("I2F.S8 R4, R5")) == ["type-conversions"]
    assert names(number_types.detect_conversions, evidence_of("I2F.U32.RP R4, R5")) == []


def test_double_precision_is_named_with_how_busy_it_keeps_its_units():
    (candidate,) = number_types.detect_fp64(evidence_of("DADD R4, R4, R6", "EXIT", busy={"fp64": 0.8}))
    assert candidate.evidence["fp64_busy_pct"] == pytest.approx(80)
    assert names(number_types.detect_fp64, evidence_of("FADD R4, R4, R6")) == []


@pytest.mark.parametrize(("acting", "found"), [(32.0, []), (31.5, []), (24.0, ["idle-lanes"])])
def test_lanes_are_idle_where_more_than_a_few_do_nothing(acting, found):
    facts = {place: {"lanes": acting, "acting": acting} for place in range(2)}
    assert names(lanes.detect_idle_lanes, evidence_of("FADD R4, R4, R6", "EXIT", facts=facts)) == found


@pytest.mark.parametrize(("acting", "found"), [(0.5, False), (1.5, True)])
def test_arithmetic_that_not_one_lane_of_a_warp_takes_is_for_rare_values(acting, found):
    facts = {place: {"lanes": 32.0, "acting": acting} for place in range(2)}
    evidence = evidence_of("@P0 FMUL R4, R4, R6", ("@P0 STS [R2], R4", 0.1), facts=facts)
    assert any(site.kind == "fp32" for site in _idle(evidence)) == found


@pytest.mark.parametrize(("registers", "found"), [(None, 1), (127.0, 1), (128.0, 0)])
def test_a_second_chain_needs_as_many_registers_again(registers, found):
    facts = {1: {"waits": {"wait": 50}}}
    figures = {} if registers is None else {"registers": registers}
    evidence = evidence_of("FMUL R4, R4, R6", "FADD R4, R4, R5", facts=facts, figures=figures)
    assert len(list(dependent_chains.detect_dependent_chain(evidence))) == found


@pytest.mark.parametrize(("is_retried", "found"), [(False, ["idle-lanes"]), (True, [])])
def test_who_waits_for_a_lock_gains_nothing_from_work_for_the_others(is_retried, found):
    evidence = evidence_of("@P0 STS [R2], R4", facts={0: {"lanes": 32.0, "acting": 1.0}})
    if is_retried:
        evidence = replace(evidence, retried=frozenset(evidence.sites))
    assert names(lanes.detect_idle_lanes, evidence) == found


@pytest.mark.parametrize(
    ("product", "narrowed", "found"),
    [
        ("HMMA.16816.F32 R12, R8, R10, R12", "F2FP.F16.F32.PACK_AB R8, R4, R5", []),
        ("HMMA.16816.F32 R12, R8, R10, R12", "I2F.S8 R8, R4", ["type-conversions"]),
        ("FFMA R12, R8, R10, R12", "F2FP.F16.F32.PACK_AB R8, R4, R5", ["type-conversions"]),
    ],
)
def test_results_that_tensor_cores_multiply_next_have_to_be_narrow(product, narrowed, found):
    evidence = evidence_of("NOP", narrowed, product, LOOP)
    assert names(number_types.detect_conversions, evidence) == found


@pytest.mark.parametrize(
    ("converted", "said", "advised"),
    [
        ("F2F.F64.F32 R4, R6", True, "Write literals as floats"),
        ("F2I.F64.TRUNC R6, R4", False, "Compute in float instead of double"),
    ],
)
def test_only_floats_that_are_widened_are_said_to_be_converted(converted, said, advised):
    """A sine of doubles converts to an integer and back."""
    (candidate,) = number_types.detect_fp64(evidence_of(converted, "DMUL R4, R4, R8", "EXIT"))
    assert ("Values are converted from float" in candidate.sentence) == said
    assert candidate.advice.startswith(advised)


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
def test_lanes_of_a_whole_warp_that_are_predicated_off_are_idle_where_they_lack_an_element_and_not_where_values_are_chosen(
    lines, found
):
    facts = {place: {"lanes": 32.0, "acting": 16.0} for place in range(len(lines))}
    assert {site.opcode for site in _idle(evidence_of(*lines, facts=facts))} == set(found)


@pytest.mark.parametrize(("predicate", "found"), [("P0", {"LDS"}), ("!PT", set())])
def test_what_the_compiler_pads_copies_with_acts_for_no_lane_whatever_the_code_is(predicate, found):
    facts = {0: {"lanes": 32.0, "acting": 0.0}}
    assert {site.opcode for site in _idle(evidence_of(f"@{predicate} LDS RZ, [RZ]", facts=facts))} == found


def test_lanes_that_only_choose_values_are_idle_too_if_branches_split_their_warp():
    facts = {0: {"lanes": 16.0, "acting": 8.0}}
    assert names(lanes.detect_idle_lanes, evidence_of("@P0 FADD R4, R4, R6", "EXIT", facts=facts)) == [
        "idle-lanes"
    ]


def test_no_lane_is_idle_in_what_the_tensor_pipe_multiplies():
    facts = {place: {"lanes": 24.0, "acting": 24.0} for place in range(2)}
    (candidate,) = lanes.detect_idle_lanes(evidence_of("HGMMA.64x256x16.F32.BF16 R4", "EXIT", facts=facts))
    assert candidate.effect.resources["tensor"] == 0


@pytest.mark.parametrize(
    ("after", "name"), [("FMUL R4, R4, R6", "divergent-branches"), ("BSYNC B0", "idle-lanes")]
)
def test_two_sides_of_a_branch_that_share_a_warp_diverge_and_where_they_meet_is_no_side(after, name):
    acting = (32.0, 12.0, 20.0, 32.0)
    facts = {place: {"lanes": count, "acting": count} for place, count in enumerate(acting)}
    evidence = evidence_of("MOV R1, R2", "FADD R4, R4, R6", after, "EXIT", facts=facts)
    named = [
        one.name
        for one in lanes.detect_idle_lanes(evidence)
        if "FADD" in {site.opcode for site in one.weights}
    ]
    assert named == [name]


@pytest.mark.parametrize(("acting", "saved"), [(1.0, True), (24.0, False)])
def test_few_lanes_that_a_block_waits_for_at_a_barrier_cost_that_waiting_too_even_if_predicates_chose_them(
    acting, saved
):
    lines = ("@!P0 STS [R4], R6", "BAR.SYNC.DEFER_BLOCKING 0x0", "FADD R6, R6, R7")
    whole = {"lanes": 32.0, "acting": 32.0}
    facts = {0: {"lanes": 32.0, "acting": acting}, 1: whole, 2: whole | {"waits": {"barrier": 10}}}
    (candidate,) = lanes.detect_idle_lanes(evidence_of(*lines, facts=facts))
    assert (candidate.effect.waits["barrier"] > 0) == saved


TREE_STEP = ("ISETP.GT.AND P0, PT, R0, 0x7, PT", "@!P0 STS [R4], R6", "BAR.SYNC.DEFER_BLOCKING 0x0")


@pytest.mark.parametrize(
    ("acting", "computing", "saved"), [(8.0, 8.0, 0.75), (32.0, 32.0, 0.0), (8.0, 32.0, 0.0)]
)
def test_the_tests_of_a_step_are_for_the_lanes_that_access_memory_in_it_unless_it_computes_for_others(
    acting, computing, saved
):
    """The test is one of two integer instructions; the other one comes after the step."""
    whole = {"lanes": 32.0, "acting": 32.0}
    lines = ("FADD R6, R6, R7", *TREE_STEP, "IADD3 R9, R8, 0x1, RZ")
    facts = dict.fromkeys(range(5), whole)
    facts |= {0: {"lanes": 32.0, "acting": computing}, 2: {"lanes": 32.0, "acting": acting}}
    found = list(lanes.detect_idle_lanes(evidence_of(*lines, facts=facts)))
    assert [one.effect.resources["alu"] for one in found] == ([saved / 2] if found else [])
    assert bool(found) == (acting < 32)


@pytest.mark.parametrize(("taken", "idle"), [(25.0, 0.75), (100.0, 0.0)])
def test_a_branch_keeps_whole_warps_from_a_step_as_a_predicate_does(taken, idle):
    whole = {"lanes": 32.0, "acting": 32.0}
    lines = (TREE_STEP[0], ("STS [R4], R6", taken), TREE_STEP[2])
    found = list(lanes.detect_idle_lanes(evidence_of(*lines, facts=dict.fromkeys(range(3), whole))))
    assert [one.effect.resources["alu"] for one in found] == ([idle] if idle else [])


@pytest.mark.parametrize(("block", "idle"), [(1, 31 / 32), (33, 31 / 64), (32, None), (256, None)])
def test_blocks_that_leave_lanes_without_a_thread_are_named_where_no_instruction_was_counted(block, idle):
    found = list(lanes.detect_lanes_without_thread(evidence_of(block=block, waits={"long_scoreboard": 1.0})))
    assert [(one.name, one.effect.waits["long_scoreboard"]) for one in found] == (
        [("idle-lanes", idle)] if idle else []
    )
    assert names(lanes.detect_lanes_without_thread, evidence_of(LOAD, block=block)) == []


@pytest.mark.parametrize(("counted", "waits", "slots"), [(True, 31 / 32, 31 / 32), (False, 0.0, 31 / 64)])
def test_a_predicate_costs_slots_and_no_waiting_when_lanes_are_not_counted_for_each_instruction(
    counted, waits, slots
):
    """A warp that passes an access by waits for nothing there, and a mean does not say whether whole warps do.

    Counted, all code around the only access serves the one lane that makes it.
    """
    facts = {0: {"lanes": 32.0, "acting": 1.0, "waits": {"wait": 9}}, 1: {"lanes": 32.0, "acting": 32.0}}
    evidence = replace(evidence_of("@P0 LDS R4, [R2]", "EXIT", facts=facts), has_costs=counted)
    (candidate,) = lanes.detect_idle_lanes(evidence)
    assert candidate.effect.waits.get("wait", 0.0) == pytest.approx(waits)
    assert candidate.effect.resources["issue"] == pytest.approx(slots)


def test_loads_that_nobody_waits_for_overlap_well_enough():
    waits = {"long_scoreboard": 9}
    assert names(unoverlapped_loads.detect_unoverlapped_loads, evidence_of(LOAD, "FADD R5, R5, R4", facts={1: {"waits": waits}})) == [
        "loads-not-overlapped"
    ]  # fmt: skip
    assert names(unoverlapped_loads.detect_unoverlapped_loads, evidence_of(LOAD, "FADD R5, R5, R4", facts={1: {"waits": {"wait": 9}}})) == []  # fmt: skip


def lone_saving(loads):
    """The part of the waiting that goes, where a warp has so many loads under way."""
    lines = [f"LDG.E R{10 + number}, [R2.64+{number:#x}]" for number in range(loads)]
    facts = {loads: {"waits": {"long_scoreboard": 9}}}
    (candidate,) = unoverlapped_loads.detect_unoverlapped_loads(
        evidence_of(*lines, "FADD R5, R5, R10", facts=facts)
    )
    return candidate.effect.waits["long_scoreboard"]


def test_four_loads_under_way_are_enough():
    assert lone_saving(1) == lone_saving(3) == 7 / 8
    assert lone_saving(4) == 0.25


def staging(use):
    """A loop in which a warp loads four times 16 bytes, waits, hands them on by `use`, and waits at a barrier."""
    lines = [f"LDG.E.128 R{8 + 4 * place}, [R2.64+{0x200 * place:#x}]" for place in range(4)]
    lines += [use.format(8 + 4 * place) for place in range(4)]
    lines += ["BAR.SYNC.DEFER_BLOCKING 0x0", "LDS R40, [R5]", "BRA 0x0"]
    facts = {4: {"waits": {"long_scoreboard": 30}}, 9: {"waits": {"barrier": 10}}}
    (candidate,) = unoverlapped_loads.detect_unoverlapped_loads(evidence_of(*lines, facts=facts))
    return candidate.effect.waits


def test_copies_of_the_next_tile_end_the_wait_for_all_loads_of_a_tile():
    """However many loads a warp has under way: it waits for all of them in each turn, and others wait for it at the barrier."""
    staged, used = staging("STS.128 [R4], R{0}"), staging("FADD R5, R5, R{0}")
    assert staged["long_scoreboard"] == pytest.approx(7 / 8)
    assert staged["barrier"] == pytest.approx(7 / 8 * 30 / 40)
    assert used == {"long_scoreboard": 0.25, "barrier": 0.0}


def test_a_list_is_a_dependent_chain_and_an_array_is_loads_that_do_not_overlap():
    chased = [("MOV R2, R8", 10), ("LDG.E.64 R2, [R2.64]", 1000), (LOOP, 1000)]
    facts = {1: {"waits": {"long_scoreboard": 9}}}
    assert names(dependent_chains.detect_dependent_chain, evidence_of(*chased, facts=facts)) == [
        "dependent-chain"
    ]
    assert names(unoverlapped_loads.detect_unoverlapped_loads, evidence_of(*chased, facts=facts)) == []


def test_barriers_count_less_where_warps_come_late_because_of_loads():
    lines = (LOAD, "STS [R8], R4", "BAR.SYNC.DEFER_BLOCKING 0x0", "LDS R6, [R8]")
    alone = evidence_of(*lines, facts={3: {"waits": {"barrier": 10}}})
    behind = evidence_of(*lines, facts={3: {"waits": {"barrier": 10}}, 1: {"waits": {"long_scoreboard": 10}}})
    (one,), (other,) = barriers.detect_barriers(alone), barriers.detect_barriers(behind)
    assert one.effect.waits["barrier"] == pytest.approx(7 / 8)
    assert other.effect.waits["barrier"] == pytest.approx(7 / 16)


@pytest.mark.parametrize(("at_barrier", "found"), [(2, []), (4, ["barriers"])])
def test_barriers_at_which_nobody_waits_are_no_cause(at_barrier, found):
    """Whatever the values cost that are exchanged between them."""
    lines = ("STS [R8], R4", "BAR.SYNC.DEFER_BLOCKING 0x0", "LDS R6, [R8+0x4]", "FADD R6, R6, R7")
    facts = {1: {"waits": {"short_scoreboard": 100 - at_barrier}}, 3: {"waits": {"barrier": at_barrier}}}
    assert names(barriers.detect_barriers, evidence_of(*lines, facts=facts)) == found


def test_a_barrier_is_judged_by_the_loads_since_the_one_before_it():
    barrier, late = "BAR.SYNC.DEFER_BLOCKING 0x0", {"waits": {"barrier": 10}}
    lines = (LOAD, "STS [R8], R4", barrier, "LDS R6, [R8]", barrier, "FADD R6, R6, R7")
    facts = {1: {"waits": {"long_scoreboard": 10}}, 3: late, 5: late}
    (candidate,) = barriers.detect_barriers(evidence_of(*lines, facts=facts))
    assert candidate.effect.waits["barrier"] == pytest.approx((7 / 16 + 7 / 8) / 2)


@pytest.mark.parametrize(
    ("stores", "lanes_that_store", "loads", "saved"),
    [
        (100, 32, 100, 100 / 200 * 7 / 8),  # a value is stored, and read by another thread, by a shuffle
        (50, 32, 50, 50 / 100 * 7 / 8),  # between two barriers
        (100, 32, 200, (100 + 200 / 2) / 300 * 7 / 8),  # and by its own
        (100, 32, 300, (100 + 300 / 3) / 400 * 7 / 8),  # on either side
        (100, 32, 400, 0.0),  # a tile: read by many
        (200, 16, 200, 0.0),  # stored by several accesses
        (100, 8, 200, 0.0),  # a tree: in most of its steps, few threads store
    ],
)
def test_values_that_threads_exchange_between_barriers_stay_in_registers_without_them(
    stores, lanes_that_store, loads, saved
):
    lines = (
        ("STS [R8], R4", stores),
        "BAR.SYNC.DEFER_BLOCKING 0x0",
        ("LDS R6, [R8+0x4]", loads),
        "FADD R6, R6, R7",
    )
    facts = {0: {"acting": lanes_that_store}, 3: {"waits": {"barrier": 10}}}
    (candidate,) = barriers.detect_barriers(evidence_of(*lines, facts=facts))
    assert candidate.effect.resources["lsu"] == pytest.approx(saved)


@pytest.mark.parametrize(
    ("between", "saved"),
    [("FADD R6, R6, R4", 7 / 16), ("IADD3 R2, R2, 0x4, RZ", 0.0), ("ATOMS.ADD RZ, [R8], R6", 0.0)],
)
def test_a_barrier_alone_makes_a_thread_load_from_shared_memory_what_it_holds_already(between, saved):
    """Half of the loads repeat the other one, unless its address has changed or something was stored."""
    load = "LDS R4, [R2]"
    whole = {"passes": 100.0, "ideal_passes": 100.0}
    lines = (load, "BAR.SYNC.DEFER_BLOCKING 0x0", between, load, "FADD R7, R7, R4")
    facts = {0: whole, 2: {"waits": {"barrier": 10}}, 3: whole}
    (candidate,) = barriers.detect_barriers(
        evidence_of(*lines, facts=facts, figures={"shared_of_l1_pct": 100.0})
    )
    assert candidate.effect.resources["l1"] == pytest.approx(saved)


def test_independent_values_fill_the_latency_of_arithmetic_and_most_of_that_of_other_units():
    code = ("FADD R5, R5, R4", "FADD R5, R5, R4", "MUFU.EX2 R6, R5", "FADD R6, R6, R7")
    facts = {1: {"waits": {"wait": 10}}, 3: {"waits": {"short_scoreboard": 10}}}
    (candidate,) = dependent_chains.detect_dependent_chain(evidence_of(*code, facts=facts))
    assert candidate.effect.waits == {"wait": 1.0, "short_scoreboard": 0.75}


@pytest.mark.parametrize(
    ("jump", "rest", "saved"),
    [
        ("@P0 BRA 0x0", 766, {"branch_resolving": 0.75, "no_instruction": 0.75}),
        ("@P0 BRA 0x0", 767, {"branch_resolving": 0.75}),
        ("EXIT", 766, {"branch_resolving": 0.0, "no_instruction": 0.0}),
    ],
)
def test_one_jump_of_a_loop_serves_several_chains_and_shortens_no_code_that_exceeds_its_cache(
    jump, rest, saved
):
    """Warps wait at the start of the loop, after its jump; 768 instructions fill the cache."""
    facts = {0: {"waits": {"branch_resolving": 10, "no_instruction": 10}}, 1: {"waits": {"wait": 10}}}
    evidence = evidence_of("FADD R4, R4, R5", "FADD R4, R4, R5", jump, *["NOP"] * (rest - 1), facts=facts)
    (candidate,) = dependent_chains.detect_dependent_chain(evidence)
    found = candidate.effect.waits
    assert {
        reason: found[reason] for reason in ("branch_resolving", "no_instruction") if reason in found
    } == saved


def test_loads_that_are_staged_by_hand_pass_through_l1_once_more_than_copies():
    facts = {0: {"sectors": 400.0, "ideal_sectors": 400.0}, 1: {"waits": {"long_scoreboard": 9}}}
    (staged,) = unoverlapped_loads.detect_unoverlapped_loads(evidence_of(LOAD, "STS [R8], R4", facts=facts))
    (used,) = unoverlapped_loads.detect_unoverlapped_loads(evidence_of(LOAD, "FADD R5, R5, R4", facts=facts))
    assert (staged.effect.resources["l1"], used.effect.resources["l1"]) == (1.0, 0.0)
    facts[0] = {"sectors": 3200.0, "ideal_sectors": 400.0}  # looked up apart by copies as well
    (apart,) = unoverlapped_loads.detect_unoverlapped_loads(evidence_of(LOAD, "STS [R8], R4", facts=facts))
    assert apart.effect.resources["l1"] == pytest.approx(1 / 8)


def register_conflicts(*lines, **facts):
    return list(
        compilation.detect_register_banks(evidence_of(*lines, facts={0: facts or {"waits": {"dispatch": 9}}}))
    )


@pytest.mark.parametrize(("waited", "part"), [(1.0, 1.0), (2.0, 1.0), (8.0, 1 / 4)])
def test_conflicts_explain_no_more_waiting_than_they_hold_the_dispatcher(waited, part):
    """Each execution holds the dispatcher, and with it the one warp of its scheduler, for two cycles more than it needs."""
    figures = {"stall_dispatch": waited, "active_warps": 1.0}
    evidence = evidence_of("FFMA R0, R2, R4, R0", facts={0: {"waits": {"dispatch": 9}}}, figures=figures)
    (candidate,) = compilation.detect_register_banks(evidence)
    assert candidate.effect.waits["dispatch"] == pytest.approx(1.5 / 2 * part)


def test_arithmetic_that_reads_one_bank_while_the_other_idles_conflicts():
    (candidate,) = register_conflicts("FFMA R0, R2, R4, R0")
    # Half a cycle of the two is needed; one and a half of the three in all hold up others that are ready.
    assert candidate.effect.waits == {
        "dispatch": pytest.approx(1.5 / 2),
        "not_selected": pytest.approx(1.5 / 3),
    }


@pytest.mark.parametrize(
    "line",
    [
        "FFMA R0, R3, R3, R0",  # two registers of two banks
        "LOP3.LUT R0, R2, R4, RZ, 0xc0, !PT",  # follows only in the cycle after the next, whatever it reads
        "IMAD.WIDE R0, R2, R4, R6",  # reads a pair
    ],
)
def test_registers_that_other_names_would_not_read_faster_do_not_conflict(line):
    assert register_conflicts(line) == []


def test_banks_that_nobody_waits_for_are_no_cause():
    assert register_conflicts("FFMA R0, R2, R4, R0", waits={"wait": 9}) == []


@pytest.mark.parametrize(("instructions", "found"), [(768, []), (769, ["instruction-cache-misses"])])
def test_code_that_fits_in_12_kib_misses_no_instruction_cache(instructions, found):
    evidence = evidence_of(*["FADD R4, R4, R6"] * instructions, facts={0: {"waits": {"no_instruction": 9}}})
    assert names(instruction_cache.detect_instruction_cache, evidence) == found


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


NEXT, STORED, FORWARD = "FFMA R7, R4, R7, R8", "STG.E [R10.64], R7", "IADD3 R10, R10, 0x4, RZ"


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
def test_turns_of_a_loop_that_follow_from_each_other_are_no_work_for_more_blocks(
    inside, after, waiting, found
):
    lines = [("NOP", 1.0), LOAD, *inside, LOOP, *after]
    evidence = evidence_of(
        *lines,
        facts={waiting: {"waits": {"wait": 90}}},
        grid=64,
        figures={"waves": 0.5, "sms": 132.0},
    )
    assert names(grid.detect_small_grid, evidence) == found


@pytest.mark.parametrize(
    ("inside", "after", "waves", "warps"),
    [
        ([NEXT, STORED, FORWARD], [], 0.5, 0.25),  # of those that ran
        ([NEXT, STORED, FORWARD], [], 8.0, 1.0),  # as many fit at once, and others follow
        ([NEXT, FORWARD], [STORED], 0.5, 1.0),
    ],
)
def test_fewer_threads_are_left_if_each_takes_the_elements_of_several_whose_turns_follow_from_each_other(
    inside, after, waves, warps
):
    contiguous = {"sectors": 400.0, "ideal_sectors": 400.0, "waits": {"long_scoreboard": 10}}
    facts = {1: contiguous, 2: {"waits": {"wait": 90}}}
    evidence = evidence_of(("NOP", 1.0), LOAD, *inside, LOOP, *after, facts=facts, figures={"waves": waves})
    (candidate,) = narrow_accesses.detect_narrow(evidence)
    assert candidate.effect.warps == warps


@pytest.mark.parametrize(("starting", "saved"), [(0.0, 0.5), (0.9, 0.05), (1.0, 0.0)])
def test_a_larger_grid_saves_nothing_of_what_starting_and_ending_the_launch_takes(starting, saved):
    evidence = evidence_of(LOAD, grid=66, figures={"waves": 0.5, "sms": 132.0})
    tiny = replace(evidence, model=replace(evidence.model, starting=starting))
    (candidate,) = grid.detect_small_grid(tiny)
    assert candidate.saves == pytest.approx(saved)


@pytest.mark.parametrize(("waves", "found"), [(1.9, []), (2.0, ["too-little-work-a-thread"])])
def test_threads_can_do_more_where_there_are_two_rounds_of_blocks(waves, found):
    assert names(grid.detect_little_work, evidence_of(LOAD, figures={"waves": waves})) == found


def test_a_load_that_a_thread_repeats_is_no_reason_to_give_it_more_to_do():
    once, twice = (
        grid.detect_little_work(evidence_of(*[LOAD] * count, figures={"waves": 20.0})) for count in (1, 2)
    )
    assert [len(candidate.weights) for candidate in (*once, *twice)] == [1, 1]


@pytest.mark.parametrize(("waves", "launched"), [(2.0, 0.0), (20.0, 0.9)])
def test_blocks_that_do_more_each_are_fewer_until_they_fill_the_gpu_twice(waves, launched):
    (candidate,) = grid.detect_little_work(evidence_of(LOAD, figures={"waves": waves}))
    assert candidate.effect.resources["launch"] == pytest.approx(launched)


@pytest.mark.parametrize(("latency", "worth"), [(0.0, 0.2), (0.5, 0.6), (1.0, 1.0)])
def test_warps_between_blocks_queue_for_memory_but_hide_its_latency(latency, worth):
    evidence = evidence_of(
        LOAD,
        figures={"waves": 20.0},
        waits={"long_scoreboard": 0.8, "wait": 0.2},
        places=Places(unloaded={"long_scoreboard": latency}),
    )
    (candidate,) = grid.detect_little_work(evidence)
    assert candidate.effect.resources["launch"] == pytest.approx(worth * 0.9)


@pytest.mark.parametrize(("launching", "saves"), [(0.0, 0.5), (0.5, 0.25), (1.0, None)])
def test_places_that_no_block_comes_for_are_no_imbalance(launching, saves):
    """Blocks loop, so that they are not short-lived. The GPU launches all that it can, in this part of the time."""
    figures = {"occupancy_pct": 50.0, "occupancy_limit_pct": 100.0, "waves": 20.0}
    evidence = evidence_of(
        (LOAD, 1e9),
        figures=figures,
        busy=dict.fromkeys(BUSY, 0.0),
        waits={"long_scoreboard": 1.0},
        places=Places(launching=launching),
    )
    found = list(grid.detect_imbalance(evidence))
    assert [one.saves for one in found] == ([] if saves is None else [pytest.approx(saves)])


@pytest.mark.parametrize(
    ("waves", "found"), [(1.0, []), (1.01, ["uneven-last-wave"]), (2.0, []), (9.9, ["uneven-last-wave"])]
)  # fmt: skip
def test_a_last_round_matters_unless_it_is_full(waves, found):
    assert names(grid.detect_last_wave, evidence_of(LOAD, figures={"waves": waves})) == found


def test_an_uneven_last_round_never_saves_more_than_the_places_that_it_leaves_empty():
    figures = {"waves": 1.25, "occupancy_pct": 10.0, "occupancy_limit_pct": 100.0}
    (candidate,) = grid.detect_last_wave(evidence_of(LOAD, figures=figures))
    assert candidate.saves <= candidate.at_most == pytest.approx(0.375)


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
def test_an_sm_that_takes_longer_by_less_than_a_round_has_more_to_do_only_if_it_executes_more(
    waves, executed, found
):
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


@pytest.mark.parametrize(
    ("held", "empty", "found"),
    [
        (2.0, 0.0, []),  # two blocks all the time: something that is not recorded allows no more
        (2.03, 0.0, ["load-imbalance", "uneven-last-wave"]),
        (12.0, 0.0, ["uneven-last-wave"]),  # all that fit: none is missing
        (2.0, 0.02, ["load-imbalance", "uneven-last-wave"]),  # places empty as warps end
    ],
)
def test_a_whole_number_of_blocks_all_the_time_is_a_limit_and_no_imbalance(held, empty, found):
    figures = {"occupancy_pct": 100 * held / 12, "occupancy_limit_pct": 100.0, "blocks_by_registers": 12.0,
               "launch__occupancy_limit_blocks": 16.0, "waves": 1.5}  # fmt: skip
    evidence = evidence_of((LOAD, 1e9), figures=figures, waits={"no_warp": empty, "wait": 1 - empty})
    assert names(grid.detect_imbalance, evidence) + names(grid.detect_last_wave, evidence) == found


@pytest.mark.parametrize(("empty", "found"), [(0.5, ["load-imbalance"]), (0.02, [])])
def test_without_counters_of_each_sm_schedulers_without_a_warp_show_uneven_work(empty, found):
    """3 us are what starting the launch takes, in which there is no warp either."""
    figures = {"waves": 20.0, "sms": 132.0, "duration_ns": 100_000.0}
    evidence = evidence_of(
        (LOAD, 1e9), figures=figures, busy={"issue": 0.0}, waits={"no_warp": empty, "wait": 1 - empty}
    )
    assert names(grid.detect_imbalance, evidence) == found


@pytest.mark.parametrize(
    ("binding", "cause"),
    [
        ("launch__occupancy_limit_blocks", "block-too-small"),
        ("launch__occupancy_limit_warps", "block-size-limits-occupancy"),
        ("blocks_by_registers", "registers-limit-occupancy"),
        ("blocks_by_shared", "shared-memory-limits-occupancy"),
    ],
)
def test_the_smallest_limit_on_blocks_is_what_limits_occupancy(binding, cause):
    limits = dict.fromkeys(("launch__occupancy_limit_blocks", "launch__occupancy_limit_warps", "blocks_by_registers", "blocks_by_shared"), 8.0)  # fmt: skip
    assert names(occupancy.detect_occupancy, evidence_of(LOAD, figures={**limits, binding: 4.0, "occupancy_limit_pct": 50.0})) == [cause]  # fmt: skip
    assert names(occupancy.detect_occupancy, evidence_of(LOAD, figures={**limits, binding: 4.0, "occupancy_limit_pct": 100.0})) == []  # fmt: skip


@pytest.mark.parametrize(
    ("inside", "found"),
    [
        (["FFMA R8, R2, R3, R8", "FFMA R9, R2, R4, R9", "FFMA R10, R2, R5, R10"], []),
        (["FFMA R8, R2, R3, R8", "FFMA R9, R2, R4, R9", "FFMA R11, R2, R5, R10"], ["registers-limit-occupancy"]),
        (["FFMA R8, R2, R3, R8"] * 3, ["registers-limit-occupancy"]),  # one sum
        (["HMMA.16816.F32 R8, R4, R2, R8"], []),  # four of them
    ],
)  # fmt: skip
def test_registers_that_hold_the_sums_of_a_tile_cannot_be_fewer(inside, found):
    figures = {"blocks_by_registers": 2.0, "occupancy_limit_pct": 25.0, "registers": 5.0}
    assert names(occupancy.detect_occupancy, evidence_of(LOAD, *inside, LOOP, figures=figures)) == found


def test_sums_of_no_loop_are_over_when_they_are_made():
    figures = {"blocks_by_registers": 2.0, "occupancy_limit_pct": 25.0, "registers": 5.0}
    sums = evidence_of(LOAD, "HMMA.16816.F32 R8, R4, R2, R8", figures=figures)
    assert names(occupancy.detect_occupancy, sums) == ["registers-limit-occupancy"]


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


def limited_by(limit_pct=25.0, block=256, waves=100.0, **limits):
    """The effect of lifting the smallest limit, in blocks an SM, on blocks of so many threads."""
    figures = {"launch__occupancy_limit_blocks": 32.0, "occupancy_limit_pct": limit_pct, "waves": waves}
    (candidate,) = occupancy.detect_occupancy(evidence_of(LOAD, block=block, figures=figures | limits))
    return candidate.effect


def test_of_two_limits_that_allow_as_many_blocks_one_alone_is_not_worth_lifting():
    """Shared memory binds too, unless the SM only gave it no more of its memory because there was no use for that."""
    assert limited_by(50.0, 32, blocks_by_shared=32.0).warps == 1
    divided = {"shared_bytes": 1024.0, "shared_of_sm": 1024.0 * 48}
    assert limited_by(50.0, 32, blocks_by_shared=32.0, **divided).warps == 1.5
    assert limited_by(50.0, 32, launch__occupancy_limit_warps=64.0, blocks_by_shared=40.0).warps == 1.25


def test_more_warps_are_as_many_as_the_next_limit_allows_and_the_grid_has():
    assert limited_by(blocks_by_shared=2.0).warps == 4  # 8 blocks of 8 warps fill an SM
    assert limited_by(blocks_by_shared=2.0, blocks_by_registers=3.0).warps == 1.5
    assert limited_by(blocks_by_shared=2.0, waves=1.2).warps == 1.2
    assert limited_by(blocks_by_shared=2.0, waves=0.5).warps == 1


@pytest.mark.parametrize(("loads", "reason", "warps"), [(1, "long_scoreboard", 4), (4, "long_scoreboard", 1), (1, "wait", 1)])  # fmt: skip
def test_warps_that_take_the_registers_of_what_others_have_under_way_add_nothing_to_it(loads, reason, warps):
    lines = [f"LDG.E R{4 + place}, [R2.64+{16 * place:#x}]" for place in range(loads)]
    figures = {"blocks_by_registers": 2.0, "occupancy_limit_pct": 25.0, "waves": 100.0}
    evidence = evidence_of(*lines, "FADD R9, R9, R4", facts={loads: {"waits": {reason: 9}}}, figures=figures)
    (candidate,) = occupancy.detect_occupancy(evidence)
    assert candidate.effect.warps == pytest.approx(warps)


@pytest.mark.parametrize(
    ("registers", "figures", "close"),
    [
        (131, {}, (128, 2)),
        (136, {}, (128, 2)),
        (137, {}, None),  # nine registers are more than a sixteenth
        (131, {"waves": 1.4}, None),  # the grid has no two blocks for each SM
        (131, {"blocks_by_shared": 1.0}, None),  # shared memory has no room for two
        # It has, if the SM divides its memory otherwise than for one block.
        (131, {"blocks_by_shared": 1.0, "shared_bytes": 2**14, "shared_of_sm": 2**15}, (128, 2)),
        (85, {}, (80, 3)),
        (66, {}, None),  # of three blocks, a fourth is a third
    ],
)  # fmt: skip
def test_a_few_registers_that_keep_out_a_block_are_named_even_if_they_hold_sums(registers, figures, close):
    blocks = 65_536 // (256 * 8 * math.ceil(registers / 8))
    limits = {"registers": registers, "blocks_by_registers": blocks, "occupancy_limit_pct": 12.5 * blocks, "launch__occupancy_limit_warps": 8.0, "waves": 9.0}  # fmt: skip
    inside = [f"FFMA R{8 + place}, R2, R3, R{8 + place}" for place in range(100)]
    evidence = evidence_of(LOAD, *inside, LOOP, figures=limits | figures)
    found = list(occupancy.detect_occupancy(evidence))
    if close is None:
        assert [one for one in found if "Limit a thread to" in one.advice] == []
        return
    (candidate,) = found
    assert candidate.effect.warps == close[1] / blocks
    assert f"Limit a thread to {close[0]} registers" in candidate.advice
    assert f"an SM holds {close[1]} blocks of 256 threads" in candidate.advice


@pytest.mark.parametrize(
    ("block", "said"), [(1, "With blocks of one thread,"), (32, "With blocks of 32 threads,")]
)
def test_a_block_of_one_thread_is_spoken_of_in_the_singular(block, said):
    figures = {"launch__occupancy_limit_blocks": 32.0, "occupancy_limit_pct": 50.0, "waves": 9.0}
    (candidate,) = occupancy.detect_occupancy(evidence_of(LOAD, block=block, figures=figures))
    assert candidate.sentence.startswith(said)


def test_another_size_of_blocks_changes_both_limits_that_it_sets():
    by_size = limited_by(68.75, 704, launch__occupancy_limit_warps=2.0)
    assert by_size.warps == pytest.approx(64 / 44)
    assert by_size.resources["launch"] == 0
    small = limited_by(50.0, 32, launch__occupancy_limit_warps=64.0)
    assert (small.warps, small.resources["launch"]) == (
        2,
        7 / 8,
    )  # of blocks of 256 threads, an eighth is launched


@pytest.mark.parametrize(("block", "launched"), [(36, 1 - 36 / 256), (32, 0.5), (256, 0.5)])
def test_blocks_with_room_in_their_last_warp_can_be_one(block, launched):
    """Half of the lanes are idle, so that half as many warps would do; of blocks that leave a part of a warp, more become one."""
    facts = {place: {"lanes": 16.0, "acting": 16.0} for place in range(2)}
    (candidate,) = lanes.detect_idle_lanes(evidence_of("FADD R4, R4, R6", "EXIT", facts=facts, block=block))
    assert candidate.effect.resources["launch"] == pytest.approx(launched)


@pytest.mark.parametrize(
    ("resource", "enough", "cause"),
    [
        ("dram", 0.9, "at-memory-bandwidth"),
        ("l2", 0.9, "at-l2-bandwidth"),
        ("fma", 0.75, "at-fma-rate"),
        ("alu", 0.75, "at-alu-rate"),
        ("fma_heavy", 0.75, "at-fma-rate"),
        ("xu", 0.75, "at-xu-rate"),
        ("tensor", 0.75, "at-tensor-rate"),
    ],
)
def test_a_resource_near_its_peak_is_a_ceiling(resource, enough, cause):
    assert names(ceilings.detect_ceilings, evidence_of(LOAD, busy={resource: enough + 1e-9})) == [cause]
    known = {"dram_bytes_read": 1e9}  # and so is how reads and writes mix
    evidence = evidence_of(LOAD, busy={resource: enough - 0.01}, figures=known)
    assert names(ceilings.detect_ceilings, evidence) == []


@pytest.mark.parametrize(("used", "found"), [(0.80, []), (0.81, ["at-memory-bandwidth"])])
def test_without_the_mix_of_reads_and_writes_a_kernel_may_be_as_fast_as_a_copy(used, found):
    """A copy reaches 89 % of the peak, of which 90 % are 80.1 %; reads alone reach 94 %."""
    evidence = evidence_of(LOAD, busy={"dram": used / 0.94})
    assert names(ceilings.detect_ceilings, evidence) == found
    for candidate in ceilings.detect_ceilings(evidence):
        assert "at 81 % of its peak, and 89 to 94 % are within reach" in candidate.sentence
        assert candidate.sentence.endswith("would still take at least 86 % of the time.")
        assert candidate.at_most == pytest.approx(1 - used / 0.94)


@pytest.mark.parametrize(
    ("resource", "figures", "said"),
    [
        ("dram", {"dram_bytes_per_s": 3.8e12}, "at 3,800 GB/s, and 4,000 GB/s are within reach: "),
        ("l2", {"l2_pct": 76.0}, "at 76 % of its peak, and 80 % are within reach: "),
        ("fma", {}, "used to 95 % of what is within reach: "),
        ("fma", {"fma_pipe_pct": 95.0}, "at 95 % of its peak, and 100 % are within reach: "),
        ("tensor", {"tensor_pipe_pct": 95.0}, "at 95 % of its peak, and 100 % are within reach: "),
    ],
)
def test_a_ceiling_says_what_is_within_reach_with_its_unit_and_leaves_no_more_than_the_rest(
    resource, figures, said
):
    (candidate,) = ceilings.detect_ceilings(evidence_of(LOAD, busy={resource: 0.95}, figures=figures))
    assert said in candidate.sentence
    assert candidate.sentence.endswith("the same work would still take 95 % of the time.")
    assert (candidate.saves, candidate.at_most) == (0.0, pytest.approx(0.05))


@pytest.mark.parametrize(("resource", "said"), [("fma", "81 % are within reach beside its other instructions"), ("tensor", "100 % are within reach:")])  # fmt: skip
def test_other_instructions_take_cycles_of_the_fma_pipe_and_none_of_the_tensor_pipe(resource, said):
    evidence = evidence_of(LOAD, busy={resource: 0.77, "issue": 0.95}, figures={f"{resource}_pipe_pct": 77.0})
    (candidate,) = ceilings.detect_ceilings(evidence)
    assert f"at 77 % of its peak, and {said}" in candidate.sentence


@pytest.mark.parametrize(("resource", "said"), [("dram", True), ("fma", False)])
def test_without_instructions_more_bytes_may_be_moved_than_are_used(resource, said):
    for lines, unseen in (((), said), ((LOAD,), False)):
        (candidate,) = ceilings.detect_ceilings(evidence_of(*lines, busy={resource: 0.95}))
        assert ("does not say whether all bytes that move are used" in candidate.advice) == unseen
        assert (": to move as many bytes would still take 95 % of the time" in candidate.sentence) == unseen


def test_without_instructions_lanes_that_lie_apart_may_be_what_fills_l2():
    assert names(ceilings.detect_ceilings, evidence_of(LOAD, busy={"l2": 0.95})) == ["at-l2-bandwidth"]
    assert names(ceilings.detect_ceilings, evidence_of(busy={"l2": 0.95})) == []


@pytest.mark.parametrize("detect", DETECTORS, ids=lambda detect: detect.__name__)
def test_a_detector_finds_nothing_where_there_is_no_code_and_no_figure(detect):
    assert names(detect, evidence_of()) == []


@pytest.mark.parametrize(("dram", "found"), [(0.2, ["at-l2-bandwidth"]), (0.92, ["at-memory-bandwidth"])])
def test_l2_is_full_by_itself_only_where_it_is_fuller_than_device_memory(dram, found):
    evidence = evidence_of(LOAD, busy={"l2": 0.91, "dram": dram})
    assert names(ceilings.detect_ceilings, evidence) == found


@pytest.mark.parametrize(("passes", "saved"), [(100.0, 0.5), (150.0, 1 / 6), (200.0, 0.0)])
def test_passes_that_conflict_stay_when_other_lanes_take_the_place_of_idle_ones(passes, saved):
    """16 lanes act in each of 100 loads from shared memory."""
    facts = {0: {"lanes": 32.0, "acting": 16.0, "passes": passes, "ideal_passes": 100.0}}
    evidence = evidence_of("LDS R4, [R2]", facts=facts, figures={"shared_of_l1_pct": 100.0})
    (candidate,) = lanes.detect_idle_lanes(evidence)
    assert candidate.effect.resources["l1"] == pytest.approx(saved)


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
