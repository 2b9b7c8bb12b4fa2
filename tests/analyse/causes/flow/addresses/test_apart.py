"""Lanes that lie apart need the sectors that their bytes fill, and not whole ones for each request."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.flow.addresses.apart import count_bytes_of_lanes_apart


@pytest.mark.parametrize(
    ("acting", "sectors", "ideal", "needed"),
    [
        (2.0, 200.0, 100.0, 25.0),  # two lanes, each in a sector of its own: 8 bytes of 64
        (2.0, 110.0, 100.0, 100.0),  # neighbours, some of which straddle two sectors
        (32.0, 3200.0, 400.0, 400.0),  # 128 bytes fill four sectors, however far apart they are
        (32.0, 3200.0, 200.0, 200.0),  # several lanes ask for the same bytes
    ],
)
def test_others_could_use_the_rest_of_a_sector_beside_few_lanes_that_lie_apart(
    acting, sectors, ideal, needed
):
    facts = {0: {"sectors": sectors, "ideal_sectors": ideal, "acting": acting}}
    evidence = evidence_of("LDG.E R4, desc[UR6][R24.64]", "EXIT", facts=facts)
    count_bytes_of_lanes_apart(evidence)
    assert evidence.sites[0].ideal_sectors == pytest.approx(needed)
