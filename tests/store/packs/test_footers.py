"""Parquet files end to end under one footer: any reader sees one file with all of their rows."""

import struct

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from profiler.store.packs.joined_parquet import JoinedFooter, read_footer
from profiler.store.tables.thrift import encode_struct

COLUMNS = {
    "number": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "real": (pa.float64(), st.floats(allow_nan=False)),
    "text": (pa.dictionary(pa.int32(), pa.string()), st.text(max_size=20)),
    "truth": (pa.bool_(), st.booleans()),
    "many": (pa.list_(pa.string()), st.lists(st.text(max_size=5), max_size=3)),
    "map": (pa.map_(pa.string(), pa.int64()), st.dictionaries(st.text(max_size=5), st.integers(0, 99), max_size=3)),
}  # fmt: skip
SCHEMA = pa.schema([(name, kind) for name, (kind, _) in COLUMNS.items()], metadata={"who": "a test"})
ROWS = st.lists(
    st.fixed_dictionaries({name: st.none() | value for name, (_, value) in COLUMNS.items()}), max_size=6
)
OPTIONS = st.fixed_dictionaries(
    {
        "row_group_size": st.sampled_from([1, 3, 1000]),
        "compression": st.sampled_from(["zstd", "none", "snappy"]),
        "write_page_index": st.booleans(),
        "use_dictionary": st.booleans(),
        "version": st.sampled_from(["1.0", "2.6"]),
    }
)


def file_of(rows, options):
    rows = [row | {"map": list(row["map"].items()) if row["map"] is not None else None} for row in rows]
    table, sink = pa.Table.from_pylist(rows, schema=SCHEMA), pa.BufferOutputStream()
    pq.write_table(table, sink, **options)
    return table, sink.getvalue().to_pybytes()


def joined(files):
    footer, data = JoinedFooter(), b""
    for file in files:
        one = read_footer(file)
        assert footer.fits(one)
        footer.append(one, len(data))
        data += file
    return data + footer.encode()


@pytest.mark.slow
@given(st.lists(st.tuples(ROWS, OPTIONS), min_size=1, max_size=4))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_joined_file_is_the_tables_one_after_the_other(parts):
    tables, files = zip(*(file_of(*part) for part in parts), strict=True)
    data = joined(list(files))
    read = pq.ParquetFile(pa.BufferReader(data))
    expected = pa.concat_tables(tables)
    assert read.read().to_pylist() == expected.to_pylist()
    assert read.schema_arrow.equals(
        pq.ParquetFile(pa.BufferReader(files[0])).schema_arrow, check_metadata=True
    )
    assert read.metadata.num_rows == expected.num_rows
    for file in files:
        assert file in data


def test_duckdb_reads_it_too(recorded, tmp_path):
    runs = [recorded.find(name, "gemm") for name in ("textbook-5", "textbook-6", "5", "6")]
    path = tmp_path / "joined.parquet"
    path.write_bytes(joined([run.table_bytes("instructions") for run in runs]))
    count, executed = duckdb.sql(f"select count(*), sum(executed) from '{path}'").fetchall()[0]
    tables = [run.to_pandas("instructions") for run in runs]
    assert count == sum(len(table) for table in tables)
    assert executed == sum(table["executed"].sum() for table in tables)


def test_a_footer_that_is_read_and_written_is_the_same_to_the_byte(recorded):
    for table in recorded.find("textbook-5", "gemm").manifest.tables:
        data = recorded.find("textbook-5", "gemm").table_bytes(table)
        (length,) = struct.unpack("<I", data[-8:-4])
        assert encode_struct(read_footer(data)) == data[-8 - length : -8]


def test_other_columns_do_not_fit(recorded):
    run, footer = recorded.find("textbook-5", "gemm"), JoinedFooter()
    footer.append(read_footer(run.table_bytes("metrics")), 0)
    assert footer.fits(read_footer(run.table_bytes("metrics")))
    assert not footer.fits(read_footer(run.table_bytes("rules")))


@pytest.mark.parametrize("data", [b"", b"PAR1", b"no Parquet file at all", b"PAR1\xff\xff\xff\x7fPAR1", b"PAR1\x1f\x01\0\0\0PAR1"])  # fmt: skip
def test_data_that_is_no_parquet_file_is_refused(data):
    with pytest.raises(ValueError, match=r"Parquet|footer"):
        read_footer(data)
