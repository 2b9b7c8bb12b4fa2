"""What it costs to launch blocks that do almost nothing: places that stay empty, and the queue of blocks before them."""

import pytest
from made_evidence import active, evidence_of, executing

from profiler.analyse.causes.detectors.launch import grid, little_work
from profiler.analyse.causes.evidence.latency import WarpSlots
from profiler.analyse.causes.words.triton import IN_TRITON


@pytest.mark.parametrize(
    ("empty", "refilling", "launching", "worth"),
    [
        (0.25, 0.25, 0.97, 0.2),  # each place is filled at once, and memory is what warps wait for
        (0.55, 0.12, 1.0, (0.43 + 0.12 * 0.2) / 0.55),  # blocks queue to be launched
        (0.55, 0.12, 0.0, 0.2),  # the rest of the block is still at work
        (0.0, 0.0, 0.5, 0.2),
    ],
)
def test_fewer_blocks_are_worth_what_they_queue_for_being_launched(empty, refilling, launching, worth):
    """Warps wait for memory for 80 % of their time."""
    slots = WarpSlots(empty=empty, refilling=refilling, launching=launching)
    evidence = evidence_of(
        "LDG.E R4, [R2.64]",
        "EXIT",
        figures={"waves": 200.0},
        waits={"long_scoreboard": 0.8, "wait": 0.2},
        warp_slots=slots,
    )
    (candidate,) = little_work.detect_little_work(evidence)
    assert candidate.effect.resources["launch"] == pytest.approx(worth * 0.99)


@pytest.mark.parametrize(("reason", "launched"), [("wait", 0.98), ("long_scoreboard", 0.0), ("drain", 0.0)])
def test_warps_that_wait_for_memory_would_wait_no_less_in_the_places_between_blocks(reason, launched):
    evidence = evidence_of(
        "LDG.E R4, [R2.64]", "FADD R5, R5, R4", figures={"waves": 100.0}, waits={reason: 1.0}
    )
    (candidate,) = little_work.detect_little_work(evidence)
    assert candidate.effect.resources["launch"] == pytest.approx(launched)


@pytest.mark.parametrize("registers", [1.0, 2.0])
@pytest.mark.parametrize(
    ("idle", "saves"),
    [
        (0.4, 0.4),
        (0.9, 1 - 1.06 / 2),  # no more than the last round leaves empty
        (0.0, 0.02),  # on SMs at work, the occupancy shows that some places are empty
    ],
)
def test_sms_without_a_block_lose_the_last_round_however_many_each_holds(registers, idle, saves):
    figures = {"waves": 1.06, "occupancy_pct": 24.5, "occupancy_limit_pct": 25.0, "blocks_by_registers": registers}  # fmt: skip
    cycles = {"l1tex__cycles_active.avg": 1000 * (1 - idle), "l1tex__cycles_active.max": 1000.0}
    evidence = evidence_of("FADD R4, R4, R6", figures=figures | cycles, waits={"no_warp": 1.0})
    (candidate,) = grid.detect_last_wave(evidence)
    assert candidate.saves == pytest.approx(saves)


ROW = ("S2R R4, SR_CTAID.Y", "LDG.E R8, [R4.64]", "STS [R9], R8", "BAR.SYNC.DEFER_BLOCKING 0x0")
COLUMN = ("S2R R5, SR_CTAID.X", "LDG.E R10, [R5.64]", "LDS R8, [R9]", "STG.E [R5.64], R10", "EXIT")


@pytest.mark.parametrize(
    ("grid_of", "lines", "alike"),
    [
        ((100, 100, 1), (*ROW, *COLUMN), [0, 3, 3]),  # in every block; in those of a row of the grid; in those of a column
        ((10_000, 1, 1), (*ROW, *COLUMN), [0]),
    ],
)  # fmt: skip
def test_a_thread_that_goes_on_along_a_row_prepares_once_for_the_row(grid_of, lines, alike):
    evidence = evidence_of(*lines, grid=grid_of, figures={"waves": 1e9})
    assert [len(one.weights) for one in little_work.detect_little_work(evidence)] == alike


def test_a_thread_goes_on_as_far_as_the_row_goes():
    evidence = evidence_of(*ROW, *COLUMN, grid=(4, 1000, 1), figures={"waves": 1e9})
    launched = [one.effect.resources["launch"] for one in little_work.detect_little_work(evidence)]
    assert launched == pytest.approx([1 - 1 / 4000, 1 - 1 / 4, 1 - 1 / 1000])


@pytest.mark.parametrize(("waves", "shared"), [(100.0, 3 / 4), (4.0, 1 / 2)])
def test_a_thread_waits_once_for_several_elements(waves, shared):
    """Four of them, or as many as leave two rounds of blocks."""
    facts = {2: {"waits": {"long_scoreboard": 60}}, 3: {"waits": {"drain": 40}}}
    lines = ("S2R R2, SR_CTAID.X", "LDG.E R8, [R2.64]", "FADD R8, R8, R9", "EXIT")
    (candidate,) = little_work.detect_little_work(evidence_of(*lines, facts=facts, figures={"waves": waves}))
    assert candidate.effect.waits == pytest.approx({"long_scoreboard": shared, "drain": 0.0})
    assert "wait for results for 60 % of their time" in candidate.sentence


@pytest.mark.parametrize(("turns", "around", "shared"), [(1, 1, 3 / 4), (2, 1, 0), (1, 2, 0)])
def test_the_turns_of_a_loop_are_what_its_loads_are_taken_ahead_in(turns, around, shared):
    """A loop of one turn, as one that strides across a grid with a thread for each element, has no other turn; but a loop around it may."""
    facts = {3: {"waits": {"long_scoreboard": 60}}}
    inside = ("LDG.E R8, [R2.64]", "FADD R8, R8, R9", "@P0 BRA 0x20")
    evidence = evidence_of(
        ("S2R R2, SR_CTAID.X", 100.0),
        ("MOV R9, R2", 100.0 * around),
        *executing(100.0 * around * turns, *inside),
        ("@P1 BRA 0x10", 100.0 * around),
        "EXIT",
        facts=facts,
        figures={"waves": 100.0},
    )
    (candidate,) = little_work.detect_little_work(evidence)
    assert candidate.effect.waits["long_scoreboard"] == pytest.approx(shared)
    assert ("wait for results" in candidate.sentence) == bool(shared)


@pytest.mark.parametrize(("waited", "is_said"), [(3, True), (2, False)])
def test_what_warps_wait_for_results_is_said_where_it_is_worth_a_change(waited, is_said):
    """Then the line that waits is the place, too."""
    facts = {2: {"waits": {"long_scoreboard": waited}}, 3: {"waits": {"drain": 100 - waited}}}
    lines = ("S2R R2, SR_CTAID.X", "LDG.E R8, [R2.64]", "FADD R8, R8, R9", "EXIT")
    (candidate,) = little_work.detect_little_work(evidence_of(*lines, facts=facts, figures={"waves": 100.0}))
    assert ("Warps wait for results" in candidate.sentence) == is_said
    assert ("waiting_for_results_pct" in candidate.evidence) == is_said
    assert (sum(candidate.weights.values()) > 0) == is_said


@pytest.mark.parametrize(
    ("in_loop", "included"), [(0, "loads-not-overlapped"), (29, "loads-not-overlapped"), (31, "")]
)
def test_more_loads_under_way_are_the_same_change_unless_loads_wait_in_a_loop(in_loop, included):
    before = ("S2R R2, SR_CTAID.X", "LDG.E R8, [R2.64]", "FADD R8, R8, R9")
    loop = ("LDG.E R10, [R4.64]", "FADD R8, R8, R10", "@P0 BRA 0x30")
    facts = {2: {"waits": {"long_scoreboard": 30}}, 4: {"waits": {"long_scoreboard": in_loop}}}
    turns = executing(200.0, *loop)
    evidence = evidence_of(*before, *turns, "EXIT", facts=facts, figures={"waves": 100.0})
    (candidate,) = little_work.detect_little_work(evidence)
    assert candidate.includes == included


@pytest.mark.parametrize(
    ("of_row", "fact"),
    [
        ("MOV R6, R7", "the same along Y"),
        ("MOV R6, R5", ""),  # each row works on its own data, whichever block it is in
    ],
)
def test_what_all_rows_of_a_block_do_alike_is_the_fact_of_another_cause_too(of_row, fact):
    """Nearly all that is executed does without the index of the row in the grid."""
    index = ("S2R R4, SR_CTAID.Y", "S2R R5, SR_TID.Y", of_row)
    work = executing(4000.0, "LDG.E R8, [R10.64]", "FMUL R9, R6, R8", "FADD R12, R12, R9")
    lines = (*index, *work, "IMAD R2, R4, R13, R5", "STG.E [R2.64], R12", "EXIT")
    evidence = evidence_of(*lines, grid=(100, 100, 1), block=(32, 8, 1), figures={"waves": 1e9})
    *_, along_y = little_work.detect_little_work(evidence)
    assert along_y.fact == fact


def test_several_elements_along_an_axis_are_loaded_at_once_too():
    evidence = evidence_of(*ROW, *COLUMN, grid=(100, 100, 1), figures={"waves": 1e9})
    ways = [one.advice for one in little_work.detect_little_work(evidence)]
    assert [way.split(" elements ")[1].split(", and")[0] for way in ways] == [
        "(four at once, or a grid-stride loop)",
        "along x of the grid, four at once",
        "along y of the grid, four at once",
    ]


@pytest.mark.parametrize(
    ("copies", "opcode", "line", "has_several"),
    [
        (3, "LDG.E", 7, False),
        (4, "LDG.E", 7, True),
        (4, "LDG.E", None, False),  # each on a line of its own: other arrays
        (4, "LDG.E.128", 7, False),  # as wide as can be
    ],
)
def test_a_thread_with_four_copies_of_a_load_is_not_told_to_take_four(copies, opcode, line, has_several):
    loads = [f"{opcode} R{4 + 4 * number}, [R2.64+{64 * number:#x}]" for number in range(copies)]
    evidence = evidence_of(
        "S2R R2, SR_CTAID.X", *loads, "EXIT", line=line, grid=(100, 100, 1), figures={"waves": 1e9}
    )
    any_way, *along = [one.advice for one in little_work.detect_little_work(evidence)]
    assert ("several neighbouring elements at once (up to 16 bytes, a vector type)" in any_way) is has_several
    assert all(("four at once" in one) is not has_several for one in (any_way, *along))


ELEMENT = ("S2R R2, SR_CTAID.X", "LDG.E R4, [R2.64]")
ADDED_UP = ("SHFL.BFLY PT, R5, R4, 0x1, 0x1f", "FADD R4, R4, R5")
BETWEEN_WARPS = ("@!P0 STS [R9], R4", "BAR.SYNC.DEFER_BLOCKING 0x0", "LDS R6, [R10]")
STORED = ("STG.E [R2.64], R6", "EXIT")


@pytest.mark.parametrize(
    ("lines", "block", "acting", "spared"),
    [
        ((*ELEMENT, *ADDED_UP, *BETWEEN_WARPS, *STORED), 128, 1.0, (3 * 0.75 + 2) / 5),
        # More warps have a row: four elements a thread leave several of them, and what these exchange.
        ((*ELEMENT, *ADDED_UP, *BETWEEN_WARPS, *STORED), 160, 1.0, 3 * 0.75 / 5),
        # Lanes exchange their own elements, of which there are as many.
        ((*ELEMENT, *ADDED_UP, *BETWEEN_WARPS, *STORED), 128, 32.0, 3 * 0.75 / 5),
        # A thread has two elements already, or a wide piece of the row.
        ((*ELEMENT, "LDG.E R7, [R2.64+0x4]", *ADDED_UP, *BETWEEN_WARPS, *STORED), 128, 1.0, 0.0),
        (("S2R R2, SR_CTAID.X", "LDG.E.64 R4, [R2.64]", *ADDED_UP, *BETWEEN_WARPS, *STORED), 128, 1.0, 0.0),
        # Nothing is added up over the lanes.
        ((*ELEMENT, "SHFL.IDX PT, R5, R4, 0x1, 0x1f", *BETWEEN_WARPS, *STORED), 128, 1.0, 0.0),
    ],
)  # fmt: skip
def test_threads_with_four_elements_of_a_row_exchange_a_quarter_of_it_between_lanes(lines, block, acting, spared):  # fmt: skip
    facts = {lines.index("@!P0 STS [R9], R4"): active(acting, of=32.0)}
    evidence = evidence_of(*lines, grid=10**9, block=block, facts=facts, figures={"waves": 1e9}, line=7)
    (candidate,) = little_work.detect_little_work(evidence)
    assert candidate.effect.resources["lsu"] == pytest.approx(spared)
    assert candidate.effect.resources["l2"] == 0


@pytest.mark.parametrize(("waves", "spared"), [(8.0, (3 * 0.75 + 2) / 5), (4.0, 3 * 0.5 / 5)])
def test_threads_take_no_more_elements_than_leave_two_rounds_of_blocks(waves, spared):
    lines = (*ELEMENT, *ADDED_UP, *BETWEEN_WARPS, *STORED)
    evidence = evidence_of(*lines, block=128, facts={4: active(1.0, of=32.0)}, figures={"waves": waves}, line=7)  # fmt: skip
    (candidate,) = little_work.detect_little_work(evidence)
    assert candidate.effect.resources["lsu"] == pytest.approx(spared)


def told_in_triton(candidate):
    """The advice for Triton: the detector's own, or else the usual one."""
    return candidate.in_triton or IN_TRITON[candidate.name]


@pytest.mark.parametrize(
    ("line", "may_be_larger"), [("FADD R8, R8, R9", True), ("SHFL.BFLY PT, R9, R8, 0x10, 0x1f", False)]
)
def test_a_block_that_holds_a_row_cannot_be_larger(line, may_be_larger):
    lines = ("S2R R2, SR_CTAID.X", "LDG.E R8, [R2.64]", line, "EXIT")
    (candidate,) = little_work.detect_little_work(evidence_of(*lines, figures={"waves": 100.0}))
    assert ("a larger BLOCK" in told_in_triton(candidate)) == may_be_larger
    assert "several rows at once" in told_in_triton(candidate)


def test_nor_can_one_that_is_longer_than_its_row():
    nothing = {"acting": 0.0, "sectors": 0.0, "ideal_sectors": 0.0}
    lines = ("S2R R2, SR_CTAID.X", "CS2R R8, SRZ", "@!P1 LDG.E.64 R8, [R2.64]", "FMUL R10, R8, R8", "EXIT")
    evidence = evidence_of(*lines, facts={2: nothing}, figures={"waves": 100.0})
    (candidate,) = little_work.detect_little_work(evidence)
    assert "a larger BLOCK" not in told_in_triton(candidate)


@pytest.mark.parametrize(
    ("storing", "advised"), [(8.0, "Give each program more elements: "), (32.0, "Let each program do more")]
)
def test_a_program_whose_threads_repeat_each_other_needs_more_elements_for_them(storing, advised):
    """With fewer warps, as many programs would have to start."""
    lines = ("S2R R0, SR_TID.X", "LDG.E R8, [R0.64]", "STG.E [R0.64], R8", "EXIT")
    evidence = evidence_of(*lines, facts={2: {"acting": storing}}, figures={"waves": 100.0})
    (candidate,) = little_work.detect_little_work(evidence)
    assert told_in_triton(candidate).startswith(advised)


TREE = ("LDG.E R4, [R2.64]", "STS [R9], R4", "BAR.SYNC 0x0", "@P0 LDS R5, [R2+0x80]", "@P0 FADD R4, R4, R5", "@P0 STS [R2], R4", "BAR.SYNC 0x0", "@P1 STG.E [R2.64], R4", "EXIT")  # fmt: skip


@pytest.mark.parametrize(
    ("storing", "turns", "spared"),
    [
        (1 / 4, 1, 3 / 4),  # one thread of four warps
        (1.0, 1, 0.0),  # one of each warp: a block makes four values
        (1 / 4, 8, 0.0),  # each thread adds up elements in a loop already
    ],
)
def test_a_block_that_makes_one_value_makes_it_once_for_several_elements_a_thread(storing, turns, spared):
    loop = ("IADD3 R2, R2, 0x80, RZ", "@P2 BRA 0x10") if turns > 1 else ()
    lines = [("S2R R2, SR_CTAID.X", 4000.0), *executing(4000.0 * turns, TREE[0], *loop)]
    lines += [(TREE[1].replace("R9", "R2"), 4000.0), *executing(4000.0, *TREE[2:])]
    facts = {len(lines) - 2: {"acting": storing}}
    (candidate,) = little_work.detect_little_work(
        evidence_of(*lines, grid=1000, block=128, facts=facts, figures={"waves": 100.0})
    )
    assert candidate.effect.resources["lsu"] == pytest.approx(spared * 4 / 5)


def test_what_each_thread_computes_before_the_exchange_is_for_its_element():
    """So is what a loop without a barrier makes of a tile in shared memory."""
    load, *tree = TREE
    first = ("S2R R2, SR_CTAID.X", load)
    elements = ("MUFU.EX2 R4, R4",) * 4
    over_tile = ("LDS R5, [R2]", "MUFU.EX2 R4, R4", "@P3 BRA 0x40")
    for lines, units in (
        ((*first, *elements, *tree), ("xu",)),
        ((*first, *tree[:2], *over_tile, *tree[2:]), ("xu", "lsu")),
    ):
        sites = [(line, 32_000.0 if line in over_tile else 4000.0) for line in lines]
        facts = {len(lines) - 2: {"acting": 1 / 4}}
        evidence = evidence_of(*sites, grid=1000, block=128, facts=facts, figures={"waves": 100.0})
        (candidate,) = little_work.detect_little_work(evidence)
        assert [candidate.effect.resources[unit] for unit in units] == [0.0] * len(units)


@pytest.mark.parametrize(("warps", "said"), [(5.4, True), (5.5, False)])
def test_several_elements_would_not_wait_together_for_loads_that_fill_l1_already(warps, said):
    lines = [f"LDG.E.128 R{place}, [R2.64]" for place in (8, 12, 16, 20)]
    facts = {4: {"waits": {"long_scoreboard": 30}}}
    figures = {"waves": 100.0, "active_warps": warps}
    evidence = evidence_of(*lines, "FADD R30, R8, R12", "EXIT", facts=facts, figures=figures)
    (candidate,) = little_work.detect_little_work(evidence)
    assert ("would wait together" in candidate.sentence) == said
