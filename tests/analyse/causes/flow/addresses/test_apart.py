"""Lanes that lie apart need the sectors that their bytes fill, and not whole ones for each request."""

from dataclasses import replace

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.flow.addresses.apart import count_bytes_apart


@pytest.mark.parametrize(
    ("acting", "sectors", "ideal", "needed"),
    [
        (2.0, 200.0, 100.0, 25.0),  # two lanes, each in a sector of its own: 8 bytes of 64
        (2.0, 110.0, 100.0, 100.0),  # neighbours, some of which straddle two sectors
        (32.0, 3200.0, 400.0, 400.0),  # 128 bytes fill four sectors, however far apart they are
        (32.0, 3200.0, 200.0, 200.0),  # several lanes ask for the same bytes
    ],
)
def test_others_could_use_the_rest_of_a_sector_beside_few_lanes_far_apart(acting, sectors, ideal, needed):
    facts = {0: {"sectors": sectors, "ideal_sectors": ideal, "acting": acting}}
    counted = count_bytes_apart(evidence_of("LDG.E R4, desc[UR6][R24.64]", "EXIT", facts=facts))
    assert counted.sites[0].ideal_sectors == pytest.approx(needed)


@pytest.mark.parametrize(("sectors", "wasted"), [(200.0, 7 / 8), (110.0, 1 / 2)])
def test_device_memory_and_its_bound_count_the_same_bytes(sectors, wasted):
    """Of 200 sectors that device memory moves, 25 or 100 are needed."""
    facts = {0: {"sectors": sectors, "ideal_sectors": 100.0, "acting": 2.0}}
    evidence = evidence_of(
        "LDG.E R4, desc[UR6][R24.64]", "EXIT", facts=facts, figures={"dram_bytes_read": 200 * 32.0}
    )
    evidence = count_bytes_apart(
        replace(evidence, wasted_dram=1 / 2, model=replace(evidence.model, avoidable={"dram": 1 / 2}))
    )
    assert evidence.wasted_dram == pytest.approx(wasted)
    assert evidence.model.avoidable["dram"] == pytest.approx(wasted)
