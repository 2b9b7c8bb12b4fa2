"""Loads of different data, all of which a bound by device memory has to count; and loads that may be of the same."""

from dataclasses import replace

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.flow.addresses.arrays import add_arrays

# Two parameters of 64 bits: arrays whose elements a loop loads.
FIRST, SECOND = (
    f"IMAD.WIDE R{register}, R0, 0x4, c[0x0][{parameter}]"
    for register, parameter in ((2, "0x160"), (6, "0x168"))
)
OF_FIRST, NEXT_OF_FIRST, OF_SECOND = "LDG.E R4, [R2.64]", "LDG.E R5, [R2.64+0x400]", "LDG.E R8, [R6.64]"
OF_PIXEL = ("LDG.E.U8 R4, [R2.64]", "LDG.E.U8 R5, [R2.64+0x1]", "LDG.E.U8 R6, [R2.64+0x2]")
SECTORS = 400.0
STREAMING = {"l1_hit_pct": 0.0, "l2_hits_of_loads_pct": 2.0}


def needed(*loads, step=0x800, hits=STREAMING, loop="@P0 BRA 0x20"):
    """Returns how many loads' data a bound counts, where ten loads' data was moved and one was counted without this."""
    facts = {2 + place: {"sectors": SECTORS, "ideal_sectors": SECTORS} for place in range(len(loads))}
    figures = {"dram_bytes_read": 10 * SECTORS * 32, **hits}
    further = (f"IADD3 R2, P1, R2, 0x{step:x}, RZ", "IADD3.X R3, RZ, R3, RZ, P1, !PT")
    evidence = evidence_of(FIRST, SECOND, *loads, *further, loop, "EXIT", facts=facts, figures=figures)
    evidence = replace(evidence, model=replace(evidence.model, avoidable={"dram": 0.9}))
    return 10 * (1 - add_arrays(evidence).model.avoidable["dram"])


@pytest.mark.parametrize(
    ("loads", "counted"),
    [
        ((OF_FIRST,), 1.0),
        ((OF_FIRST, OF_SECOND), 1.96),  # other data, 2 % of which L2 holds
        ((OF_FIRST, NEXT_OF_FIRST), 1.96),  # two turns of an unrolled loop
        ((OF_FIRST, NEXT_OF_FIRST, OF_SECOND), 2.94),
        ((OF_FIRST, OF_FIRST), 1.0),  # the same again
    ],
)
def test_arrays_and_the_copies_of_an_unrolled_loop_are_different_data(loads, counted):
    assert needed(*loads) == pytest.approx(counted)


@pytest.mark.parametrize(("step", "counted"), [(0x401, 1.96), (0x400, 1.0), (0, 1.0)])
def test_a_turn_that_loads_again_what_the_last_one_loaded_has_no_copies(step, counted):
    """As where each turn takes a plane and its neighbours, which are too large for the caches."""
    assert needed(OF_FIRST, NEXT_OF_FIRST, step=step) == pytest.approx(counted)


@pytest.mark.parametrize(
    ("hits", "counted"),
    [
        ({"l1_hit_pct": 0.0, "l2_hits_of_loads_pct": 10.0}, 1.8),
        ({"l1_hit_pct": 0.0, "l2_hits_of_loads_pct": 11.0}, 1.0),
        ({"l1_hit_pct": 11.0, "l2_hits_of_loads_pct": 0.0}, 1.0),
        ({"l1_hit_pct": 0.0}, 1.0),  # nothing says whether L2 holds the data
    ],
)
def test_loads_that_caches_answer_may_be_of_the_same_data(hits, counted):
    assert needed(OF_FIRST, OF_SECOND, hits=hits) == pytest.approx(counted)


def test_outside_of_loops_nothing_is_known_to_be_a_copy():
    assert needed(OF_FIRST, NEXT_OF_FIRST, loop="NOP") == pytest.approx(1.0)


@pytest.mark.parametrize(("sectors", "needed"), [(3.0, 3.0), (12.0, 1.0)])
def test_a_bound_counts_all_bytes_of_pixels_that_are_loaded_one_by_one(sectors, needed):
    """Each load uses one sector of a request. Four sectors were moved for it; where lanes lie further apart, the others may be anybody's."""
    facts = {place: {"sectors": 100.0 * sectors, "ideal_sectors": 100.0} for place in range(len(OF_PIXEL))}
    evidence = evidence_of(*OF_PIXEL, "EXIT", facts=facts, figures={"dram_bytes_read": 400.0 * 32})
    evidence = replace(evidence, model=replace(evidence.model, avoidable={"dram": 0.75}))
    assert add_arrays(evidence).model.avoidable["dram"] == pytest.approx(1 - needed / 4)
