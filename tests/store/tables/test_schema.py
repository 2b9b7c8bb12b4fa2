"""The tables are declared once, and what is read or written must be as declared."""

import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from profiler.errors import RunDamaged
from profiler.store.runs.run_store import RunStore
from profiler.store.runs.seal import sealed
from profiler.store.tables.columns import TableBuilder
from profiler.store.tables.schema import (
    SCHEMA_VERSION,
    TABLES,
    ColumnSchema,
    TableSchema,
    arrow_schema,
    check_table,
    upgraded,
)

NUMBERS_WITHOUT_UNIT = {
    # counted or identified, not measured
    "launch", "range", "instance", "index", "function_index", "line", "process", "repeat",
    "value", "exact", "id_number",  # the unit is in a column beside them, or depends on `id_kind`
}  # fmt: skip


def test_every_column_is_documented_and_every_measure_has_a_unit():
    columns = [(table.name, column) for table in TABLES.values() for column in table.columns]
    undocumented = [
        f"{table}.{column.name}" for table, column in columns if not column.doc or "\n" in column.doc
    ]
    without_unit = [
        f"{table}.{column.name}"
        for table, column in columns
        if column.type not in ("label", "nvtx")
        and column.name not in NUMBERS_WITHOUT_UNIT
        and not column.unit
    ]
    assert (undocumented, without_unit) == ([], [])
    assert all(table.row for table in TABLES.values())


def test_every_table_says_which_run_a_row_belongs_to():
    assert {table.columns[0].name for table in TABLES.values()} == {"run_id"}


@pytest.mark.parametrize("name", TABLES)
def test_units_and_documentation_are_in_the_parquet_file(store, name):
    schema = pq.read_schema(store.find("graph", ladder="gemm").path / f"{name}.parquet")

    assert schema.metadata[b"schema_version"] == str(SCHEMA_VERSION).encode()
    assert schema.metadata[b"table"] == name.encode()
    assert schema.metadata[b"row"] == TABLES[name].row.encode()
    for column in TABLES[name].columns:
        field = schema.field(column.name)
        assert field.metadata[b"doc"] == column.doc.encode()
        assert field.metadata.get(b"unit", b"") == column.unit.encode()
        assert field.nullable == column.nullable


@pytest.fixture
def good():
    builder = TableBuilder("timings", "some-run")
    builder.append(process=0, repeat=0, kernel_ns=10.5)
    builder.append(process=0, repeat=1, kernel_ns=11.0, reference_ns=9.0)
    return builder.finish()


def test_a_table_as_declared_passes(good):
    assert check_table(good, "timings", "here") is good
    assert good.column("reference_ns").to_pylist() == [None, 9.0]
    assert good.column("run_id").to_pylist() == ["some-run"] * 2


@pytest.mark.parametrize(
    "spoil",
    [
        lambda t: t.drop_columns(["repeat"]),
        lambda t: t.append_column("more", pa.array([1, 2])),
        lambda t: t.set_column(3, "kernel_ns", pa.array(["10.5", "11"])),
        lambda t: t.set_column(3, "kernel_ns", pa.array([10.5, 11.0], pa.float32())),
        lambda t: t.rename_columns(["run_id", "process", "repeat", "kernel", "reference_ns", "best_ns"]),
        lambda t: t.select(["process", "run_id", "repeat", "kernel_ns", "reference_ns", "best_ns"]),
    ],
    ids=["missing column", "column too many", "text for numbers", "other width", "other name", "other order"],
)
def test_a_table_with_other_columns_is_refused(good, spoil):
    with pytest.raises(RunDamaged, match=r"^here: the columns are not those of table 'timings', version 5$"):
        check_table(spoil(good), "timings", "here")


def test_a_column_that_came_later_is_null_in_older_tables(good):
    metadata = {**good.schema.metadata, b"schema_version": b"3"}
    older = good.drop_columns(["best_ns"]).replace_schema_metadata(metadata)
    read = check_table(upgraded(older, "timings"), "timings", "here")
    assert read.column("best_ns").to_pylist() == [None, None]


def test_a_null_where_none_may_be_is_refused(good):
    holed = good.set_column(
        3, arrow_schema("timings").field("kernel_ns"), pa.array([10.5, None], pa.float64())
    )

    with pytest.raises(RunDamaged, match=r"^here: column 'kernel_ns' of table 'timings' has missing values$"):
        check_table(holed, "timings", "here")


@pytest.mark.parametrize("ns", [0.0, -1.0, math.nan, math.inf])
@pytest.mark.parametrize("column", ["kernel_ns", "reference_ns"])
def test_a_time_that_is_no_duration_is_refused(good, column, ns):
    index = good.schema.get_field_index(column)
    spoiled = good.set_column(index, good.schema.field(column), pa.array([ns] * len(good), pa.float64()))
    with pytest.raises(RunDamaged, match=f"here: column '{column}' has a value that is no duration"):
        check_table(spoiled, "timings", "here")


def test_a_table_that_was_written_by_hand_is_checked_when_it_is_read(store, tmp_path, good):
    """Its hash may be right and its columns still not."""
    import hashlib
    import json
    import shutil

    run = store.find("graph", ladder="gemm")
    folder = tmp_path / run.path.name
    shutil.copytree(run.path, folder)
    pq.write_table(good.drop_columns(["repeat"]), folder / "timings.parquet")
    manifest = json.loads((folder / "run.json").read_text())
    manifest["tables"]["timings"]["sha256"] = hashlib.sha256(
        (folder / "timings.parquet").read_bytes()
    ).hexdigest()
    manifest["tables"]["timings"]["rows"] = 2
    (folder / "run.json").write_bytes(sealed(json.dumps(manifest).encode()))

    changed = RunStore(tmp_path).find("graph", ladder="gemm")
    with pytest.raises(RunDamaged, match=r"timings\.parquet: the columns are not those"):
        changed.table("timings")


def test_text_that_is_not_unicode_is_stored_with_a_replacement():
    builder = TableBuilder("launches", "some-run")
    broken = b"caf\xe9".decode("utf-8", "surrogateescape")
    required = dict.fromkeys(("workload", "function", "kernel", "mangled"), broken)
    builder.append(
        launch=0, process=0, range=0, nvtx=[{"domain": "d", "kind": "push_pop", "name": broken}], **required
    )

    (row,) = builder.finish().to_pylist()

    assert row["kernel"] == "caf\ufffd"
    assert row["nvtx"] == [{"domain": "d", "kind": "push_pop", "name": "caf\ufffd"}]


def test_a_column_may_not_be_declared_twice():
    column = ColumnSchema("a", "int32", "a number")
    with pytest.raises(AssertionError, match="declares a column twice"):
        TableSchema("t", "a row", (column, column))


def test_some_columns_of_an_older_table_get_those_alone_that_have_come_since(good):
    older = good.select(["repeat"]).replace_schema_metadata({"schema_version": "3"})

    assert upgraded(older, "timings", frozenset({"repeat", "best_ns"})).column_names == ["repeat", "best_ns"]
    assert upgraded(older, "timings", frozenset({"repeat"})).column_names == ["repeat"]


def test_a_column_missing_from_a_table_of_this_version_stays_missing(store):
    broken = store.find("several", "").table("launches").drop_columns(["process"])

    with pytest.raises(RunDamaged):
        check_table(upgraded(broken, "launches"), "launches", "here")
