"""Blocks that work in place in global memory, with a barrier after each step, although shared memory could hold their part."""

import pytest
from made_evidence import evidence_of
from msgspec.structs import replace

from profiler.analyse.causes.detectors.global_memory.in_place import detect_in_place

BEFORE = ("LDC.64 R2, c[0x0][0x210]", "LDC.64 R14, c[0x0][0x218]", "S2R R5, SR_TID.X")
# Each thread loads its element and that of a neighbour, which it adds to its own.
STEP = (
    "IMAD.WIDE R8, R5, 0x4, R2",
    "LDG.E R10, [R8.64]",
    "LDG.E R11, [R8.64+0x40]",
    "FADD R10, R10, R11",
    "STG.E [R8.64], R10",
    "BAR.SYNC 0x0",
)


def times_loaded(*inside, delivered=3200.0, blocks=1, sectors=500.0, shared=0, figures=None):
    """Returns how often blocks load what device memory delivers once, if that is named: their warps make ten turns."""
    lines = [*((one, 100.0) for one in BEFORE), *((one, 1000.0) for one in inside), ("@P0 BRA 0x30", 1000.0)]
    accesses = [place for place, (one, _) in enumerate(lines) if "G.E" in one]
    facts = {place: {"sectors": sectors, "ideal_sectors": sectors} for place in accesses}
    evidence = evidence_of(
        *lines, "EXIT", facts=facts, figures={"dram_bytes_read": delivered, **(figures or {})}, grid=blocks
    )
    (shape,) = evidence.profile.shapes
    evidence.profile.shapes[:] = [replace(shape, shared_bytes=shared)]
    found = [one for one in detect_in_place(evidence) if "in place" in one.sentence]
    return found[0].evidence["requested_per_delivered"] if found else 0.0


def test_a_block_that_works_in_place_loads_its_part_in_each_turn():
    assert times_loaded(*STEP) == pytest.approx(2 * 500 * 32 / 3200)


@pytest.mark.parametrize(
    "inside",
    [
        STEP[:5],  # without a barrier, each thread has elements of its own
        (*STEP[:2], *STEP[3:]),  # or it loads no other
        (*STEP[:4], "IMAD.WIDE R12, R5, 0x4, R14", "STG.E [R12.64], R10", STEP[5]),  # another array
    ],
)
def test_other_loops_do_not_work_in_place(inside):
    assert times_loaded(*inside) == 0.0


def test_code_that_is_not_repeated_does_not_work_in_place_again_and_again():
    evidence = evidence_of(*BEFORE, *STEP, "EXIT", figures={"dram_bytes_read": 3200.0})
    assert not any("in place" in one.sentence for one in detect_in_place(evidence))


@pytest.mark.parametrize(("delivered", "named"), [(15_900.0, True), (16_100.0, False), (0.0, False)])
def test_a_part_is_named_if_each_byte_is_loaded_twice(delivered, named):
    assert bool(times_loaded(*STEP, delivered=delivered)) == named


@pytest.mark.parametrize(
    "between",
    [
        "MEMBAR.SC.GPU",
        "ATOMG.E.ADD.STRONG.GPU PT, R20, [R14.64], R21",
        "LDG.E.STRONG.GPU R20, [R14.64]",
        "UCGABAR_WAIT",
    ],
)
def test_blocks_that_wait_for_each_other_do_not_work_on_parts_of_their_own(between):
    """So `grid.sync()` does, of a cooperative grid: each block loads what others stored in the turn before."""
    assert times_loaded(*STEP, between) == 0.0


@pytest.mark.parametrize(("delivered", "named"), [(1_700.0, True), (1_500.0, False)])
def test_where_l2_held_the_part_before_nothing_says_how_large_it_is(delivered, named):
    """A turn stores 50 sectors, and so the part has as many at least."""
    assert bool(times_loaded(*STEP, delivered=delivered)) == named


@pytest.mark.parametrize(
    ("kilobytes", "shared", "known", "named"),
    [
        (227, 0, {"shared_of_block": 227 * 1024.0}, True),
        (228, 0, {"shared_of_block": 227 * 1024.0}, False),
        (99, 0, {"shared_of_block": 99 * 1024.0}, True),
        (100, 0, {"shared_of_block": 99 * 1024.0}, False),
        (195, 32, {"shared_of_block": 227 * 1024.0}, True),
        (196, 32, {"shared_of_block": 227 * 1024.0}, False),  # beside what the kernel has there already
        (48, 0, {}, True),  # any GPU has so much
        (49, 0, {}, False),
    ],
)
def test_a_part_has_to_fit_into_the_shared_memory_of_a_block(kilobytes, shared, known, named):
    delivered = 2 * 1024.0 * kilobytes
    found = times_loaded(
        *STEP, delivered=delivered, blocks=2, sectors=delivered / 10, shared=1024 * shared, figures=known
    )
    assert bool(found) == named
