"""Reads reports with NVIDIA's reader into the tables of `tables/schema.py`.

This is the only module that imports `ncu_report`; only `launched_code.py` sees some of its untyped objects too.
Call it through `contained_reader.py`: a damaged file may crash or hang the native library, and so its process.

Addresses in a report are absolute and differ from one recording to the next, so every instruction address
becomes an offset from the start of its function.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from sys import intern
from typing import TYPE_CHECKING, Any

import ncu_report

from profiler.errors import ReaderFailed, ReportDamaged
from profiler.store.reports.inlined_calls import read_line_tables
from profiler.store.reports.launched_code import Disassembler, LaunchedCode, is_of_code
from profiler.store.reports.request import Omitted, ReportPart
from profiler.store.tables.columns import TableBuilder, json_text, valid_unicode

if TYPE_CHECKING:
    import pyarrow as pa

PACKAGES = Path(ncu_report.__file__).parent.parent  # the folder in which `ncu_report` is installed

_WORKLOADS = {
    ncu_report.IAction.WorkloadType_KERNEL: "kernel",
    ncu_report.IAction.WorkloadType_RANGE: "range",
    ncu_report.IAction.WorkloadType_GRAPH: "graph",
    ncu_report.IAction.WorkloadType_CMDLIST: "cmdlist",
    ncu_report.IAction.WorkloadType_SUBGRID_SCHEDULE: "subgrid",
}
_KINDS = {
    ncu_report.IMetric.ValueKind_STRING: "string",
    ncu_report.IMetric.ValueKind_FLOAT: "float",
    ncu_report.IMetric.ValueKind_DOUBLE: "double",
    ncu_report.IMetric.ValueKind_UINT32: "uint32",
    ncu_report.IMetric.ValueKind_UINT64: "uint64",
}
_FLOATS = (ncu_report.IMetric.ValueKind_FLOAT, ncu_report.IMetric.ValueKind_DOUBLE)
_INTEGERS = (ncu_report.IMetric.ValueKind_UINT32, ncu_report.IMetric.ValueKind_UINT64)
_STRING = ncu_report.IMetric.ValueKind_STRING

_LARGEST_EXACT = 2**53  # the first integer whose successor float64 cannot hold
_EARLIEST_TIME_NS = 10**18  # 2001 in Unix nanoseconds; no count or size comes near


@dataclass
class DecodedReport:
    """The tables of one report and the names of the sections it was recorded with."""

    tables: dict[str, pa.Table]
    sections: list[str]


@dataclass(frozen=True)
class Source:
    """A report to read: its path for messages, the file to open, and how many results it announces."""

    path: Path
    plain: Path
    results: int


def decode_reports(
    sources: Iterable[Source], run_id: str, omitted: Omitted, part: ReportPart, count: Callable[[], None]
) -> DecodedReport:
    """Reads every launch of every range of every report, and calls `count` for each; fails when the reader yields fewer than announced."""
    decoder = _Decoder(run_id, omitted, part)
    for process, source in enumerate(sources):
        with _failures_named(path := source.path):
            launches = decoder.read_all(process, source.plain, count)
        if launches != source.results:
            raise ReportDamaged(
                f"{path}: damaged: it announces {source.results} results, but only {launches} can be read"
            )
    with _failures_named(path):
        return decoder.finish()


@contextmanager
def _failures_named(path: Path) -> Iterator[None]:
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:  # flipped bits can raise any exception
        raise ReaderFailed(f"{path}: cannot be decoded: {type(error).__name__}: {error}") from error


MetricValue = tuple[float | None, str | None, int | None]  # value, text, exact
_NOTHING: MetricValue = (None, None, None)


def _value_of(metric: Any, kind: int, *instance: int) -> MetricValue:
    if kind in _FLOATS:
        number = metric.as_double(*instance)
        return _NOTHING if math.isnan(number) else (number, None, None)
    if kind in _INTEGERS:
        integer = metric.as_uint64(*instance)
        return float(integer), None, integer if integer >= _LARGEST_EXACT else None
    if kind == _STRING:
        return None, metric.as_string(*instance), None
    return _NOTHING


@dataclass
class _Launch:
    """A launch, with its machine code and the values of its metrics."""

    number: int
    action: Any
    code: LaunchedCode
    values: dict[str, MetricValue] = field(default_factory=dict)


class _Decoder:
    def __init__(self, run_id: str, omitted: Omitted, part: ReportPart) -> None:
        self._omitted, self._part = omitted, part
        self._tables = {
            name: TableBuilder(name, run_id)
            for name in ("launches", "metrics", "instances", "instructions", "rules")
        }
        self._sections: dict[str, None] = {}
        self._disassembler = Disassembler()
        self._launches = 0

    def finish(self) -> DecodedReport:
        tables = {name: builder.finish() for name, builder in self._tables.items()}
        return DecodedReport(tables, [valid_unicode(section) for section in self._sections])

    def read_all(self, process: int, report: Path, count: Callable[[], None]) -> int:
        """Reads every launch of every range of one report; returns how many there were."""
        before = self._launches
        context = ncu_report.load_report(str(report))
        reads_code = self._part is not ReportPart.FIGURES and self._omitted is not Omitted.ALL_CODE
        self._disassembler.begin(read_line_tables(report) if reads_code else {})
        for range_index in range(context.num_ranges()):
            profiled = context.range_by_idx(range_index)
            for action_index in range(profiled.num_actions()):
                action = profiled.action_by_idx(action_index)
                if action.metric_names():  # one that the reader could not parse has none
                    self.read_launch(self._launches, process, range_index, action)
                    self._launches += 1
                    count()
        return self._launches - before

    def read_launch(self, number: int, process: int, range_index: int, action: Any) -> None:
        launch = _Launch(number, action, LaunchedCode.of(action))
        for name in map(intern, action.metric_names()):  # one text, however many launches have it
            if self._part is not ReportPart.CODE or is_of_code(name):
                self._read_metric(launch, name, action.metric_by_name(name))
        if self._part is not ReportPart.FIGURES and self._may_read_code(action):
            self._read_instructions(launch)
        if self._part is ReportPart.CODE:
            return
        self._read_identity(launch, process, range_index)
        self._read_rules(launch)
        for section in action.sections():
            self._sections[section.identifier()] = None

    # Metrics and their instances

    def _read_metric(self, launch: _Launch, name: str, metric: Any) -> None:
        kind = metric.kind()
        value, text, exact = launch.values[name] = _value_of(metric, kind)
        columns = self._tables["metrics"].columns
        columns["launch"].append(launch.number)
        columns["metric"].append(name)
        columns["value"].append(value)
        columns["text"].append(text)
        columns["unit"].append(intern(metric.unit()))
        columns["kind"].append(_KINDS.get(kind, "none"))
        columns["exact"].append(exact)
        if count := metric.num_instances():
            self._read_instances(launch, name, metric, count)

    def _read_instances(self, launch: _Launch, name: str, metric: Any, count: int) -> None:
        columns = self._tables["instances"].columns
        columns["launch"].extend([launch.number] * count)
        columns["metric"].extend([name] * count)
        columns["instance"].extend(range(count))
        values = [_value_of(metric, metric.kind(i), i) for i in range(count)]
        columns["value"].extend([value for value, _, _ in values])
        columns["text"].extend([text for _, text, _ in values])
        columns["exact"].extend([exact for _, _, exact in values])

        kind, ids = _correlation_ids(metric, count)
        nothing: list[Any] = [None] * count
        names, functions, numbers = nothing, nothing, nothing
        if kind == "name":
            names = ids
        elif kind == "number":
            numbers = ids
            places = [launch.code.function_of(one) for one in ids] if launch.code.starts else []
            kind = _kind_of_numbers(ids, places)
            if kind == "offset":
                launch.code.note(name, ids, [value for value, _, _ in values])
                functions, numbers = map(list, zip(*filter(None, places), strict=True))
        columns["id_kind"].extend([kind] * count)
        columns["id_name"].extend(names)
        columns["function_index"].extend(functions)
        columns["id_number"].extend(numbers)

    # What was launched

    def _read_identity(self, launch: _Launch, process: int, range_index: int) -> None:
        action = launch.action

        def integer(metric: str) -> int | None:
            value = launch.values.get(metric, _NOTHING)[0]
            return None if value is None else int(value)

        capability = [integer(f"device__attribute_compute_capability_{part}") for part in ("major", "minor")]
        self._tables["launches"].append(
            launch=launch.number,
            process=process,
            range=range_index,
            workload=_WORKLOADS.get(action.workload_type(), "unknown"),
            function=action.name(action.NameBase_FUNCTION),
            kernel=action.name(action.NameBase_DEMANGLED),
            mangled=action.name(action.NameBase_MANGLED),
            gpu=launch.values.get("device__attribute_display_name", _NOTHING)[1],
            compute_capability=None if None in capability else f"{capability[0]}.{capability[1]}",
            **{
                f"{what}_{axis}": integer(f"launch__{what}_dim_{axis}")
                for what in ("grid", "block")
                for axis in "xyz"
            },
            registers=integer("launch__registers_per_thread"),
            shared_static_bytes=integer("launch__shared_mem_per_block_static"),
            shared_dynamic_bytes=integer("launch__shared_mem_per_block_dynamic"),
            nvtx=list(_nvtx_ranges(action)),
        )

    # Machine code

    def _read_instructions(self, launch: _Launch) -> None:
        columns, code = self._tables["instructions"].columns, launch.code
        for index, start in enumerate(code.starts):
            function = self._disassembler.function(launch.action, code.starts, start, code.counted_in(index))
            count = len(function.offsets)
            addresses = [start + offset for offset in function.offsets]
            columns["launch"].extend([launch.number] * count)
            columns["function_index"].extend([index] * count)
            columns["index"].extend(range(count))
            columns["offset"].extend(function.offsets)
            for position, name in enumerate(("opcode", "sass", "file", "line", "source", "inlined_at")):
                columns[name].extend([row[position] for row in function.rows])
            executed, samples = code.executed, code.samples
            columns["executed"].extend([executed.get(a) if executed else None for a in addresses])
            stalls = [None if samples is None else samples.get(a, {}) for a in addresses]
            columns["samples"].extend([None if one is None else sum(one.values()) for one in stalls])
            columns["stalls"].extend([None if one is None else list(one.items()) for one in stalls])

    def _may_read_code(self, action: Any) -> bool:
        if self._omitted is Omitted.GRAPH_CODE:
            return bool(action.workload_type() != ncu_report.IAction.WorkloadType_GRAPH)
        return self._omitted is Omitted.NOTHING

    # Nsight Compute's own findings

    def _read_rules(self, launch: _Launch) -> None:
        rules = self._tables["rules"]
        for result in launch.action.rule_results_as_dicts():
            message = result["rule_message"]
            speedup = result.get("speedup_estimation")
            details = {key: result[key] for key in ("focus_metrics", "result_tables") if key in result}
            rules.append(
                launch=launch.number,
                section=result["section_identifier"],
                rule=result["rule_identifier"],
                name=result["name"],
                kind=_message_kind(message["type"]),
                title=message["title"] or None,
                message=message["message"],
                speedup_kind=_enum_name(ncu_report.SpeedupType, speedup["type"]) if speedup else None,
                speedup_pct=speedup["speedup"] if speedup else None,
                details=json_text(details) if details else None,
            )
        if self._omitted is Omitted.ALL_CODE:
            return
        for marker in launch.action.source_markers():
            location = marker.get("source_location", {})
            address = marker.get("source_address")
            place = launch.code.function_of(address) if address is not None else None
            rules.append(
                launch=launch.number,
                section=marker["section_identifier"],
                rule=marker["rule_identifier"],
                kind=_message_kind(marker["message_type"]),
                message=marker["message"],
                offset=place[1] if place else None,
                file=location.get("file_name"),
                line=location.get("line"),
            )


def _kind_of_numbers(ids: list[int], places: list[tuple[int, int] | None]) -> str:
    """Returns what the numbers of a metric's instances are: addresses in the launch's functions, other addresses, or times."""
    if places and None not in places:
        return "offset"
    if ids and min(ids) >= _EARLIEST_TIME_NS:
        return "time_ns"
    return "address" if any(places) else "number"


def _correlation_ids(metric: Any, count: int) -> tuple[str, list[Any]]:
    """Returns the ids of a metric's instances: ('name', texts), ('number', integers) or ('none', [])."""
    ids = metric.correlation_ids() if metric.has_correlation_ids() else None
    if ids is None or ids.num_instances() != count:
        return "none", []
    kind = ids.kind(0)
    if kind == _STRING:
        return "name", [intern(ids.as_string(i)) for i in range(count)]
    if kind in _INTEGERS:
        return "number", [ids.as_uint64(i) for i in range(count)]
    return "none", []


def _nvtx_ranges(action: Any) -> Iterator[dict[str, str]]:
    state = action.nvtx_state()
    for domain_id in state.domains() if state else ():
        domain = state.domain_by_id(domain_id)
        for kind, names in (("push_pop", domain.push_pop_ranges()), ("start_end", domain.start_end_ranges())):
            for name in names:
                yield {"domain": domain.name(), "kind": kind, "name": name}


def _message_kind(kind: int) -> str:
    return {"err": "error"}.get(name := _enum_name(ncu_report.MsgType, kind), name)


def _enum_name(enum: Any, value: int) -> str:
    try:
        return str(enum(value).name).lower()
    except ValueError:
        return "unknown"
