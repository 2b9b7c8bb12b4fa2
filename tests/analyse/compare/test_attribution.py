"""Factors of a speedup: found again where they are known, adding up where they are not, and named if missing."""

import math
import re
from dataclasses import replace
from itertools import combinations, product

import pytest
from hypothesis import given, strategies as st

from profiler.analyse.compare.attribution import UNATTRIBUTED, attribute
from profiler.analyse.compare.compare import compare_profiles
from profiler.analyse.recording.profile import profile_kernel
from profiler.analyse.statistics.differences import Readings
from profiler.catalog.metrics import BY_NAME
from tests.profiles import profile_in, profiles_in

ISSUED, CYCLES = "smsp__inst_issued.avg", "sm__cycles_elapsed.avg"
STALLS = {"stall_wait": 1.0, "stall_barrier": 2.5, "stall_long_scoreboard": 0.5, "stall_selected": 1.0}
ISSUE_METRICS = (
    *("duration_ns", "inst_issued", "issue_active_pct", "issue_rate", "warp_latency", "active_warps"),
    *("sm_frequency_hz", "dram_throughput_pct", *STALLS),
)
BYTES_METRICS = ("duration_ns", "dram_bytes_read", "dram_bytes_written", "dram_bytes_per_s")


def recorded_as(metrics):
    """Under ncu's names; of the instructions, the mean over schedulers."""
    names = {name: ISSUED if name == "inst_issued" else BY_NAME[name].ncu[0] for name in metrics}
    return {names[name]: value for name, value in metrics.items()}


def issuing(instructions=5e6, warps=4.0, stalls=STALLS, active=0.97, ghz=1.98, **others):
    """A launch that takes exactly as long as its factors say."""
    latency = sum(stalls.values())
    rate = warps / latency
    return {
        "duration_ns": instructions / rate / active / ghz,
        "inst_issued": instructions,
        "issue_active_pct": 100 * rate * active,
        "issue_rate": rate,
        "warp_latency": latency,
        "active_warps": warps,
        "sm_frequency_hz": ghz * 1e9,
        "dram_throughput_pct": 5.0,
        **stalls,
        **others,
    }


def moving(read=3e8, written=1e8, gb_per_s=4000.0, memory_pct=80.0, **others):
    return {
        "duration_ns": (read + written) / gb_per_s,
        "dram_bytes_read": read,
        "dram_bytes_written": written,
        "dram_bytes_per_s": gb_per_s * 1e9,
        "dram_throughput_pct": memory_pct,
        "issue_active_pct": 20.0,
        **others,
    }


@pytest.fixture(scope="module")
def profile_of(make_run):
    """The profile of kernel `k`, one launch per dictionary of metrics by the catalogue's names."""

    def profile(*launches, processes=None):
        run = make_run(
            *(
                {"kernel": "k", "metrics": recorded_as(metrics), "process": process}
                for metrics, process in zip(launches, processes or [0] * len(launches), strict=True)
            )
        )
        return profile_kernel(run, "k")

    return profile


@pytest.fixture(scope="module")
def attributed(profile_of):
    """The attribution of one launch against another, and what it lacks."""

    def attributed(before, after, useful=(None, None)):
        sides = zip(map(profile_of, (before, after)), useful, strict=True)
        return attribute(*(replace(profile, useful_bytes=count) for profile, count in sides))

    return attributed


def ratios(factors):
    return {factor.name: factor.ratio for factor in factors}


def without(metrics, *names):
    return {name: value for name, value in metrics.items() if name not in names}


# What is known is found again


def test_each_factor_is_found_again(attributed):
    stalls = {**STALLS, "stall_barrier": 1.5}
    after = issuing(instructions=4e6, warps=5.0, stalls=stalls, active=0.99, ghz=1.9)
    found, missing = attributed(issuing(), after)
    assert missing == []
    assert (found.view, found.clock) == ("issue", "measured")
    issue_rate = (5.0 / 4.0) / 4.0
    assert ratios(found.factors) == pytest.approx(
        {"instructions": 5 / 4, "issue_rate": issue_rate * 5.0, "sm_active": 0.99 / 0.97, "clock": 1.9 / 1.98}
    )
    assert ratios(found.factors[1].factors) == pytest.approx({"warps_in_use": 5 / 4, "wait_per_issue": 5 / 4})
    assert math.prod(ratios(found.factors).values()) == pytest.approx(found.profiled_ratio)
    assert found.closure_error_pct == pytest.approx(0, abs=1e-9)
    (barrier, *others) = found.stalls
    assert (barrier.name, barrier.before, barrier.after) == ("stall_barrier", 2.5, 1.5)
    assert barrier.ratio == pytest.approx(5 / 4), "nothing else became shorter"
    assert all(stall.share == pytest.approx(0) for stall in others)


def test_values_are_geometric_means_in_the_units_that_they_name(attributed):
    found, _ = attributed(issuing(), issuing(instructions=4e6))
    values = {factor.name: (factor.before, factor.after, factor.unit) for factor in found.factors}
    assert values["instructions"] == (pytest.approx(5e6), pytest.approx(4e6), "inst/scheduler")
    assert values["issue_rate"] == (pytest.approx(0.8), pytest.approx(0.8), "issue/cycle")
    assert values["sm_active"] == (pytest.approx(97), pytest.approx(97), "%")
    assert values["clock"] == (pytest.approx(1.98), pytest.approx(1.98), "GHz")


def test_a_stall_that_vanishes_or_appears_has_a_finite_share(attributed):
    after = issuing(stalls={**STALLS, "stall_barrier": 0.0, "stall_mio_throttle": 1.0})
    found, _ = attributed(issuing(stalls={**STALLS, "stall_mio_throttle": 0.0}), after)
    shares = {stall.name: stall.share for stall in found.stalls}
    assert shares["stall_barrier"] > 1
    assert shares["stall_mio_throttle"] < 0
    assert sum(shares.values()) == pytest.approx(1)
    assert math.prod(stall.ratio for stall in found.stalls) == pytest.approx(5.0 / 3.5)


def test_latency_that_no_stall_explains_is_shown(attributed):
    found, _ = attributed(issuing(), {**issuing(), "stall_wait": 1.2})
    (rest,) = (stall for stall in found.stalls if stall.name == UNATTRIBUTED)
    assert (rest.before, rest.after) == (pytest.approx(0), pytest.approx(-0.2))
    assert sum(stall.share for stall in found.stalls) == pytest.approx(0), "the latency did not change"


@pytest.mark.parametrize("stall", [-0.1, 12.0])
def test_stalls_that_cannot_be_parts_of_the_latency_are_left_out(attributed, stall):
    found, _ = attributed(issuing(), {**issuing(instructions=4e6), "stall_wait": stall})
    assert ratios(found.factors[1].factors) == pytest.approx({"warps_in_use": 1.0, "wait_per_issue": 1.0})
    assert found.stalls == []


def test_a_reason_without_any_stall_is_left_out(attributed):
    stalls = {**STALLS, "stall_gmma": 0.0}
    found, _ = attributed(issuing(stalls=stalls), issuing(stalls=stalls, instructions=4e6))
    assert {stall.name for stall in found.stalls} == set(STALLS)


def test_the_profiled_ratio_is_the_speedup_also_over_several_processes(profile_of):
    """Three launches of a slow process do not outvote one of a fast one, there nor here."""
    slow, fast = issuing(instructions=6e6), issuing(instructions=5e6)
    before = profile_of(slow, slow, slow, fast, processes=[0, 0, 0, 1])
    after = profile_of(issuing(instructions=4e6), issuing(instructions=3e6))
    comparison = compare_profiles(before, after)
    assert comparison.attribution.profiled_ratio == comparison.speedup.ratio
    assert comparison.attribution.closure_error_pct == pytest.approx(0, abs=1e-9)


# Whatever is measured


def readings(names):
    return st.fixed_dictionaries({name: st.floats(1e-3, 1e12) for name in names})


def issue_readings():
    """Which contradict each other, except that the stalls are of the latency's size."""
    needed = without(dict.fromkeys(ISSUE_METRICS), *STALLS, "dram_throughput_pct")
    of_latency = st.fixed_dictionaries({name: st.just(0.0) | st.floats(0, 0.4) for name in STALLS})
    memory = st.sampled_from([{}, {"dram_throughput_pct": 1.0}])

    def launch(one, shares, memory):
        stalls = {name: share * one["warp_latency"] for name, share in shares.items()}
        return {**one, **stalls, **memory}

    return st.builds(launch, readings(needed), of_latency, memory)


def bytes_readings():
    return readings(BYTES_METRICS).map(lambda one: {**one, "dram_throughput_pct": 90.0})


pairs_of_readings = st.one_of(st.tuples(one(), one()) for one in (issue_readings, bytes_readings))


@given(pair=pairs_of_readings)
def test_shares_add_up_to_the_whole_and_the_missing_part_is_reported(attributed, pair):
    found, _ = attributed(*pair)
    whole = sum(math.log(factor.ratio) for factor in found.factors)
    missed = found.closure_error_pct / 100
    assert whole == pytest.approx(math.log(found.profiled_ratio) + missed, abs=1e-9)
    if abs(whole) > 1e-3:
        assert sum(factor.share for factor in found.factors) == pytest.approx(1)
        for factor in found.factors:
            assert factor.share == pytest.approx(math.log(factor.ratio) / whole, abs=1e-6)
            if factor.factors:
                assert sum(one.share for one in factor.factors) == pytest.approx(factor.share, abs=1e-6)
        summed = found.factors[1].factors[1] if found.view == "issue" else found.factors[0]
        if parts := found.stalls or found.traffic:
            assert sum(part.share for part in parts) == pytest.approx(summed.share, abs=1e-6)


@given(pair=pairs_of_readings)
def test_swapping_the_sides_inverts_every_ratio_and_nothing_else(attributed, pair):
    _assert_mirrored(attributed(*pair)[0], attributed(*reversed(pair))[0])


def test_swapping_recorded_kernels_inverts_every_ratio_and_nothing_else(profiles):
    for before, after in combinations(profiles, 2):
        _assert_mirrored(attribute(before, after)[0], attribute(after, before)[0])


def _assert_mirrored(forth, back):
    if forth is None or back is None:
        assert forth is back
        return
    assert (back.view, back.why, back.evidence, back.clock) == (forth.view, forth.why, forth.evidence, forth.clock)  # fmt: skip
    assert back.profiled_ratio == pytest.approx(1 / forth.profiled_ratio, rel=1e-12)
    assert back.closure_error_pct == -forth.closure_error_pct
    _assert_parts_mirrored(forth.factors, back.factors)
    _assert_parts_mirrored(forth.stalls, back.stalls)
    _assert_parts_mirrored(forth.traffic, back.traffic)


def _assert_parts_mirrored(forth, back):
    for one, other in zip(forth, back, strict=True):
        assert (other.name, other.before, other.after, other.share) == (one.name, one.after, one.before, one.share)  # fmt: skip
        assert other.ratio == pytest.approx(1 / one.ratio, rel=1e-12)
        _assert_parts_mirrored(getattr(one, "factors", []), getattr(other, "factors", []))


@given(one=issue_readings() | bytes_readings())
def test_a_run_with_itself_has_ratios_of_1_and_nothing_to_share(attributed, one):
    _assert_nothing_found(attributed(one, one)[0])


def test_recorded_kernels_with_themselves_have_ratios_of_1_and_nothing_to_share(profiles):
    for profile in profiles:
        _assert_nothing_found(attribute(profile, profile)[0])


def _assert_nothing_found(found):
    assert (found.profiled_ratio, found.closure_error_pct) == (1.0, 0.0)
    inner = [one for factor in found.factors for one in factor.factors]
    for part in (*found.factors, *inner, *found.stalls, *found.traffic):
        assert (part.ratio, part.share) == (1.0, 0.0), part.name


# Recorded kernels


@pytest.fixture(scope="module")
def profiles(recorded, store):
    """Every profiled kernel of the shipped runs and reports that can be attributed."""
    runs = [*map(recorded.open, recorded.ids()), *map(store.open, store.ids())]
    every = [profile_kernel(run, kernel.name) for run in runs for kernel in run.manifest.kernels]
    found = [profile for profile in every if attribute(profile, profile)[0]]
    assert len(found) >= 5
    return found


def test_every_recorded_pair_closes_within_1_percent(profiles):
    closed = 0
    for before, after in product(profiles, repeat=2):
        found, _ = attribute(before, after)
        if found:
            closed += 1
            assert abs(found.closure_error_pct) < 1, (before.label, after.label)
            assert abs(math.log(found.profiled_ratio)) == pytest.approx(
                abs(sum(math.log(factor.ratio) for factor in found.factors)), abs=0.01
            )
    assert closed >= len(profiles)  # each beside itself, at the least


def test_a_memory_bound_triton_kernel_is_explained_by_its_bytes(store):
    run = store.open(next(one for one in store.ids() if one.name == "triton_add_full"))
    profile = profile_kernel(run, run.manifest.kernels[0].name)
    found, missing = attribute(profile, profile)
    assert (found.view, missing) == ("bytes", [])
    assert found.why.startswith("device memory is the limit of the slower side (dram_throughput_pct 83")


# The clock


def test_without_cycles_the_clock_is_inferred_and_takes_up_what_does_not_fit(attributed):
    before, after = issuing(), issuing(instructions=4e6)
    after["duration_ns"] *= 1.1  # nothing else knows of it
    found, missing = attributed(*(without(one, "sm_frequency_hz") for one in (before, after)))
    assert found.clock == "inferred"
    assert found.closure_error_pct == pytest.approx(0, abs=1e-9)
    assert ratios(found.factors)["clock"] == pytest.approx(1 / 1.1)
    assert [(one.name, one.missing_in) for one in missing] == [
        ("sm_frequency_hz", "before"),
        ("sm_frequency_hz", "after"),
    ]


def test_with_a_measured_clock_what_does_not_fit_is_the_closure_error(attributed):
    after = issuing(instructions=4e6)
    after["duration_ns"] *= 1.1
    found, _ = attributed(issuing(), after)
    assert found.clock == "measured"
    assert found.closure_error_pct == pytest.approx(100 * math.log(1.1))
    assert sum(factor.share for factor in found.factors) == pytest.approx(1)


def test_cycles_and_duration_are_a_measured_clock_as_well(make_run):
    def profile(ghz):
        metrics = without(issuing(ghz=ghz), "sm_frequency_hz")
        cycles = {CYCLES: metrics["duration_ns"] * ghz}
        return profile_kernel(make_run({"kernel": "k", "metrics": recorded_as(metrics) | cycles}), "k")

    found, missing = attribute(profile(1.98), profile(1.5))
    assert (found.clock, missing) == ("measured", [])
    assert ratios(found.factors)["clock"] == pytest.approx(1.5 / 1.98)
    assert found.factors[-1].after == pytest.approx(1.5)


# Which view


@pytest.mark.parametrize(
    ("slower", "faster", "view"),
    [
        ({"memory_pct": 80.0}, {"memory_pct": 30.0}, "bytes"),
        ({"memory_pct": 30.0}, {"memory_pct": 80.0}, "cycles"),
        ({"memory_pct": 49.0}, {"memory_pct": 80.0}, "cycles"),
        ({"memory_pct": 60.0, "tensor_pipe_pct": 70.0}, {"memory_pct": 80.0, "tensor_pipe_pct": 70.0}, "tensor"),
        ({"memory_pct": 60.0, "tensor_pipe_pct": 50.0}, {"memory_pct": 30.0}, "bytes"),
    ],
)  # fmt: skip
def test_the_limit_of_the_slower_side_decides_which_view_is_shown(attributed, slower, faster, view):
    both = issuing(issue_active_pct=20.0)
    before = {**both, **moving(read=9e8, **slower)}
    after = {**both, **moving(**faster)}
    for pair in ((before, after), (after, before)):
        found, _ = attributed(*pair)
        assert found.view == view
        assert found.evidence["dram_throughput_pct"] == slower["memory_pct"]
        assert f"dram_throughput_pct {slower['memory_pct']:.3g} %" in found.why
        assert ("not the limit" in found.why) == (view != "bytes")


def test_a_warp_that_could_issue_is_surplus_and_its_wait_no_stall(attributed):
    """Four more warps that are only ever ready change neither the warps in use nor what these wait for."""
    before, after = issuing(), issuing(instructions=4e6)
    surplus = 4.0 / after["issue_rate"]
    after |= {
        "stall_not_selected": surplus,
        "warp_latency": after["warp_latency"] + surplus,
        "active_warps": after["active_warps"] + 4.0,
    }
    found, _ = attributed(before, after)
    assert ratios(found.factors[1].factors) == pytest.approx({"warps_in_use": 1.0, "wait_per_issue": 1.0})
    assert "stall_not_selected" not in {stall.name for stall in found.stalls}
    assert all(stall.share == pytest.approx(0) for stall in found.stalls)


def test_the_tensor_pipe_or_the_cycles_explain_kernels_that_seldom_issue(attributed):
    seldom = {"issue_active_pct": 12.0, "issue_rate": 0.124}
    tensor = [issuing(**seldom, tensor_pipe_pct=pct) | {"duration_ns": 8e6 / pct} for pct in (80.0, 90.0)]
    found, missing = attributed(*tensor)
    assert (found.view, missing) == ("tensor", [])
    assert ratios(found.factors) == pytest.approx(
        {"tensor_work": 1.0, "tensor_pipe_pct": 9 / 8, "clock": 1.0}
    )
    found, _ = attributed(*(one | {"tensor_pipe_pct": 0.0} for one in tensor))
    assert found.view == "cycles"
    assert ratios(found.factors) == pytest.approx({"mean_cycles": 9 / 8, "clock": 1.0})
    assert "12 % of the cycles" in found.why


def test_without_the_memorys_utilisation_it_is_by_issue_and_says_what_is_not_known(attributed):
    pair = [without(issuing(instructions=count), "dram_throughput_pct") for count in (5e6, 4e6)]
    found, missing = attributed(*pair)
    assert (found.view, found.why, found.evidence) == (
        "issue",
        "whether device memory is the limit is not known",
        {},
    )
    assert {one.name for one in missing} == {"dram_throughput_pct"}


def test_bytes_moved_and_bandwidth_are_found_again(attributed):
    found, missing = attributed(moving(), moving(read=1e8, gb_per_s=3600.0))
    assert (missing, found.clock) == ([], None)
    assert ratios(found.factors) == pytest.approx({"bytes_moved": 2.0, "bandwidth": 0.9})
    assert found.factors[0].factors == []
    assert [part.name for part in found.traffic] == ["dram_bytes_read", "dram_bytes_written"]
    assert found.traffic[0].ratio == pytest.approx(2.0), "all of what was saved was read"
    assert found.closure_error_pct == pytest.approx(0, abs=1e-9)


def test_a_wider_access_is_named_as_the_reason_for_more_bandwidth(attributed, recorded):
    found, _ = attribute(*profiles_in(recorded, "1", "2", ladder="copy"))
    assert "a load brings 64 bits instead of 32" in found.bandwidth_from
    assert attributed(moving(), moving(gb_per_s=3600.0))[0].bandwidth_from == ""


def test_the_width_of_loads_explains_nothing_when_the_copy_engine_brings_the_data(shipped_runs):
    found, _ = attribute(*profiles_in(shipped_runs, "2", "3", ladder="rmsnorm"))
    assert found.bandwidth_from == ""


def test_if_accesses_are_as_wide_as_before_only_the_warps_are_named(recorded):
    before = profile_in(recorded, "1", "copy")
    factors = {"duration_ns": 2.0, "dram_bytes_per_s": 0.5, "active_warps": 0.5}
    changed = {
        name: replace(
            before.series[name], values=Readings(factor * value for value in before.series[name].values)
        )
        for name, factor in factors.items()
    }
    found, _ = attribute(before, replace(before, series={**before.series, **changed}))
    assert re.fullmatch(
        r"bytes under way: a scheduler has \S+ active warps instead of \S+", found.bandwidth_from
    )


def test_useful_bytes_tell_less_work_from_less_waste(attributed):
    found, _ = attributed(moving(read=4e8, written=2e8), moving(read=1e8, written=1e8), (3e8, 1.5e8))
    (moved, _) = found.factors
    assert ratios(moved.factors) == pytest.approx({"useful_bytes": 2.0, "moved_per_useful_byte": 1.5})
    assert [(one.before, one.after) for one in moved.factors] == [
        (pytest.approx(3e8), pytest.approx(1.5e8)),
        (pytest.approx(2.0), pytest.approx(4 / 3)),
    ]
    assert sum(part.share for part in found.traffic) == pytest.approx(moved.factors[1].share)


def test_a_kernel_that_writes_nothing_is_still_explained_by_bytes(attributed):
    found, _ = attributed(moving(written=0.0), moving(read=2e8, written=0.0))
    assert ratios(found.factors)["bytes_moved"] == pytest.approx(1.5)
    assert ratios(found.traffic) == pytest.approx({"dram_bytes_read": 1.5, "dram_bytes_written": 1.0})


# What is missing


@pytest.mark.parametrize("name", ["duration_ns", "inst_issued", "issue_active_pct", "issue_rate"])
@pytest.mark.parametrize("absent", ["missing", "zero"])
def test_without_a_factor_there_is_no_attribution_and_it_is_named(attributed, name, absent):
    broken = without(issuing(), name) if absent == "missing" else issuing(**{name: 0.0})
    found, missing = attributed(issuing(), broken)
    assert found is None
    assert [(one.name, one.missing_in) for one in missing] == [(name, "after")]


@pytest.mark.parametrize("name", BYTES_METRICS)
def test_without_the_bytes_a_memory_bound_kernel_has_no_attribution(attributed, name):
    found, missing = attributed(moving(), without(moving(), name))
    assert found is None
    assert [(one.name, one.missing_in) for one in missing] == [(name, "after")]


def test_without_active_warps_they_follow_from_issue_rate_and_latency(attributed):
    pair = [without(issuing(warps=warps), "active_warps") for warps in (4.0, 5.0)]
    found, missing = attributed(*pair)
    assert ratios(found.factors[1].factors) == pytest.approx({"warps_in_use": 5 / 4, "wait_per_issue": 1.0})
    assert {one.name for one in missing} == {"active_warps"}


def test_without_a_latency_the_issue_rate_stays_whole(attributed):
    pair = [without(issuing(warps=warps), "warp_latency") for warps in (4.0, 5.0)]
    found, missing = attributed(*pair)
    assert ratios(found.factors)["issue_rate"] == pytest.approx(5 / 4)
    assert (found.factors[1].factors, found.stalls) == ([], [])
    assert {one.name for one in missing} == {"warp_latency"}
