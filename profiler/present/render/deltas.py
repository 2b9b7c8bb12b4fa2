"""Renders the changes along a ladder as a Parquet file.

Changes are not stored with the runs. A run was recorded and never changes; a change belongs to two runs and
depends on which runs are the newest, on the statistics and on the catalogue. Stored, it would be out of date
with the next recording. It is therefore derived on request, in under a second for a ladder, and names the two
runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from profiler.store.tables.schema import ColumnSchema, TableSchema, schema_of

DELTAS = TableSchema(
    "deltas",
    "one metric's change from one rung of a ladder to one that follows it",
    (
        ColumnSchema("ladder", "label", "the ladder's name"),
        ColumnSchema("gpu", "label", "name of the GPU"),
        ColumnSchema("workload", "label", "its parameters, name=value", nullable=True),
        ColumnSchema("kernel_before", "int32", "number of the rung that it follows: the one before, or `against` of the ladder"),
        ColumnSchema("kernel", "int32", "number of the rung"),
        ColumnSchema("run_id_before", "label", "the run of that rung"),
        ColumnSchema("run_id", "label", "the run of the rung"),
        ColumnSchema("metric", "label", "prof's name; time_ns is the unprofiled time"),
        ColumnSchema("ncu", "label", "Nsight Compute's name; null for the unprofiled time", nullable=True),
        ColumnSchema("unit", "label", "of before, after, delta and the interval; empty for a plain number"),
        ColumnSchema("before", "float64", "mean over launches; of the unprofiled time, the geometric mean of the medians of the processes"),
        ColumnSchema("after", "float64", "the same, of the rung"),
        ColumnSchema("delta", "float64", "after - before"),
        ColumnSchema("ci_low", "float64", "95 % interval of the delta, low end; null where none can be given", "", True),
        ColumnSchema("ci_high", "float64", "its high end", "", True),
        ColumnSchema("verdict", "label", "better, worse, changed, same or unclear"),
        ColumnSchema("reason", "label", "why it is the same or unclear; empty otherwise"),
        ColumnSchema("speedup", "float64", "of this step: how many times as fast the rung is", "ratio", True),
        ColumnSchema("speedup_low", "float64", "its 95 % interval, low end", "ratio", True),
        ColumnSchema("speedup_high", "float64", "its high end", "ratio", True),
        ColumnSchema("basis", "label", "what the speedup is measured by: unprofiled or profiled time", "", True),
    ),
)  # fmt: skip


def deltas_parquet(rows: Sequence[dict[str, object]]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(list(rows), schema=schema_of(DELTAS)), sink, compression="zstd")
    return bytes(sink.getvalue())
