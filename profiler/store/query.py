"""SQL over the runs, through DuckDB, with no way out of the runs folder.

One SELECT at a time; other files, the network and extensions are switched off before the
statement is seen, and the settings are locked. The tables are views over the Parquet
files of committed runs, and `runs` holds their manifests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from profiler.errors import QueryFailed
from profiler.store.schema import TABLES, arrow_schema

if TYPE_CHECKING:
    from profiler.store.runs import RunStore

_READING = {"SELECT", "EXPLAIN"}


def run_query(store: RunStore, sql: str) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Column names and rows."""
    connection = _connect(store)
    try:
        statements = connection.extract_statements(sql)
        kinds = {statement.type.name for statement in statements}
        if len(statements) != 1 or not kinds <= _READING:
            raise QueryFailed("one SELECT statement is allowed, and nothing that writes")
        # Through Arrow: DuckDB's own conversion wants pytz for a timestamp with a time zone.
        table = connection.sql(statements[0]).to_arrow_table()
        assert table is not None, "a SELECT always has a result"
        columns = [column.to_pylist() for column in table.columns]
        return tuple(table.column_names), list(zip(*columns, strict=True))
    except duckdb.Error as error:
        first, *others = str(error).splitlines() or [""]
        raise QueryFailed(f"the query failed: {first}", details=others) from error
    finally:
        connection.close()


def describe_tables() -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Header and rows: every column of every table."""
    rows: list[tuple[Any, ...]] = [
        (table.name, column.name, column.unit, column.doc)
        for table in TABLES.values()
        for column in table.columns
    ]
    rows += (("runs", name, "", "from the run's manifest") for name in _MANIFEST_SCHEMA.names)
    return ("table", "column", "unit", "meaning"), rows


def _connect(store: RunStore) -> duckdb.DuckDBPyConnection:
    root = store.root.resolve()
    connection = duckdb.connect(
        config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    )
    folders = [root / str(run_id) for run_id in store.ids()]
    for name in TABLES:
        files = [str(folder / f"{name}.parquet") for folder in folders]
        if files:
            listing = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
            connection.execute(f"create view {name} as select * from read_parquet([{listing}])")
        else:
            connection.register(f"_{name}", arrow_schema(name).empty_table())
            connection.execute(f"create view {name} as select * from _{name}")
    connection.register("_runs", _manifest_table(store))
    connection.execute("create view runs as select * from _runs")
    connection.execute("set python_enable_replacements = false")
    connection.execute("set allowed_directories = ['" + str(root).replace("'", "''") + "/']")
    connection.execute("set enable_external_access = false")
    connection.execute("set lock_configuration = true")
    return connection


def _manifest_table(store: RunStore) -> pa.Table:
    rows = [
        {
            "run_id": manifest.run_id,
            "name": manifest.name,
            "ladder": manifest.ladder,
            "kernel": manifest.kernel,
            "origin": manifest.origin,
            "recorded": manifest.recorded,
            "launches": manifest.launches,
            "gpu": ", ".join(manifest.gpus),
            "ncu_version": manifest.ncu_version,
            "clock_control": manifest.clock_control,
            "report_sha256": manifest.report.sha256 if manifest.report else None,
        }
        for manifest in store.manifests()
    ]
    return pa.Table.from_pylist(rows, schema=_MANIFEST_SCHEMA)


_MANIFEST_SCHEMA = pa.schema(
    [
        ("run_id", pa.string()),
        ("name", pa.string()),
        ("ladder", pa.string()),
        ("kernel", pa.int64()),
        ("origin", pa.string()),
        ("recorded", pa.string()),
        ("launches", pa.int64()),
        ("gpu", pa.string()),
        ("ncu_version", pa.string()),
        ("clock_control", pa.string()),
        ("report_sha256", pa.string()),
    ]
)
