"""How far the launches of one kernel lie apart, by which figures without an interval are judged, follows from the shipped runs."""

import pytest

from profiler.analyse.statistics.single_launches import APART_PCT
from profiler.catalog.metrics import BY_NAME

_FARTHEST = """
select metric, 100 * (max(highest / lowest) - 1) as percent from (
  select metric, max(value) as highest, min(value) as lowest
  from metrics join launches using (run_id, launch)
  where metric in ({names}) and value > 0
  group by run_id, kernel, grid_x, grid_y, grid_z, block_x, block_y, metric having count(*) > 1
) group by metric
"""


@pytest.fixture(scope="module")
def apart_pct(shipped_runs):
    """How many percent launches of one kernel in one run lie apart at most, by the metric of ncu."""
    from profiler.store.query import open_query

    names = ", ".join(f"'{ncu}'" for name in APART_PCT for ncu in BY_NAME[name].ncu)
    with open_query(shipped_runs, _FARTHEST.format(names=names)) as answer:
        return dict(answer.rows())


def test_no_launches_of_the_shipped_runs_lie_further_apart_than_is_said(apart_pct):
    found = {
        name: max(apart_pct.get(ncu, 0.0) for ncu in BY_NAME[name].ncu)
        for name in APART_PCT
        if BY_NAME[name].ncu
    }
    assert {name: apart for name, apart in found.items() if not 0 < apart <= APART_PCT[name]} == {}


def test_each_bound_is_what_some_launches_reach(apart_pct):
    """A bound that nothing comes near would call a real change noise."""
    for bound in set(APART_PCT.values()):
        metrics = [ncu for name, one in APART_PCT.items() if one == bound for ncu in BY_NAME[name].ncu]
        assert max(apart_pct.get(one, 0.0) for one in metrics) > 0.95 * bound
