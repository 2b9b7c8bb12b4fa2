"""The file of deltas: declared columns and units, replaced as a whole, readable by anything."""

from __future__ import annotations

import duckdb
import pyarrow.parquet as pq
import pytest

from profiler.errors import OutputNotWritable
from profiler.store.deltas import DELTAS, write_deltas

ROW = {
    "ladder": "gemm", "gpu": "NVIDIA H200", "workload": "m=4096", "kernel_before": 5, "kernel": 6,
    "run_id_before": "a", "run_id": "b", "metric": "registers", "ncu": "launch__registers_per_thread",
    "unit": "register/thread", "before": 112.0, "after": 128.0, "delta": 16.0, "ci_low": None, "ci_high": None,
    "verdict": "changed", "reason": "", "speedup": 1.14, "speedup_low": 1.13, "speedup_high": 1.15, "basis": "profiled",
}  # fmt: skip


def test_a_row_is_read_back_as_it_was_written(tmp_path):
    write_deltas(tmp_path / "deltas.parquet", [ROW])
    (read,) = pq.read_table(tmp_path / "deltas.parquet").to_pylist()
    assert read == ROW


def test_every_column_has_its_unit_and_meaning_in_the_file(tmp_path):
    write_deltas(tmp_path / "deltas.parquet", [ROW])
    schema = pq.read_schema(tmp_path / "deltas.parquet")
    assert schema.names == [column.name for column in DELTAS.columns]
    for field, column in zip(schema, DELTAS.columns, strict=True):
        assert field.metadata == {b"unit": column.unit.encode(), b"doc": column.doc.encode()}
        assert field.nullable == column.nullable
    assert schema.metadata[b"table"] == b"deltas"
    assert int(schema.metadata[b"schema_version"]) > 0


def test_no_deltas_are_a_table_without_rows(tmp_path):
    write_deltas(tmp_path / "deltas.parquet", [])
    assert pq.read_table(tmp_path / "deltas.parquet").num_rows == 0


def test_duckdb_reads_it_as_it_stands(tmp_path):
    path = tmp_path / "deltas.parquet"
    write_deltas(path, [ROW, {**ROW, "verdict": "worse", "kernel": 7}])
    assert duckdb.sql(f"select kernel from '{path}' where verdict = 'worse'").fetchall() == [(7,)]


def test_a_second_write_replaces_the_first(tmp_path):
    path = tmp_path / "deltas.parquet"
    write_deltas(path, [ROW, ROW])
    write_deltas(path, [ROW])
    assert pq.read_table(path).num_rows == 1


def test_a_place_that_cannot_be_written_is_an_error_of_its_own(tmp_path):
    with pytest.raises(OutputNotWritable, match="cannot be written"):
        write_deltas(tmp_path / "missing" / "deltas.parquet", [ROW])
