"""Values that cannot be are named and kept; those that only look odd are left in peace."""

import math

import pytest

from profiler.analyse.compare.compare import compare_profiles
from profiler.analyse.recording.doubts import SmClock, find_doubts, is_part_of_step
from profiler.analyse.recording.profile import profile_timings
from profiler.catalog.metrics import BY_NAME
from profiler.store.runs.manifest import Clocks, Spread
from tests.profiles import profile_in


@pytest.fixture
def doubts_of(make_profile):
    """The doubts about launches with these values of one metric."""
    return lambda name, *values: find_doubts(
        make_profile(*({"metrics": {name: value, "x": 1.0}} for value in values))
    )


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [
        ("l2_hit_pct", (50.0, 104.2), "l2_hit_pct 104.2 % in 1 of 2 launches"),
        ("l2_hit_pct", (-1.0, -3.0, 5.0), "l2_hit_pct -3 % in 2 of 3 launches"),
        ("duration_ns", (-5000.0,), "duration_ns -5,000 ns in 1 of 1 launches"),
        ("duration_ns", (0.0, 7.0), "duration_ns 0 ns in 1 of 2 launches"),
        ("inst_executed", (-1.0,), "inst_executed -1 inst in 1 of 1 launches"),
    ],
)
def test_an_impossible_value_is_named_with_its_worst_launch(doubts_of, name, values, said):
    assert doubts_of(name, *values) == [f"made: suspicious, and shown as recorded: {said}"]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("occupancy_pct", (100.08,)),  # measured on full SMs: two passes differ by that much
        ("l2_hit_pct", (0.0, 100.0)),
        (
            "l2_hit_pct",
            (101.706, 103.1),
        ),  # measured where nearly all hit, and each pass hits a little more or less
        ("stall_lg_throttle", (422.0,)),
        ("shared_conflicts", (0.0,)),
        ("sm_frequency_hz", (0.0,)),
    ],
)
def test_a_possible_value_raises_no_doubt(doubts_of, name, values):
    assert doubts_of(name, *values) == []


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ((203_500.0, 408_400.0), True),
        ((100.0, 100.0, 100.0, 150.0), True),
        ((100.0, 101.0, 99.0, 120.0), False),
        ((100.0, 110.0), False),
        ((408_400.0,), False),
    ],
)
def test_launches_of_very_different_times_are_named_with_the_shortest_and_longest(doubts_of, values, said):
    found = doubts_of("duration_ns", *values)
    assert len(found) == said
    if values[0] == 203_500.0:
        assert found[0].startswith(
            "made: its 2 launches take from 203.5 us (launch 0) to 408.4 us (launch 1); `prof show`"
        )


@pytest.mark.parametrize("nothing", [math.nan, math.inf, None])
def test_launches_without_a_number_are_named_with_the_metric_and_the_version_of_ncu(doubts_of, nothing):
    said = "made: ncu 2025.3.1.0 recorded launches without a number: l2_hit_pct (lts__t_sector_hit_rate.pct)"
    assert doubts_of("l2_hit_pct", 50.0, nothing, 50.0) == [f"{said} in 1 of 3"]
    assert doubts_of("l2_hit_pct", nothing, nothing) == [f"{said} in 2 of 2"]


def test_show_and_compare_say_which_metric_has_no_number(make_run, prof_here, tmp_path):
    for name, value in (("sound", 50.0), ("hollow", math.nan)):
        make_run(*[{"ns": 5000.0, "metrics": {"l2_hit_pct": value}}] * 3, name=name, root=tmp_path)
    said = "recorded launches without a number: l2_hit_pct (lts__t_sector_hit_rate.pct) in 3 of 3"
    for words in (["show", "hollow"], ["compare", "sound", "hollow"], ["compare", "hollow", "sound"]):
        done = prof_here("--runs", tmp_path, *words, "--format", "json")
        assert done.returncode == 0, done.stderr
        assert said in done.stdout
    assert said not in prof_here("--runs", tmp_path, "show", "sound", "--format", "json").stdout


def test_a_metric_without_a_number_that_is_recorded_under_an_older_name_too_is_no_doubt(make_profile):
    newest, older, *_ = BY_NAME["sm_frequency_hz"].ncu
    assert find_doubts(make_profile({"metrics": {newest: math.nan, older: 1e9}})) == []


def test_many_doubts_are_counted(make_profile):
    metrics = {metric.ncu[0]: -1.0 for metric in BY_NAME.values() if metric.ncu}
    (doubt,) = find_doubts(make_profile({"metrics": metrics}))
    assert doubt.endswith(f" and {len(metrics) - 5} more")


def test_a_comparison_cautions_and_keeps_the_value(make_profile):
    sides = (make_profile(*[{"metrics": {"l2_hit_pct": value}}] * 5) for value in (50.0, 150.0))
    comparison = compare_profiles(*sides)
    assert any("suspicious" in text and "l2_hit_pct 150 %" in text for text in comparison.comparable.warnings)
    assert [delta.after for delta in comparison.metrics] == [150.0]


def test_a_negative_duration_gives_a_caution_and_no_speedup(make_profile):
    comparison = compare_profiles(*(make_profile(*[{"ns": ns}] * 5) for ns in (5000.0, -5000.0)))
    assert comparison.speedup is None
    assert any("duration_ns -5,000 ns" in text for text in comparison.comparable.warnings)


# A kernel that is not all that was timed


@pytest.fixture
def profiled(make_profile):
    """A kernel that took so long under the profiler, and perhaps had these counters each time."""
    return lambda *durations_ns, counters=None, **fields: make_profile(
        *({"ns": ns, "metrics": counters or {}} for ns in durations_ns), **fields
    )


def test_a_kernel_well_faster_than_what_was_timed_is_a_part_of_it_and_that_is_said(profiled):
    part = profiled(31_000.0, 33_000.0, timings=(80_000.0, 80_000.0))
    assert is_part_of_step(part)
    (said,) = find_doubts(part)
    assert "the profiled kernel takes 32.00 us" in said
    assert "80.00 us" in said
    assert "other kernels" in said


@pytest.mark.parametrize(
    "timed_ns", [(), (90_000.0,), (101_000.0,), (110_000.0,), (101_000.0, 100_000.0, 1e6)]
)
def test_one_that_takes_as_long_or_was_not_timed_is_the_whole(profiled, timed_ns):
    """One disturbed repeat is no other kernel."""
    whole = profiled(100_000.0, timings=timed_ns)
    assert not is_part_of_step(whole)
    assert find_doubts(whole) == []


@pytest.mark.parametrize(
    ("controls", "said"),
    [
        ({"cache_control": "all", "clock_control": "none"}, "empties the caches"),
        ({"cache_control": "none", "clock_control": "base"}, "holds the clock"),
        ({"cache_control": "all", "clock_control": "base"}, "and holds the clock"),
        ({"cache_control": "none", "clock_control": "none"}, "without it; counters"),
    ],
)
def test_a_kernel_that_the_profiler_slows_down_is_not_the_one_that_runs_without_it(profiled, controls, said):
    (doubt,) = find_doubts(profiled(100_000.0, timings=(89_000.0, 89_500.0, 2e6), **controls))
    assert "takes 100.0 us under the profiler, and 89.50 us" in doubt
    assert said in doubt


@pytest.mark.parametrize(
    ("read", "said"),
    [
        (None, "ncu empties the caches before each launch (`prof collect"),
        (50e6, "launch, and L2 can hold all of the 50 MB that it then reads from device memory (`prof"),
        (51e6, "launch, and L2 can hold 98 % of the 51 MB that it then reads"),
        (490e6, "launch, and L2 can hold 10 % of the 490 MB that it then reads"),
        (510e6, "without it; counters and causes"),  # less than a tenth of it
    ],
)
def test_caches_explain_a_slower_kernel_as_far_as_they_can_hold_what_it_reads(profiled, read, said):
    """Those of an L2 of 50 MB, which `make_run` says were emptied."""
    counters = {"device__attribute_l2_cache_size": 50e6} | ({"dram_bytes_read": read} if read else {})
    (doubt,) = find_doubts(profiled(100_000.0, timings=(89_000.0,), counters=counters))
    assert said in doubt


def test_the_recorded_kernels_are_all_that_was_timed(recorded):
    for number in range(11):
        assert not is_part_of_step(profile_in(recorded, str(number)))


@pytest.mark.parametrize(("least", "moved"), [(1950.0, False), (1305.0, True)])
def test_a_clock_that_moved_while_the_kernel_was_timed_is_named(made, least, moved):
    clocks = Clocks(9, Spread(least, 1975.0, 1980.0), Spread(300.0, 650.0, 700.0))
    made.time("made", 1, 20e6, clocks=clocks)
    doubts = find_doubts(profile_timings(made.store.open(made.store.ids()[0])))
    said = ["made 1: the SM clock moved between 1,305 and 1,980 MHz while it was timed"]
    assert doubts == (said if moved else [])


@pytest.mark.parametrize(("samples", "doubted"), [(50, True), (5_000, False)])
def test_a_clock_that_rose_while_the_program_started_is_not_blamed_on_the_timing(made, samples, doubted):
    """The program is timed for a tenth of a second; a hundred seconds of samples are of its start."""
    clocks = Clocks(samples, Spread(345.0, 1980.0, 1980.0), Spread(80.0, 130.0, 500.0))
    made.time("made", 1, *[20e6] * 5, clocks=clocks)
    doubts = find_doubts(profile_timings(made.store.open(made.store.ids()[0])))
    assert any("SM clock moved" in doubt for doubt in doubts) == doubted


OWN, PYTORCH = "silu_kernel", "void at::native::<unnamed>::fill_kernel<float>(long)"


@pytest.mark.parametrize(
    ("command", "kernels", "is_said"),
    [
        ("ncu -c 1 -o a python3 silu.py", [PYTORCH], True),
        ("ncu --launch-count 2 python3 silu.py", [PYTORCH, PYTORCH], True),
        ("ncu -c 2 python3 silu.py", [PYTORCH, OWN], False),
        ("ncu -c 1 -k fill_kernel python3 silu.py", [PYTORCH], False),
        ("ncu -o a python3 -c pass", [PYTORCH], False),
        ("ncu -c 1 ./silu", [OWN], False),
    ],
)
def test_a_report_that_ends_before_the_users_first_kernel_says_so(make_profile, command, kernels, is_said):
    doubts = find_doubts(make_profile(*({"kernel": kernel} for kernel in kernels), command_line=command))
    assert any("`ncu -k regex:NAME` records those of your own" in one for one in doubts) == is_said


LIMIT = {"device__attribute_max_gpu_frequency_khz": 1_980_000.0}


@pytest.mark.parametrize(
    ("clock_hz", "control", "said"),
    [
        (1.89e9, "none", None),  # within 5 %, as two clocks that a comparison does not tell apart
        (
            1.554e9,
            "none",
            "the SM clock was 1.55 GHz of 1.98 GHz, which power, heat or a set limit can cause",
        ),
        (1.554e9, "base", "ncu held the SM clock at its base, 1.55 GHz of 1.98 GHz"),
        (0.0, "none", None),
    ],
)
def test_a_clock_well_below_the_highest_is_doubted(make_profile, clock_hz, control, said):
    profile = make_profile({"metrics": {"sm_frequency_hz": clock_hz, **LIMIT}}, clock_control=control)
    assert [said in one for one in find_doubts(profile)] == ([True] if said else [])
    if said:
        other = make_profile(
            {"metrics": {"sm_frequency_hz": clock_hz, **LIMIT}}, clock_control=control, name="other"
        )
        warnings = compare_profiles(profile, other).comparable.warnings
        assert not [one for one in warnings if "SM clock" in one], "at one clock, two times can be compared"


def test_nothing_is_said_of_a_clock_whose_limit_is_not_recorded_nor_of_a_time_without_the_profiler(
    make_profile,
):
    assert find_doubts(make_profile({"metrics": {"sm_frequency_hz": 1e9}})) == []
    timed = make_profile({"ns": 1e6, "metrics": {"sm_frequency_hz": 1e9, **LIMIT}}, timings=[1e6, 1e6])
    assert not [one for one in find_doubts(timed) if "SM clock" in one]


@pytest.mark.parametrize(
    ("clock_hz", "limit_hz", "said"),
    [
        (1.554e9, 1.98e9, "1.55 GHz of 1.98 GHz"),
        (1.977e9, 1.98e9, "1.98 GHz, its highest"),
        (2.04e9, 1.98e9, "2.04 GHz"),
        (1.554e9, None, "1.55 GHz"),
    ],
)
def test_a_clock_is_given_with_the_highest(clock_hz, limit_hz, said):
    assert SmClock(clock_hz, limit_hz).text == said
