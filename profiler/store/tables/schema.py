"""The tables of a run, declared as data: this file is also their documentation.

Every table has `run_id`, so that DuckDB, pandas, Polars or Spark can read `runs/*/metrics.parquet` as one
table. `check_table` is called whenever a table is written or read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from profiler.errors import RunDamaged

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA_VERSION = 5


@dataclass(frozen=True)
class ColumnSchema:
    name: str
    type: str  # a key of _arrow_types()
    doc: str
    unit: str = ""
    nullable: bool = False
    since: int = 1  # the first schema version with this column, which is null in older tables


@dataclass(frozen=True)
class TableSchema:
    name: str
    row: str  # what one row is
    columns: tuple[ColumnSchema, ...]

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        assert len(set(names)) == len(names), f"{self.name} declares a column twice"


_RUN = ColumnSchema("run_id", "label", "the run this row belongs to")
_LAUNCH = ColumnSchema("launch", "int32", "launch number within the run, from 0")

LAUNCHES = TableSchema(
    "launches",
    "one profiled launch, range or graph",
    (
        _RUN,
        _LAUNCH,
        ColumnSchema("process", "int32", "which of the run's reports holds it, from 0: one process each"),
        ColumnSchema("range", "int32", "range of the report that holds it, from 0"),
        ColumnSchema("workload", "label", "kernel, range, graph, cmdlist, subgrid or unknown"),
        ColumnSchema("function", "label", "kernel name without template and argument lists"),
        ColumnSchema("kernel", "label", "demangled kernel name"),
        ColumnSchema("mangled", "label", "mangled kernel name"),
        ColumnSchema("gpu", "label", "name of the GPU", nullable=True),
        ColumnSchema("compute_capability", "label", "for example 9.0", nullable=True),
        ColumnSchema("grid_x", "int64", "grid size, x", "block", nullable=True),
        ColumnSchema("grid_y", "int64", "grid size, y", "block", nullable=True),
        ColumnSchema("grid_z", "int64", "grid size, z", "block", nullable=True),
        ColumnSchema("block_x", "int64", "block size, x", "thread", nullable=True),
        ColumnSchema("block_y", "int64", "block size, y", "thread", nullable=True),
        ColumnSchema("block_z", "int64", "block size, z", "thread", nullable=True),
        ColumnSchema("registers", "int64", "registers per thread", "register", nullable=True),
        ColumnSchema("shared_static_bytes", "int64", "static shared memory per block", "byte", True),
        ColumnSchema("shared_dynamic_bytes", "int64", "dynamic shared memory per block", "byte", True),
        ColumnSchema("nvtx", "nvtx", "NVTX ranges around the launch, outermost first"),
    ),
)

METRICS = TableSchema(
    "metrics",
    "one metric of one launch",
    (
        _RUN,
        _LAUNCH,
        ColumnSchema("metric", "label", "Nsight Compute's name"),
        ColumnSchema("value", "float64", "null where the report has none or NaN: never zero", "", True),
        ColumnSchema("text", "label", "the value of a textual metric", nullable=True),
        ColumnSchema("unit", "label", "as the report states it; empty for a plain number"),
        ColumnSchema("kind", "label", "how the report has it: float, double, uint32, uint64, string, none"),
        ColumnSchema("exact", "uint64", "an integer that float64 would round (2^53 and above)", "", True),
    ),
)

INSTANCES = TableSchema(
    "instances",
    "one instance of one metric of one launch",
    (
        _RUN,
        _LAUNCH,
        ColumnSchema("metric", "label", "Nsight Compute's name"),
        ColumnSchema("instance", "int32", "position within the metric, from 0"),
        ColumnSchema("id_kind", "label", "what the id is: name, offset, address, time_ns, number or none"),
        ColumnSchema("id_name", "label", "the id where it is a name, for example an opcode", nullable=True),
        ColumnSchema(
            "id_number", "uint64", "the id if a number; for `offset`: bytes into the function", "", True
        ),
        ColumnSchema("function_index", "int16", "for `offset`: which function of the launch", "", True),
        ColumnSchema("value", "float64", "null where the report has none or NaN", nullable=True),
        ColumnSchema("text", "label", "the value of a textual instance", nullable=True),
        ColumnSchema("exact", "uint64", "an integer that float64 would round (2^53 and above)", "", True),
    ),
)

INSTRUCTIONS = TableSchema(
    "instructions",
    "one SASS instruction of one launch",
    (
        _RUN,
        _LAUNCH,
        ColumnSchema("function_index", "int16", "which function: 0 but for ranges and graphs"),
        ColumnSchema("index", "int32", "position within the function, from 0"),
        ColumnSchema("offset", "uint64", "from the start of the function", "byte"),
        ColumnSchema("opcode", "label", "with modifiers, without predicate: LDS.128"),
        ColumnSchema("sass", "label", "the whole instruction; branch targets are offsets too"),
        ColumnSchema("file", "label", "source file, where line information was compiled in", nullable=True),
        ColumnSchema("line", "int32", "source line, from 1", nullable=True),
        ColumnSchema("source", "label", "the text of that line, where the report imported it", nullable=True),
        ColumnSchema(
            "inlined_at",
            "label",
            "the calls that the compiler replaced by this code, the innermost first: a line each, with its file, line and text between tabs",
            nullable=True,
            since=5,
        ),
        ColumnSchema("executed", "int64", "times executed, counted per warp", "warp instruction", True),
        ColumnSchema("samples", "int64", "warp samples taken here, all reasons", "sample", True),
        ColumnSchema("stalls", "stalls", "warp samples by stall reason", "sample", True),
    ),
)

RULES = TableSchema(
    "rules",
    "one finding of Nsight Compute's own rules",
    (
        _RUN,
        _LAUNCH,
        ColumnSchema("section", "label", "section the rule belongs to"),
        ColumnSchema("rule", "label", "the rule's identifier"),
        ColumnSchema("name", "label", "the rule's name", nullable=True),
        ColumnSchema("kind", "label", "none, ok, optimization, warning or error"),
        ColumnSchema("title", "label", "headline", nullable=True),
        ColumnSchema("message", "label", "the finding; @section:…@ and @url:…@ mark links"),
        ColumnSchema("speedup_kind", "label", "local, global or unknown", nullable=True),
        ColumnSchema("speedup_pct", "float64", "speedup that the rule estimates", "%", True),
        ColumnSchema("offset", "uint64", "instruction the finding points at", "byte", True),
        ColumnSchema("file", "label", "source file it points at", nullable=True),
        ColumnSchema("line", "int32", "source line it points at", nullable=True),
        ColumnSchema("details", "label", "focus metrics and result tables, as JSON", nullable=True),
    ),
)

TIMINGS = TableSchema(
    "timings",
    "one repeat without the profiler, the reference kernel interleaved",
    (
        _RUN,
        ColumnSchema("process", "int32", "which process made it, from 0"),
        ColumnSchema("repeat", "int32", "position within the process, from 0"),
        ColumnSchema("kernel_ns", "float64", "duration of the kernel", "ns"),
        ColumnSchema("reference_ns", "float64", "duration of the reference kernel beside it", "ns", True),
        ColumnSchema("best_ns", "float64", "duration of the reference's fastest algorithm", "ns", True, 4),
    ),
)

TABLES: dict[str, TableSchema] = {
    table.name: table for table in (LAUNCHES, METRICS, INSTANCES, INSTRUCTIONS, RULES, TIMINGS)
}


@cache
def _arrow_types() -> dict[str, pa.DataType]:
    import pyarrow as pa

    def never_null(**types: pa.DataType) -> list[pa.Field]:
        return [pa.field(name, kind, nullable=False) for name, kind in types.items()]

    nvtx = never_null(domain=pa.string(), kind=pa.string(), name=pa.string())
    repeat = never_null(stage=pa.string(), process=pa.int32(), kernel_ns=pa.float64())
    return {
        "label": pa.dictionary(pa.int32(), pa.string()),
        "int16": pa.int16(),
        "int32": pa.int32(),
        "int64": pa.int64(),
        "uint64": pa.uint64(),
        "float64": pa.float64(),
        "nvtx": pa.list_(pa.struct(nvtx)),
        "stalls": pa.map_(pa.string(), pa.int64()),
        "settings": pa.map_(pa.string(), pa.int64()),
        "repeats": pa.list_(pa.struct([*repeat, pa.field("reference_ns", pa.float64())])),
    }


@cache
def arrow_schema(name: str, some: frozenset[str] | None = None) -> pa.Schema:
    """Returns the Arrow schema of a run's table, or of `some` of its columns, with units and documentation as metadata."""
    import pyarrow as pa

    whole = schema_of(TABLES[name])
    return whole if some is None else pa.schema([one for one in whole if one.name in some], whole.metadata)


def schema_of(table: TableSchema) -> pa.Schema:
    import pyarrow as pa

    types = _arrow_types()
    fields = [
        pa.field(one.name, types[one.type], one.nullable, metadata={"unit": one.unit, "doc": one.doc})
        for one in table.columns
    ]
    facts = {"schema_version": str(SCHEMA_VERSION), "table": table.name, "row": table.row}
    return pa.schema(fields, metadata=facts)


def upgraded(table: pa.Table, name: str, some: frozenset[str] | None = None) -> pa.Table:
    """Adds the columns to a table of an older schema version that have come since, of all columns or of `some`."""
    import pyarrow as pa

    schema = arrow_schema(name, some)
    version = int((table.schema.metadata or {}).get(b"schema_version", SCHEMA_VERSION))
    wanted = (column for column in TABLES[name].columns if column.name in schema.names)
    for position, column in enumerate(wanted):
        if version < column.since and column.name not in table.column_names:
            field = schema.field(column.name)
            table = table.add_column(position, field, pa.nulls(table.num_rows, field.type))
    return table


def check_table(table: pa.Table, name: str, where: str, some: frozenset[str] | None = None) -> pa.Table:
    """Returns the table, or the part with `some` of its columns, unchanged; RunDamaged when its columns or types are
    wrong, or it has nulls where none may be.
    """
    expected = arrow_schema(name, some)
    if not table.schema.equals(expected, check_metadata=False):
        raise RunDamaged(f"{where}: the columns are not those of table '{name}', version {SCHEMA_VERSION}")
    for column in expected:
        if not column.nullable and table.column(column.name).null_count:
            raise RunDamaged(f"{where}: column '{column.name}' of table '{name}' has missing values")
    if name == TIMINGS.name:
        _check_durations(table, where)
    return table


def _check_durations(timings: pa.Table, where: str) -> None:
    """Raises RunDamaged for a repeat with a duration that no timed program can have: zero or infinite."""
    measured = [one.name for one in TIMINGS.columns if one.unit == "ns" and one.name in timings.column_names]
    for column in measured:
        known = [ns for ns in timings.column(column).to_pylist() if ns is not None]
        if known and not (min(known) > 0 and sum(known) < math.inf):  # which no sum with a NaN is
            raise RunDamaged(f"{where}: column '{column}' has a value that is no duration")
