"""Estimates for each access, made from the totals of a kernel."""

import pytest
from made_evidence import code_of, sites_of

from profiler.analyse.causes.evidence.estimates import estimate_costs, estimate_lanes, find_kinds_apart

LOAD, STORE = "LDG.E R4, [R2.64]", "STG.E [R8.64], R4"


def estimated(*lines, **figures):
    """Returns the sectors a request of each line, each executed 100 times."""
    sites = sites_of(code_of(*lines))
    estimate_costs(sites, figures)
    return [(site.sectors or 0.0) / site.executed for site in sites]


@pytest.mark.parametrize(
    ("arrived", "hits", "apart"),
    [
        (800.0, 80.0, {"global load"}),  # 4 sectors for each access: every store is whole
        (3600.0, 60.0, {"global store"}),  # more than loads that miss L1 so seldom could ask for
        (3600.0, 0.0, {"global load", "global store"}),  # the loads might be it, or the stores
        (5000.0, 60.0, {"global load", "global store"}),  # more than 32 sectors for each store
    ],
)
def test_the_sectors_that_reach_l2_show_whether_loads_or_stores_lie_apart(arrived, hits, apart):
    sites = sites_of(code_of(LOAD, STORE))
    estimate_costs(sites, {})
    assert find_kinds_apart(sites, {"l2_sectors": arrived, "l1_hit_pct": hits}) == apart


def test_only_stores_that_lie_apart_touch_more_sectors_than_they_fill():
    figures = {"l1_cycles_per_access": 25.0, "l2_sectors": 3600.0, "l1_hit_pct": 60.0}
    assert estimated(LOAD, STORE, **figures) == [4.0, 32.0]


@pytest.mark.parametrize(
    ("other", "sectors"), [("TEX.LL RZ, R9, R8, R10, UR4, 0x0.2D, 0x1", 4.0), ("NOP", 32.0)]
)
def test_what_textures_move_is_no_sign_that_lanes_of_a_store_lie_apart(other, sectors):
    figures = {"l1_cycles_per_access": 25.0, "l2_sectors": 3600.0, "l1_hit_pct": 60.0}
    assert estimated(other, STORE, **figures)[1] == sectors


def test_accesses_are_whole_where_l1_and_l2_do_no_more_than_they_need():
    assert estimated(LOAD, STORE, l1_cycles_per_access=2.0, l2_sectors=800.0, l1_hit_pct=0.0) == [4.0, 4.0]


def test_sectors_too_many_reach_l2_even_where_l1_has_time():
    (sectors,) = estimated(LOAD, l1_cycles_per_access=3.0, l2_sectors=1800.0, l1_hit_pct=0.0)
    assert sectors == 18.0


def test_l2_sectors_of_spilled_registers_are_not_counted_as_excess_of_loads():
    load, spill = estimated(LOAD, "STL [R1], R4", l1_cycles_per_access=2.0, l2_sectors=800.0, l1_hit_pct=0.0)
    assert (load, spill) == (4.0, 4.0)


@pytest.mark.parametrize(
    ("opcode", "cycles", "sectors"),
    [
        ("LDG.E", 3.9, 4.0),
        ("LDG.E", 4.1, 16.4),  # more than the four lines of the widest access of neighbours: four sectors for each cycle
        ("LDG.E.128", 9.9, 16.0),  # 512 bytes take eight cycles to arrive, with a quarter to spare
        ("LDG.E.128", 10.1, 32.0),
    ],
)  # fmt: skip
def test_an_access_that_takes_l1_longer_than_the_widest_of_neighbours_lies_apart(opcode, cycles, sectors):
    assert estimated(f"{opcode} R4, [R2.64]", l1_cycles_per_access=cycles) == [pytest.approx(sectors)]


@pytest.mark.parametrize(("arrived", "sectors"), [(490.0, 4.0), (510.0, 5.1)])
def test_a_quarter_more_than_they_need_may_reach_l2_by_other_ways(arrived, sectors):
    figures = {"l1_cycles_per_access": 1.0, "l2_sectors": arrived, "l1_hit_pct": 0.0}
    assert estimated(LOAD, **figures) == [pytest.approx(sectors)]


@pytest.mark.parametrize(("arrived", "kinds"), [(870.0, {"global load"}), (890.0, {"global load", "global store"})])  # fmt: skip
def test_counts_of_two_passes_of_the_profiler_differ_by_a_tenth_at_most(arrived, kinds):
    sites = sites_of(code_of(LOAD, STORE))
    estimate_costs(sites, {})
    assert find_kinds_apart(sites, {"l2_sectors": arrived, "l1_hit_pct": 0.0}) == kinds


def test_a_predicate_alone_is_no_evidence_of_lanes_that_act_at_an_instruction():
    """How many lanes predicates turn off is known of all instructions together, and they may be whole warps."""
    sites = sites_of(code_of("S2R R0, SR_TID.X", LOAD, "@P0 FADD R4, R4, R5", STORE))
    estimate_lanes(sites, 28.0)
    assert [site.acting_lanes for site in sites] == [28.0] * len(sites)
