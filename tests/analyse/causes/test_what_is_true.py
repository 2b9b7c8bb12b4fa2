"""What the sentence of a cause claims, and what it advises, hold for the kernel at hand."""

import pytest
from made_evidence import APART, FORWARD, LOAD, NEXT, STORED, TOGETHER, active, evidence_of, executing

from profiler.analyse.causes.detectors.global_memory import atomics, layout, narrow_accesses, redundant_loads
from profiler.analyse.causes.detectors.idle_lanes import lanes
from profiler.analyse.causes.detectors.instructions import (
    compilation,
    integer_overhead,
    number_types,
    redundant_instructions,
)
from profiler.analyse.causes.detectors.shared_memory import bank_conflicts, too_little_reuse
from profiler.analyse.causes.detectors.waiting import dependent_chains, unoverlapped_loads
from profiler.analyse.causes.flow.addresses.indexed import is_gathered


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


def test_neighbours_that_one_wide_access_would_take_count_as_narrow_though_they_are_misaligned():
    facts = {0: TOGETHER | {"waits": {"long_scoreboard": 90}}, 1: {"sectors": 500.0, "ideal_sectors": 400.0}}
    (candidate,) = narrow_accesses.detect_narrow(evidence_of(LOAD, "LDG.E R5, [R2.64+0x4]", facts=facts))
    assert candidate.sentence.startswith("100 % of the data")


@pytest.mark.parametrize(("waiting", "named"), [(2, False), (4, True)])
def test_nobody_needs_wider_accesses_who_does_not_wait_for_them(waiting, named):
    """A long computation loads three words once: four elements a thread are not worth a change for the loads' sake."""
    facts = {0: TOGETHER | {"waits": {"long_scoreboard": waiting}}, 1: {"waits": {"wait": 100 - waiting}}}
    evidence = evidence_of(LOAD, "FADD R5, R5, R5", facts=facts)
    assert bool(list(narrow_accesses.detect_narrow(evidence))) == named


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
def test_more_loads_come_from_tiles_from_turns_of_a_loop_or_from_elements_of_a_thread(
    lines, advised, in_triton
):
    (candidate,) = unoverlapped_loads.detect_unoverlapped_loads(evidence_of(*lines, facts={0: WAITED_FOR}))
    assert advised in candidate.advice
    assert in_triton in candidate.in_triton


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
    turn = (
        load,
        "FADD R4, R4, R5",
        store,
        "IADD3 R2, R2, 0x4, RZ",
        "IADD3 R10, R10, 0x4, RZ",
        "@P0 BRA 0x10",
    )
    evidence = evidence_of(("NOP", 1.0), *turn, "EXIT", facts={2: WAITED_FOR})
    (candidate,) = unoverlapped_loads.detect_unoverlapped_loads(evidence)
    assert ("before the first of them stores" in candidate.advice) == advised
    assert ("unroll the loop" in candidate.advice) != advised


DIVISION = (
    "I2F.RP R4, R8",
    "MUFU.RCP R4, R4",
    "F2I.FTZ.U32.TRUNC.NTZ R5, R4",
    "IMAD.HI.U32 R5, R5, R6, R4",
    "ISETP.GE.U32.AND P1, PT, R5, R8, PT",
)


BY_THE_GRID, IN_TURNS = "Let the grid and the block give the indices", "count up from turn to turn"
ONE_TURN = ("MOV R9, RZ", 100.0)
BEFORE = ("MOV R9, RZ", 50.0)  # two turns follow


@pytest.mark.parametrize(
    ("before", "end", "advised"),
    [
        (BEFORE, ("@P0 BRA 0x10", "EXIT"), IN_TURNS),
        (ONE_TURN, ("@P0 BRA 0x10", "EXIT"), BY_THE_GRID),  # a grid-stride loop whose grid covers all elements
        (ONE_TURN, ("EXIT",), BY_THE_GRID),
    ],
)  # fmt: skip
def test_divisions_are_spared_from_turn_to_turn_or_by_a_grid_of_more_dimensions(before, end, advised):
    (candidate,) = integer_overhead.detect_integer_overhead(evidence_of(before, *DIVISION, LOAD, *end))
    assert advised in candidate.advice
    assert "divide integers" in candidate.sentence
    assert "keeps no source line" not in candidate.sentence


@pytest.mark.parametrize(("before", "advised"), [(BEFORE, IN_TURNS), (ONE_TURN, BY_THE_GRID)])
def test_a_function_that_divides_is_in_the_loop_that_calls_it(before, advised):
    """An integer of 64 bits is divided by a function behind the end."""
    lines = ("CALL.REL.NOINC 0x50", LOAD, "@P0 BRA 0x10", "EXIT", *DIVISION, "RET.REL.NODEC R2 0x0")
    (candidate,) = integer_overhead.detect_integer_overhead(evidence_of(before, *lines, line=1))
    assert advised in candidate.advice


@pytest.mark.parametrize(
    ("before", "end", "advised"),
    [
        (BEFORE, ("@P0 BRA 0x10", "EXIT"), "count them up"),
        (ONE_TURN, ("@P0 BRA 0x10", "EXIT"), "Let each thread take several elements"),
        (ONE_TURN, ("EXIT",), "Let each thread take several elements"),
    ],
)
def test_addresses_are_counted_up_in_a_loop_alone(before, end, advised):
    lines = [f"IMAD R{one + 1}, R{one}, R10, R10" for one in range(12, 20)]
    (candidate,) = integer_overhead.detect_integer_overhead(
        evidence_of(before, *lines, "LDG.E R4, [R20]", *end)
    )
    assert advised in candidate.advice
    assert "divide" not in candidate.sentence


@pytest.mark.parametrize(("load", "said"), [((LOAD,), True), ((), False)])
def test_no_instructions_are_counted_for_each_access_where_there_is_none(load, said):
    """A kernel whose only store is behind a test that never holds accesses no memory."""
    (candidate,) = integer_overhead.detect_integer_overhead(evidence_of(*DIVISION, *load, "EXIT"))
    assert ("for each access" in candidate.sentence) == said


@pytest.mark.parametrize(
    ("access", "passes", "ideal", "said"),
    [
        ("LDS R4, [R2]", 3200.0, 100.0, "LDS makes 32 passes through shared memory where one would do"),
        ("LDS.128 R4, [R2]", 3200.0, 400.0, "LDS.128 makes 32 passes through shared memory where 4 would do"),
        # One warp of sixteen makes the access, and the others are kept from it by a predicate.
        ("@!P0 LDS R4, [R2]", 200.0, 6.25, "LDS makes 32 passes through shared memory where one would do"),
    ],
)
def test_passes_are_those_of_a_warp_that_makes_the_access(access, passes, ideal, said):
    facts = {0: {"passes": passes, "ideal_passes": ideal}}
    (candidate,) = bank_conflicts.detect_bank_conflicts(evidence_of(access, facts=facts))
    assert candidate.sentence.startswith(said)


@pytest.mark.parametrize(("lines", "said"), [((1, 2, 3), "STS makes 32"), ((1, 2, 2), "LDS makes 30")])
def test_the_access_of_which_passes_are_told_is_on_the_line_that_is_named(lines, said):
    """Two loads of one line cost more together than the store of another, which costs most by itself."""
    passes = [{"passes": made, "ideal_passes": 100.0} for made in (3200.0, 3000.0, 3000.0)]
    evidence = evidence_of("STS [R2], R4", "LDS R6, [R3]", "LDS R7, [R3+0x4]", facts=dict(enumerate(passes)))
    for site, line in zip(evidence.sites, lines, strict=True):
        object.__setattr__(site.instruction, "line", line)
    (candidate,) = bank_conflicts.detect_bank_conflicts(evidence)
    assert candidate.sentence.startswith(said)


@pytest.mark.parametrize(("passes", "advised"), [(200.0, "16 banks apart"), (800.0, "by one word")])
def test_rows_of_few_threads_are_set_apart_unless_the_threads_of_a_row_meet(passes, advised):
    """Where 16 threads walk down a column, rows of 48 words would bring all of them into one bank."""
    facts = {0: {"passes": passes, "ideal_passes": 100.0}}
    (candidate,) = bank_conflicts.detect_bank_conflicts(evidence_of("LDS R4, [R2]", facts=facts, block=16))
    assert advised in candidate.advice


@pytest.mark.parametrize(("other", "advised"), [("STS [R8], R4", False), ("STS.64 [R8], R4", True)])
def test_wide_accesses_that_do_not_meet_only_have_to_stay_aligned(other, advised):
    facts = {0: {"passes": 3200.0, "ideal_passes": 100.0}, 1: {"passes": 100.0, "ideal_passes": 100.0}}
    (candidate,) = bank_conflicts.detect_bank_conflicts(evidence_of("LDS R4, [R2]", other, facts=facts))
    assert candidate.advice.startswith("Pad the rows of the array by one word")
    assert ("by 8 bytes where" in candidate.advice) == advised


@pytest.mark.parametrize(
    ("columns", "sectors", "named"),
    [
        (32, 6.0, "uncoalesced-loads"),
        (16, 6.0, "misaligned-accesses"),  # two rows of 64 bytes touch three sectors each
        (16, 6.5, "uncoalesced-loads"),
        (8, 8.0, "uncoalesced-loads"),  # rows of one sector, whose elements may as well lie apart by two
        (24, 6.0, "uncoalesced-loads"),  # a warp has no whole rows
    ],
)
def test_each_row_of_a_block_may_start_inside_a_sector(columns, sectors, named):
    facts = {0: {"sectors": 100 * sectors, "ideal_sectors": 400.0}}
    evidence = evidence_of(LOAD, facts=facts, block=(columns, 8, 1))
    found = [*layout.detect_uncoalesced(evidence), *layout.detect_misaligned(evidence)]
    assert [one.name for one in found] == [named]


@pytest.mark.parametrize(("sectors", "named"), [(400.0, False), (500.0, True)])
def test_no_shift_aligns_neighbours_that_are_loaded_beside_aligned_elements(sectors, named):
    """A stencil loads x[i - 1], x[i] and x[i + 1]."""
    facts = {0: {"sectors": sectors, "ideal_sectors": 400.0}, 1: {"sectors": 500.0, "ideal_sectors": 400.0}}
    evidence = evidence_of(LOAD, "LDG.E R5, [R2.64+0x4]", facts=facts)
    assert bool(list(layout.detect_misaligned(evidence))) == named


STRUCTURE = "IMAD.WIDE R2, R5, 0x1c, R8"
GATHER = ("LDG.E R4, [R2.64]", "IMAD.WIDE R6, R4, 0x4, R8", "LDG.E R5, [R6.64]")


@pytest.mark.parametrize(
    ("lines", "facts", "advised"),
    [
        ((LOAD,), {0: APART}, "exchange the roles of the indices, change the layout"),
        ((LOAD, "@P0 BRA 0x0"), {0: APART}, "exchange the roles of the indices (such as a warp for each row, instead of a thread)"),
        ((LOAD, "LDG.E R5, [R2.64+0x4]"), {0: APART, 1: APART}, "keep the members of a structure in arrays of their own"),
        ((LOAD, "LDG.E R5, [R2.64+0x4]", "@P0 BRA 0x0"), {0: APART, 1: APART}, "such as a warp for each row"),
        ((LOAD, "LDG.E R5, [R8.64]"), {0: APART, 1: APART}, "exchange the roles of the indices, change the layout"),
        # One element, on both sides of a branch.
        ((LOAD, LOAD), {0: APART, 1: APART}, "exchange the roles of the indices, change the layout"),
        ((LOAD, "LDG.E R5, [R2.64+0x4]"), {one: {"sectors": 900.0, "ideal_sectors": 400.0} for one in range(2)}, "Access the neighbouring elements"),
        (GATHER, {0: TOGETHER, 2: APART}, "sort or group the work by that index"),
        (GATHER, {0: APART, 2: APART}, "exchange the roles of the indices"),
        ((STRUCTURE, LOAD, "@P0 BRA 0x0"), {1: APART}, "the members of a structure (here one begins every 28 bytes) in arrays"),
        (("LEA R2, P0, R5, R8, 0x6", LOAD, "@P0 BRA 0x0"), {1: APART}, "(here one begins every 64 bytes)"),
        (("IMAD.WIDE R2, R5, 0x4, R8", LOAD, "@P0 BRA 0x0"), {1: APART}, "such as a warp for each row"),  # elements
        ((STRUCTURE, "IMAD.WIDE R2, R6, 0x4, R2", LOAD, "@P0 BRA 0x0"), {2: APART}, "such as a warp for each row"),  # of a row
        ((STRUCTURE, LOAD, "IADD3 R2, R2, 0x4, RZ", "@P0 BRA 0x10"), {1: APART}, "such as a warp for each row"),  # through a row
        (("IMAD R2, R5, 0x1c, R8", LOAD, "@P0 BRA 0x0"), {1: APART}, "such as a warp for each row"),  # an index of 32 bits
        # No other lane could take a turn that starts from what the one before made.
        ((LOAD, NEXT, STORED, FORWARD, "@P0 BRA 0x0"), {0: APART | {"waits": {"long_scoreboard": 9}}}, "read neighbouring elements: change the layout, or"),
    ],
)  # fmt: skip
def test_lanes_come_together_by_what_sets_them_apart(lines, facts, advised):
    (candidate,) = layout.detect_uncoalesced(evidence_of(*lines, facts=facts))
    assert advised in candidate.advice


@pytest.mark.parametrize(
    ("index", "address", "load", "gathered"),
    [
        ("LDG.E R4, [R2.64]", "IMAD.WIDE R6, R4, 0x4, R8", "LDG.E R5, [R6.64]", True),
        ("LDG.E R4, [R2.64]", "IMAD.WIDE R6, R4, 0xc, R8", "LDG.E R5, [R6.64+0x4]", True),  # a member of three floats
        ("LDG.E R4, [R2.64]", "LEA R6, P0, R4, R8, 0x5", "LDG.E.128 R12, [R6.64]", True),  # half of eight floats
        ("LDG.E R4, [R2.64]", "IMAD.WIDE R6, R4, 0x80, R8", "LDG.E R5, [R6.64]", False),  # a row, which lanes could share
        ("LDG.E R4, [R2.64]", "IMAD.WIDE R6, R4, 0x6, R8", "LDG.E R5, [R6.64]", False),
        ("LDG.E R4, [R2.64]", "IMAD.WIDE R6, R4, UR4, R8", "LDG.E R5, [R6.64]", False),  # by a width that nobody knows
        ("LDG.E R4, [R2.64]", "LEA R6, P0, R9, R4, 0x2", "LDG.E R5, [R6.64]", False),  # a base that was loaded
        ("LDG.E.U8 R4, [R2.64]", "IADD3 R6, P0, R4, UR4, RZ", "LDG.E.U8 R5, [R6.64]", True),  # a table of bytes
        ("LDG.E.64 R4, [R2.64]", "IADD3 R6, P0, R4, R9, RZ", "LDG.E.U8 R5, [R6.64]", False),
        ("LDS R4, [R2]", "IADD3 R6, P0, R4, UR4, RZ", "LDG.E.U8 R5, [R6.64]", False),
        ("LDG.E.U8 R4, [R2.64]", "LEA R6, R4, R9, 0x4", "STG.E.U8 [R6.64], R9", True),
        ("LDG.E.U8 R4, [R2.64]", "LEA R6, R4, R9, 0x4", "STG.E.U8 [R8.64], R6", False),  # what is stored says no place
    ],
)  # fmt: skip
def test_an_element_is_gathered_if_a_loaded_index_counts_elements_of_a_sector_at_most(
    index, address, load, gathered
):
    evidence = evidence_of(index, address, load)
    assert is_gathered(evidence, evidence.sites[2]) == gathered


@pytest.mark.parametrize(
    ("stored", "gathered"),
    [
        ("LDG.E R4, [R2.64]", True),
        ("S2R R4, SR_TID.X", False),  # computed, not loaded
    ],
)
def test_an_index_may_pass_through_shared_memory_before_it_gathers(stored, gathered):
    through = ("STS [R0], R4", "LDS R5, [R1]", "IMAD.WIDE R6, R5, 0x4, R8", "LDG.E R5, [R6.64]")
    evidence = evidence_of(stored, *through)
    assert is_gathered(evidence, evidence.sites[-1]) == gathered


SIGN, LENGTH, WRAPPED = (
    "SHF.R.S32.HI R7, RZ, 0x1f, R4",
    "LOP3.LUT R7, R7, UR8, RZ, 0xc0, !PT",
    "IADD3 R6, P0, R4, R7, RZ",
)


@pytest.mark.parametrize(
    ("lines", "gathered"),
    [
        ((SIGN, LENGTH, WRAPPED), True),
        (("ISETP.LT.AND P1, PT, R4, RZ, PT", "SEL R7, R9, RZ, P1", WRAPPED), True),
        ((SIGN, "LOP3.LUT R7, R9, 0x1f, RZ, 0xc0, !PT", WRAPPED), False),  # the lane, as in a row of which the data says the begin
        (("LDG.E R9, [R10.64]", SIGN, "LOP3.LUT R7, R9, R7, RZ, 0xc0, !PT", WRAPPED), False),  # what else was loaded
        ((SIGN, LENGTH, "S2R R9, SR_TID.X", "IADD3 R6, P0, R4, R9, R7"), False),  # neighbours
    ],
)  # fmt: skip
def test_an_index_that_may_count_from_the_end_gathers_as_well(lines, gathered):
    """In Python, a negative index counts from the end: Numba adds the length of the array where it is."""
    evidence = evidence_of("LDG.E R4, [R2.64]", *lines, "LEA R14, P0, R6, R12, 0x2", "LDG.E R5, [R14.64]")
    assert is_gathered(evidence, evidence.sites[-1]) == gathered


BEGIN, SCALE, TAKE = "LDG.E R4, [R2.64]", "IMAD.WIDE R6, R4, 0x4, R8", "LDG.E R5, [R6.64]"


@pytest.mark.parametrize(
    ("before", "loop", "gathered"),
    [
        ((BEGIN, SCALE), (TAKE, "IADD3 R6, P1, R6, 0x4, RZ"), False),  # a row from a place that data says
        ((BEGIN,), (SCALE, TAKE, "IADD3 R4, R4, 0x1, RZ"), False),
        ((), (BEGIN, SCALE, TAKE, "IADD3 R2, P1, R2, 0x4, RZ"), True),  # a place that data says in each turn
        ((), (SCALE, "LDG.E R4, [R6.64]", "IADD3 R10, R10, 0x1, RZ"), True),  # along a list
    ],
)
def test_elements_of_a_row_are_not_gathered_wherever_it_begins(before, loop, gathered):
    lines = [*before, *executing(400.0, *loop), (f"@P0 BRA {16 * len(before):#x}", 400.0), "EXIT"]
    evidence = evidence_of(*lines)
    taking = [site for site in evidence.of("global load") if "[R6.64]" in site.instruction.text]
    assert [is_gathered(evidence, site) for site in taking] == [gathered]


@pytest.mark.parametrize(
    ("load", "figures", "is_array"),
    [
        ("LDL R4, [R1+0x8]", {"local_spill_inst": 100.0}, False),
        ("LDL R4, [R1+0x8]", {"local_spill_inst": 0.0}, True),
        ("LDL R4, [R1+0x8]", {}, False),  # the counter is not recorded
        ("LDL R4, [R6]", {}, True),
    ],
)
def test_an_array_in_local_memory_is_no_lack_of_registers(load, figures, is_array):
    evidence = evidence_of(load, "EXIT", figures=figures | {"registers": 40.0})
    (candidate,) = compilation.detect_spills(evidence)
    assert (
        ("an array that is indexed" in candidate.sentence)
        == ("Index local arrays" in candidate.advice)
        == is_array
    )
    assert ("40 registers" in candidate.sentence) != is_array


@pytest.mark.parametrize(
    ("more", "fused"),
    [
        ((), 2),
        (("FADD R6, R4, -R7",), 0),  # the product is needed all the same
        (("FSETP.GT.AND P0, PT, R4, 4, PT",), 0),
        (("MOV R4, R9", "FADD R6, R4, -R7"), 2),  # which is another value
        (("FMUL R4, R8, R8", "STG.E [R10.64], R4"), 2),
    ],
)
def test_a_product_is_fused_with_the_addition_that_alone_uses_it(more, fused):
    lines = ("FMUL R4, R1, R2", "FADD R5, R4, R3", *more)
    found = list(redundant_instructions.detect_redundant_instructions(evidence_of(*lines)))
    assert sum(len(one.weights) for one in found) == fused


@pytest.mark.parametrize(("before", "found"), [("FADD R9, R4, -R5", 0), ("FADD R9, R6, -R5", 2)])
def test_a_product_that_the_next_turn_of_a_loop_uses_again_is_not_fused(before, found):
    """A loop of the Mandelbrot set adds the squares to test their sum, and subtracts them in its next turn."""
    turn = (before, "FMUL R4, R1, R1", "FADD R5, R4, R3", "@P0 BRA 0x10")
    evidence = evidence_of(("MOV R4, RZ", 1), *executing(9, *turn), ("EXIT", 1))
    causes = redundant_instructions.detect_redundant_instructions(evidence)
    assert sum(len(one.weights) for one in causes if "Products" in one.sentence) == found


def test_an_addition_of_two_products_takes_one_of_them_in():
    lines = ("FMUL R4, R1, R1", "FMUL R5, R2, R2", "FADD R6, R4, R5", "STG.E [R8.64], R6")
    (candidate,) = redundant_instructions.detect_redundant_instructions(evidence_of(*lines))
    assert [site.instruction.name for site in candidate.weights] == ["FMUL", "FADD"]


WHOLE = active(32.0)
QUARTER = active(8.0, of=32.0)


def lanes_of(*lines, facts, **more):
    evidence = evidence_of(*lines, each=WHOLE, facts=facts, **more)
    return {one.name: one for one in lanes.detect_idle_lanes(evidence)}


@pytest.mark.parametrize(
    ("index", "columns", "idle"),
    [
        ("SR_TID.Y", 32, False),  # rows of the block are whole warps
        ("SR_TID.Y", 16, True),
        ("SR_TID.X", 32, True),
        ("SR_CTAID.X", 32, False),
    ],
)
def test_no_lane_is_idle_where_whole_warps_are_kept_from_an_access(index, columns, idle):
    lines = (f"S2R R5, {index}", "ISETP.GT.AND P3, PT, R5, 0x3, PT", "@!P3 LDG.E R4, [R2.64]", "EXIT")
    assert ("idle-lanes" in lanes_of(*lines, facts={2: QUARTER}, block=(columns, 16, 1))) == idle


def test_what_leaves_a_branch_with_few_lanes_is_idle_under_the_predicate_of_a_warp_too():
    """The lanes are those of a branch around it, and not of the predicate."""
    lines = ("S2R R5, SR_TID.Y", "ISETP.GT.AND P3, PT, R5, 0x3, PT", "@!P3 LDG.E R4, [R2.64]", "EXIT")
    few = active(8.0)
    assert lanes_of(*lines, facts={2: few}, block=(32, 16, 1))


@pytest.mark.parametrize(("load", "idle"), [("@P0 LDL R4, [R5]", False), ("@P0 LDG.E R4, [R2.64]", True)])
def test_a_lane_that_needs_no_value_of_its_own_is_not_idle(load, idle):
    assert bool(lanes_of(load, "EXIT", facts={0: QUARTER})) == idle


@pytest.mark.parametrize(("predicate", "counted"), [("@!PT", 0), ("@P0", 1), ("", 1)])
def test_what_a_compiler_pads_asynchronous_copies_with_accesses_nothing(predicate, counted):
    evidence = evidence_of(f"{predicate} LDS RZ, [RZ]".strip(), "LDGSTS.E.BYPASS.128 [R18], [R10.64]")
    assert len(evidence.of("shared load")) == counted


@pytest.mark.parametrize(
    ("back", "name"),
    [
        (WHOLE, "idle-lanes"),  # a part of the turn has something to do for few lanes
        (active(8.0), "divergent-branches"),  # the others have left the loop
    ],
)
def test_warps_are_split_by_lanes_that_leave_a_loop_and_not_by_a_part_of_its_turn(back, name):
    few = active(8.0)
    lines = ("MOV R3, RZ", "@P1 BRA 0x30", "LDG.E R4, [R2.64]", "@P0 BRA 0x10", "EXIT")
    found = lanes_of(*lines, facts={2: few, 3: back})
    assert [one for one in found if any(site.kind == "global load" for site in found[one].weights)] == [name]
    if name == "divergent-branches":
        assert found[name].sentence.startswith("Lanes leave a loop before others of their warp do")
        assert found[name].advice.startswith("Let the lanes of a warp share the turns out")


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


@pytest.mark.parametrize(
    ("stored", "said", "advised"),
    [
        ("[R8.64]", "A loop keeps a value in global memory", "store it once, after the loop"),
        ("[R10.64]", "A load is repeated", "`const … * __restrict__`"),
    ],
)
def test_a_value_that_a_loop_keeps_in_memory_cannot_be_declared_constant(stored, said, advised):
    turn = ("LDG.E R6, [R8.64]", "FADD R6, R6, R4", f"STG.E {stored}, R6", "@P0 BRA 0x10")
    evidence = evidence_of("MOV R4, RZ", *executing(800.0, *turn), "EXIT")
    candidate = next(iter(redundant_loads.detect_redundant_loads(evidence)))
    assert candidate.sentence.startswith(said)
    assert advised in candidate.advice


@pytest.mark.parametrize(
    ("conversion", "mixed"),
    [("F2F.F64.F32 R2, R6", True), ("I2F.F64 R2, R6", False), ("DADD R2, R2, R6", False)],
)
def test_literals_or_types_make_floats_double_where_floats_are_converted(conversion, mixed):
    (candidate,) = number_types.detect_fp64(evidence_of(conversion, "DMUL R4, R2, R8", "EXIT"))
    assert ("converted from float" in candidate.sentence) == mixed
    assert candidate.advice.startswith("If single precision is enough, find" if mixed else "Compute in float")
    assert ("literals (write 0.5f)" in candidate.advice) == mixed
    assert ("a template argument or a typedef" in candidate.advice) == mixed


BACK = "@P0 BRA 0x0"


@pytest.mark.parametrize(
    ("lines", "advised"),
    [
        (("LDG.E.U8 R6, [R2.64]", "I2F.S8 R4, R6", "FFMA R5, R4, R7, R5", BACK), "Store the data in the type"),
        (("LDG.E R6, [R2.64]", "SHF.R.U32.HI R6, RZ, 0x8, R6", "I2F.S8 R4, R6", BACK), "Store the data in the type"),
        (("LDG.E R6, [R2.64]", "FFMA R6, R6, R8, R9", "F2I.FLOOR.NTZ R4, R6", BACK), "throughout the loop"),
        (("IADD3 R6, R6, 0x1, RZ", "I2F.S8 R4, R6", "FFMA R5, R4, R7, R5", BACK), "throughout the loop"),
        (("I2F.S8 R4, R6", "FFMA R5, R4, R7, R5", "EXIT"), "where it is stored"),
        (("F2I.NTZ R4, R6", "I2FP.F32.S32 R4, R4", "FFMA R5, R4, R7, R5", BACK), "add and subtract 12582912.0f"),
    ],
)  # fmt: skip
def test_what_a_loop_converts_is_stored_or_counted_in_the_type_that_it_computes_with_unless_it_is_rounded(
    lines, advised
):
    (candidate,) = number_types.detect_conversions(evidence_of(*lines))
    assert advised in candidate.advice


@pytest.mark.parametrize(("factor", "named"), [("0.63661974668502807617", False), ("7", True)])
def test_conversions_inside_of_a_sine_are_none_of_the_code(factor, named):
    lines = (f"FMUL R4, R6, {factor}", "F2I.NTZ R4, R4", "I2FP.F32.S32 R5, R4", "EXIT")
    assert bool(list(number_types.detect_conversions(evidence_of(*lines)))) == named


@pytest.mark.parametrize(
    ("sums", "chained"),
    [
        (1, True),  # each turn adds to the sum of the turn before
        (3, True),
        (16, False),  # a tile of sums, each of which has its result long since
    ],
)
def test_a_tile_of_sums_is_no_chain_however_long_the_compiler_spaces_it_out(sums, chained):
    turn = [f"FFMA R{16 + one}, R8, R9, R{16 + one}" for one in range(sums)]
    facts = {one: {"waits": {"wait": 5}} for one in range(sums)}
    evidence = evidence_of(*turn, "@P0 BRA 0x0", "EXIT", facts=facts)
    assert bool(list(dependent_chains.detect_dependent_chain(evidence))) == chained


@pytest.mark.parametrize(("others", "filled"), [(1, 1.0), (9, 10 / 55)])
def test_other_values_fill_every_gap_of_code_that_mostly_waits_for_its_chain(others, filled):
    """Ten samples wait for the sum before, and five for each of the others, which have nothing to do with each other."""
    lines = (
        "FADD R4, R4, R5",
        "FADD R4, R4, R5",
        *[f"IADD3 R{16 + one}, R8, R9, RZ" for one in range(others)],
    )
    facts = {1: {"waits": {"wait": 10}}} | {2 + one: {"waits": {"wait": 5}} for one in range(others)}
    (candidate,) = dependent_chains.detect_dependent_chain(evidence_of(*lines, "EXIT", facts=facts))
    assert candidate.effect.waits["wait"] == pytest.approx(filled)


def test_a_predicate_that_was_just_tested_is_waited_for_as_a_result_is():
    lines = ("ISETP.GT.AND P2, PT, R4, R5, PT", "SEL R6, R7, R8, P2", "EXIT")
    evidence = evidence_of(*lines, facts={1: {"waits": {"wait": 10}}})
    assert list(dependent_chains.detect_dependent_chain(evidence))
    assert not list(
        dependent_chains.detect_dependent_chain(
            evidence_of(lines[0].replace("P2", "P3"), *lines[1:], facts={1: {"waits": {"wait": 10}}})
        )
    )


@pytest.mark.parametrize(
    ("second", "factor", "said", "advised"),
    [
        ("LDS R6, [R9]", "R6", "1.0 multiply-adds a thread; with a tile of 8 x 8", "a larger tile"),
        ("FADD R6, R6, R7", "UR6", "1.0 multiply-adds a thread.", "neighbours of a filter"),
    ],
)
def test_a_filter_is_told_of_neighbours_and_a_product_of_tiles(second, factor, said, advised):
    adding = [f"FFMA R{20 + one}, R4, {factor}, R{20 + one}" for one in range(2 if factor == "R6" else 1)]
    turn = ("LDS R4, [R8]", second, *adding, "@P0 BRA 0x0")
    (candidate,) = too_little_reuse.detect_too_little_reuse(evidence_of(*turn, "EXIT"))
    assert said in candidate.sentence
    assert advised in candidate.advice


@pytest.mark.parametrize(("place", "named"), [("inside", True), ("after", False)])
def test_arithmetic_after_a_loop_is_not_fed_by_its_loads(place, named):
    """As the exponentials of a softmax are not, whose sum went through shared memory."""
    fma = "FFMA R5, R4, R6, R5"
    lines = ("LDS R4, [R8]", *[fma] * (place == "inside"), "@P0 BRA 0x0", *[fma] * (place == "after"), "EXIT")
    assert bool(list(too_little_reuse.detect_too_little_reuse(evidence_of(*lines)))) == named
