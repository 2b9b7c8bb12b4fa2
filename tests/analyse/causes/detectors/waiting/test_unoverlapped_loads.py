"""Loads that warps wait for one by one."""

import pytest
from made_evidence import APART, LOAD, TOGETHER, evidence_of, executing, names

from profiler.analyse.causes.detectors.waiting import unoverlapped_loads
from profiler.analyse.causes.evidence.latency import WarpSlots


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


@pytest.mark.parametrize(
    ("loads", "width", "enough"),
    [(15, ".128", False), (16, ".128", True), (31, ".64", False), (32, ".64", True)],
)
def test_a_thread_whose_registers_are_full_of_loads_needs_no_larger_block_but_more_warps(
    loads, width, enough
):
    lines = [f"LDG.E{width} R{10 + 4 * number}, [R2.64+{512 * number:#x}]" for number in range(loads)]
    facts = {loads: {"waits": {"long_scoreboard": 9}}}
    evidence = evidence_of(*lines, "FADD R5, R5, R10", facts=facts)
    (candidate,) = unoverlapped_loads.detect_unoverlapped_loads(evidence)
    assert candidate.in_triton.startswith("A thread has enough loads under way already") == enough
    assert ("a BLOCK that gives each thread several of them" in candidate.in_triton) != enough


@pytest.mark.parametrize(
    ("opcode", "loads", "latency", "gone"),
    [
        ("LDG.E", 3, 0.0, 7 / 8),  # few loads: most of the waiting ends, whatever it is
        ("LDG.E.128", 4, 0.0, 1 / 4),
        ("LDG.E.128", 4, 1.0, 3 / 4),  # they take 16 of 64 registers
        ("LDG.E.128", 4, 0.5, 3 / 8),  # what is a queue stays
        ("LDG.E.128", 12, 1.0, 1 / 4),
        ("LDG.E.128", 20, 1.0, 1 / 4),
        ("LDG.E", 16, 1.0, 3 / 4),
        ("LDG.E.U8", 16, 1.0, 3 / 4),  # a byte takes a whole register
        ("LDG.E", 48, 1.0, 1 / 4),
    ],
)
def test_over_four_loads_under_way_hide_more_of_the_latency_and_no_queues(opcode, loads, latency, gone):
    lines = [f"{opcode} R{10 + 4 * one}, [R2.64+{16 * one:#x}]" for one in range(loads)]
    facts = {loads: {"waits": {"long_scoreboard": 50}}}
    evidence = evidence_of(
        *lines, "FADD R5, R5, R10", facts=facts, warp_slots=WarpSlots({"long_scoreboard": latency})
    )
    (candidate,) = unoverlapped_loads.detect_unoverlapped_loads(evidence)
    assert candidate.effect.waits["long_scoreboard"] == pytest.approx(gone)


@pytest.mark.parametrize(
    ("copies", "elsewhere", "advised"), [(3, 0, False), (4, 0, True), (4, 8, True), (4, 10, False)]
)
def test_loads_of_which_a_thread_has_four_copies_are_to_be_wide(copies, elsewhere, advised):
    """Unless warps wait more for others."""
    loads = [f"LDG.E R{10 + number}, [R2.64+{0x200 * number:#x}]" for number in range(copies)]
    lines = (*loads, "FADD R5, R5, R10", "LDG.E.64 R6, [R8.64]", "FADD R5, R5, R6")
    waits = {copies: {"waits": {"long_scoreboard": 9}}, copies + 2: {"waits": {"long_scoreboard": elsewhere}}}
    (candidate,) = unoverlapped_loads.detect_unoverlapped_loads(evidence_of(*lines, line=7, facts=waits))
    assert candidate.advice.startswith("A thread loads several values already") is advised
    assert candidate.advice.startswith("Let each thread take several elements") is not advised


@pytest.mark.parametrize(("apart", "advised"), [(4, True), (8, False), (0x200, False)])
def test_only_neighbours_are_to_be_loaded_at_once(apart, advised):
    loads = [f"LDG.E R{10 + number}, [R2.64+{apart * number:#x}]" for number in range(4)]
    facts = {4: {"waits": {"long_scoreboard": 9}}}
    evidence = evidence_of(*loads, "FADD R5, R5, R10", line=7, facts=facts)
    (candidate,) = unoverlapped_loads.detect_unoverlapped_loads(evidence)
    assert ("load neighbours at once" in candidate.advice) is advised
    assert ("issue their loads before the first use" in candidate.advice) is not advised


def staging(use):
    """A loop in which a warp loads four times 16 bytes, waits, hands them on by `use`, and waits at a barrier."""
    lines = [f"LDG.E.128 R{8 + 4 * place}, [R2.64+{0x200 * place:#x}]" for place in range(4)]
    lines += [use.format(8 + 4 * place) for place in range(4)]
    lines += ["BAR.SYNC.DEFER_BLOCKING 0x0", "LDS R40, [R5]", "BRA 0x0"]
    facts = {4: {"waits": {"long_scoreboard": 30}}, 9: {"waits": {"barrier": 10}}}
    (candidate,) = unoverlapped_loads.detect_unoverlapped_loads(evidence_of(*lines, facts=facts))
    return candidate


def test_copies_of_the_next_tile_end_the_wait_for_all_loads_of_a_tile():
    """However many loads a warp has under way: it waits for all of them in each turn, and others wait for it at the barrier."""
    staged, used = (staging(use).effect.waits for use in ("STS.128 [R4], R{0}", "FADD R5, R5, R{0}"))
    assert staged["long_scoreboard"] == pytest.approx(7 / 8)
    assert staged["barrier"] == pytest.approx(7 / 8 * 30 / 40)
    assert used == {"long_scoreboard": 0.25, "barrier": 0.0}


@pytest.mark.parametrize(
    ("use", "figures"), [("STS.128 [R4], R{0}", {"waiting_for_tiles_pct": 75.0}), ("FADD R5, R5, R{0}", {})]
)
def test_a_loop_that_waits_for_tiles_says_for_how_long(use, figures):
    found = staging(use).evidence
    assert {name: part for name, part in found.items() if "tiles" in name} == pytest.approx(figures)


@pytest.mark.parametrize(("lanes", "advised"), [(1.0, False), (1.5, False), (2.0, True), (None, True)])
def test_what_one_lane_loads_for_all_is_no_tile_to_copy_ahead(lanes, advised):
    """As the two ends of an edge, whose neighbours a block then searches together. Two lanes share the loads of a tile out already."""
    lines = ("LDG.E R8, [R2.64]", "STS [R4], R8", "BAR.SYNC.DEFER_BLOCKING 0x0", "LDS R40, [R5]", "BRA 0x0")
    facts = {0: {} if lanes is None else {"acting": lanes}, 1: {"waits": {"long_scoreboard": 30}}}
    (candidate,) = unoverlapped_loads.detect_unoverlapped_loads(evidence_of(*lines, facts=facts))
    assert ("cp.async" in candidate.advice) is advised
    assert ("load what the next turns need before this one computes" in candidate.advice) is not advised
    assert ("waiting_for_tiles_pct" in candidate.evidence) is advised


@pytest.mark.parametrize(("opcode", "widens"), [("LDG.E.U16", True), ("LDG.E", False), ("LDG.E.128", False)])
def test_loads_that_are_narrower_than_a_copy_can_be_are_to_be_widened_first(opcode, widens):
    lines = (
        f"{opcode} R8, [R2.64]",
        "STS [R4], R8",
        "BAR.SYNC.DEFER_BLOCKING 0x0",
        "LDS R40, [R5]",
        "BRA 0x0",
    )
    facts = {1: {"waits": {"long_scoreboard": 30}}}
    (candidate,) = unoverlapped_loads.detect_unoverlapped_loads(evidence_of(*lines, facts=facts))
    assert candidate.advice.startswith("Let each thread load 4 bytes or more at once") == widens
    assert "Copy the next tile asynchronously (cp.async)" in candidate.advice


WAITED_FOR = {"waits": {"long_scoreboard": 90}}


@pytest.mark.parametrize(
    ("lines", "advised", "in_triton"),
    [
        ((LOAD, "FADD R5, R5, R4", "EXIT"), "Let each thread take several elements", "Have more loads under way"),
        ((LOAD, "FADD R5, R5, R4", "@P0 BRA 0x0", "EXIT"), "unroll the loop", "`tl.range(…, num_stages=3)`"),
        (
            (LOAD, "STS [R8], R4", "BAR.SYNC 0x0", "@P0 BRA 0x0", "EXIT"),
            "Copy the next tile asynchronously (cp.async)",
            "`num_stages` of 3 or more",
        ),
        ((LOAD, "STS [R8], R4", "BAR.SYNC 0x0", "EXIT"), "Let each thread take several elements", "Have more loads under way"),
        # Nobody reads in a turn what was stored: each thread keeps its maximum in shared memory, and it is no tile.
        ((LOAD, "@P1 STS [R8], R4", "@P0 BRA 0x0", "EXIT"), "unroll the loop", "`tl.range(…, num_stages=3)`"),
    ],
)  # fmt: skip
def test_more_loads_come_from_tiles_turns_of_a_loop_or_elements_of_a_thread(lines, advised, in_triton):
    (candidate,) = unoverlapped_loads.detect_unoverlapped_loads(evidence_of(*lines, facts={0: WAITED_FOR}))
    assert advised in candidate.advice
    assert in_triton in candidate.in_triton


@pytest.mark.parametrize(
    ("load", "other", "are_narrow"),
    [
        ("LDG.E.U8 R4, [R2.64]", "LDGSTS.E.BYPASS.128 [R20], [R22.64]", True),
        ("LDG.E R4, [R2.64]", "LDGSTS.E.BYPASS.128 [R20], [R22.64]", False),
        ("LDG.E.U8 R4, [R2.64]", "NOP", False),  # nothing is copied ahead
    ],
)
def test_triton_copies_words_ahead_and_no_bytes(load, other, are_narrow):
    lines = (load, other, "STS [R8], R4", "BAR.SYNC 0x0", "@P0 BRA 0x0", "EXIT")
    (candidate,) = unoverlapped_loads.detect_unoverlapped_loads(evidence_of(*lines, facts={0: WAITED_FOR}))
    assert ("Triton copies other tiles of this loop ahead already" in candidate.in_triton) == are_narrow


@pytest.mark.parametrize(("turns", "is_ahead"), [(1, False), (2, True)])
def test_a_loop_of_one_turn_has_no_next_one_to_load_for(turns, is_ahead):
    """Nor has it anything to unroll."""
    inside = executing(100.0 * turns, LOAD, "FADD R5, R5, R4", "@P0 BRA 0x10")
    evidence = evidence_of("NOP", *inside, "EXIT", facts={2: WAITED_FOR})
    (candidate,) = unoverlapped_loads.detect_unoverlapped_loads(evidence)
    assert ("num_stages" in candidate.in_triton) == is_ahead
    assert ("unroll" in candidate.advice) == is_ahead


@pytest.mark.parametrize(("acting", "may_be_larger"), [(0.0, False), (32.0, True)])
def test_a_block_that_is_longer_than_its_row_brings_no_more_loads(acting, may_be_larger):
    lines = ("CS2R R4, SRZ", f"@!P1 {LOAD}", "FADD R5, R5, R4", "EXIT")
    facts = {1: {"acting": acting, "sectors": 0.0, "ideal_sectors": 0.0}, 2: WAITED_FOR}
    (candidate,) = unoverlapped_loads.detect_unoverlapped_loads(evidence_of(*lines, facts=facts))
    assert ("a BLOCK that gives each thread" in candidate.in_triton) == may_be_larger


SECOND, STORE = "LDG.E R6, [R8.64]", "STG.E [R10.64], R4"
OTHERS = "LDG.E R7, [R12.64]"


@pytest.mark.parametrize(
    ("lines", "advised"),
    [
        ((LOAD, STORE, SECOND), True),
        ((LOAD, SECOND, STORE), False),  # both are issued together
        ((STORE, SECOND), False),  # there is no load for it to be issued with
        ((LOAD, STORE, "@P0 BRA 0x40", SECOND), False),  # a branch stands between, too
        ((LOAD, STORE, "LDG.E.CONSTANT R6, [R8.64]"), False),  # nobody stores there: the compiler may move it
        ((LOAD, STORE, "LDG.E.STRONG.SYS R6, [R8.64]"), False),  # volatile: it may not, whatever is declared
        (("LDG.E.64 R8, [R2.64]", STORE, SECOND), False),  # its address is what the other one loads
        ((LOAD, STORE, SECOND, STORE), False),  # the later one overwrites the first, which another cause names
        ((LOAD, STORE, SECOND, STORE.replace("R10", "R14")), True),
    ],
)  # fmt: skip
def test_stores_between_loads_keep_the_compiler_from_issuing_them_together(lines, advised):
    waits = {lines.index(one): {"waits": {"long_scoreboard": 9}} for one in lines if one.startswith("LDG")}
    evidence = evidence_of(*lines, "FADD R5, R5, R6", "EXIT", facts=waits | {len(lines): WAITED_FOR})
    (candidate,) = unoverlapped_loads.detect_unoverlapped_loads(evidence)
    assert ("before the first store" in candidate.advice) == advised
    assert ("the one at made.cu:2 stands before these loads" in candidate.advice) == advised


@pytest.mark.parametrize(
    ("line", "advised"),
    [(7, "Load what several turns need before the first of them stores"), (None, "Load all values before")],
)
def test_the_stores_of_an_unrolled_loop_are_those_of_earlier_turns(line, advised):
    """They stand on the line of the loads, where that is known."""
    lines = (LOAD, STORE, SECOND, STORE.replace("R10", "R14"), "FADD R5, R5, R6", "@P0 BRA 0x0", "EXIT")
    waits = {place: {"waits": {"long_scoreboard": 9}} for place in (0, 2)}
    evidence = evidence_of(*lines, facts=waits | {4: WAITED_FOR}, line=line)
    (candidate,) = unoverlapped_loads.detect_unoverlapped_loads(evidence)
    assert candidate.advice.startswith(advised)


@pytest.mark.parametrize(
    ("lines", "named"), [((LOAD, STORE, SECOND), [SECOND]), ((LOAD, SECOND, STORE), [LOAD, SECOND])]
)
def test_only_loads_behind_a_store_are_said_to_be_there(lines, named):
    waits = {lines.index(one): {"waits": {"long_scoreboard": 9}} for one in lines if one.startswith("LDG")}
    evidence = evidence_of(*lines, "FADD R5, R5, R6", "EXIT", facts=waits | {3: WAITED_FOR})
    (candidate,) = unoverlapped_loads.detect_unoverlapped_loads(evidence)
    assert [site.instruction.text for site in candidate.weights] == named


def test_a_store_before_a_loop_keeps_no_loads_of_its_turns_apart():
    lines = (LOAD, STORE, *executing(800.0, SECOND, "FADD R5, R5, R6", "@P0 BRA 0x20"), "EXIT")
    facts = {0: {"waits": {"long_scoreboard": 9}}, 3: WAITED_FOR}
    (candidate,) = unoverlapped_loads.detect_unoverlapped_loads(evidence_of(*lines, facts=facts))
    assert "before the first store" not in candidate.advice


@pytest.mark.parametrize(("elsewhere", "advised"), [(1, True), (100, False)])
def test_stores_are_blamed_where_warps_wait_most_for_the_loads_around_them(elsewhere, advised):
    lines = (LOAD, STORE, SECOND, "FADD R5, R5, R6", "@P0 BRA 0x60", OTHERS, "FADD R5, R5, R7", "EXIT")
    facts = {3: WAITED_FOR, 6: {"waits": {"long_scoreboard": elsewhere}}}
    (candidate,) = unoverlapped_loads.detect_unoverlapped_loads(evidence_of(*lines, facts=facts))
    assert ("before the first store" in candidate.advice) == advised


@pytest.mark.parametrize(
    ("load", "store", "advised"),
    [
        (LOAD, STORE, True),
        (LOAD, (STORE, 99.0), False),  # some turns store nothing
        ("LDG.E.CONSTANT R4, [R2.64]", STORE, False),
        (LOAD, "STG.E [R14.64], R4", False),  # at the same place in each turn, which another cause names
    ],
)
def test_stores_of_each_turn_keep_an_unrolled_loop_from_loading_ahead(load, store, advised):
    turn = (load, "FADD R4, R4, R5", store, "IADD3 R2, R2, 0x4, RZ", "IADD3 R10, R10, 0x4, RZ", "@P0 BRA 0x10")  # fmt: skip
    evidence = evidence_of(("NOP", 1.0), *turn, "EXIT", facts={2: WAITED_FOR})
    (candidate,) = unoverlapped_loads.detect_unoverlapped_loads(evidence)
    assert ("before the first of them stores" in candidate.advice) == advised
    assert ("unroll the loop" in candidate.advice) != advised


def test_loads_that_are_staged_by_hand_pass_through_l1_once_more_than_copies():
    facts = {0: TOGETHER, 1: {"waits": {"long_scoreboard": 9}}}
    (staged,) = unoverlapped_loads.detect_unoverlapped_loads(evidence_of(LOAD, "STS [R8], R4", facts=facts))
    (used,) = unoverlapped_loads.detect_unoverlapped_loads(evidence_of(LOAD, "FADD R5, R5, R4", facts=facts))
    assert (staged.effect.resources["l1"], used.effect.resources["l1"]) == (1.0, 0.0)
    facts[0] = APART  # looked up apart by copies as well
    (apart,) = unoverlapped_loads.detect_unoverlapped_loads(evidence_of(LOAD, "STS [R8], R4", facts=facts))
    assert apart.effect.resources["l1"] == pytest.approx(1 / 8)


@pytest.mark.parametrize(
    ("load", "said"),
    [
        ("LDG.E.128 R8, [R2.64]", "; a warp has about 1 of them under way at a time, and each scheduler has 4 warps."),
        ("LDGSTS.E.BYPASS.128 [R4], [R2.64]", "; each scheduler has 4 warps."),  # those of the next tiles may be, too
    ],
)  # fmt: skip
def test_how_many_copies_are_under_way_is_not_known(load, said):
    lines = [load, "FADD R12, R8, R8", "DEPBAR.LE SB0, 0x1", "BRA 0x0"]
    facts = {place: {"waits": {"long_scoreboard": 30}} for place in (1, 2)}
    evidence = evidence_of(*lines, facts=facts, figures={"active_warps": 4.0})
    (candidate,) = unoverlapped_loads.detect_unoverlapped_loads(evidence)
    assert candidate.sentence.endswith(f"global memory{said}")
    assert ("loads_under_way" in candidate.evidence) == ("LDGSTS" not in load)


@pytest.mark.parametrize(
    ("warps", "load", "is_found"),
    [
        (5.4, "LDG.E.128 R{}, [R2.64]", True),  # four loads of 512 bytes for each: 43.2 KiB in an SM
        (5.5, "LDG.E.128 R{}, [R2.64]", False),  # 44 KiB
        (16.0, "LDG.E R{}, [R2.64]", True),
        (5.5, "LDG.E.64 R{}, [R2.64]", True),
    ],
)
def test_more_loads_would_only_queue_where_64_bytes_for_each_cycle_of_the_latency_are_under_way(
    warps, load, is_found
):
    lines = [load.format(place) for place in (8, 12, 16, 20)]
    facts = {4: {"waits": {"long_scoreboard": 30}}}
    evidence = evidence_of(*lines, "FADD R30, R8, R12", facts=facts, figures={"active_warps": warps})
    assert bool([*unoverlapped_loads.detect_unoverlapped_loads(evidence)]) == is_found
