"""How many sectors the lanes of a warp touch: one too many, or as many as there are lanes."""

from dataclasses import replace

import pytest
from made_evidence import (
    APART,
    FORWARD,
    LOAD,
    NEXT,
    STORED,
    TOGETHER,
    evidence_of,
    executing,
    load_with,
    names,
)

from profiler.analyse.causes.detectors.global_memory import atomics, layout
from profiler.analyse.causes.find import bound_of
from profiler.analyse.causes.flow.addresses.apart import find_updates_apart
from profiler.analyse.causes.together import saved_together


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


@pytest.mark.parametrize(
    ("acting", "lanes", "divided", "at_most"),
    [
        (32.0, 32.0, "F2F.F16.F32 R6, R5", 0.4),  # the arithmetic stays, and with it 60 % of the time
        (8.0, 32.0, "F2F.F16.F32 R6, R5", 0.85),  # of four warps that load 8 elements each, one can load all
        (32.0, 8.0, "F2F.F16.F32 R6, R5", 0.85),
        (32.0, 32.0, "I2F.U32.RP R6, R5", 0.6),  # another index may need no division
    ],
)
def test_arithmetic_bounds_what_a_layout_saves_except_for_idle_lanes_and_divisions(
    acting, lanes, divided, at_most
):
    lines = (LOAD, "FADD R5, R5, R4", "MUFU.EX2 R7, R5", divided, "MUFU.RCP R6, R6", "EXIT")
    busy = {"issue": 0.9, "alu": 0.9, "xu": 0.6, "fma": 0.4}
    evidence = evidence_of(*lines, facts={0: APART}, busy=busy)
    for site in evidence.sites:
        site.lanes = lanes
    evidence.sites[0].acting = acting
    (candidate,) = layout.detect_uncoalesced(evidence)
    assert bound_of(evidence, candidate)[0] == pytest.approx(at_most)


def test_stores_that_lie_apart_are_named_apart_from_loads():
    facts = APART
    evidence = evidence_of("STG.E [R2.64], R4", "EXIT", facts={0: facts})
    assert names(layout.detect_uncoalesced, evidence) == ["uncoalesced-stores"]


@pytest.mark.parametrize(
    ("stored", "in_l2", "joint"),
    [
        (3200.0, 6400.0, ["uncoalesced-loads", "uncoalesced-stores"]),  # alike: either is mended with the other
        (1200.0, 4400.0, ["uncoalesced-loads"]),  # the loads are the most of it
        (1200.0, 1600.0, ["uncoalesced-stores"]),  # L1 holds what the loads touch, and L2 gets what is stored
        (400.0, 3600.0, []),
    ],
)  # fmt: skip
def test_scattered_loads_and_stores_with_one_index_are_corrected_together(stored, in_l2, joint):
    facts = {0: APART, 1: {"sectors": stored, "ideal_sectors": 400.0}}
    lines = (LOAD, "STG.E [R8.64], R4")
    evidence = evidence_of(*lines, facts=facts, figures={"l2_sectors": in_l2}, busy={"l2": 0.9})
    found = list(layout.detect_uncoalesced(evidence))
    assert [one.name for one in found if "correcting both at once" in one.sentence] == joint
    assert all(
        "stores lie apart too" not in one.sentence or "includes theirs" in one.sentence for one in found
    )
    for one in found:
        assert bool(one.includes) == (one.name in joint)
    each = {one: evidence.model.saved(one.effect) for one in found}
    assert not joint or saved_together(evidence.model, each) == max(each.values())
    if len(joint) == 2:
        assert found[0].effect == found[1].effect


@pytest.mark.parametrize(("executed", "gathered"), [(1.0, True), (10.0, False)])
def test_loads_that_data_scatters_are_named_if_others_waste_under_a_thirtieth_of_theirs(executed, gathered):
    lines = ((LOAD, executed), "IMAD.WIDE R8, R4, 0x4, R10", "LDG.E R5, [R8.64]")
    by_lane = {"sectors": 32 * executed, "ideal_sectors": 4 * executed}
    (candidate,) = layout.detect_uncoalesced(evidence_of(*lines, facts={0: by_lane, 2: APART}))
    assert candidate.advice.startswith("Data says where each lane goes") == gathered
    assert candidate.in_triton.startswith("Data says where each element lies") == gathered


@pytest.mark.parametrize(
    ("place", "joint"),
    [
        ("IMAD.WIDE R12, R4, 0x4, R14", ["uncoalesced-loads", "uncoalesced-stores"]),  # the same loaded index
        ("IMAD.WIDE R12, R0, 0x80, R14", []),  # the index of the thread, which no order of the data changes
    ],
)
def test_what_data_scatters_is_corrected_together_only_with_what_data_scatters(place, joint):
    lines = (LOAD, "IMAD.WIDE R8, R4, 0x4, R10", "LDG.E R5, [R8.64]", place, "STG.E [R12.64], R5")
    found = list(layout.detect_uncoalesced(evidence_of(*lines, facts={2: APART, 4: APART})))
    assert [one.name for one in found] == ["uncoalesced-loads", "uncoalesced-stores"]
    assert [one.name for one in found if "correcting both at once" in one.sentence] == joint


@pytest.mark.parametrize(
    ("access", "in_cuda", "in_triton"),
    [
        ("LDG.E R5, [R8.64]", "keep the table in shared memory", "(`x[:, index]`)"),
        ("STG.E [R8.64], R5", "store in the order of the work", "store in the order of the work"),
    ],
)
def test_only_what_is_loaded_by_an_index_can_lie_in_its_order_before(access, in_cuda, in_triton):
    lines = (LOAD, "IMAD.WIDE R8, R4, 0x4, R10", access)
    (candidate,) = layout.detect_uncoalesced(evidence_of(*lines, facts={2: APART}))
    assert in_cuda in candidate.advice
    assert in_triton in candidate.in_triton


@pytest.mark.parametrize(
    ("of", "index", "said"),
    [
        ("SR_TID.X", "IMAD.HI.U32 R6, R3, R4, RZ", True),
        ("SR_TID.X", "IADD3 R6, R4, 0x1, RZ", False),
        ("SR_CTAID.X", "IMAD.HI.U32 R6, R3, R4, RZ", False),  # one quotient for all lanes sets none apart
    ],
)
def test_remainders_are_spoken_of_in_triton_where_the_index_of_each_lane_is_divided(of, index, said):
    quotient = (f"S2R R4, {of}", "I2F.U32.RP R2, R12", "F2I.FTZ.U32.TRUNC.NTZ R3, R2", index)
    lines = (*quotient, "IMAD.WIDE R8, R6, 0x4, R10", "LDG.E R5, [R8.64]")
    (candidate,) = layout.detect_uncoalesced(evidence_of(*lines, facts={5: APART}, line=7))
    assert candidate.in_triton.startswith("Triton does not see that offsets") == said


@pytest.mark.parametrize(("executed", "joint"), [(10.0, [True, False]), (2.0, [False, False])])
def test_what_costs_next_to_nothing_is_not_said_to_lie_apart_too(executed, joint):
    """The loads waste 2,800 sectors, and the stores a tenth of that, or a fiftieth."""
    few = {"sectors": 32 * executed, "ideal_sectors": 4 * executed}
    evidence = evidence_of(LOAD, ("STG.E [R8.64], R4", executed), facts={0: APART, 1: few})
    found = layout.detect_uncoalesced(evidence)
    assert [("at once, and includes" in one.sentence) for one in found] == joint


@pytest.mark.parametrize(("ideal", "said"), [(99.2, "less than one"), (99.96, "1"), (100.0, "1")])
def test_of_a_sector_no_request_has_a_part(ideal, said):
    evidence = evidence_of(LOAD, facts={0: {"sectors": 3200.0, "ideal_sectors": ideal}})
    (candidate,) = layout.detect_uncoalesced(evidence)
    assert f"a request where {said} would hold its data" in candidate.sentence


def test_what_lanes_use_of_a_request_has_no_more_digits_than_its_sectors():
    texts = []
    for sectors in (3200.0, 3197.65625):
        facts = {0: {"sectors": sectors, "ideal_sectors": 100.0}, 1: {"waits": {"long_scoreboard": 9}}}
        (candidate,) = layout.detect_uncoalesced(evidence_of(LOAD, "FADD R5, R5, R4", facts=facts))
        texts.append(candidate.sentence)
    assert texts[0] == texts[1]
    assert (
        "32 sectors of 32 bytes a request where 1 would hold its data: its lanes use 3.1 % of these bytes"
        in texts[0]
    )


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("IMAD.WIDE R2, R5, 0x18, R6", "neighbouring lanes are 24 bytes apart and use 12.5 %"),
        ("IMAD.WIDE R2, R5, R9, R6", "its lanes use 12.5 %"),  # rows of a length that is not known
        ("LDG.E.64 R2, [R6.64]", "its lanes use 12.5 %"),
    ],
)
def test_the_answer_says_how_far_apart_lanes_are_where_the_code_does(address, said):
    before = ("LDC.64 R6, c[0x0][0x210]", "LDC R9, c[0x0][0x218]", "S2R R5, SR_TID.X", address)
    facts = {4: {"sectors": 3200.0, "ideal_sectors": 400.0, "waits": {"long_scoreboard": 50}}}
    (candidate,) = layout.detect_uncoalesced(evidence_of(*before, "LDG.E R4, [R2.64]", "EXIT", facts=facts))
    assert said in candidate.sentence
    assert candidate.evidence.get("bytes_apart") == (24 if "24" in said else None)


@pytest.mark.parametrize(
    ("stride", "advised"),
    [
        ("0x30", "Access the neighbouring elements of a thread at once"),  # 48 bytes in 12 words
        ("0x34", "Keep the members of a structure"),  # and another word that no lane stores
    ],
)
def test_a_thread_that_stores_all_up_to_the_next_one_is_to_store_it_at_once(stride, advised):
    before = ("LDC.64 R6, c[0x0][0x210]", "S2R R5, SR_TID.X", f"IMAD.WIDE R2, R5, {stride}, R6")
    stores = [f"STG.E [R2.64+{4 * word:#x}], R4" for word in range(12)]
    facts = {len(before) + word: APART for word in range(12)}
    (candidate,) = layout.detect_uncoalesced(evidence_of(*before, *stores, "EXIT", facts=facts))
    assert advised in candidate.advice


@pytest.mark.parametrize(("read", "by_data"), [("R4", True), ("R9", False)])
def test_data_says_where_a_search_goes_on(read, by_data):
    """As where each load begins at what the one before it has found, or at what a counter says."""
    turn = ("LDG.E R4, [R2.64]", f"IADD3 R2, {read}, R2, RZ", "@P0 BRA 0x10", "EXIT")
    (candidate,) = layout.detect_uncoalesced(evidence_of("NOP", *turn, facts={1: APART}))
    assert candidate.advice.startswith("Data says where each lane goes") == by_data
    assert candidate.in_triton.startswith("Data says where each element lies") == by_data


CELL = ("F2I.TRUNC.NTZ R6, R5", "IMAD R6, R6, R10, R9", "IMAD.WIDE R2, R6, 0x4, R12")
WALK = ("NOP", LOAD, "IADD3 R2, R2, 0x4, RZ", "@P0 BRA {}", "EXIT")


@pytest.mark.parametrize(
    ("position", "walks", "by_data"),
    [
        (("S2R R0, SR_TID.X", "LDG.E R5, [R0.64]"), False, True),  # the cell in which each lane's number lies
        (("S2R R0, SR_TID.X", "I2FP.F32.S32 R5, R0"), False, False),  # a picture that is scaled
        (("S2R R0, SR_CTAID.X", "LDG.E R5, [R0.64]"), False, False),  # one number for the block
        (("S2R R0, SR_TID.X", "LDG.E R5, [R0.64]"), True, True),  # a list that begins where the cell says
        (("S2R R0, SR_TID.X", "I2FP.F32.S32 R5, R0"), True, False),
    ],
)
def test_numbers_that_are_rounded_to_an_index_say_where_lanes_go(position, walks, by_data):
    before = [*position, *CELL]
    lines = [*before, "LDG.E R4, [R2.64]"]
    if walks:
        lines[-1] = "LDG.E R7, [R2.64]"
        before = [*lines, "IMAD.WIDE R2, R7, 0x4, R14"]
        lines = [*before, *(one.format(hex(16 * len(before))) for one in WALK)]
    place = len(before) + walks
    (candidate,) = layout.detect_uncoalesced(evidence_of(*lines, facts={place: APART}))
    assert candidate.advice.startswith("Data says where each lane goes") == by_data


@pytest.mark.parametrize(("of_second", "at_once"), [(6, True), (5, False)])
def test_rows_of_two_arrays_are_taken_at_once_where_each_lane_takes_whole_rows_of_both(of_second, at_once):
    """As the numbers of a sparse matrix, and the columns in which they stand: six words of either in a row."""
    before = ["S2R R5, SR_TID.X"]
    before += [f"LDC.64 R{6 + 2 * array}, c[0x0][{0x210 + 8 * array:#x}]" for array in (0, 1)]
    before += [f"IMAD.WIDE R{12 + 2 * array}, R5, 0x18, R{6 + 2 * array}" for array in (0, 1)]
    loads = [f"LDG.E R{20 + word}, [R12.64+{4 * word:#x}]" for word in range(6)]
    loads += [f"LDG.E R{30 + word}, [R14.64+{4 * word:#x}]" for word in range(of_second)]
    facts = dict.fromkeys(range(len(before), len(before) + len(loads)), APART)
    (candidate,) = layout.detect_uncoalesced(evidence_of(*before, *loads, "EXIT", facts=facts))
    assert candidate.advice.startswith("Access the neighbouring elements of a thread at once") == at_once


@pytest.mark.parametrize(
    ("array", "other", "beside", "at_once"),
    [
        ("R6", "R6", "0x8", True),  # all 16 bytes up to the next lane, from two addresses
        ("R6", "R6", None, False),  # a quarter is missing
        ("R6", "R8", "0x8", False),  # three quarters of one array, and a quarter of another
    ],
)
def test_elements_of_one_array_are_neighbours_whatever_registers_hold_their_addresses(array, other, beside, at_once):  # fmt: skip
    pointers = ("LDC.64 R6, c[0x0][0x210]", "LDC.64 R8, c[0x0][0x218]", "S2R R5, SR_TID.X")
    places = (f"IMAD.WIDE R2, R5, 0x10, {array}", f"IMAD.WIDE R12, R5, 0x10, {other}")
    loads = ["LDG.E R4, [R2.64]", "LDG.E R16, [R2.64+0x4]", "LDG.E R17, [R12.64+0xc]"]
    loads += [f"LDG.E R18, [R2.64+{beside}]"] if beside else []
    facts = {5 + load: {"sectors": 1600.0, "ideal_sectors": 400.0} for load in range(len(loads))}
    (candidate,) = layout.detect_uncoalesced(evidence_of(*pointers, *places, *loads, "EXIT", facts=facts))
    assert candidate.advice.startswith("Access the neighbouring elements of a thread at once") == at_once


@pytest.mark.parametrize(("sectors", "brings"), [(16.0, False), (16.1, True)])
def test_the_sectors_of_a_request_say_how_large_a_part_is_where_the_code_does_not(sectors, brings):
    """Two words of a part of 16 bytes lie in 16 sectors, whatever else is in the part. Of longer parts, nobody knows whether vectors begin in each."""
    found = {"sectors": 100 * sectors, "ideal_sectors": 400.0}
    loads = [f"LDG.E R{4 + word}, [R2.64+{4 * word:#x}]" for word in range(4)]
    facts = dict.fromkeys(range(4), found)
    (candidate,) = layout.detect_uncoalesced(evidence_of(*loads, "EXIT", facts=facts))
    assert candidate.advice.startswith("Lay out the array so that element k of thread t is") == brings
    assert candidate.advice.endswith("if each thread's part begins at a multiple of that.") == brings
    assert ("or let neighbouring threads read" in candidate.advice) != brings


FURTHER = ("IADD3 R2, R2, 0x4, RZ", "IADD3 R12, R12, 0x4, RZ")


@pytest.mark.parametrize(
    ("further", "stored", "of", "advised"),
    [
        # A turn stores into its own row of another array: any thread can take any turn.
        (FURTHER, "[R12.64]", "R8", "Let thread t take elements t, t + T, t + 2T … (T is the number of threads, as in a grid-stride loop, or of those that share a row where each has one of its own) instead of a run of its own."),
        # Or where it has loaded.
        (FURTHER, "[R2.64]", "R6", "neighbouring elements. Or lay out the array so that element k of thread t is `x[k * T + t]`"),
        # The next turn may load what this one has stored.
        (FURTHER, "[R12.64]", "R6", "Lay out the array so that element k of thread t is `x[k * T + t]`"),
        (("IADD3 R2, R2, R9, RZ", "IADD3 R12, R12, R9, RZ"), "[R12.64]", "R8", "neighbouring elements. Or change the layout, or"),  # by a row
    ],
)  # fmt: skip
def test_lanes_that_go_through_runs_of_their_own_keep_them_side_by_side(further, stored, of, advised):
    pointers = (
        "LDC.64 R6, c[0x0][0x210]",
        "LDC.64 R8, c[0x0][0x218]",
        "S2R R5, SR_TID.X",
        "LDC R9, c[0x0][0x220]",
    )
    places = ("IMAD R11, R5, R9, RZ", "IMAD.WIDE R2, R11, 0x4, R6", f"IMAD.WIDE R12, R11, 0x4, {of}")
    turn = ("LDG.E R4, [R2.64]", f"STG.E {stored}, R4", *further, "@P0 BRA 0x70", "EXIT")
    evidence = evidence_of(*executing(1.0, *pointers, *places), *turn, facts={7: APART, 8: APART})
    for candidate in layout.detect_uncoalesced(evidence):
        assert advised in candidate.advice


@pytest.mark.parametrize(
    ("row", "passes_on"),
    [
        ("MOV R10, R5", False),  # that of the thread's number
        ("ATOMG.E.ADD R10, [R16.64], R9", True),  # room that the thread has taken
        ("LDG.E R10, [R14.64]", True),
        ("LDG.E R10, [R16.64]", False),  # the same for all threads
    ],
)
def test_who_shares_a_row_that_one_thread_has_found_is_told_where_it_lies(row, passes_on):
    pointers = (
        "LDC.64 R6, c[0x0][0x210]",
        "LDC.64 R8, c[0x0][0x218]",
        "LDC.64 R16, c[0x0][0x220]",
        "LDC R18, c[0x0][0x228]",
    )
    places = (
        "S2R R5, SR_TID.X",
        "IMAD.WIDE R14, R5, 0x4, R16",
        row,
        "IMAD R19, R5, R18, RZ",
        "IMAD R11, R10, R18, RZ",
    )
    arrays = "IMAD.WIDE R2, R19, 0x4, R6", "IMAD.WIDE R12, R11, 0x4, R8"
    turn = (LOAD, "STG.E [R12.64], R4", *FURTHER, "@P0 BRA 0xb0", "EXIT")
    evidence = evidence_of(*executing(1.0, *pointers, *places, *arrays), *turn, facts={11: APART, 12: APART})
    candidate = next(one for one in layout.detect_uncoalesced(evidence) if one.name == "uncoalesced-stores")
    assert candidate.advice.startswith("Let thread t take elements")
    assert ("it passes that on, by `__shfl_sync` or through shared memory" in candidate.advice) == passes_on


@pytest.mark.parametrize(
    ("made", "advised"),
    [
        ("FADD R7, R7, R4", "Let a warp take each row instead of a thread"),
        ("FFMA R7, R7, R9, R4", "element k of thread t is `x[k * T + t]`"),  # a polynomial
    ],
)
def test_a_warp_adds_up_a_row_where_a_thread_does_no_more(made, advised):
    evidence = evidence_of(
        *executing(1.0, "LDC.64 R6, c[0x0][0x210]", "S2R R5, SR_TID.X", "LDC R9, c[0x0][0x220]", "IMAD R11, R5, R9, RZ", "IMAD.WIDE R2, R11, 0x4, R6"),
        "LDG.E R4, [R2.64]", made, FURTHER[0], "@P0 BRA 0x50", "EXIT", facts={5: APART},
    )  # fmt: skip
    (candidate,) = layout.detect_uncoalesced(evidence)
    assert advised in candidate.advice


@pytest.mark.parametrize(
    ("rows", "row", "is_structure"),
    [
        (8, "R8", False),  # the next row of the block stores what lies beside: a dimension of an array
        (8, "R10", True),  # twice as far on, so that nobody stores what lies beside
        (1, "R8", True),
    ],
)
def test_what_threads_of_the_next_row_lie_beside_is_no_structure(rows, row, is_structure):
    """The length of a row of the array, by which lanes lie apart, is a parameter."""
    before = ("S2R R5, SR_TID.X", "S2R R8, SR_TID.Y", "LDC R9, c[0x0][0x218]", "LDC.64 R6, c[0x0][0x210]")
    place = ("SHF.L.U32 R10, R8, 0x1, RZ", f"IMAD R11, R5, R9, {row}", "IMAD.WIDE R2, R11, 0x4, R6")
    stores = [f"STG.E [R2.64+{offset:#x}], R4" for offset in (0, 32)]
    facts = {7: APART, 8: APART}
    evidence = evidence_of(*before, *place, *stores, "EXIT", facts=facts, block=(32, rows, 1))
    (candidate,) = layout.detect_uncoalesced(evidence)
    assert ("members of a structure" in candidate.advice) == is_structure
    assert ("count along the dimension" in candidate.advice) != is_structure


@pytest.mark.parametrize(
    ("loaded", "loads", "only_moves"),
    [
        ({"sectors": 400.0, "ideal_sectors": 400.0}, 100.0, True),  # neighbours, as in a transpose
        ({"sectors": 3200.0, "ideal_sectors": 400.0}, 100.0, False),  # both lie apart: one change mends both
        ({"sectors": 100.0, "ideal_sectors": 100.0}, 100.0, False),  # all lanes load the same
        ({"sectors": 1600.0, "ideal_sectors": 1600.0}, 400.0, False),  # several for each, as in a sum
    ],
)
def test_exchanged_indices_are_not_advised_where_they_would_set_the_other_accesses_apart(
    loaded, loads, only_moves
):
    lines = (("LDG.E R4, [R6.64]", loads), "FMUL R5, R4, R8", "STG.E [R2.64], R5", "EXIT")
    found = list(layout.detect_uncoalesced(evidence_of(*lines, facts={0: loaded, 2: APART})))
    advice = found[-1].advice
    assert found[-1].name == "uncoalesced-stores"
    assert advice.endswith("Exchanging the indices would only set the loads apart instead.") == only_moves
    assert ("count along the dimension" in advice) != only_moves


@pytest.mark.parametrize(("scale", "only_moves"), [("0x4", True), ("0x40", False)])
def test_lanes_that_a_test_has_sent_away_leave_the_others_neighbours(scale, only_moves):
    """As where threads swap two elements, and only one of the two threads does so."""
    lines = (
        "LDC.64 R8, c[0x0][0x210]",
        "S2R R5, SR_TID.X",
        f"IMAD.WIDE R6, R5, {scale}, R8",
        "LDG.E R4, [R6.64]",
        "STG.E [R2.64], R4",
        "EXIT",
    )
    some = {"sectors": 400.0, "ideal_sectors": 200.0, "acting": 16.0}
    found = list(layout.detect_uncoalesced(evidence_of(*lines, facts={3: some, 4: APART})))
    assert found[-1].name == "uncoalesced-stores"
    assert ("pass a tile through shared memory, or change the layout" in found[-1].advice) == only_moves


@pytest.mark.parametrize(
    ("scaled", "words", "said"),
    [
        ("0x10", 4, "a thread at once (up to 16 bytes, a vector type), or let"),
        ("0x30", 12, "a thread at once (up to 16 bytes, a vector type). That takes several pieces"),  # in three accesses, each with gaps between lanes
        ("0x28", 10, "a thread at once (up to 8 bytes, a vector type). That takes several pieces"),
        ("0x54", 21, "Lay out the array so that element k of thread t is `x[k * T + t]`"),  # every fourth part begins at 16 bytes
        ("0x58", 21, "neighbouring elements. Or access what lies together in one thread at once (up to 8 bytes, a vector type), or"),
        ("0x5c", 21, "in arrays of their own, so that neighbouring threads write neighbouring elements. Or pass a tile"),
        ("R9", 21, "one thread at once (up to 16 bytes, a vector type) if each thread's part begins at a multiple of that"),
    ],
)  # fmt: skip
def test_vectors_are_advised_where_each_threads_part_of_the_data_is_aligned(scaled, words, said):
    before = (
        "LDC.64 R6, c[0x0][0x210]",
        "LDC R9, c[0x0][0x218]",
        "S2R R5, SR_TID.X",
        f"IMAD.WIDE R2, R5, {scaled}, R6",
    )
    stores = [f"STG.E [R2.64+{4 * word:#x}], R4" for word in range(words)]
    facts = {len(before) + word: APART for word in range(words)}
    (candidate,) = layout.detect_uncoalesced(evidence_of(*before, *stores, "EXIT", facts=facts))
    assert said in candidate.advice


STRUCTURE = "IMAD.WIDE R2, R5, 0x1c, R8"
GATHER = ("LDG.E R4, [R2.64]", "IMAD.WIDE R6, R4, 0x4, R8", "LDG.E R5, [R6.64]")


@pytest.mark.parametrize(
    ("lines", "facts", "advised"),
    [
        ((LOAD,), {0: APART}, "neighbours in memory, so that neighbouring threads read neighbouring elements. Or change the layout"),
        ((LOAD, "@P0 BRA 0x0"), {0: APART}, "neighbours in memory (such as a warp for each row, instead of a thread)"),
        ((LOAD, "LDG.E R5, [R2.64+0x4]"), {0: APART, 1: APART}, "Keep the members of a structure in arrays of their own"),
        ((LOAD, "LDG.E R5, [R2.64+0x4]", "@P0 BRA 0x0"), {0: APART, 1: APART}, "such as a warp for each row"),
        ((LOAD, "LDG.E R5, [R8.64]"), {0: APART, 1: APART}, "neighbours in memory, so that neighbouring threads read neighbouring elements. Or change the layout"),
        # One element, on both sides of a branch.
        ((LOAD, LOAD), {0: APART, 1: APART}, "neighbours in memory, so that neighbouring threads read neighbouring elements. Or change the layout"),
        ((LOAD, "LDG.E R5, [R2.64+0x4]"), {one: {"sectors": 900.0, "ideal_sectors": 400.0} for one in range(2)}, "Access the neighbouring elements"),
        (GATHER, {0: TOGETHER, 2: APART}, "sort or group the work by that index"),
        (GATHER, {0: APART, 2: APART}, "count along the dimension"),
        ((STRUCTURE, LOAD, "@P0 BRA 0x0"), {1: APART}, "the members of a structure (here one begins every 28 bytes) in arrays"),
        (("LEA R2, P0, R5, R8, 0x6", LOAD, "@P0 BRA 0x0"), {1: APART}, "(here one begins every 64 bytes)"),
        (("IMAD.WIDE R2, R5, 0x4, R8", LOAD, "@P0 BRA 0x0"), {1: APART}, "such as a warp for each row"),  # elements
        ((STRUCTURE, "IMAD.WIDE R2, R6, 0x4, R2", LOAD, "@P0 BRA 0x0"), {2: APART}, "such as a warp for each row"),  # of a row
        ((STRUCTURE, LOAD, "IADD3 R2, R2, 0x4, RZ", "@P0 BRA 0x10"), {1: APART}, "such as a warp for each row"),  # through a row
        (("IMAD R2, R5, 0x1c, R8", LOAD, "@P0 BRA 0x0"), {1: APART}, "such as a warp for each row"),  # an index of 32 bits
        # 27 elements a node, and the first of each; the length of a row is a parameter; an element of a row of 27.
        (("MOV R9, 0x1b", "IMAD R5, R5, R9, 0x1", "IMAD.WIDE R2, R5, 0x4, R8", LOAD), {3: APART}, "(here one begins every 108 bytes)"),
        (("LDC R9, c[0x0][0x218]", "IMAD R5, R5, R9, 0x1", "IMAD.WIDE R2, R5, 0x4, R8", LOAD), {3: APART}, "count along the dimension"),
        (("MOV R9, 0x1b", "IMAD R5, R5, R9, R7", "IMAD.WIDE R2, R5, 0x4, R8", LOAD), {3: APART}, "count along the dimension"),
        # Two rows of a thread, each as long as a parameter says: every 8 bytes begins nothing.
        (("LEA R5, P0, R5, R7, 0x3", "IMAD.WIDE R2, R5, R9, R8", LOAD), {2: APART}, "count along the dimension"),
        # No other lane could take a turn that starts from what the one before made.
        ((LOAD, NEXT, STORED, FORWARD, "@P0 BRA 0x0"), {0: APART | {"waits": {"long_scoreboard": 9}}}, "Change the layout, so that neighbouring threads read neighbouring elements. Or"),
    ],
)  # fmt: skip
def test_lanes_come_together_by_what_sets_them_apart(lines, facts, advised):
    (candidate,) = layout.detect_uncoalesced(evidence_of(*lines, facts=facts))
    assert advised in candidate.advice


WALKING, STAYING = "IADD3 R6, R6, 0x4, RZ", "NOP"
UPDATE = "RED.E.ADD.F32.FTZ.RN.STRONG.GPU [R6.64], R4"


@pytest.mark.parametrize(
    ("update", "step", "sectors", "contended", "named"),
    [
        (UPDATE, WALKING, 32.0, False, "uncoalesced-stores"),
        (UPDATE, WALKING, 5.0, False, "atomic-contention"),  # only one too many: the lanes are neighbours
        (UPDATE, WALKING, 32.0, True, "atomic-contention"),  # they wait for others at the same place
        (UPDATE, STAYING, 32.0, False, "atomic-contention"),  # no lane could take another turn's element
        ("ATOMG.E.CAS.STRONG.GPU PT, R8, [R6.64], R4, R5", WALKING, 32.0, False, "atomic-contention"),
    ],
)
def test_updates_of_a_row_by_each_lane_are_a_matter_of_the_layout(update, step, sectors, contended, named):
    facts = {1: {"sectors": 400 * sectors, "ideal_sectors": 1600.0, "acting": 32.0, "waits": {"drain": 9}}}
    lines = ("NOP", *executing(400.0, update, step, "@P1 BRA 0x10"), "EXIT")
    evidence = replace(evidence_of(*lines, facts=facts), atomics_are_contended=contended)
    found = [*layout.detect_uncoalesced(evidence), *atomics.detect_atomics(evidence)]
    assert [one.name for one in found] == [named]
    if named == "uncoalesced-stores":
        assert found[0].sentence.startswith("A warp updates 32 sectors")
        assert "eighbouring threads update neighbouring elements" in found[0].advice


def test_copies_of_an_update_go_on_alike():
    """Of the second of two turns, nobody knows how far it goes on."""
    second = UPDATE.replace("R6", "R8"), "LDG.E.64 R8, [R10.64]"
    apart = {"sectors": 12_800.0, "ideal_sectors": 1600.0, "acting": 32.0}
    lines = ("NOP", *executing(400.0, UPDATE, *second, WALKING, "@P1 BRA 0x10"), "EXIT")
    evidence = replace(evidence_of(*lines, facts={1: apart, 2: apart}), atomics_are_contended=False)
    assert find_updates_apart(evidence) == evidence.of("atomic")


@pytest.mark.parametrize(("block", "is_wider"), [((8, 8, 1), True), ((32, 8, 1), False), ((16, 1, 1), False)])
def test_roles_are_exchanged_in_blocks_as_wide_as_a_warp(block, is_wider):
    (candidate,) = layout.detect_uncoalesced(evidence_of(LOAD, "EXIT", facts={0: APART}, block=block))
    assert ("neighbours in memory, in blocks that are 32 threads wide" in candidate.advice) == is_wider
