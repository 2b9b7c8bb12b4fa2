"""Accesses whose bytes differ, whatever the parameters are: device memory has to move all of them."""

from dataclasses import replace

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.flow.addresses.different_bytes import count_different_sectors
from profiler.analyse.causes.flow.addresses.side_by_side import add_elements

EACH = {"sectors": 400.0, "ideal_sectors": 400.0}
IN, OTHER = "c[0x0][0x210]", "c[0x0][0x218]"
INDICES = ("S2R R0, SR_CTAID.X", "S2R R1, SR_TID.X", "S2R R8, SR_CTAID.Y", "S2R R9, SR_TID.Y")


def two_accesses(first, second, array=IN, more=(), grid=1000, block=256, access="LDG.E {1}, [{0}.64]"):
    """Two accesses, usually loads, to the elements whose indices these instructions leave in R2 and R4."""
    lines = (
        *INDICES, *first, *second,
        f"IMAD.WIDE R10, R2, 0x4, {IN}", f"IMAD.WIDE R12, R4, 0x4, {array}",
        access.format("R10", "R14"), access.format("R12", "R15"), *more, "EXIT",
    )  # fmt: skip
    facts = {place: EACH for place, line in enumerate(lines) if "G.E" in line}
    return evidence_of(*lines, facts=facts, grid=grid, block=block)


OWN = ("IMAD R2, R0, 0x200, R1",)  # every second part of 256 elements
ROWS = ("IMAD R3, R8, 0x20, R9", "IMAD R5, R0, 0x20, R1", "IMAD R2, R3, c[0x0][0x220], R5")


@pytest.mark.parametrize(
    ("first", "second", "differing"),
    [
        (OWN, "VIADD R4, R2, 0x100", 2),  # the part behind it
        (OWN, "VIADD R4, R2, 0x1", 1),  # the neighbour's element
        (OWN, "VIADD R4, R2, 0x200", 1),  # what the next block takes
        (("IMAD R2, R0, 0x100, R1",), "VIADD R4, R2, 0x100", 1),
        (OWN, "IADD3 R4, R2, c[0x0][0x224], RZ", 1),  # as far away as a parameter says
        (("IMAD R2, R0, c[0x0][0x0], R1",), "IADD3 R4, R2, c[0x0][0x0], RZ", 1),  # the size of the block
        (("IMAD.SHL.U32 R3, R0, 0x2, RZ", "IMAD R2, R3, c[0x0][0x0], R1"), "IADD3 R4, R2, c[0x0][0x0], RZ", 2),
    ],
)  # fmt: skip
def test_loads_of_one_array_differ_where_a_block_takes_two_parts_behind_each_other(first, second, differing):
    evidence = two_accesses(first, (second,))
    assert count_different_sectors(evidence, "global load") == 400.0 * differing


@pytest.mark.parametrize(
    ("rows", "differing"),
    [("0x10", 2), ("0x8", 1), ("0x20", 1)],  # those below, which others take, and those of the next block
)
def test_rows_of_a_tile_differ_however_long_they_are(rows, differing):
    evidence = two_accesses(
        ROWS, (f"IMAD R4, {rows}, c[0x0][0x220], R2",), grid=(50, 50, 1), block=(32, 16, 1)
    )
    assert count_different_sectors(evidence, "global load") == 400.0 * differing


SAME = ("MOV R4, R2",)


@pytest.mark.parametrize(
    ("array", "more", "differing"),
    [
        (OTHER, (), 2),
        (IN, (), 1),
        (OTHER, ("STG.E [R12.64], R14",), 1),  # what the kernel stores in, shared memory might hold
        (OTHER, ("@P0 BRA 0x0",), 0),  # of a loop, nobody knows what comes again
    ],
)
def test_arrays_differ_that_the_kernel_only_loads_and_only_once(array, more, differing):
    assert count_different_sectors(two_accesses(OWN, SAME, array, more), "global load") == 400.0 * differing


def test_nothing_is_known_of_an_address_that_took_many_steps():
    """Nor is it followed so far that Python stops."""
    steps = ("MOV R4, R2", *["IADD3 R4, R4, 0x1, RZ"] * 2000)
    assert count_different_sectors(two_accesses(OWN, steps, OTHER), "global load") == 400.0


def test_an_address_that_was_loaded_may_be_anything():
    gathered = two_accesses(OWN, ("LDG.E R4, [R6.64]",), OTHER)
    assert count_different_sectors(gathered, "global load") == 400.0


@pytest.mark.parametrize(("part_moved", "counted"), [(0.95, 2), (0.6, 1)])
def test_a_bound_counts_loads_that_differ_unless_caches_have_some_of_them(part_moved, counted):
    evidence = two_accesses(OWN, SAME, OTHER)
    moved = part_moved * 800 * 32
    figures = {"dram_bytes_read": moved, "dram_bytes_written": 0.0}
    evidence = replace(evidence, figures=figures, model=replace(evidence.model, avoidable={"dram": 0.9}))
    wasted = max(0.0, 1 - counted * 400 * 32 / moved)
    assert add_elements(evidence).model.avoidable["dram"] == pytest.approx(wasted)


@pytest.mark.parametrize(
    ("in_l2", "counted"),
    [({"device__attribute_l2_cache_size": 100 * 32}, 700), ({"device__attribute_l2_cache_size": 900 * 32}, 400), ({}, 400)],
)  # fmt: skip
def test_a_bound_leaves_out_what_may_stay_in_l2_of_stores_that_differ(in_l2, counted):
    stores = two_accesses(OWN, SAME, OTHER, access="STG.E [{}.64], {}")
    figures = {"dram_bytes_read": 0.0, "dram_bytes_written": 800.0 * 32, **in_l2}
    stores = replace(stores, figures=figures, model=replace(stores.model, avoidable={"dram": 0.9}))
    assert add_elements(stores).model.avoidable["dram"] == pytest.approx(1 - counted / 800)
