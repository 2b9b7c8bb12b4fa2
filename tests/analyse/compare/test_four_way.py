"""The four-way confirmation: ticked on the recorded kernels, crossed or open elsewhere."""

from dataclasses import replace

import pytest

from profiler.analyse.compare.compare import compare_profiles
from profiler.analyse.compare.four_way import EXPECTED, WHY_EXPECTED
from profiler.catalog.metrics import BY_NAME
from tests.profiles import profiles_in


@pytest.fixture(scope="module")
def gemm(recorded):
    return profiles_in(recorded, "5", "6")


def four_way(before, after):
    """Returns the four-way confirmation of two kernels, or None where it does not apply."""
    found = compare_profiles(before, after).confirmations
    assert [one.name for one in found] in ([], ["four-way"])
    return found[0] if found else None


def test_kernel_6_confirms_all_four(gemm):
    found = four_way(*gemm)
    assert found.confirmed
    assert [(check.metric, check.expected, check.ok) for check in found.checks] == [
        ("issue_active_pct", "up", True),
        ("fma_pipe_pct", "up", True),
        ("lsu_pipe_pct", "down", True),
        ("stall_mio_throttle", "down", True),
    ]


def test_the_other_way_round_the_loads_become_narrower_and_nothing_is_said(gemm):
    assert four_way(*reversed(gemm)) is None


def test_a_kernel_compared_with_itself_confirms_nothing(gemm):
    assert four_way(gemm[0], gemm[0]) is None


def test_a_check_whose_metric_is_missing_stays_open_and_nothing_is_confirmed(gemm):
    before, after = gemm
    name = BY_NAME["fma_pipe_pct"].ncu[0]
    series = {key: one for key, one in after.series.items() if key != "fma_pipe_pct"}
    raw = {key: one for key, one in after.raw.items() if key != name}
    found = four_way(before, replace(after, series=series, raw=raw))
    assert [check.ok for check in found.checks] == [True, None, True, True]
    assert not found.confirmed


@pytest.fixture
def sides(make_profile):
    """Returns two kernels whose shared loads widen, with these values of the four metrics before and after."""

    def make(values, launches=5, loads=({"LDS": 400.0}, {"LDS.128": 100.0})):
        for side, opcodes in enumerate(loads):
            metrics = [
                {name: pair[side] * (1 + turn / 1e4) for name, pair in values.items()}
                for turn in range(launches)
            ]
            yield make_profile(*({"metrics": one, "opcodes": opcodes} for one in metrics))

    return make


DIRECTIONS = {"up": (10.0, 90.0), "down": (90.0, 10.0)}
ALL_FOUR = {metric: DIRECTIONS[way] for metric, way in EXPECTED.items()}


def test_a_check_whose_change_is_unclear_stays_open(sides):
    assert four_way(*sides({"issue_active_pct": (50.0, 60.0)}, launches=1)).checks[0].ok is None


@pytest.mark.parametrize(
    "loads",
    [
        ({"LDS": 400.0}, {"LDS": 400.0}),
        ({"LDS.128": 100.0}, {"LDS": 400.0}),
        ({"LDS": 400.0}, {"LDS.128": 200.0}),  # more is loaded
        ({"LDS": 400.0}, {"LDS.128": 50.0}),
        ({"LDG": 400.0}, {"LDG.128": 100.0}),
        ({"LDS": 400.0}, {"FFMA": 1.0}),
    ],
)
def test_it_applies_only_where_fewer_loads_bring_as_much_from_shared_memory(sides, loads):
    assert four_way(*sides(ALL_FOUR)).confirmed
    assert four_way(*sides(ALL_FOUR, loads=loads)) is None


@pytest.mark.parametrize(("after", "confirms"), [(61.8, False), (61.9, True)])  # by less than 3 %, and more
def test_a_change_that_is_certain_and_tiny_confirms_nothing(sides, after, confirms):
    found = four_way(*sides(ALL_FOUR | {"issue_active_pct": (60.0, after)}))
    assert [check.ok for check in found.checks] == [confirms, True, True, True]


@pytest.mark.parametrize(
    ("rungs", "applies"),
    [
        (("gemm-3", "gemm-4"), False),
        (("gemm-4", "gemm-5"), False),
        (("gemm-5", "gemm-6"), True),
        (("textbook-5", "textbook-6"), True),
        (("gemm-10", "gemm-11"), False),  # matrices that the tensor cores fetch are loaded by no instruction
    ],
)
def test_it_speaks_of_the_step_that_widens_loads_and_of_no_other(recorded, rungs, applies):
    assert (four_way(*profiles_in(recorded, *rungs)) is not None) == applies


def test_it_speaks_of_metrics_in_the_catalogue():
    assert WHY_EXPECTED.endswith(".")
    assert set(EXPECTED) <= set(BY_NAME)
