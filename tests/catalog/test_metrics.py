"""The catalogue of metrics keeps its promises, to the reader and against real reports."""

import re
from collections import Counter

import pytest

from profiler.analyse.recording.profile import profile_kernel
from profiler.catalog.metrics import (
    BY_NAME,
    CATALOGUE,
    HEADLINE,
    MEMORY_HEADLINE,
    find_metric,
    with_working_pipes,
)
from profiler.catalog.presets import find_preset
from profiler.errors import MetricNotFound
from tests.profiles import profile_in

# A recording alone has no such metric: a ladder declares the bytes of the work.
OF_A_LADDER = {metric.name for metric in CATALOGUE if metric.per_useful_byte}

# How ncu 2025.3 writes the units of metrics that we name more exactly, or leaves out.
OTHER_UNITS = {
    "cycle/issue": {"inst", "cycle"},  # the stall reasons: warps per issue, which is cycles
    "wavefront": {""},
    "wave": {""},
    "thread": {""},
    "issue/cycle": {""},
}


def collected_by(preset):
    """The metrics of the catalogue that a recording of this preset can have."""
    asked = find_preset(preset).metrics
    return {metric.name for metric in CATALOGUE if metric.from_opcodes or set(metric.ncu) & set(asked)}


def metrics_that_fail(rule):
    return [metric.name for metric in CATALOGUE if not rule(metric)]


def test_every_name_is_plain_and_every_metric_says_what_it_is():
    assert metrics_that_fail(lambda metric: re.fullmatch(r"[a-z][a-z0-9_]*", metric.name)) == []
    assert metrics_that_fail(lambda metric: metric.unit and metric.group) == []
    assert metrics_that_fail(lambda metric: re.fullmatch(r"[A-Z].{1,116}\.", metric.doc)) == []


def test_every_metric_comes_from_ncu_from_opcodes_or_from_the_bytes_of_a_ladder():
    sources = {
        metric.name: [bool(metric.ncu), bool(metric.from_opcodes), bool(metric.per_useful_byte)]
        for metric in CATALOGUE
    }
    assert [name for name, given in sources.items() if given.count(True) != 1] == []
    assert [
        metric.name
        for metric in CATALOGUE
        if metric.per_useful_byte and not BY_NAME[metric.per_useful_byte].ncu
    ] == []


def test_the_name_ends_in_the_unit_where_it_has_one():
    suffixes = {"_pct": "%", "_ns": "ns", "_hz": "hz", "_bytes": "byte/block", "_per_s": "byte/s"}
    wrong = [
        (metric.name, metric.unit)
        for metric in CATALOGUE
        for suffix, unit in suffixes.items()
        if metric.name.endswith(suffix) and metric.unit != unit
    ]
    assert wrong == []
    assert metrics_that_fail(lambda metric: metric.unit != "%" or metric.name.endswith("_pct")) == []


def test_a_busier_unit_is_never_better_by_itself():
    assert metrics_that_fail(lambda metric: metric.unit != "%" or metric.better is None) == []


def test_names_are_unique_and_so_is_the_meaning_of_each_of_ncus():
    assert len(BY_NAME) == len(CATALOGUE)
    claimed = Counter(name for metric in CATALOGUE for name in metric.ncu)
    assert [name for name, count in claimed.items() if count > 1] == []


@pytest.mark.parametrize("headline", [HEADLINE, MEMORY_HEADLINE])
def test_a_headline_is_in_the_catalogue_and_the_duration_decides(headline):
    assert set(headline) <= set(BY_NAME)
    assert headline[0] == "duration_ns"


@pytest.mark.parametrize(
    ("figures", "working"),
    [
        ({"fma_pipe_pct": 60.0, "tensor_pipe_pct": 3.0}, ["tensor_pipe_pct"]),
        (
            {"fma_pipe_pct": 60.0, "tensor_pipe_pct": 2.9, "alu_pipe_pct": 50.0},
            [],
        ),  # the headline has it already
        ({"fma_pipe_pct": 5.0, "alu_pipe_pct": 50.0, "xu_pipe_pct": 60.0}, ["xu_pipe_pct"]),
        ({"fma_pipe_pct": 1.0, "alu_pipe_pct": 9.0}, []),  # none is busy
        ({}, []),
    ],
)
def test_the_pipe_that_does_the_arithmetic_joins_the_headline_before_the_other_pipes(figures, working):
    assert with_working_pipes(HEADLINE, figures) == [*HEADLINE[:2], *working, *HEADLINE[2:]]
    assert with_working_pipes(MEMORY_HEADLINE, figures)[: len(MEMORY_HEADLINE)] == [*MEMORY_HEADLINE]


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("dram_bytes_per_s", "Memory Throughput"),
        ("max_bandwidth_pct", "Max Bandwidth"),
        ("l1_hit_pct", "L1/TEX Hit Rate"),
        ("l2_hit_pct", "L2 Hit Rate"),
        ("mem_pipes_busy_pct", "Mem Pipes Busy"),
        ("mem_busy_pct", "Mem Busy"),
    ],
)
def test_a_figure_of_memory_is_the_one_that_ncu_prints_under_that_label(reports, name, label):
    """A report says itself which metric its section MemoryWorkloadAnalysis shows under which label."""
    metric = BY_NAME[name].ncu[0]
    pair = b"\n%c%s\x12%c%s" % (len(metric), metric.encode(), len(label), label.encode())
    assert pair in (reports / "gemm_6.ncu-rep").read_bytes()


def test_the_metrics_that_users_were_promised_are_there():
    reasons = (
        "mio_throttle short_scoreboard long_scoreboard lg_throttle tex_throttle math_pipe_throttle barrier membar "
        "branch_resolving dispatch drain imc_miss no_instruction gmma misc sleeping wait not_selected selected"
    )
    wanted = {f"stall_{reason}" for reason in reasons.split()} | {
        "issue_active_pct", "fma_pipe_pct", "lsu_pipe_pct", "lsu_inst_share_pct", "duration_ns", "sm_frequency_hz",
        "dram_bytes_per_s", "dram_throughput_pct", "l1_throughput_pct", "l2_throughput_pct", "l1_hit_pct",
        "l2_hit_pct", "mem_busy_pct", "max_bandwidth_pct", "mem_pipes_busy_pct", "shared_load_conflicts",
        "shared_store_conflicts", "shared_wavefronts", "occupancy_pct", "registers", "shared_bytes",
        "inst_executed", "inst_issued",
    }  # fmt: skip
    assert wanted <= set(BY_NAME)


def test_a_full_report_resolves_every_metric_by_its_newest_name(store):
    series = profile_kernel(store.find("triton_add_full", "gemm"), "add_kernel").series
    assert collected_by("full") - set(series) == set()
    assert OF_A_LADDER & set(series) == set()
    assert [
        one.metric.name for one in series.values() if one.metric.ncu and one.ncu != one.metric.ncu[0]
    ] == []


def test_the_catalogue_has_every_stall_reason_that_a_full_report_has(store):
    raw = profile_kernel(store.find("triton_add_full", "gemm"), "add_kernel").raw
    pattern = re.compile(r"smsp__average_warps_issue_stalled_(\w+)_per_issue_active\.ratio")
    in_the_report = {name for name in raw if pattern.fullmatch(name)}
    catalogued = {name for metric in CATALOGUE for name in metric.ncu}
    assert in_the_report
    assert in_the_report <= catalogued


def test_a_recording_of_the_default_preset_has_every_metric_that_it_asked_for(recorded):
    """A kernel of tensor copies alone has no loads or stores whose width is known."""
    for number in range(15):
        run = recorded.find(str(number), "gemm")
        assert run.manifest.preset == "default"
        series = profile_kernel(run, run.manifest.kernels[0].name).series
        missing = collected_by("default") - set(series)
        assert ("load_width_bits" in missing) == (10 <= number <= 13)
        assert ("store_width_bits" in missing) == (11 <= number <= 13)
        assert {name for name in missing if not name.endswith("_width_bits")} == set()


def test_the_textbook_kernels_lack_only_metrics_that_their_sections_do_not_collect(recorded):
    """Three sections and three metrics: no shared-memory counters, no clock, no occupancy."""
    missing = {
        "cycles", "sm_frequency_hz", "alu_pipe_pct", "tensor_pipe_pct", "dram_bytes_read", "dram_bytes_written",
        "dram_throughput_pct", "l1_throughput_pct", "l2_sectors", "l2_throughput_pct", "shared_wavefronts", "shared_load_wavefronts",
        "shared_store_wavefronts", "shared_load_conflicts", "shared_store_conflicts", "shared_conflicts",
        "occupancy_pct", "active_warps", "eligible_warps", "inst_per_cycle",
    }  # fmt: skip
    for number in "56":
        series = profile_in(recorded, f"textbook-{number}").series
        assert collected_by("default") - set(series) == missing


@pytest.mark.parametrize(
    "report", ["gemm_5", "triton_add_full", "several", "hostile", "range", "graph", "pm_sampling"]
)
def test_the_units_are_the_reports(store, report):
    profile = profile_in(store, report)
    recorded = [one for one in profile.series.values() if one.ncu in profile.raw and one.metric.ncu]
    assert recorded
    for one in recorded:
        recorded_unit = profile.raw[one.ncu].metric.unit
        assert recorded_unit in {one.metric.unit, *OTHER_UNITS.get(one.metric.unit, ())}, one.metric.name


def test_a_share_of_a_whole_lies_between_none_and_all_of_it(store):
    series = profile_kernel(store.find("triton_add_full", "gemm"), "add_kernel").series
    shares = {name: one.values for name, one in series.items() if one.metric.unit == "%"}
    assert shares
    for name, values in shares.items():
        assert 0 <= min(values) <= max(values) <= 100.5, name


def test_a_metric_is_found_by_our_name_and_by_each_of_ncus():
    for metric in CATALOGUE:
        assert find_metric(metric.name) is metric
        assert all(find_metric(name) is metric for name in metric.ncu)


@pytest.mark.parametrize(
    ("wrong", "nearest"),
    [
        ("issue_active", "issue_active_pct"),
        ("stall_mio", "stall_mio_throttle"),
        ("gpu__time_duration.max", "gpu__time_duration.avg"),
        ("occupancy", "occupancy_pct"),
        ("OCCUPANCY", "occupancy_pct"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(wrong, nearest):
    with pytest.raises(MetricNotFound) as error:
        find_metric(wrong)
    assert error.value.exit_code == 40
    assert nearest in error.value.message


def test_a_name_that_is_near_to_nothing_is_answered_without_a_guess():
    with pytest.raises(MetricNotFound) as error:
        find_metric("%%%")
    assert "nearest" not in error.value.message
