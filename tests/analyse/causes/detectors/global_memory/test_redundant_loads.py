"""Data that is loaded again: by other threads, by other blocks, and in the next turn of a loop."""

from dataclasses import replace

import pytest
from made_evidence import APART, LOAD, LOOP, TOGETHER, evidence_of, executing, names

from profiler.analyse.causes.cause import IN_A_REGISTER
from profiler.analyse.causes.detectors.global_memory import redundant_loads


@pytest.mark.parametrize("sectors", [4.0, 16.0])
def test_loads_not_made_touch_no_sectors_but_count_only_the_waiting_for_those_that_the_data_fills(sectors):
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


@pytest.mark.parametrize(
    ("cycles", "of_hits"),
    [
        # Two loads of one lookup each, in an L1 that is idle for nine tenths of the time: 40 and 2 cycles, and a ninth of that.
        (40.0, 1.0),  # no longer than a hit takes
        (420.0, 42 / 0.9 / 420),  # what comes from further away, no tile brings sooner
    ],
)
def test_of_a_long_wait_only_what_a_hit_takes_goes_with_the_hits(cycles, of_hits):
    facts = {0: TOGETHER, 1: TOGETHER, 2: {"waits": {"long_scoreboard": 9}}}
    figures = {
        "l1_hit_pct": 100.0,
        "dram_bytes_read": 2 * 100 * 4 * 32 / 4,
        "stall_long_scoreboard": cycles / 4,
    }
    code = LOAD, "LDG.E R6, [R8.64]", "FADD R5, R6, R4", "EXIT"
    (candidate,) = redundant_loads.detect_redundant_loads(evidence_of(*code, facts=facts, figures=figures))
    assert candidate.effect.lighter["long_scoreboard"] == pytest.approx(3 / 4 * of_hits)


@pytest.mark.parametrize(("waits_for_loads", "fewer"), [(30, 3 / 4 * 1 / 2), (0, 0.0)])
def test_fewer_loads_bring_warps_to_a_barrier_together_where_they_wait_before_it(waits_for_loads, fewer):
    facts = {0: TOGETHER, 1: {"waits": {"long_scoreboard": waits_for_loads}}, 3: {"waits": {"barrier": 30}}}
    figures = {"l1_hit_pct": 100.0, "dram_bytes_read": 100 * 4 * 32 / 4}
    evidence = evidence_of(LOAD, "FADD R5, R5, R4", "BAR.SYNC 0x0", "EXIT", facts=facts, figures=figures)
    (candidate,) = redundant_loads.detect_redundant_loads(evidence)
    assert candidate.effect.waits["barrier"] == pytest.approx(fewer)


@pytest.mark.parametrize(("place", "again"), [("NOP", 87.5), ("IADD3 R2, R2, 0x4, RZ", None)])
def test_what_a_register_would_hold_is_told_from_what_a_block_keeps(place, again):
    """Each of eight turns loads the same value; or else another one, which other blocks load as well."""
    turn = executing(800.0, LOAD, "FADD R7, R7, R4", place, LOOP)
    figures = {"dram_bytes_read": 12_800.0, "l1_hit_pct": 90.0}
    (first, *_) = redundant_loads.detect_redundant_loads(evidence_of("NOP", *turn, "EXIT", figures=figures))
    assert first.evidence.get(IN_A_REGISTER) == again


# Of a loop that adds up rows: the row depends on the block's y, and x is that of the lane.
@pytest.mark.parametrize(("delivered", "hits", "found"), [(6000.0, 90.0, 1), (7000.0, 90.0, 0)])  # fmt: skip
def test_loads_are_redundant_if_caches_serve_each_byte_more_than_twice(delivered, hits, found):
    """100 loads of 128 bytes ask for 12,800."""
    facts = {0: TOGETHER}
    evidence = evidence_of(
        LOAD, "EXIT", facts=facts, figures={"dram_bytes_read": delivered, "l1_hit_pct": hits}
    )
    assert names(redundant_loads.detect_redundant_loads, evidence) == ["redundant-global-loads"] * found


@pytest.mark.parametrize(
    ("acting", "times"),
    [
        (1.0, 2.0),  # as often as each element is loaded, whatever else its sector holds
        (2.0, 4.0),
        (32.0, 16.0),  # one address for all lanes: no more than the sector
    ],
)
def test_what_lanes_without_an_element_do_not_ask_for_is_no_data_that_is_loaded_again(acting, times):
    """100 loads of 4 bytes a lane, all from one sector, where device memory delivers 200 bytes."""
    facts = {0: {"sectors": 100.0, "ideal_sectors": 100.0, "acting": acting}}
    evidence = evidence_of(LOAD, "EXIT", facts=facts, figures={"dram_bytes_read": 200.0, "l1_hit_pct": 90.0})
    assert redundant_loads.count_times_requested(evidence) == times
    assert names(redundant_loads.detect_redundant_loads, evidence) == ["redundant-global-loads"] * (times > 2)


def test_no_bound_counts_products_of_halves_which_tensor_cores_multiply():
    """Of four instructions of the FMA pipe, one adds up floats that are no products."""
    halves = ("HADD2.F32 R10, -RZ, R4.H0_H0", "HADD2.F32 R11, -RZ, R4.H1_H1", "FFMA R20, R10, R11, R20")
    figures = {"dram_bytes_read": 100.0, "l1_hit_pct": 90.0}
    facts = {0: TOGETHER}
    evidence = evidence_of(LOAD, *halves, "FADD R6, R6, R8", "EXIT", facts=facts, figures=figures)
    (candidate,) = redundant_loads.detect_redundant_loads(evidence)
    assert candidate.regrouped["fma"] == pytest.approx(3 / 4)


# Each of eight turns multiplies an element with its weight, which is the same for all threads.
FILTER = {
    "thread": ("S2R R1, SR_TID.X", 100.0),
    "element": ("IMAD.WIDE R2, R1, 0x4, R2", 100.0),
    "weights": ("LDC.64 R6, c[0x0][0x210]", 100.0),
    "load": ("LDG.E R4, [R2.64]", 800.0),
    "weight": ("LDG.E R5, [R6.64]", 800.0),
    "product": ("FFMA R8, R4, R5, R8", 800.0),
    "next": ("IADD3 R2, R2, 0x4, RZ", 800.0),
    "step": ("IADD3 R6, R6, 0x4, RZ", 800.0),
    "end": ("@P0 BRA 0x30", 800.0),
}


def advice_on(waiting=50, bits=32, **changed):
    """100 warps look up eight weights each."""
    facts = {
        3: {"sectors": 3200.0, "ideal_sectors": 3200.0},
        4: {"sectors": 800.0, "ideal_sectors": 800.0, "width": bits},
        5: {"waits": {"long_scoreboard": waiting, "wait": 100 - waiting}},
    }
    figures = {"dram_bytes_read": 1000.0, "l1_hit_pct": 95.0}
    lines = (FILTER | changed).values()
    evidence = evidence_of(*lines, facts=facts, figures=figures, grid=25, block=128)
    return next(iter(redundant_loads.detect_redundant_loads(evidence))).advice


@pytest.mark.parametrize(
    ("changed", "fits"),
    [
        ({}, True),
        ({"bits": 64 * 1024}, True),  # eight entries of 8 KiB
        ({"bits": 64 * 1024 + 8}, False),
        ({"weights": ("IMAD.WIDE R6, R1, 0x4, R6", 100.0)}, False),  # a weight for each thread
        ({"weights": ("LDG.E.64 R6, [R10.64]", 100.0)}, False),  # data says where
        ({"waiting": 0}, False),  # it costs nothing
    ],
)
def test_what_all_threads_look_up_at_one_address_may_stand_in_constant_memory(changed, fits):
    assert ("Constant memory (`__constant__`" in advice_on(**changed)) == fits


@pytest.mark.parametrize(("delivered", "saved"), [(3200.0, 3 / 4), (1600.0, 7 / 8), (100.0, 7 / 8)])
def test_a_tile_of_eight_results_loads_a_value_once_in_place_of_eight_times(delivered, saved):
    """100 loads of 128 bytes ask four times for what was delivered, eight times, or 128 times."""
    facts = {0: TOGETHER, 1: {"waits": {"long_scoreboard": 9}}}
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


@pytest.mark.parametrize(
    ("l2", "hits", "is_said"), [(0.9, 11.0, True), (0.89, 11.0, False), (0.9, 12.0, False)]
)  # fmt: skip
def test_at_a_ceiling_of_l2_the_estimate_says_that_it_counts_only_what_a_block_loads_again(l2, hits, is_said):
    """A tile spares 7/8 of the hits, and a tenth of the work of L2 is no ceiling."""
    facts = {0: TOGETHER}
    figures = {"dram_bytes_read": 1280.0, "l1_hit_pct": hits}
    evidence = evidence_of(LOAD, "EXIT", facts=facts, busy={"l2": l2, "dram": 0.1}, figures=figures)
    (candidate,) = redundant_loads.detect_redundant_loads(evidence)
    for advice in (candidate.advice, candidate.in_triton):
        assert ("leaves out what several blocks load alike" in advice) == is_said


@pytest.mark.parametrize(
    ("index", "sorts"),
    [
        (("S2R R0, SR_TID.X", "LDG.E R8, [R0.64]"), True),
        (("S2R R0, SR_CTAID.X", "LDG.E R8, [R0.64]"), False),  # one place for the whole block
        (("S2R R8, SR_TID.X", "NOP"), False),
    ],
)
def test_what_each_thread_finds_by_data_of_its_own_lies_in_no_tile(index, sorts):
    facts = {3: APART}
    lines = (*index, "IMAD.WIDE R2, R8, 0x4, R6", LOAD, "EXIT")
    figures = {"dram_bytes_read": 1600.0, "l1_hit_pct": 90.0}
    (candidate,) = redundant_loads.detect_redundant_loads(evidence_of(*lines, facts=facts, figures=figures))
    assert candidate.advice.startswith("What a thread loads depends on data: keep a table that fits") == sorts
    # A table in shared memory is asked as often as before.
    assert (candidate.effect.resources["lsu"] > 0) != sorts
    assert ("let a block load a tile once" in candidate.advice) != sorts


@pytest.mark.parametrize(("beside", "gone"), [([], 1.0), (["LDG.E R6, [R8.64]"], 0.0)])
def test_who_waits_for_another_load_as_well_waits_for_it_when_a_repeated_one_is_gone(beside, gone):
    """The second load repeats the first; what the product needs beside it, if anything, arrives as late as before."""
    lines = ["LDG.E R4, [R2.64]", "FADD R5, R5, R4", *beside, "LDG.E R7, [R2.64]", "FFMA R5, R6, R7, R5"]
    facts = {1: {"waits": {"long_scoreboard": 10}}, len(lines) - 1: {"waits": {"long_scoreboard": 90}}}
    (candidate,) = redundant_loads.detect_redundant_loads(evidence_of(*lines, facts=facts))
    assert candidate.effect.waits["long_scoreboard"] == pytest.approx(0.9 * gone)
    assert candidate.effect.lighter["long_scoreboard"] == pytest.approx(0.9)


def test_a_flag_that_is_polled_is_loaded_again_on_purpose():
    code = [("MOV R2, R8", 10), ("LDG.E.STRONG.GPU R4, [R2.64]", 1000), (LOOP, 1000), ("EXIT", 10)]
    assert names(redundant_loads.detect_redundant_loads, evidence_of(*code)) == []
    code[1] = (LOAD, 1000)
    assert names(redundant_loads.detect_redundant_loads, evidence_of(*code)) == ["redundant-global-loads"]


@pytest.mark.parametrize(
    ("sectors", "spared"),
    [
        (4.0, 0.0),  # lanes together: one lookup in L1, and one pass of shared memory
        (32.0, 1 - 3.5 / 29),  # lanes apart: as many as meet in a bank
    ],
)
def test_a_table_in_shared_memory_saves_lookups_where_lanes_lie_apart(sectors, spared):
    facts = {
        1: {"sectors": 100.0, "ideal_sectors": 100.0},
        3: {"sectors": 100 * sectors, "ideal_sectors": 400.0},
    }
    figures = {"l1_hit_pct": 100.0, "dram_bytes_read": 500 * 32 / 4}
    code = "S2R R6, SR_TID.X", "LDG.E R3, [R6.64]", "IMAD.WIDE R2, R3, 0x4, R8", LOAD, "EXIT"
    (candidate,) = redundant_loads.detect_redundant_loads(evidence_of(*code, facts=facts, figures=figures))
    lookups = 1 + (1 if sectors == 4 else 29)
    assert candidate.effect.resources["l1"] == pytest.approx(3 / 4 * spared * (lookups - 1) / lookups)
