"""Which accesses a wider one would replace, and what that saves."""

from dataclasses import replace

import pytest
from made_evidence import LOAD, LOOP, TOGETHER, evidence_of, executing, load_with, names

from profiler.analyse.causes.detectors.global_memory import narrow_accesses


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


@pytest.mark.parametrize("times", [0, 1])
def test_one_value_for_all_threads_is_no_part_of_the_data(times):
    """It is looked up from the same register on as an element of each thread, once the pointer has moved on."""
    value = ["LDG.E R7, [R2.64+0x10]"] * times
    evidence = evidence_of(
        "LDC.64 R2, c[0x0][0x210]", *value, "S2R R0, SR_TID.X", "IMAD.WIDE R2, R0, 0x4, R2", LOAD, "EXIT",
        facts={1: {"sectors": 100.0, "ideal_sectors": 100.0}, 3 + times: TOGETHER | {"waits": {"long_scoreboard": 50}}},
    )  # fmt: skip
    (candidate,) = narrow_accesses.detect_narrow(evidence)
    assert candidate.sentence.startswith("100 % of the data moves")


@pytest.mark.parametrize(
    ("second", "accesses", "elements"),
    [
        ("LDG.E R6, [R8.64]", "4 bytes a thread, 128 bytes a request.", "4 neighbouring elements"),
        ("LDG.E.64 R6, [R8.64]", "4 or 8 bytes a thread, 192 bytes a request on average.", "several neighbouring"),
    ],
)  # fmt: skip
def test_accesses_of_different_widths_are_not_said_to_have_one_that_none_has(second, accesses, elements):
    contiguous = TOGETHER
    wider = {"ideal_sectors": 800.0, "sectors": 800.0} if ".64 " in second else contiguous
    (candidate,) = narrow_accesses.detect_narrow(evidence_of(LOAD, second, facts={0: contiguous, 1: wider}))
    assert candidate.sentence.endswith(accesses)
    assert elements in candidate.advice


@pytest.mark.parametrize(
    ("wide", "said"),
    [
        (0, ["100 % of the data moves in accesses of 4 bytes a thread, 128 bytes a request."]),
        (20, ["56 % of the data moves in accesses of 4 bytes a thread, 128 bytes a request."]),
        (30, []),
    ],
)
def test_accesses_are_too_narrow_where_they_move_most_of_the_data(wide, said):
    """A thread that loads 16 bytes at once, and then stores a word, has nothing to gain from a wide store."""
    facts = {
        0: TOGETHER | {"waits": {"long_scoreboard": 90}},
        1: {"sectors": 16.0 * wide, "ideal_sectors": 16.0 * wide},
    }
    evidence = evidence_of(LOAD, ("LDG.E.128 R8, [R6.64]", float(wide)), facts=facts)
    assert [one.sentence for one in narrow_accesses.detect_narrow(evidence)] == said


@pytest.mark.parametrize(("waiting", "named"), [(2, False), (4, True)])
def test_nobody_needs_wider_accesses_who_does_not_wait_for_them(waiting, named):
    """A long computation loads three words once: four elements a thread are not worth a change for the loads' sake."""
    facts = {0: TOGETHER | {"waits": {"long_scoreboard": waiting}}, 1: {"waits": {"wait": 100 - waiting}}}
    evidence = evidence_of(LOAD, "FADD R5, R5, R5", facts=facts)
    assert bool(list(narrow_accesses.detect_narrow(evidence))) == named


@pytest.mark.parametrize("store", ["STG.E [R8.64], R4", "RED.E.ADD [R8.64], R4"])
def test_scattered_accesses_and_atomics_stay_one_for_each_element_however_wide_the_others_are(store):
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
    ("address", "saved"), [("[R2.64+0x1]", 0.875), ("[R2.64+-0x1]", 0.875), ("[R6.64+0x1]", 0.4375)]
)
def test_misaligned_accesses_become_part_of_a_wide_one_of_the_same_base(address, saved):
    """A thread that takes 16 bytes at once has those beside each of them, too."""
    facts = {0: {"sectors": 200.0, "ideal_sectors": 200.0}, 1: {"sectors": 300.0, "ideal_sectors": 200.0}}
    evidence = evidence_of("LDG.E.U16 R4, [R2.64]", f"LDG.E.U16 R5, {address}", facts=facts)
    (candidate,) = narrow_accesses.detect_narrow(evidence)
    assert candidate.sentence.startswith("100 % of the data") == (saved > 0.5)
    assert candidate.effect.resources["lsu"] == pytest.approx(saved)


@pytest.mark.parametrize(
    ("addresses", "found"),
    [(("[R2.64+0x4]", "[R2.64+0x8]"), ["narrow-accesses"]), (("[R6.64]", "[R8.64]"), [])],
)
def test_places_of_one_base_that_a_wide_access_brings_together_are_requested_once(addresses, found):
    """Three loads of 12,800 bytes, of which device memory delivers 12,800."""
    facts = dict.fromkeys(range(3), TOGETHER)
    lines = (LOAD, *(f"LDG.E R5, {address}" for address in addresses))
    evidence = evidence_of(*lines, facts=facts, figures={"dram_bytes_read": 12800.0})
    assert names(narrow_accesses.detect_narrow, evidence) == found


@pytest.mark.parametrize(
    ("opcode", "sectors", "found"), [("LDG.E.U16", 200.0, ["narrow-accesses"]), ("LDG.E", 400.0, [])]
)
def test_requests_that_do_not_fill_a_line_are_narrow_also_where_their_data_is_kept(opcode, sectors, found):
    """Three loads of the same data: L1 answers each request of up to 128 bytes in a cycle."""
    facts = {place: {"sectors": sectors, "ideal_sectors": sectors} for place in range(3)}
    lines = (f"{opcode} R{register}, [R{register}.64]" for register in (2, 4, 6))
    evidence = evidence_of(*lines, facts=facts, figures={"dram_bytes_read": 32 * sectors})
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
def test_without_a_loop_a_thread_takes_the_place_of_several_and_fewer_blocks_are_launched(lines, launched):
    sectors = 4.0 * (100.0 if isinstance(lines[1], str) else lines[1][1])
    facts = {1: {"sectors": sectors, "ideal_sectors": sectors}}
    (candidate,) = narrow_accesses.detect_narrow(evidence_of(*lines, facts=facts))
    assert candidate.effect.resources.get("launch", 0.0) == launched


@pytest.mark.parametrize(
    ("before", "spared"),
    [
        ("LDC R9, c[0x0][0x220]", 1),  # every block prepares it for its arithmetic
        ("S2R R2, SR_TID.X", 2),  # the address is made of it
        ("IMAD R9, R1, UR4, RZ", 2),  # another number in each block
    ],
)
def test_a_wider_access_does_not_save_what_every_block_prepares(before, spared):
    lines = ("S2R R1, SR_CTAID.X", before, "LDG.E R4, [R2.64]", "FADD R5, R4, R9")
    facts = {2: TOGETHER}
    (candidate,) = narrow_accesses.detect_narrow(evidence_of(*lines, facts=facts))
    assert candidate.effect.resources["issue"] == pytest.approx(0.75 * (1 + spared) / 4)


def test_a_wider_access_saves_addresses_and_no_arithmetic():
    facts = {1: TOGETHER}
    (few,) = narrow_accesses.detect_narrow(evidence_of("IADD3 R2, R2, R8, RZ", LOAD, facts=facts))
    (most,) = narrow_accesses.detect_narrow(evidence_of(*["FADD R5, R4, R5"] * 8, LOAD, facts={8: facts[1]}))
    assert few.effect.resources["issue"] == 0.75
    assert most.effect.resources["issue"] == pytest.approx(0.75 / 9)


@pytest.mark.parametrize(
    ("counting", "spared"),
    [
        ("LOP3.LUT R5, R4, 0x1, RZ, 0xc0, !PT", 3 / 4 * 6 / 46),  # of the loaded value: for each element
        ("LOP3.LUT R5, R7, 0x1, RZ, 0xc0, !PT", 3 / 4 * 46 / 46),
    ],
)
def test_a_wider_access_saves_nothing_of_what_is_computed_from_each_element(counting, spared):
    lines = (
        "S2R R7, SR_CTAID.X",
        "IMAD.WIDE R2, R7, 0x4, R2",
        LOAD,
        *[counting] * 40,
        "IMAD.WIDE R8, R7, 0x4, R8",
        "STG.E [R8.64], R5",
        "EXIT",
    )
    whole = TOGETHER
    facts = {2: {**whole, "waits": {"long_scoreboard": 9}}, len(lines) - 2: whole}
    (candidate,) = narrow_accesses.detect_narrow(evidence_of(*lines, facts=facts))
    assert candidate.effect.resources["issue"] == pytest.approx(spared)


SIZE, THREADS_OF_BLOCK = "LDC R9, c[0x0][0x220]", "LDC R9, c[0x0][0x0]"


@pytest.mark.parametrize(
    ("goes_on_by", "turn", "warps"),
    [
        (SIZE, ["IMAD.WIDE R2, R9, 0x4, R2"], 0.25),  # a row
        (SIZE, ["IADD3 R8, R8, 0x1, RZ", "IMAD R2, R8, R9, R7"], 0.25),
        (SIZE, ["IADD3 R8, R8, 0x1, RZ", "IMAD R2, R7, R9, R8"], 1.0),  # where the row begins does not change
        (SIZE, ["IADD3 R2, R2, 0x400, RZ"], 1.0),
        (THREADS_OF_BLOCK, ["IMAD.WIDE R2, R9, 0x4, R2"], 1.0),  # the other threads take the elements between
    ],
)
def test_fewer_threads_are_left_if_the_next_turn_is_a_row_further(goes_on_by, turn, warps):
    """The neighbours of an element belong to other threads, and not to the next turn of its own."""
    assert _resident(goes_on_by, turn, waves=0.5) == warps


@pytest.mark.parametrize(("waves", "warps"), [(0.5, 0.25), (2.0, 0.5), (8.0, 1.0)])
def test_threads_that_waited_for_a_place_take_those_of_the_threads_that_are_not_launched(waves, warps):
    assert _resident(SIZE, ["IMAD.WIDE R2, R9, 0x4, R2"], waves) == warps


@pytest.mark.parametrize(
    ("capability", "goes_on_by", "warps"),
    [
        ("9.0", "0xc", 1.0),
        ("9.0", "0x10", 1.0),
        ("9.0", "0x14", 1.0),
        ("9.0", "RZ", 1.0),
        ("9.0", "0x374", 0.25),  # a parameter
        ("10.0", "0x360", 1.0),
        ("10.0", "0x374", 1.0),
        ("10.0", "0x378", 1.0),
        ("10.0", "0x398", 0.25),
    ],
)
def test_a_size_of_the_launch_is_no_row_wherever_a_gpu_keeps_it(capability, goes_on_by, warps):
    turn = ["IMAD.WIDE R2, R9, 0x4, R2"]
    assert _resident(f"LDC R9, c[0x0][{goes_on_by}]", turn, 0.5, capability) == warps


@pytest.mark.parametrize(("of_launch", "warps"), [("0x10", 0.25), ("0x4", 1.0)])
def test_blocks_that_share_out_rows_go_on_by_whole_rows(of_launch, warps):
    """The size of a block may also count elements of one row."""
    product = f"IMAD R9, R5, c[0x0][{of_launch}], RZ"
    assert _resident(product, ["IMAD.WIDE R2, R9, 0x4, R2"], 0.5, first="LDC R5, c[0x0][0x220]") == warps


def _resident(goes_on_by, turn, waves, capability="9.0", first="MOV R8, RZ"):
    before = (first, goes_on_by, "IMAD.WIDE R2, R5, 0x4, R10")
    lines = (*before, *executing(800.0, LOAD, *turn, "@P0 BRA 0x30"))
    facts = {3: {"acting": 32.0, "sectors": 3200.0, "ideal_sectors": 3200.0}}
    evidence = evidence_of(*lines, facts=facts, figures={"waves": waves})
    vars(evidence.profile)["compute_capability"] = capability
    (candidate,) = narrow_accesses.detect_narrow(evidence)
    return candidate.effect.warps


@pytest.mark.parametrize(("block", "bytes_a_request"), [(16, 64), (48, 96), (32, 128), (256, 128)])
def test_a_request_has_no_more_lanes_than_the_warps_of_a_block_have_threads(block, bytes_a_request):
    evidence = evidence_of(LOAD, "EXIT", facts={0: TOGETHER}, block=block)
    (found,) = narrow_accesses.detect_narrow(replace(evidence, has_costs=block % 32 == 0))
    assert f", {bytes_a_request} bytes a request." in found.sentence


@pytest.mark.parametrize(
    ("apart", "is_said"), [(("LDG.E R6, [R8.64]", 50.0), True), (("LDG.E.64 R6, [R8.64]", 50.0), False)]
)
def test_what_lies_apart_may_be_as_narrow_as_what_lies_side_by_side(apart, is_said):
    counts = TOGETHER, {"sectors": 1600.0, "ideal_sectors": 400.0}
    (found,) = narrow_accesses.detect_narrow(evidence_of(LOAD, apart, "EXIT", facts=dict(enumerate(counts))))
    assert ("accesses of neighbouring lanes, 4 bytes a thread, " in found.sentence) == is_said


@pytest.mark.parametrize(
    ("sectors", "said"),
    [
        (3200.0, "accesses of 4 bytes that lie side by side in a thread, and apart between threads: wider ones touch each sector less often."),
        (400.0, "accesses of 4 bytes a thread, 128 bytes a request."),
    ],
)  # fmt: skip
def test_what_a_thread_takes_one_by_one_is_not_called_an_access_of_neighbouring_lanes(sectors, said):
    """Eight words a thread: each request touches a sector for each of its 32 lanes; or else the lanes are neighbours."""
    lines = [f"LDG.E R{8 + place}, [R2.64+{4 * place:#x}]" for place in range(8)]
    counts = {"acting": 32.0, "sectors": sectors, "ideal_sectors": 400.0}
    (found,) = narrow_accesses.detect_narrow(
        evidence_of(*lines, "EXIT", facts=dict.fromkeys(range(8), counts))
    )
    assert found.sentence == f"100 % of the data moves in {said}"


@pytest.mark.parametrize(
    ("index", "found"), [("LDC.64 R8, c[0x0][0x220]", ["narrow-accesses"]), ("S2R R8, SR_CTAID.Y", [])]
)
@pytest.mark.parametrize("delivered", [None, 3200.0])
def test_what_all_threads_of_the_grid_look_up_alike_is_no_data(index, found, delivered):
    """Each lane asks for four bytes of it, and each warp for a sector. A block's own value is data, as a row of a product is."""
    lines = ("S2R R2, SR_TID.X", "LDG.E.U8 R6, [R2.64]", index, "LDG.E R9, [R8.64]", "STG.E.U8 [R2.64], R6")
    a_sector_each = {place: {"sectors": 100.0, "ideal_sectors": 100.0} for place in (1, 3, 4)}
    figures = {"dram_bytes_read": delivered} if delivered else {}
    evidence = evidence_of(*lines, facts=a_sector_each, figures=figures)
    assert names(narrow_accesses.detect_narrow, evidence) == found


@pytest.mark.parametrize(
    ("index", "found"), [((), []), (("S2R R9, SR_TID.X", "IADD3 R2, R9, R2, RZ"), ["narrow-accesses"])]
)
def test_a_single_value_that_all_threads_load_is_no_data(index, found):
    """It may be a flag, beside which a kernel only adds to a sum."""
    lines = "MOV R2, c[0x0][0x160]", "MOV R3, c[0x0][0x164]", *index, "LDG.E.U8 R4, [R2.64]"
    facts = {len(lines) - 1: {"sectors": 100.0, "ideal_sectors": 100.0}}
    evidence = evidence_of(*lines, "RED.E.ADD.STRONG.GPU [R8.64], R4", "EXIT", facts=facts)
    assert names(narrow_accesses.detect_narrow, evidence) == found


@pytest.mark.parametrize(("offsets", "said"), [(("", "+0x1"), True), (("",), False)])
def test_a_thread_that_takes_one_byte_has_none_beside_it(offsets, said):
    """Of two bytes a thread, each request touches the two sectors that all of them fill. One alone just begins inside a sector."""
    lines = [f"LDG.E.U8 R{8 + place}, [R2.64{offset}]" for place, offset in enumerate(offsets)]
    counts = {"acting": 30.0, "sectors": 196.0, "ideal_sectors": 100.0}
    found = narrow_accesses.detect_narrow(
        evidence_of(*lines, "EXIT", facts=dict.fromkeys(range(len(lines)), counts))
    )
    assert any("side by side in a thread" in one.sentence for one in found) == said


@pytest.mark.parametrize(
    ("place", "times", "is_wider"),
    [
        ("MOV R3, R5", 1, True),
        (
            "LDG.E R3, [R8.64]",
            1,
            False,
        ),  # an index of each thread, although the elements happen to be neighbours
        ("LDG.E R3, [R14.64]", 1, True),  # the same row for all threads
        ("LDG.E R3, [R8.64]", 8, True),  # where a list begins, through which a loop goes
    ],
)
def test_an_element_that_data_chooses_has_no_neighbours_that_a_thread_could_take(place, times, is_wider):
    before = "S2R R5, SR_TID.X", "IMAD.WIDE R8, R5, 0x4, R10", place, "IMAD.WIDE R2, R3, 0x4, R12"
    end = "IADD3 R2, R2, 0x80, RZ", "@P0 BRA 0x40"
    turn = executing(100.0 * times, LOAD, "FADD R7, R7, R4", *(end if times > 1 else ()))
    facts = {4: {"sectors": 400.0 * times, "ideal_sectors": 400.0 * times}}
    evidence = evidence_of(*before, *turn, "EXIT", facts=facts)
    (candidate,) = narrow_accesses.detect_narrow(evidence)
    assert (evidence.sites[4] in candidate.weights) == is_wider
