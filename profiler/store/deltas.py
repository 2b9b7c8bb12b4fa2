"""The changes along a ladder as one Parquet file, wherever the user wants it.

They are not kept among the runs. A run is what was recorded and never changes; a change
belongs to two runs and depends on which of them are the newest, on the statistics and on the catalogue. Stored
beside the runs it would be out of date with the next recording and still be read as if it were
not, so it is derived on request (under a second for a ladder) and names the two runs it is from.
"""

from __future__ import annotations

from collections.abc import Sequence

from profiler.store.tables.schema import Column, Table, schema_of

DELTAS = Table(
    "deltas",
    "one metric's change from one rung of a ladder to one that follows it",
    (
        Column("ladder", "label", "the ladder's name"),
        Column("gpu", "label", "name of the GPU"),
        Column("workload", "label", "its parameters, name=value", nullable=True),
        Column("kernel_before", "int32", "number of the rung that it follows: the one before, or `against` of the ladder"),
        Column("kernel", "int32", "number of the rung"),
        Column("run_id_before", "label", "the run of that rung"),
        Column("run_id", "label", "the run of the rung"),
        Column("metric", "label", "prof's name; time_ns is the unprofiled time"),
        Column("ncu", "label", "Nsight Compute's name; null for the unprofiled time", nullable=True),
        Column("unit", "label", "of before, after, delta and the interval; empty for a plain number"),
        Column("before", "float64", "mean over launches; of the unprofiled time, the median of repeats"),
        Column("after", "float64", "the same, of the rung"),
        Column("delta", "float64", "after - before"),
        Column("ci_low", "float64", "95 % interval of the delta, low end; null where none can be given", "", True),
        Column("ci_high", "float64", "its high end", "", True),
        Column("verdict", "label", "better, worse, changed, same or unclear"),
        Column("reason", "label", "why it is the same or unclear; empty otherwise"),
        Column("speedup", "float64", "of this step: how many times as fast the rung is", "ratio", True),
        Column("speedup_low", "float64", "its 95 % interval, low end", "ratio", True),
        Column("speedup_high", "float64", "its high end", "ratio", True),
        Column("basis", "label", "what the speedup is measured by: unprofiled or profiled time", "", True),
    ),
)  # fmt: skip


def deltas_parquet(rows: Sequence[dict[str, object]]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(list(rows), schema=schema_of(DELTAS)), sink, compression="zstd")
    return bytes(sink.getvalue())
