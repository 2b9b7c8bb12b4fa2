"""What a larger tile of results spares: the loads of its values, and what a turn of the loop does however large the tile is."""

from __future__ import annotations

import pytest
from made_evidence import LOOP, change_instruction, evidence_of, executing
from msgspec import structs

from profiler.analyse.causes.detectors.shared_memory import too_little_reuse
from profiler.analyse.causes.detectors.shared_memory.too_little_reuse import detect_too_little_reuse

PART = 1 - 1 / (8 / 3)  # from one multiply-add a load to those of a column of eight results
# Of each turn, the load goes, and with it the computing of its address, the meeting, the count, the comparison and the branch.
TURN = (
    "BAR.SYNC 0x0",
    "LEA R8, R3, UR4, 0x2",
    "LDS R4, [R8]",
    "FFMA R6, R4, R5, R6",
    "IADD3 R3, R3, 0x1, RZ",
    "ISETP.NE.AND P0, PT, R3, 0x40, PT",
    "@P0 BRA 0x10",
)


def spared_of(turn):
    """Returns the part of all issued instructions that goes, of a loop whose turns run 1,000 times as often as what is around it."""
    evidence = evidence_of(("MOV R3, RZ", 1.0), *executing(1000.0, *turn), ("EXIT", 1.0))
    (candidate,) = detect_too_little_reuse(evidence)
    return candidate.effect.resources["issue"] * (1000 * len(turn) + 2) / 1000


def test_a_larger_tile_spares_addresses_meetings_and_turns():
    assert spared_of(TURN) == pytest.approx(PART * (len(TURN) - 1))  # the multiply-add stays


@pytest.mark.parametrize(("load", "is_said"), [("LDS R4, [R8]", True), ("LDS.128 R4, [R8]", False)])
def test_loads_of_16_bytes_are_not_advised_to_become_as_wide(load, is_said):
    turn = [load if line.startswith("LDS") else line for line in TURN]
    (candidate,) = detect_too_little_reuse(evidence_of("MOV R3, RZ", *executing(1000.0, *turn)))
    assert ("16 bytes at once" in candidate.advice) == is_said


@pytest.mark.parametrize(
    "for_each_result",
    [
        # A mask decides on each result: whether it is multiplied, or which value is chosen for it.
        ("ISETP.GT.AND P1, PT, R3, R9, PT", "@P1 FFMA R7, R4, R5, R7"),
        ("ISETP.GT.AND P1, PT, R3, R9, PT", "FSEL R7, R4, R5, P1"),
        # A factor is computed from the number of the turn, or what was loaded is put together.
        ("IMAD.SHL.U32 R10, R3, 0x2, RZ", "FADD R7, R4, R10"),
        ("LOP3.LUT R10, R4, 0xff, RZ, 0xc0, !PT", "FADD R7, R10, R7"),
    ],
)
def test_what_decides_on_each_result_or_is_a_part_of_it_stays(for_each_result):
    turn = [*TURN[:4], *for_each_result, *TURN[4:]]
    products = sum("FFMA" in line for line in turn)
    part = 1 - products / (8 / 3 if products == 1 else 6.4)
    assert spared_of(turn) == pytest.approx(part * (len(TURN) - 1))


def test_a_predicate_that_was_written_anew_decides_by_its_last_value():
    """The compiler uses the few predicates again and again: the comparison that ends the loop is no mask, though it writes P0 too."""
    turn = [*TURN[:4], "ISETP.GT.AND P0, PT, R11, R9, PT", "FSEL R7, R4, R5, P0", *TURN[4:]]
    assert spared_of(turn) == pytest.approx(PART * (len(TURN) - 1))


def test_the_fences_of_atomics_stay_because_any_tile_has_as_many_results():
    turn = [*TURN[:4], "MEMBAR.ALL.GPU", "ERRBAR", "REDG.E.ADD.F32 [R10.64], R6", *TURN[4:]]
    assert spared_of(turn) == pytest.approx(PART * (len(TURN) - 1))


def test_what_stands_around_the_loop_stays():
    around = ["IADD3 R12, R12, 0x1, RZ"] * 3
    lines = [*executing(1000.0, *TURN), *executing(1000.0, *around), ("EXIT", 1.0)]
    (candidate,) = detect_too_little_reuse(evidence_of(("MOV R3, RZ", 1.0), *lines))
    assert candidate.effect.resources["issue"] == pytest.approx(PART * 6 * 1000 / (10 * 1000 + 2))


def test_a_loop_that_is_unrolled_whole_is_judged_as_a_loop():
    turn = ["LDS R4, [R3]", "FFMA R6, R4, R5, R6"]
    (candidate,) = detect_too_little_reuse(evidence_of("MOV R3, RZ", *turn * 4, "EXIT"))
    assert candidate.evidence["fmas_per_shared_load"] == 1.0
    assert candidate.effect.resources["lsu"] == pytest.approx(PART)


def test_where_a_loop_reuses_what_it_loads_a_load_beside_it_counts_for_nothing():
    (candidate,) = detect_too_little_reuse(
        evidence_of(*executing(1000.0, *TURN), "LDS R9, [R3]", "FFMA R6, R9, R9, R6")
    )
    assert [site.position for site in candidate.weights] == [2]


@pytest.mark.parametrize(
    ("loads", "multiply", "products", "part"),
    [
        ("LDS.64", "DFMA", 1, 1 - 0.5 / (8 / 5)),  # a column of eight: one load of 8 bytes, and four of 16
        ("LDS.64", "DFMA", 4, 1 - 2 / (64 / 12)),  # a tile of 8 x 8: eight loads of 8 bytes, and four of 16
        ("LDS.64", "DFMA", 6, 0.0),
        ("LDS", "FFMA", 4, 1 - 2 / 6.4),
        ("LDS", "FFMA", 6, 1 - 3 / 6.4),
    ],
)
def test_doubles_are_multiplied_as_floats_and_take_twice_the_wide_loads(loads, multiply, products, part):
    turn = (
        f"{loads} R4, [R2]",
        f"{loads} R6, [R3]",
        *(f"{multiply} R{20 + 2 * one}, R4, R6, R{20 + 2 * one}" for one in range(products)),
    )
    (candidate,) = detect_too_little_reuse(evidence_of("MOV R3, RZ", *executing(1000.0, *turn, LOOP)))
    assert candidate.evidence["fmas_per_shared_load"] == products / 2
    assert candidate.effect.resources["lsu"] == pytest.approx(part)
    assert (
        f"a tile of 8 x 8 results a thread, each feeds {8 if multiply == 'DFMA' else 16}."
        in candidate.sentence
    )


@pytest.mark.parametrize(
    ("passes", "products", "part"),
    [
        (400.0, 8, 1 / 2),  # a load of 16 bytes, and half of what a tile of 8 x 8 makes of each of its passes
        (400.0, 9, 0.0),
        (100.0, 8, 0.0),  # lanes that load the same share a pass
    ],
)
def test_wide_loads_feed_too_little_where_their_passes_outlast_the_arithmetic(passes, products, part):
    lines = ["LDS.128 R4, [R2]", *(f"FFMA R{20 + one}, R4, R5, R{20 + one}" for one in range(products))]
    (candidate,) = detect_too_little_reuse(evidence_of(*lines, facts={0: {"ideal_passes": passes}}))
    assert candidate.effect.resources["lsu"] == part


LOADS = ("LDS R4, [R2]", "LDS R5, [R2+0x40]")


@pytest.mark.parametrize(
    ("turn", "each"),
    [
        ((*LOADS, "VIADDMNMX R6, R4, R5, R6, PT"), 0.5),  # shortest paths, by one instruction and by two
        ((*LOADS, "IADD3 R8, R4, R5, RZ", "IMNMX R6, R6, R8, PT"), 0.5),
        ((*LOADS, "FADD R8, R4, R5", "FMNMX R6, R6, R8, PT"), 0.5),
        ((*LOADS, "LOP3.LUT R8, R4, R5, RZ, 0x3c, !PT", "POPC R8, R8", "IADD3 R6, R6, R8, RZ"), 0.5),  # bits that differ
        ((*LOADS, "FADD R8, R4, -R5", "FADD R6, R6, |R8|"), 0.5),  # a sum of differences
        ((*LOADS, "IMAD R6, R4, R5, R6"), 0.5),
        ((*LOADS, *(f"VIADDMNMX R{20 + one}, R4, R5, R{20 + one}, PT" for one in range(4))), 2.0),
        # A chain that ends in another register than it starts from, as the compiler unrolls it.
        ((*LOADS, "VIADDMNMX R9, R4, R5, R6, PT", "VIADDMNMX R6, R5, R4, R9, PT"), 1.0),
        # Sums use each value once, and so do the largest of all and an address.
        ((*LOADS, "IADD3 R6, R6, R4, R5"), None),
        ((*LOADS, "FADD R8, R4, R5", "FADD R6, R6, R8"), None),
        ((*LOADS, "IMNMX R6, R6, R4, !PT", "IMNMX R6, R6, R5, !PT"), None),
        (("LDS R4, [R2]", "VIADDMNMX R6, R4, 0x1, R6, PT"), None),
        # A softmax adds up what belongs to one row.
        (("LDS R4, [R2]", "FADD R8, R4, -R15", "MUFU.EX2 R8, R8", "FADD R6, R6, R8"), None),
        # Where something else lies is no result.
        ((*LOADS, "IMAD R6, R4, R5, R6", "LDG.E R8, [R6]"), None),
        # What is not carried is no result that takes in pairs turn by turn.
        ((*LOADS, "VIADDMNMX R6, R4, R5, R15, PT"), None),
    ],
)  # fmt: skip
def test_pairs_that_a_result_takes_in_by_other_operations_are_uses(turn, each):
    lines = [("MOV R2, RZ", 1.0), *executing(1000.0, *turn, "@P0 BRA 0x10"), ("EXIT", 1.0)]
    found = [
        one.evidence.get("pairs_per_shared_load") for one in detect_too_little_reuse(evidence_of(*lines))
    ]
    assert found == ([] if each is None else [pytest.approx(each)])


def test_pairs_of_a_loop_that_is_unrolled_whole_count_as_in_a_loop():
    copy = (*LOADS, "VIADDMNMX R6, R4, R5, R6, PT")
    (candidate,) = detect_too_little_reuse(evidence_of("MOV R6, RZ", *copy * 4, "STG.E [R10], R6"))
    assert candidate.evidence["pairs_per_shared_load"] == 0.5


def test_what_multiply_adds_have_taken_is_not_counted_again():
    """As the distances of which the nearest is kept."""
    turn = (*LOADS, "FFMA R8, R4, R5, R15", "FMNMX R6, R6, R8, PT", "@P0 BRA 0x10")
    (found,) = detect_too_little_reuse(evidence_of(("MOV R2, RZ", 1.0), *executing(1000.0, *turn)))
    assert found.evidence == {"fmas_per_shared_load": 0.5}


@pytest.mark.parametrize(
    ("taking", "each"),
    [
        (("IMAD R6, R4, 0x3, R6", "IMAD R6, R5, 0x9, R6"), 1.0),
        (("PRMT R7, R5, 0x7604, R4", "IDP.4A.U8.U8 R6, R7, UR6, R6"), 2.0),  # four products
        (("IMAD R6, R4, 0x3, RZ", "IADD3 R6, R6, R5, RZ"), None),  # sums, without a multiply-add
        (("IMAD R7, R4, 0x40, R5", "LDG.E R6, desc[UR4][R7.64]"), None),  # where others lie
    ],
)
def test_a_filter_of_integers_feeds_multiply_adds(taking, each):
    evidence = evidence_of(
        "LDS.U8 R4, [R2]", "LDS.U8 R5, [R2+0x1]", *taking, "STG.E desc[UR4][R8.64], R6", "EXIT"
    )
    found = [one.evidence["fmas_per_shared_load"] for one in detect_too_little_reuse(evidence)]
    assert found == ([] if each is None else [each])


@pytest.mark.parametrize(("conversion", "is_use"), [("I2F.RP R9, R4", False), ("I2F R9, R4", True)])
@pytest.mark.parametrize("remainder", ["IMAD R6, R4, 0x3, R6", "IMAD R6, R4, R5, R6"])
def test_the_remainder_of_a_division_is_no_use_of_what_it_is_computed_from(remainder, conversion, is_use):
    lines = ("MOV R2, RZ", *LOADS, conversion, remainder, "@P0 BRA 0x10", "STG.E desc[UR4][R8.64], R6", "EXIT")  # fmt: skip
    assert bool(list(detect_too_little_reuse(evidence_of(*lines, line=1)))) == is_use


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
    lines = [("MOV R9, RZ", 1), (f"{load} R4, [R2]", 100), *[("FFMA R6, R4, R5, R6", 100)] * fmas, (LOOP, 100)]  # fmt: skip
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
    lines = [("MOV R9, RZ", 1), *executing(100, *body)]
    candidates = list(too_little_reuse.detect_too_little_reuse(evidence_of(*lines)))
    assert [one.name for one in candidates] == found
    assert all("R3" not in site.instruction.text for one in candidates for site in one.weights)


@pytest.mark.parametrize(
    ("second", "factor", "said", "advised"),
    [
        ("LDS R6, [R9]", "R6", "1.0 multiply-adds a thread; with a tile of 8 x 8", "a larger tile"),
        ("FADD R6, R6, R7", "UR6", "1.0 multiply-adds a thread.", "several pixels"),
    ],
)
def test_a_filter_is_told_of_several_results_and_a_product_of_tiles(second, factor, said, advised):
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


# A tile that tensor cores multiply, and what else goes through shared memory: loaded values that are added to the products (as a bias is),
# or the products themselves. Triton gives each exchange the line of what it exchanges.
TILE = (
    "LDG.E.128 R40, [R2.64]",
    "STS.128 [R8], R40",
    "LDSM.16.M88.4 R32, [R9]",
    "LDSM.16.M88.2 R36, [R9+0x800]",
)
BIAS = ("LDG.E.128 R44, [R4.64]", "STS.128 [R11], R44", "LDS.128 R52, [R12]")
SUMS = ("STS.128 [R11], R28", "LDS.128 R56, [R12]")


def find_small_tiles(*lines, of_line=(), threads=256, registers=64):
    evidence = evidence_of("MOV R9, RZ", *executing(1000.0, *lines, "@P0 BRA 0x10"), "EXIT", block=threads)
    for place in of_line:
        change_instruction(evidence.sites[place], line=99)
    evidence.profile.shapes[0] = structs.replace(evidence.profile.shapes[0], registers=registers)
    return list(too_little_reuse.detect_too_little_reuse(evidence))


@pytest.mark.parametrize(
    ("others", "added", "of_line", "moved"),
    [
        ((), "R24", (), 2),
        (BIAS, "R52", range(5, 8), 2),
        (BIAS, "R52", (), 4),  # which exchange brings what is not known
        (SUMS, "R24", range(6, 8), 2),
    ],
)
def test_a_larger_tile_moves_as_many_results_as_a_small_one(others, added, of_line, moved):
    product = f"HMMA.16816.F32 R28, R32, R36, {added}"
    lines = (*TILE, product, *others) if others == SUMS else (*TILE, *others, product)
    (candidate,) = find_small_tiles(*lines, of_line=of_line)
    assert len(candidate.weights) == moved


@pytest.mark.parametrize(
    ("threads", "registers", "said"),
    [
        (256, 60, "a larger tile, twice as high and wide"),  # by the growth that is assumed at most
        (64, 200, "a larger tile, twice as high and wide"),  # by four times as many threads
        (256, 120, "a larger tile, twice as high or wide"),
        (256, 130, "Its results need registers, and a thread has 130 of at most 255."),
        (1024, None, "a larger tile"),
    ],
)
def test_a_tile_grows_as_far_as_there_are_registers_and_threads(threads, registers, said):
    product = "HMMA.16816.F32 R24, R32, R36, R24"
    (candidate,) = find_small_tiles(*TILE, product, threads=threads, registers=registers)
    for advice in (candidate.advice, candidate.in_triton):
        assert said in advice
        assert ("twice" in advice) == ("twice" in said)


@pytest.mark.parametrize(
    ("registers", "figures", "said"),
    [
        (33.0, {"blocks_by_registers": 6.0}, ""),  # as many as are given out at a time, or fewer
        (32.0, {"blocks_by_registers": 6.0}, "up to 40 registers (now 32) before"),
        (40.0, {"blocks_by_registers": 6.0, "launch__occupancy_limit_blocks": 4.0}, "up to 64 registers"),
        (40.0, {"blocks_by_registers": 6.0, "launch__occupancy_limit_blocks": 1.0}, ""),  # as many as any thread can have
        (40.0, {}, ""),
    ],
)  # fmt: skip
def test_the_registers_that_leave_room_for_as_many_blocks_are_said(registers, figures, said):
    """An SM has 65,536 registers: 256 threads with 40 each leave room for six blocks."""
    turn = ("LDS R4, [R8]", "FADD R6, R6, R7", "FFMA R20, R4, UR6, R20", "@P0 BRA 0x0")
    evidence = evidence_of(*turn, "EXIT", figures={"registers": registers, **figures})
    (candidate,) = too_little_reuse.detect_too_little_reuse(evidence)
    assert ("has room for fewer blocks" in candidate.advice) == bool(said)
    assert said in candidate.advice
