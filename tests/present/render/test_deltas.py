"""The file of deltas: declared columns and units, readable by anything."""

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from profiler.present.render.deltas import DELTAS, deltas_parquet

ROW = {
    "ladder": "gemm", "gpu": "NVIDIA H200", "workload": "m=4096", "kernel_before": 5, "kernel": 6,
    "run_id_before": "a", "run_id": "b", "metric": "registers", "ncu": "launch__registers_per_thread",
    "unit": "register/thread", "before": 112.0, "after": 128.0, "delta": 16.0, "ci_low": None, "ci_high": None,
    "verdict": "changed", "reason": "", "speedup": 1.14, "speedup_low": 1.13, "speedup_high": 1.15, "basis": "profiled",
}  # fmt: skip


def test_a_row_is_read_back_as_it_was_written():
    (read,) = pq.read_table(pa.BufferReader(deltas_parquet([ROW]))).to_pylist()
    assert read == ROW


def test_every_column_has_its_unit_and_meaning_in_the_file():
    schema = pq.read_schema(pa.BufferReader(deltas_parquet([ROW])))
    assert schema.names == [column.name for column in DELTAS.columns]
    for field, column in zip(schema, DELTAS.columns, strict=True):
        assert field.metadata == {b"unit": column.unit.encode(), b"doc": column.doc.encode()}
        assert field.nullable == column.nullable
    assert schema.metadata[b"table"] == b"deltas"
    assert int(schema.metadata[b"schema_version"]) > 0


def test_no_deltas_are_a_table_without_rows():
    assert pq.read_table(pa.BufferReader(deltas_parquet([]))).num_rows == 0


def test_duckdb_reads_it_as_it_stands(tmp_path):
    path = tmp_path / "deltas.parquet"
    path.write_bytes(deltas_parquet([ROW, {**ROW, "verdict": "worse", "kernel": 7}]))
    assert duckdb.sql(f"select kernel from '{path}' where verdict = 'worse'").fetchall() == [(7,)]
