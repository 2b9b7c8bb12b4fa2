"""One kernel of a recording: which launches count, and what becomes of units and gaps."""

import math

import pytest

from profiler.analyse.recording.profile import profile_kernel
from profiler.catalog.metrics import BY_NAME, CATALOGUE, LSU_OPCODES
from profiler.catalog.presets import find_preset
from tests.profiles import profile_in


def test_only_launches_of_the_kernel_count(make_profile):
    profile = make_profile({"ns": 1.0}, {"kernel": "other", "ns": 99.0}, {"ns": 3.0})
    assert profile.launches == 2
    assert profile.series["duration_ns"].values == (1.0, 3.0)


def test_another_kernel_of_the_recording_says_nothing_about_the_language(make_profile):
    numba = "_ZN8__main__4fillB2v1B92cw51cXTLSUwv1sDUaE5ArrayIfLi1E1C7mutable7alignedEf"
    beside = ({"mangled": "_Z1kPf"}, {"kernel": "other", "mangled": numba})
    assert make_profile(*beside).language == "CUDA C++"
    assert make_profile({"mangled": numba}).language == "Numba"


@pytest.mark.parametrize("absent", [None, math.inf, -math.inf])
def test_a_launch_without_a_value_is_left_out_and_never_zero(make_profile, absent):
    assert make_profile({"ns": 5.0}, {"ns": absent}).series["duration_ns"].values == (5.0,)


def test_a_metric_without_any_value_is_missing(make_profile):
    assert "duration_ns" not in make_profile({"ns": None}).series


@pytest.mark.parametrize(
    ("value", "unit", "ns"), [(7.0, "ns", 7.0), (7.0, "us", 7e3), (7.0, "msecond", 7e6), (7.0, "second", 7e9)]
)
def test_the_units_of_older_versions_are_converted(make_profile, value, unit, ns):
    profile = make_profile({"metrics": {"duration_ns": (value, unit)}})
    assert profile.series["duration_ns"].values == pytest.approx((ns,))


def test_the_newest_of_ncus_names_wins_and_an_older_one_still_resolves(make_profile):
    newest, older = BY_NAME["issue_active_pct"].ncu
    both = make_profile({"metrics": {older: 1.0, newest: 2.0}})
    old = make_profile({"metrics": {older: 1.0}})
    assert (both.series["issue_active_pct"].ncu, both.series["issue_active_pct"].values) == (newest, (2.0,))
    assert (old.series["issue_active_pct"].ncu, old.series["issue_active_pct"].values) == (older, (1.0,))


def test_opcodes_are_counted_per_launch(make_profile):
    profile = make_profile({"opcodes": {"LDS": 10, "FFMA": 30}}, {"opcodes": {"LDS": 20}})
    assert profile.opcodes == {"LDS": 15.0, "FFMA": 15.0}


def test_without_the_opcode_metric_the_counted_instructions_say_the_same(recorded):
    """The recorded runs hold both; hide the metric, and the answer stays."""
    run = recorded.find("6", "gemm")
    kernel = run.manifest.kernels[0].name
    counted = profile_kernel(run, kernel).opcodes
    # private: the recorded run holds both, and one is to be hidden
    run._tables["instances"] = run.table("instances").slice(0, 0)
    assert profile_kernel(run, kernel).opcodes == counted


def test_without_any_counts_there_are_no_opcodes_and_no_share(make_profile):
    profile = make_profile({"instructions": [("LDS", None)]})
    assert profile.opcodes == {}
    assert "lsu_inst_share_pct" not in profile.series


def test_the_other_lsu_share_is_load_store_instructions_of_all_executed(make_profile):
    counts = {"LDS.128": 10, "LDG.E": 5, "STS": 5, "SHFL.BFLY": 5, "FFMA": 70, "BAR.SYNC": 5}
    assert make_profile({"opcodes": counts}).series["lsu_inst_share_pct"].values == (25.0,)


def test_the_lsu_opcodes_are_those_that_nsight_compute_counts_on_the_lsu_pipe(recorded):
    """On a recorded kernel, the share computed from opcodes is the pipe's own count over all."""
    profile = profile_in(recorded, "6")
    by_opcode = sum(count for name, count in profile.opcodes.items() if name.split(".")[0] in LSU_OPCODES)
    total = sum(profile.opcodes.values())
    shares = profile.series["lsu_inst_share_pct"].values
    assert shares == pytest.approx([100 * by_opcode / total] * profile.launches)
    assert total == pytest.approx(profile.raw["smsp__inst_executed.sum"].values[0])


def test_warp_latency_is_the_sum_of_the_stall_reasons(recorded):
    """The default preset records every reason: their sum is what Nsight Compute calls the whole."""
    asked = find_preset("default").metrics
    for number in "56":
        series = profile_in(recorded, number).series
        reasons = [one.name for one in CATALOGUE if one.name.startswith("stall_") and one.ncu[0] in asked]
        assert set(reasons) <= set(series)
        for launch, whole in enumerate(series["warp_latency"].values):
            parts = sum(series[name].values[launch] for name in reasons)
            assert parts == pytest.approx(whole, rel=0.02)


def test_the_clock_of_the_gpcs_is_that_of_their_sms(make_profile):
    """The default sections of many versions of ncu record no other."""
    counters = {"gpc__cycles_elapsed.avg.per_second": 1.3e9, "gpc__cycles_elapsed.max": 2.6e9}
    assert make_profile({"metrics": counters}).mean("sm_frequency_hz") == 1.3e9
