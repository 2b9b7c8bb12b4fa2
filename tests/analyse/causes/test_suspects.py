"""Suspects: found on kernels built to be bound by one thing, on the recorded ladder, on PyTorch and Triton."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from profiler.analyse.causes.evidence.time_shares import DERIVED, derive_figures, metrics_behind
from profiler.analyse.causes.patterns import PATTERNS
from profiler.analyse.causes.suspects import find_missing_metrics, find_suspects
from profiler.analyse.recording.profile import profile_kernel
from profiler.catalog.metrics import BY_NAME

COUNTERS = Path(__file__).parents[2] / "data" / "counters"
TABLES = {
    path.stem: {row["kernel"]: row for row in csv.DictReader(path.read_text().splitlines())}
    for path in sorted(COUNTERS.glob("*.csv"))
}
RECORDED = [(table, kernel) for table, kernels in TABLES.items() for kernel in kernels]
every_recording = pytest.mark.parametrize(("table", "kernel"), RECORDED)


def counters_of(table, kernel):
    """The recorded means by ncu's names."""
    row = TABLES[table][kernel].items()
    return {
        BY_NAME[name].ncu[0] if name in BY_NAME else name: float(value)
        for name, value in row
        if name != "kernel" and value
    }


@pytest.fixture
def profile_of(make_run):
    """`profile_of({ncu's name: value})`: a kernel with these counters."""
    return lambda counters: profile_kernel(make_run({"kernel": "k", "metrics": counters}), "k")


@pytest.fixture
def recorded_profile(profile_of):
    return lambda table, kernel: profile_of(counters_of(table, kernel))


@pytest.fixture
def rung_profile(recorded):
    """`rung_profile(4)`: that rung as the repository ships it."""

    def read(rung):
        run = recorded.find(f"gemm-{rung}", "gemm")
        return profile_kernel(run, run.manifest.kernels[0].name)

    return read


def names(suspects):
    return [suspect.name for suspect in suspects]


def named(suspects, name):
    (suspect,) = [one for one in suspects if one.name == name]
    return suspect


# What is true of a kernel is known where it was built to be


@pytest.mark.parametrize(
    ("kernel", "binding"),
    [
        ("hbm", "hbm-bound"),
        ("l2", "l2-bound"),
        ("reads<float, 1, 32>", "lsu-bound"),
        ("reads<float4, 1, 32>", "l1-bound"),
        ("reads<float, 32, 1>", "uncoalesced"),
        ("shared_loads<1>", "shared-memory-throughput-bound"),
        ("shared_loads<8>", "shared-memory-throughput-bound"),
        ("fma", "compute-bound-fma"),
        ("issue", "issue-bound"),
        ("alu", "compute-bound-alu"),
        ("fp64", "math-pipe-bound"),
        ("mio", "mio-flooded"),
        ("latency", "latency-bound"),
        ("fetch", "fetch-bound"),
        ("dependent", "latency-bound"),
        ("barrier", "barrier-bound"),
        ("brief", "launch-too-short-to-trust"),
    ],
)
def test_a_kernel_built_to_be_bound_by_one_thing_is_bound_by_it(recorded_profile, kernel, binding):
    assert find_suspects(recorded_profile("bound", kernel))[0].name == binding


@pytest.mark.parametrize(
    ("kernel", "among"),
    [
        ("shared_loads<8>", "bank-conflicted"),
        ("latency", "occupancy-limited-by-shared-memory"),
        ("latency_registers", "occupancy-limited-by-registers"),
        ("divergent", "divergent"),
        ("spilling", "spilling"),
        ("spilling", "lg-flooded"),
        ("tail", "idle-schedulers"),
    ],
)
def test_what_a_kernel_suffers_from_is_named_though_it_does_not_bind_most(recorded_profile, kernel, among):
    assert among in names(find_suspects(recorded_profile("bound", kernel)))


def test_every_pattern_is_found_on_a_recorded_kernel(recorded_profile):
    found = {name for one in RECORDED for name in names(find_suspects(recorded_profile(*one)))}
    # Named only where the counters that tell the units apart are missing: a test of its own below.
    assert {pattern.name for pattern in PATTERNS} - found == {"memory-bound"}


def test_an_eight_way_conflict_is_eight_way_and_wastes_seven_passes_of_eight(recorded_profile):
    suspect = named(find_suspects(recorded_profile("bound", "shared_loads<8>")), "bank-conflicted")
    assert suspect.evidence["load_ways"] == pytest.approx(8, abs=0.01)
    assert suspect.evidence["conflict_share_pct"] == pytest.approx(100 * 7 / 8, abs=0.1)
    assert "loads are 8.0-way" in suspect.sentence


def test_lanes_with_a_line_each_keep_l1_busy_for_32_cycles_an_access(recorded_profile):
    suspect = named(find_suspects(recorded_profile("bound", "reads<float, 32, 1>")), "uncoalesced")
    assert suspect.evidence["l1_cycles_per_access"] == pytest.approx(32, rel=0.01)


# The ladder


@pytest.mark.parametrize(
    ("rung", "binding"),
    [
        (0, "issue-bound"),
        (1, "uncoalesced"),
        (2, "lsu-bound"),
        (3, "shared-memory-throughput-bound"),
        (4, "shared-memory-throughput-bound"),
        (5, "issue-bound"),
        (6, "issue-bound"),
        (7, "issue-bound"),
        (8, "issue-bound"),
        (9, "issue-bound"),
        (10, "compute-bound-tensor"),
    ],
)
def test_what_binds_each_rung(rung_profile, rung, binding):
    assert find_suspects(rung_profile(rung))[0].name == binding


def test_rung_4_waits_for_shared_memory_and_rung_5_no_longer_does(rung_profile):
    """The published fingerprint: the short scoreboard dominates the stalls, and drains one rung higher."""
    fourth, fifth = rung_profile(4), rung_profile(5)
    evidence = named(find_suspects(fourth), "shared-memory-throughput-bound").evidence
    reasons = {name: value for name, value in derive_figures(fourth).items() if name.startswith("stall_")}
    assert max(reasons, key=reasons.get) == "stall_short_scoreboard"
    assert evidence["stall_short_scoreboard"] == pytest.approx(5.2, abs=0.1)
    shares = [derive_figures(profile)["shared_wait_pct"] for profile in (fourth, fifth)]
    assert shares == pytest.approx([19.6, 2.3], abs=0.1)


def test_rung_6_is_bank_conflicted_in_its_stores_and_rung_7_no_longer_is(rung_profile):
    """Published is a conflict of the loads; those of this rung 6 have none."""
    sixth, seventh = find_suspects(rung_profile(6)), find_suspects(rung_profile(7))
    evidence = named(sixth, "bank-conflicted").evidence
    assert evidence["load_ways"] == pytest.approx(1, abs=0.001)
    assert evidence["store_ways"] == pytest.approx(2.6, abs=0.05)
    assert evidence["conflict_share_pct"] == pytest.approx(10.7, abs=0.1)
    assert "bank-conflicted" not in names(seventh)


# Kernels that nobody here wrote


@pytest.mark.parametrize(
    ("kernel", "binding"),
    [
        ("gelu", "hbm-bound"),
        ("layernorm", "hbm-bound"),
        ("sum", "hbm-bound"),
        ("softmax1", "hbm-bound"),
        ("softmax16", "hbm-bound"),
        ("mm", "compute-bound-tensor"),
        ("matmul64", "l2-bound"),
        ("matmul128", "l2-bound"),
    ],
)
def test_what_binds_kernels_of_pytorch_and_triton(recorded_profile, kernel, binding):
    assert find_suspects(recorded_profile("frameworks", kernel))[0].name == binding


def test_a_report_of_triton_says_the_same_as_its_counters(store, recorded_profile):
    (suspect, *_) = find_suspects(profile_kernel(store.find("triton_matmul", "gemm"), "matmul"))
    assert suspect.name == "l2-bound"
    assert suspect.weight_pct == pytest.approx(
        derive_figures(recorded_profile("frameworks", "matmul64"))["l2_pct"]
    )


def test_a_kernel_that_streams_is_not_l2_bound_though_l2s_throughput_reads_higher(recorded_profile):
    for kernel in ("gelu", "layernorm", "sum", "softmax1", "softmax16"):
        profile = recorded_profile("frameworks", kernel)
        figures = derive_figures(profile)
        assert figures["l2_throughput_pct"] > figures["dram_throughput_pct"]
        assert "l2-bound" not in names(find_suspects(profile))


# What holds of every suspect


@every_recording
def test_every_figure_of_a_sentence_is_in_its_evidence_and_in_the_counters(recorded_profile, table, kernel):
    profile = recorded_profile(table, kernel)
    figures = derive_figures(profile)
    patterns = {pattern.name: pattern for pattern in PATTERNS}
    for suspect in find_suspects(profile):
        assert suspect.sentence == patterns[suspect.name].sentence.format_map(suspect.evidence)
        for name, value in suspect.evidence.items():
            assert value == figures[name]
            assert name not in profile.series or value == profile.series[name].values[0]


@every_recording
def test_suspects_are_ranked_and_no_stall_outweighs_what_the_busiest_resource_leaves(
    recorded_profile, table, kernel
):
    profile = recorded_profile(table, kernel)
    suspects = [one for one in find_suspects(profile) if one.weight_pct is not None]
    weights = [one.weight_pct for one in suspects]
    assert weights == sorted(weights, reverse=True)
    stalls = {pattern.name for pattern in PATTERNS if pattern.stall}
    left = derive_figures(profile)["left_pct"]
    assert all(one.weight_pct <= left for one in suspects if one.name in stalls)


@pytest.mark.parametrize(("table", "kernel"), [one for one in RECORDED if one != ("bound", "brief")])
def test_twice_the_work_in_twice_the_time_has_the_same_suspects(profile_of, table, kernel):
    counters = counters_of(table, kernel)
    counted = {
        BY_NAME[name].ncu[0]
        for name in BY_NAME
        if BY_NAME[name].ncu and BY_NAME[name].unit in ("ns", "cycle", "inst", "wavefront", "byte")
    }
    doubled = {name: value * (2 if name in counted else 1) for name, value in counters.items()}
    once, twice = find_suspects(profile_of(counters)), find_suspects(profile_of(doubled))
    assert names(once) == names(twice)
    assert [one.weight_pct for one in once] == pytest.approx([one.weight_pct for one in twice])


def test_a_short_launch_is_doubted_before_anything_else_is_said(profile_of):
    counters = counters_of("frameworks", "gelu")
    long, short = (
        find_suspects(profile_of(counters | {"gpu__time_duration.sum": ns})) for ns in (20_000.0, 19_999.0)
    )
    assert names(short) == ["launch-too-short-to-trust", *names(long)]
    assert short[0].weight_pct is None
    assert short[0].evidence == {"duration_ns": 19_999.0}


def test_a_percentage_that_cannot_be_is_not_clamped(profile_of):
    counters = counters_of("frameworks", "gelu") | {BY_NAME["dram_throughput_pct"].ncu[0]: 140.0}
    suspects = find_suspects(profile_of(counters))
    assert (suspects[0].name, suspects[0].weight_pct) == ("hbm-bound", 140.0)
    assert names(suspects) == ["hbm-bound"]  # nothing is left for the stalls


# Missing counters


def test_without_counters_there_is_no_suspect_and_all_that_is_missing_is_named(profile_of):
    profile = profile_of({"no__such_metric.sum": 1.0})
    assert find_suspects(profile) == []
    assert set(find_missing_metrics(profile)) == set(BY_NAME) & set(
        metrics_behind(name for pattern in PATTERNS for name in pattern.needs)
    )


def test_a_full_recording_lacks_nothing(rung_profile):
    assert find_missing_metrics(rung_profile(5)) == []


def test_where_no_counter_tells_the_units_apart_it_is_memory(profile_of):
    counters = counters_of("frameworks", "gelu")
    for name in ("dram_throughput_pct", "l1_throughput_pct", "l2_throughput_pct"):
        del counters[BY_NAME[name].ncu[0]]
    profile = profile_of(counters)
    assert names(find_suspects(profile))[0] == "memory-bound"
    assert set(find_missing_metrics(profile)) == {
        "dram_throughput_pct", "l1_throughput_pct", "l2_throughput_pct",
    }  # fmt: skip


@given(data=st.data())
def test_whatever_is_missing_the_rest_is_judged(make_run, data):
    counters = counters_of(*data.draw(st.sampled_from(RECORDED)))
    kept = data.draw(st.sets(st.sampled_from(sorted(counters))))
    run = make_run({"kernel": "k", "metrics": {name: counters[name] for name in kept}})
    profile = profile_kernel(run, "k")
    missing = set(find_missing_metrics(profile))
    assert not missing & set(profile.series)
    for suspect in find_suspects(profile):
        assert not missing & set(suspect.evidence)


VALUES = st.floats(allow_nan=True, allow_infinity=True) | st.sampled_from([0.0, 1.0, 100.0])


@given(values=st.lists(VALUES, min_size=len(BY_NAME), max_size=len(BY_NAME)))
def test_no_value_breaks_the_ranking(make_run, values):
    counters = {
        metric.ncu[0]: value for metric, value in zip(BY_NAME.values(), values, strict=True) if metric.ncu
    }
    suspects = find_suspects(profile_kernel(make_run({"kernel": "k", "metrics": counters}), "k"))
    weights = [one.weight_pct for one in suspects if one.weight_pct is not None]
    assert weights == sorted(weights, reverse=True)


# The data


def test_patterns_speak_of_known_figures_alone():
    known = {*BY_NAME, *(derived.name for derived in DERIVED), "blocks_by_size"}
    for pattern in PATTERNS:
        assert {*pattern.needs, *pattern.also} <= known, pattern.name
        assert pattern.sentence.endswith(".")


def test_patterns_have_names_of_their_own():
    assert len({pattern.name for pattern in PATTERNS}) == len(PATTERNS)
