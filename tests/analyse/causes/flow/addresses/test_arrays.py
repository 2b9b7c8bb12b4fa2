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
SECTORS = 400.0
ON_ONE_LINE, APART = 1, None
STREAMING = {"l1_hit_pct": 0.0, "l2_hits_of_loads_pct": 2.0}


def needed(*loads, line=ON_ONE_LINE, hits=STREAMING, loop="@P0 BRA 0x20"):
    """Returns how many loads' data a bound counts, where ten loads' data was moved and one was counted without this."""
    facts = {2 + place: {"sectors": SECTORS, "ideal_sectors": SECTORS} for place in range(len(loads))}
    figures = {"dram_bytes_read": 10 * SECTORS * 32, **hits}
    evidence = evidence_of(FIRST, SECOND, *loads, loop, "EXIT", facts=facts, figures=figures, line=line)
    evidence = replace(evidence, model=replace(evidence.model, avoidable={"dram": 0.9}))
    return 10 * (1 - add_arrays(evidence).model.avoidable["dram"])


@pytest.mark.parametrize(
    ("loads", "line", "counted"),
    [
        ((OF_FIRST,), ON_ONE_LINE, 1.0),
        ((OF_FIRST, OF_SECOND), APART, 1.96),  # other data, 2 % of which L2 holds
        ((OF_FIRST, NEXT_OF_FIRST), ON_ONE_LINE, 1.96),  # copies of one load, in an unrolled loop
        ((OF_FIRST, NEXT_OF_FIRST), APART, 1.0),  # what one line loads, the other may load again
        ((OF_FIRST, NEXT_OF_FIRST, OF_SECOND), ON_ONE_LINE, 2.94),
    ],
)
def test_arrays_and_the_copies_of_an_unrolled_loop_are_different_data(loads, line, counted):
    assert needed(*loads, line=line) == pytest.approx(counted)


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
