"""SQL over the runs, with no way out of the runs folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from profiler.errors import QueryFailed
from profiler.store.query import describe_tables, run_query
from profiler.store.runs import RunStore
from profiler.store.schema import TABLES


def test_every_table_can_be_asked_and_joined_with_the_runs(store: RunStore) -> None:
    header, rows = run_query(
        store,
        "select name, count(*) as n from metrics join runs using (run_id) group by name order by name",
    )

    assert header == ("name", "n")
    assert [name for name, _ in rows] == sorted(run_id.name for run_id in store.ids())
    for table in TABLES:
        (_, ((count,),)) = run_query(store, f"select count(*) from {table}")
        assert count == sum(manifest.tables[table].rows for manifest in store.manifests())


def test_an_empty_store_has_empty_tables(tmp_path: Path) -> None:
    for table in (*TABLES, "runs"):
        _, ((count,),) = run_query(RunStore(tmp_path), f"select count(*) from {table}")
        assert count == 0


def test_a_folder_with_a_quote_in_its_name_can_be_asked(reports: Path, tmp_path: Path) -> None:
    from profiler.store.ingest import Options, ingest_reports

    store = RunStore(tmp_path / 'it\'s "here"')
    list(ingest_reports([reports / "graph.ncu-rep"], store, Options()))

    assert run_query(store, "select count(*) from launches")[1] == [(2,)]


@pytest.mark.parametrize(
    "sql",
    [
        "select * from read_csv('/etc/passwd')",
        "select * from '/etc/passwd'",
        "select content from read_text('/proc/self/environ')",
        "select * from glob('/*')",
        "select * from read_parquet('https://example.com/x.parquet')",
        "copy (select 1) to '/tmp/leak.csv'",
        "copy launches to 'leak.parquet'",
        "attach '/tmp/leak.db'",
        "install httpfs",
        "load httpfs",
        "set enable_external_access = true",
        "create table t as select 1",
        "drop view metrics",
        "select 1; select 2",
        "pragma database_list",
        "select * from sys.modules",
        "select nonsense from metrics",
        "selekt",
        "",
    ],
)
def test_nothing_but_one_select_over_the_runs_is_allowed(store: RunStore, tmp_path: Path, sql: str) -> None:
    before = sorted(store.root.rglob("*"))

    with pytest.raises(QueryFailed):
        run_query(store, sql)

    assert sorted(store.root.rglob("*")) == before


def test_variables_of_the_program_are_not_tables(store: RunStore) -> None:
    import pyarrow as pa

    secret = pa.table({"a": [1]})

    with pytest.raises(QueryFailed, match="secret"):
        run_query(store, "select * from secret")
    assert secret.num_rows == 1


def test_the_description_names_every_column() -> None:
    header, rows = describe_tables()

    assert header == ("table", "column", "unit", "meaning")
    for table in TABLES.values():
        assert [row[1] for row in rows if row[0] == table.name] == [column.name for column in table.columns]
    assert all(meaning for *_, meaning in rows)
