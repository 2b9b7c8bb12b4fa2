"""Parquet gives back every value that NVIDIA's reader yields, bit for bit.

Each test reads a shipped report with `ncu_report` itself, knowing nothing of how the
store is written, and compares.
"""

import importlib.metadata
import math
import re
import struct
from collections import Counter
from pathlib import Path

import duckdb
import ncu_report
import pyarrow.parquet as pq
import pytest

from profiler.store.reports.extract import extract_report
from profiler.store.reports.request import Request
from profiler.store.runs.manifest import Manifest
from profiler.store.tables.schema import TABLES
from tests.store.sql import run_query

REPORTS = Path(__file__).parents[2] / "data" / "reports"
NAMES = sorted(path.name.removesuffix(".ncu-rep") for path in REPORTS.glob("*.ncu-rep"))
STALLED = "smsp__pcsamp_warps_issue_stalled_"

# For these NVIDIA's reader guesses: the unit it gives depends on what its process read before,
# even on the order of the metrics within one report. Their values do not.
GUESSED_UNITS = re.compile(
    "breakdown:.*|derived__memory_l2_theoretical_sectors_global_excessive|derived__smsp?__sass_thread_inst_.*|derived__sm__sass_thread_inst_.*"
    "|sass__inst_executed_register_spilling_mem_.*"
)

KINDS = {
    ncu_report.IMetric.ValueKind_STRING: "string",
    ncu_report.IMetric.ValueKind_FLOAT: "float",
    ncu_report.IMetric.ValueKind_DOUBLE: "double",
    ncu_report.IMetric.ValueKind_UINT32: "uint32",
    ncu_report.IMetric.ValueKind_UINT64: "uint64",
}


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


@pytest.fixture
def run(store, name):
    return store.find(name, ladder="gemm")


def actions_of(name):
    """(range number, action) of each launch, in order."""
    context = ncu_report.load_report(str(REPORTS / f"{name}.ncu-rep"))
    ranges = [context.range_by_idx(index) for index in range(context.num_ranges())]
    return [
        (number, one.action_by_idx(index))
        for number, one in enumerate(ranges)
        for index in range(one.num_actions())
    ]


def bits(value):
    """NaN equals NaN, and -0.0 differs from 0.0."""
    return None if value is None else struct.pack("<d", value)


def expected(value):
    """(bits of the number, text, the integer that a float would round) of what the reader yields."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None, None, None
    if isinstance(value, str):
        return None, value, None
    return bits(float(value)), None, value if isinstance(value, int) and value >= 2**53 else None


def unit_of(metric, unit):
    return "guessed" if GUESSED_UNITS.fullmatch(metric) else unit


def columns(run, table, *names):
    arrow = run.table(table)
    return list(zip(*(arrow.column(name).to_pylist() for name in names), strict=True))


def test_every_metric_value_comes_back_bit_for_bit(run, name):
    stored = [
        (launch, metric, (bits(value), text, exact), unit_of(metric, unit), kind)
        for launch, metric, value, text, exact, unit, kind in columns(
            run, "metrics", "launch", "metric", "value", "text", "exact", "unit", "kind"
        )
    ]
    yielded = [
        (launch, metric, expected(one.value()), unit_of(metric, one.unit()), KINDS.get(one.kind(), "none"))
        for launch, (_, action) in enumerate(actions_of(name))
        for metric in action.metric_names()
        if (one := action.metric_by_name(metric)) is not None
    ]

    assert len(stored) > 200
    assert stored == yielded


def test_every_instance_comes_back_with_the_id_it_had(run, name):
    """Offsets are mapped back to the absolute addresses that the report holds."""
    starts = function_starts(run)
    stored = []
    for launch, metric, instance, id_kind, id_name, number, function, value, text, exact in columns(
        run, "instances", "launch", "metric", "instance", "id_kind", "id_name", "id_number",
        "function_index", "value", "text", "exact",
    ):  # fmt: skip
        assert (id_name is not None) == (id_kind == "name")
        assert (number is not None) == (id_kind in ("offset", "address", "time_ns", "number"))
        assert (function is not None) == (id_kind == "offset")
        identity = starts[launch][function] + number if id_kind == "offset" else id_name or number
        stored.append((launch, metric, instance, identity, (bits(value), text, exact)))
    yielded = []
    for launch, (_, action) in enumerate(actions_of(name)):
        for metric in action.metric_names():
            one = action.metric_by_name(metric)
            ids = one.correlation_ids() if one.has_correlation_ids() else None
            for i in range(one.num_instances()):
                identity = ids.value(i) if ids else None
                yielded.append((launch, metric, i, identity, expected(one.value(i))))

    assert stored == yielded


def function_starts(run):
    starts = {}
    for launch, metric, value, exact in columns(run, "instances", "launch", "metric", "value", "exact"):
        if metric == "launch__function_pcs":
            starts.setdefault(launch, []).append(exact or int(value))
    return {launch: sorted(set(addresses) - {0}) for launch, addresses in starts.items()}


def test_every_launch_comes_back_in_order(run, name):
    workloads = {
        ncu_report.IAction.WorkloadType_KERNEL: "kernel",
        ncu_report.IAction.WorkloadType_RANGE: "range",
        ncu_report.IAction.WorkloadType_GRAPH: "graph",
    }
    yielded = [
        (
            launch,
            number,
            workloads[action.workload_type()],
            action.name(action.NameBase_FUNCTION),
            action.name(action.NameBase_DEMANGLED),
            action.name(action.NameBase_MANGLED),
            *(value_or_none(action, f"launch__grid_dim_{axis}") for axis in "xyz"),
            *(value_or_none(action, f"launch__block_dim_{axis}") for axis in "xyz"),
            value_or_none(action, "launch__registers_per_thread"),
        )
        for launch, (number, action) in enumerate(actions_of(name))
    ]

    assert yielded == columns(
        run, "launches", "launch", "range", "workload", "function", "kernel", "mangled",
        "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "registers",
    )  # fmt: skip
    assert {gpu for (gpu,) in columns(run, "launches", "gpu")} == {"NVIDIA H200"}
    assert {cc for (cc,) in columns(run, "launches", "compute_capability")} == {"9.0"}


def value_or_none(action, metric):
    one = action.metric_by_name(metric)
    return None if one is None else one.value()


def test_every_rule_finding_comes_back(run, name):
    yielded = [
        (launch, result["rule_identifier"], result["section_identifier"], result["rule_message"]["message"])
        for launch, (_, action) in enumerate(actions_of(name))
        for result in action.rule_results_as_dicts()
    ]
    stored = columns(run, "rules", "launch", "rule", "section", "message", "name")
    assert [row[:4] for row in stored if row[4] is not None] == yielded
    assert len(stored) - len(yielded) == sum(len(action.source_markers()) for _, action in actions_of(name))


@pytest.mark.slow
def test_duckdb_pandas_and_pyarrow_agree_on_the_counts(store):
    for table in TABLES:
        files = sorted(store.root.glob(f"*/{table}.parquet"))
        assert len(files) == len(NAMES)
        arrow = sum(pq.read_table(file).num_rows for file in files)
        pandas = sum(len(store.open(run_id).to_pandas(table)) for run_id in store.ids())
        by_glob = duckdb.sql(f"select count(*) from '{store.root}/*/{table}.parquet'").fetchall()
        _, ((by_query,),) = run_query(store, f"select count(*) from {table}")
        declared = sum(store.open(run_id).manifest.tables[table].rows for run_id in store.ids())
        assert arrow == pandas == by_glob[0][0] == by_query == declared


def test_they_agree_on_the_values_too(run):
    table = run.table("metrics")
    arrow = table.column("value").drop_null().to_pylist()
    pandas = run.to_pandas("metrics")["value"].dropna().tolist()
    file = run.path / "metrics.parquet"
    sql = [row[0] for row in duckdb.sql(f"select value from '{file}' where value is not null").fetchall()]

    assert [bits(v) for v in arrow] == [bits(v) for v in pandas] == [bits(v) for v in sql]
    assert table.column("value").null_count == run.to_pandas("metrics")["value"].isna().sum()


def test_missing_values_are_null_and_never_zero(store):
    """Textual metrics, and names that ncu accepted but could not measure."""
    seen = Counter()
    for name in NAMES:
        run = store.find(name, ladder="gemm")
        for value, text, kind in columns(run, "metrics", "value", "text", "kind"):
            assert (value is None) or (text is None)
            seen[kind, value is None, text is None] += 1
    assert seen["string", True, False] > 100
    assert seen["string", False, True] == 0


# Machine code


def with_code(store):
    return [(name, store.find(name, ladder="gemm")) for name in NAMES]


def test_instructions_start_at_zero_and_follow_each_16_bytes(store):
    for name, run in with_code(store):
        functions = {}
        for launch, function, index, offset in columns(
            run, "instructions", "launch", "function_index", "index", "offset"
        ):
            functions.setdefault((launch, function), []).append((index, offset))
        assert functions, name
        for rows in functions.values():
            assert rows == [(i, 16 * i) for i in range(len(rows))], name


def test_the_code_is_the_readers_with_its_own_addresses_made_relative(run, name):
    starts = function_starts(run)
    actions = actions_of(name)
    texts = columns(run, "instructions", "launch", "function_index", "offset", "sass", "opcode")
    rebased = 0
    for launch, function, offset, sass, opcode in texts:
        start = starts[launch][function]
        original = " ".join(actions[launch][1].sass_by_pc(start + offset).split())
        assert opcode in original.split()
        assert not re.search("0x7[0-9a-f]{11}", sass), "an address of the machine that recorded it"
        back = re.sub(r"0x[0-9a-f]+$", lambda match, start=start: f"{start + int(match[0], 16):#x}", sass)
        assert original in (sass, back)
        rebased += original != sass
    assert rebased > 0, "no branch at all?"


@pytest.mark.parametrize("name", ["gemm_5", "gemm_6", "triton_add_full", "several"], indirect=True)
def test_executed_counts_are_those_of_inst_executed(run, name):
    stored = {}
    starts = function_starts(run)
    for launch, function, offset, executed in columns(
        run, "instructions", "launch", "function_index", "offset", "executed"
    ):
        if executed is not None:
            stored.setdefault(launch, {})[starts[launch][function] + offset] = executed
    for launch, (_, action) in enumerate(actions_of(name)):
        metric = action.metric_by_name("inst_executed")
        ids = metric.correlation_ids()
        assert stored[launch] == {ids.value(i): metric.value(i) for i in range(metric.num_instances())}
        assert sum(stored[launch].values()) == metric.value()


@pytest.mark.parametrize("name", ["triton_add_full", "several"], indirect=True)
def test_no_sample_is_lost_between_the_stall_reasons_and_the_instructions(run, name):
    """Warps also wait on the branch behind `EXIT`, which `inst_executed` does not count."""
    by_reason = {}
    total = Counter()
    for launch, samples, stalls in columns(run, "instructions", "launch", "samples", "stalls"):
        total[launch] += samples
        assert samples == sum(count for _, count in stalls)
        by_reason.setdefault(launch, Counter()).update(dict(stalls))
    for launch, (_, action) in enumerate(actions_of(name)):
        assert total[launch] == action.metric_by_name("smsp__pcsamp_sample_count").value()
        assert by_reason[launch] == {
            metric.removeprefix(STALLED): count
            for metric in action.metric_names()
            if metric.startswith(STALLED) and not metric.endswith("_not_issued")
            if (count := action.metric_by_name(metric).value())
        }


def test_counts_are_null_when_nothing_was_counted(store):
    for name in ("graph", "range", "hostile", "processes", "pm_sampling"):
        run = store.find(name, ladder="gemm")
        assert set(columns(run, "instructions", "executed", "samples", "stalls")) == {(None, None, None)}


@pytest.mark.slow
def test_the_same_kernel_at_two_addresses_reads_the_same(store):
    """Two processes load it elsewhere; only the rebased code may be compared."""
    run = store.find("processes", ladder="gemm")
    starts = function_starts(run)
    kernels = [kernel for (kernel,) in columns(run, "launches", "kernel")]
    code = {}
    for launch, *row in columns(run, "instructions", "launch", "offset", "opcode", "sass"):
        code.setdefault(launch, []).append(tuple(row))

    assert kernels[:7] == kernels[7:]
    for first in range(7):
        assert code[first] == code[first + 7]
    assert any("CALL" in opcode for _, opcode, _ in code[6])
    elsewhere = store.find("several", ladder="gemm")
    assert [starts[launch] for launch in range(7)] != [function_starts(elsewhere)[n] for n in range(7)]


def test_several_and_processes_hold_the_same_code_but_for_padding(store):
    def code(name):
        run = store.find(name, ladder="gemm")
        kernels = [kernel for (kernel,) in columns(run, "launches", "kernel")]
        lines = {}
        for launch, opcode, sass in columns(run, "instructions", "launch", "opcode", "sass"):
            if launch == kernels.index(kernels[launch]) and opcode != "NOP":
                lines.setdefault(kernels[launch], []).append(sass)
        return lines

    counted, walked = code("several"), code("processes")
    assert counted.keys() == walked.keys()
    for kernel, lines in counted.items():
        assert lines == walked[kernel][: len(lines)]
        assert len(walked[kernel]) - len(lines) <= 1  # the branch behind the last counted one


# Source, NVTX, ranges and graphs


def test_source_lines_are_those_of_the_file(store):
    run = store.find("several", ladder="gemm")
    text = (REPORTS / "zoo.cu").read_text().splitlines()
    rows = columns(run, "instructions", "file", "line", "source")
    ours = [row for row in rows if row[0] and row[0].endswith("zoo.cu")]

    assert len(ours) > 100
    for _, line, source in ours:
        assert source == text[line - 1]
    assert any("polish" in source or "x * x" in source for _, _, source in ours)


def test_nvtx_ranges_are_kept_as_they_are_whatever_is_in_them(store):
    launches = store.find("hostile", ladder="gemm").table("launches").column("nvtx").to_pylist()
    names = [[one["name"] for one in nvtx] for nvtx in launches]

    assert names[:6] == [
        ["<script>alert(1)</script>"],
        ["two\nlines"],
        ["\x1b[31mred\x1b[0m\a"],
        ["a|b`c`*d*"],
        ["größe 雪 \u202ertl"],
        ["quote\"comma,'"],
    ]
    domain = [(one["kind"], one["name"]) for one in launches[7] if one["domain"] == "a domain"]
    assert domain == [("push_pop", "outer"), ("push_pop", "inner")]
    others = [(one["kind"], one["name"]) for one in launches[7] if one["domain"] != "a domain"]
    assert others == [("start_end", "started, not pushed")]


def test_a_name_of_thousands_of_characters_is_kept_whole(store):
    (kernel,) = columns(store.find("hostile", ladder="gemm"), "launches", "kernel")[7]

    assert kernel.startswith("void long_name<Pair<Pair<")
    assert len(kernel) == 2577


@pytest.mark.parametrize(("name", "functions"), [("graph", 2), ("range", 2)], indirect=["name"])
def test_a_range_or_graph_is_one_launch_with_the_code_of_each_of_its_kernels(run, name, functions):
    assert [workload for (workload,) in columns(run, "launches", "workload")] == [name, name]
    opcodes = {}
    for launch, function, opcode in columns(run, "instructions", "launch", "function_index", "opcode"):
        opcodes.setdefault((launch, function), []).append(opcode)
    assert sorted(opcodes) == [(launch, number) for launch in (0, 1) for number in range(functions)]
    both = {"FMUL", "FADD"}
    assert [both & set(opcodes[0, number]) for number in range(functions)] in (
        [{"FMUL"}, {"FADD"}], [{"FADD"}, {"FMUL"}],
    )  # fmt: skip


def test_counters_sampled_over_time_keep_their_times(store):
    run = store.find("pm_sampling", ladder="gemm")
    times = {}
    for metric, kind, number in columns(run, "instances", "metric", "id_kind", "id_number"):
        if kind == "time_ns":
            times.setdefault(metric, []).append(number)

    assert len(times) > 5
    assert all(series == sorted(series) for series in times.values())
    assert all(10**18 < moment < 2 * 10**18 for series in times.values() for moment in series)


def test_a_checkout_that_is_not_installed_stores_reports_too(reports, tmp_path, monkeypatch):
    def not_installed(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", not_installed)

    extracted = extract_report(Request((reports / "graph.ncu-rep",), tmp_path / "folder"))

    assert isinstance(extracted, Manifest)
    assert extracted.prof_version.endswith("+checkout")
