"""What stands beside a ceiling, or in place of it: changes that spare work of the resource that is at it."""

import pytest

from profiler.analyse.causes.at_a_ceiling import heed_ceilings
from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.evidence.latency import Effect


@pytest.mark.parametrize(
    ("spared", "named"),
    [
        (0.2, ["special-functions"]),
        (1e-6, ["special-functions"]),
        (3e-17, ["at-xu-rate"]),  # what rounding leaves of a sum that is zero, of either sign
        (-3e-17, ["at-xu-rate"]),
    ],
)
def test_a_change_takes_the_place_of_a_ceiling_only_if_it_spares_work_there(spared, named):
    ceiling = Candidate("at-xu-rate", "Why.", "Change.", saves=0.0, at_most=0.2, resource="xu")
    change = Candidate(
        "special-functions", "Why.", "Change.", Effect({"xu": spared}, {"long_scoreboard": 0.5})
    )
    found = heed_ceilings(
        {one.name: one for one in (ceiling, change)}, {ceiling: 0.0, change: 0.12}, {"xu": 0.8}
    )
    assert list(found) == named


@pytest.mark.parametrize(
    ("busy", "spared", "is_named"),
    [(0.79, 0.9, False), (0.8, 0.9, True), (0.8, 0.03, True), (0.8, 0.029, False)],
)
def test_beside_a_ceiling_stands_what_spares_work_of_a_unit_that_is_as_busy(busy, spared, is_named):
    ceiling = Candidate("at-alu-rate", "Why.", "Change.", saves=0.0, at_most=0.2, resource="alu")
    change = Candidate("register-spills", "Why.", "Change.", Effect({"l2": spared}))
    found = heed_ceilings(
        {one.name: one for one in (ceiling, change)}, {ceiling: 0.0, change: 0.06}, {"alu": 0.8, "l2": busy}
    )
    assert ("register-spills" in found) == is_named
    assert "at-alu-rate" in found
