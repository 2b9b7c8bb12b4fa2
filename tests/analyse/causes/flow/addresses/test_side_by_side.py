"""Accesses side by side take different data, all of which a bound by device memory has to count."""

from dataclasses import replace

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.flow.addresses.side_by_side import add_elements

OF_PIXEL = ("LDG.E.U8 R4, [R2.64]", "LDG.E.U8 R5, [R2.64+0x1]", "LDG.E.U8 R6, [R2.64+0x2]")


@pytest.mark.parametrize(("sectors", "needed"), [(3.0, 3.0), (12.0, 1.0)])
def test_a_bound_counts_all_bytes_of_pixels_that_are_loaded_one_by_one(sectors, needed):
    """Each load uses one sector of a request. Four sectors were moved for it; where lanes lie further apart, the others may be anybody's."""
    facts = {place: {"sectors": 100.0 * sectors, "ideal_sectors": 100.0} for place in range(len(OF_PIXEL))}
    evidence = evidence_of(*OF_PIXEL, "EXIT", facts=facts, figures={"dram_bytes_read": 400.0 * 32})
    evidence = replace(evidence, model=replace(evidence.model, avoidable={"dram": 0.75}))
    assert add_elements(evidence).model.avoidable["dram"] == pytest.approx(1 - needed / 4)
