"""SQL over the runs, with no way out of the runs folder."""

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from subprocess import PIPE

import pandas as pd
import pytest

from profiler.errors import QueryFailed, RunDamaged
from profiler.present.render.json import to_json
from profiler.store.queried_tables import describe_tables
from profiler.store.query import open_query
from profiler.store.runs.run_store import RunStore
from profiler.store.tables.schema import TABLES
from tests.store.sql import run_query


@pytest.mark.slow
def test_every_table_can_be_asked_and_joined_with_the_runs(store):
    header, rows = run_query(
        store, "select name, count(*) as n from metrics join runs using (run_id) group by name order by name"
    )

    assert header == ("name", "n")
    assert [name for name, _ in rows] == sorted(run_id.name for run_id in store.ids())
    for table in TABLES:
        (_, ((count,),)) = run_query(store, f"select count(*) from {table}")
        assert count == sum(manifest.tables[table].rows for manifest in store.manifests())


@pytest.mark.slow
def test_an_empty_store_has_empty_tables(tmp_path):
    for table in (*TABLES, "runs"):
        _, ((count,),) = run_query(RunStore(tmp_path), f"select count(*) from {table}")
        assert count == 0


def test_a_folder_with_a_quote_in_its_name_can_be_asked(reports, tmp_path):
    from profiler.store.ingest.ingest import IngestOptions, ingest_reports

    store = RunStore(tmp_path / 'it\'s "here"')
    list(ingest_reports([reports / "graph.ncu-rep"], store, IngestOptions()))

    assert run_query(store, "select count(*) from launches")[1] == [(2,)]


READING = [
    "select * from read_csv('/etc/passwd')",
    "select * from '/etc/passwd'",
    "select content from read_text('/proc/self/environ')",
    "select content from read_text('{runs}/.lock')",
    "select * from sniff_csv('{runs}/.lock')",
    "select * from glob('/*')",
    "select * from read_parquet('https://example.com/x.parquet')",
    "select * from read_duckdb('{runs}/x.db')",
    "select * from duckdb_secrets()",
    "select * from sys.modules",
]
WRITING = [
    "copy (select 1) to '{runs}/evil.csv'",
    "copy launches to 'evil.parquet'",
    "copy (select 1) to '.tmp/evil.csv'",
    "from (copy (select 1) to '{runs}/evil.csv')",
    "with x as (copy (select 1) to '{runs}/evil.csv') select * from x",
    "with x as (copy (select 1) to '.tmp/evil.csv') select * from x",
    "with x as (copy (select 1) to 'evil.csv') select * from x",
    "with x as (copy (select 1 as a) to '{runs}/x' (format parquet, partition_by a)) select * from x",
    "with x as (insert into runs (name) values ('x') returning *) select * from x",
    "with x as (delete from runs returning *) select * from x",
    "with x as (update runs set name = 'x' returning *) select * from x",
    "explain select 1",
    "explain analyze select 1",
    "explain analyze copy (select 42) to '{runs}/evil.csv'",
    "explain analyze create table t as select 1",
    "explain copy (select 42) to '{runs}/evil.csv'",
    "export database '{runs}/evil'",
    "import database '{runs}/evil'",
    "attach '{runs}/evil.db'",
    "attach ':memory:' as other",
    "detach temp",
    "use temp",
    "install httpfs",
    "install json from '{runs}'",
    "force install httpfs",
    "load httpfs",
    "load '{runs}/evil.duckdb_extension'",
    "set enable_external_access = true",
    "set temp_directory = '{runs}'",
    "set allowed_directories = ['/']",
    "set profiling_output = '{runs}/evil.json'",
    "set variable x = 1",
    "reset enable_external_access",
    "pragma database_list",
    "pragma enable_profiling",
    "pragma profiling_output = '{runs}/evil.json'",
    "call pragma_version()",
    "call enable_logging(storage = 'file', storage_path = '{runs}')",
    "call force_checkpoint()",
    "select * from enable_logging(storage = 'file', storage_path = '{runs}')",
    "select * from enable_profiling(save_location = '{runs}/evil.json')",
    "select * from query('copy (select 1) to $${runs}/evil.csv$$')",
    "select * from json_execute_serialized_sql('copy (select 1) to $${runs}/evil.csv$$')",
    "create table t as select 1",
    "create temp table t as select 1",
    "create view v as select 1",
    "create macro m(a) as a",
    "create sequence s",
    "create secret s (type s3)",
    "create or replace view metrics as select 1",
    "drop view metrics",
    "alter view metrics rename to m",
    "insert into runs (name) values ('x')",
    "update runs set name = 'x'",
    "delete from metrics",
    "truncate metrics",
    "merge into runs using runs as r on true when matched then delete",
    "vacuum",
    "analyze",
    "checkpoint",
    "begin transaction",
    "commit",
    "prepare p as select 1",
    "execute p",
    "deallocate p",
    "comment on view metrics is 'x'",
    "select nextval('s')",
]
NO_QUERY = [
    "select 1; select 2",
    "select 1; copy (select 1) to '{runs}/x'",
    "select nonsense from metrics",
    "selekt",
    "",
    "-- x",
]


@pytest.fixture
def few(store, tmp_path):
    """Two runs to do anything to."""
    few = RunStore(tmp_path / "few")
    for run_id in store.ids()[:2]:
        shutil.copytree(store.root / str(run_id), few.root / str(run_id))
    (few.root / ".lock").touch()
    return few


def content(*folders):
    """Every path below, and the bytes of the files."""
    paths = [path for folder in folders for path in folder.rglob("*")]
    return {path: path.read_bytes() if path.is_file() else None for path in paths}


@pytest.mark.slow
@pytest.mark.parametrize("statements", [READING, WRITING, NO_QUERY], ids=["reading", "writing", "no query"])
def test_nothing_but_one_select_over_the_runs_is_allowed(few, tmp_path, monkeypatch, statements):
    here = tmp_path / "here"
    (here / ".tmp").mkdir(parents=True)
    monkeypatch.chdir(here)
    before = content(few.root, here)
    allowed, changing = [], []
    for sql in statements:
        with suppress(QueryFailed):
            run_query(few, sql.format(runs=few.root))
            allowed.append(sql)
        if content(few.root, here) != before:
            changing.append(sql)
            before = content(few.root, here)

    assert (allowed, changing) == ([], [])


@pytest.mark.parametrize(
    "sql",
    [
        "select write_log('x', level := 'error')",
        "select setseed(0.5)",
        "select * from checkpoint()",
        "select * from duckdb_settings()",
        "select * from (summarize metrics)",
    ],
)
def test_a_select_that_succeeds_leaves_no_trace(few, tmp_path, monkeypatch, sql):
    monkeypatch.chdir(tmp_path)
    before = content(tmp_path)

    run_query(few, sql)

    assert content(tmp_path) == before


@pytest.mark.parametrize(
    ("sql", "hints"),
    [
        ("select * from nope", ()),  # DuckDB would name a table of its own, pg_enum
        ("select * from metric", ('Did you mean "metrics"?',)),
        (
            "select duration from launches",
            (
                "Candidate bindings: ",
                "duration_ns is no column but a metric: select value from metrics where metric = 'gpu__time_duration.sum'",
            ),
        ),
        (
            "select name, value from metrics",
            (
                "Candidate bindings: ",
                "name is a column of another table: add `join rules using (run_id, launch)` or `join runs using (run_id)`",
            ),
        ),
        ("select * from lanches join metrics using (run_id)", ('Did you mean "launches"?',)),
        ("select metrc from metrics", ('Candidate bindings: "metric"',)),  # of a column DuckDB knows
    ],
)
def test_a_misspelt_metric_is_an_error_with_the_nearest_name(few, sql, hints):
    with pytest.raises(QueryFailed, match="the query failed: ") as caught:
        run_query(few, sql)
    assert tuple(line[: len(hint)] for line, hint in zip(caught.value.details, hints, strict=True)) == hints
    assert "tables are launches, metrics" in caught.value.remedy


# What comes back


def test_sums_are_numbers_and_not_text(store, prof_here):
    sql = "select sum(executed) as n, 1.50::decimal(4, 2) as d, [{'h': 2::hugeint}] as l from instructions"

    _, ((total, decimal, nested),) = run_query(store, sql)
    (row,) = json.loads(prof_here("--runs", store.root, "query", sql, "--format", "json").stdout)

    assert (type(total), decimal, nested) == (int, 1.5, [{"h": 2}])
    assert row == {"n": total, "d": 1.5, "l": [{"h": 2}]}


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("select 1 as a, 2 as a, 3 as a", ("a", "a_2", "a_3")),
        ("select 1 as a, 2 as a, 3 as a_2, 4 as a", ("a", "a_3", "a_2", "a_4")),
        ("select m.launch, l.launch from metrics m join launches l using (run_id)", ("launch", "launch_2")),
    ],
)
def test_columns_of_the_same_name_are_all_kept(store, sql, names):
    assert run_query(store, sql)[0] == names


def test_the_workload_of_a_run_is_text_or_missing(make_run, tmp_path):
    sizes = {"m": 4096, "n": 4096, "k": 8}
    make_run({"kernel": "k"}, name="known", root=tmp_path, workload=sizes)
    make_run({"kernel": "k"}, name="unknown", root=tmp_path, workload=None)

    _, rows = run_query(RunStore(tmp_path), "select name, workload from runs order by name")

    assert rows == [("known", "m=4096 n=4096 k=8"), ("unknown", None)]


@pytest.mark.slow
def test_conditions_mean_what_they_mean_over_the_files_themselves(store):
    import duckdb

    conditions = [
        "metric = 'gpu__time_duration.sum'",
        "metric in ('gpu__time_duration.sum', 'sm__cycles_elapsed.max') and value > 3",
        "metric > 'd' and text is null",
        "value is null or exact is not null",
        "launch between 1 and 2 and kind <> 'double'",
        "unit = '' and not value < 10",
    ]
    for condition in conditions:
        question = f"select count(*), sum(value) from metrics where {condition}"
        direct = question.replace("from metrics", f"from '{store.root}/*/metrics.parquet'")
        ((count, total),) = run_query(store, question)[1]
        assert (count, pytest.approx(total)) == duckdb.sql(direct).fetchall()[0], condition
        assert count, condition


# Damage


def query_whole(store, sql):
    """As `prof query` does: the answer first, then the error of what is damaged."""
    run_query(store, sql)
    store.require_whole()


@pytest.mark.parametrize("sql", ["select count(*) from Metrics", "show tables"])
def test_a_changed_table_is_refused_where_it_may_be_read(few, sql):
    first, second = (few.root / str(run_id) / "metrics.parquet" for run_id in few.ids())
    shutil.copyfile(first, second)

    with pytest.raises(RunDamaged, match="is not the one recorded") as caught:
        query_whole(few, sql)

    assert str(caught.value).startswith(f"{second}: ")
    launches = sum(manifest.launches for manifest in few.manifests())
    assert run_query(few, "select count(*) from launches")[1] == [(launches,)]


def test_a_table_is_not_reached_under_a_name_made_up_at_run_time(few):
    with pytest.raises(QueryFailed, match="metrics does not exist"):
        run_query(few, "select * from query_table('met' || 'rics'), launches")


def test_a_missing_table_is_damage(few):
    (few.root / str(few.ids()[0]) / "rules.parquet").unlink()

    with pytest.raises(RunDamaged, match=r"rules\.parquet: cannot be read"):
        query_whole(few, "select * from rules")


def test_a_run_in_the_folder_of_another_is_damage(few):
    run_id = few.ids()[0]
    (few.root / str(run_id)).rename(few.root / str(run_id).replace(run_id.hash, "0123456789ab"))

    with pytest.raises(RunDamaged, match="do not belong together"):
        query_whole(few, "select name from runs")


# Values that Python has no type for


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("timestamp '2026-01-02 03:04:05'", "2026-01-02T03:04:05"),
        ("date '2026-01-02'", "2026-01-02"),
        ("'20000-01-01'::date", "20000-01-01"),
        ("'290000-01-01'::timestamp", "290000-01-01 00:00:00"),
        ("'infinity'::timestamp", "infinity"),
        ("'-infinity'::timestamptz", "-infinity"),
        ("timestamp_ns '2026-01-02 03:04:05.123456789'", "2026-01-02 03:04:05.123456789"),
        ("interval '1 month 2 days'", "1 month 2 days"),
        ("['infinity'::date]", "[infinity]"),
        ("{'a': timestamp_ns '2026-01-02'}", "{'a': '2026-01-02 00:00:00'}"),
        ("{'interval': 1}", {"interval": 1}),
    ],
)
def test_a_date_beyond_pythons_is_text(tmp_path, value, shown):
    header, rows = run_query(RunStore(tmp_path), f"select {value} as value union all select null")

    found = [
        row["value"] for row in json.loads(to_json([dict(zip(header, row, strict=True)) for row in rows]))
    ]
    assert sorted(found, key=str) == sorted([shown, None], key=str)


# Interrupts


@pytest.mark.slow
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize(
    "sql",
    [
        "select sum(a.i * b.i) from range(10000000) a(i), range(10000000) b(i)",
        "select count(*) from metrics a, metrics b, metrics c where a.value + b.value > c.value",
    ],
)
def test_a_signal_ends_a_query_that_would_take_hours(recorded, sql, sent, code):
    prof = [sys.executable, "-c", "from profiler.cli import main; main()"]
    with subprocess.Popen(
        [*prof, "--runs", str(recorded.root), "query", sql], stdout=PIPE, stderr=PIPE, text=True
    ) as process:
        time.sleep(1.5)
        assert process.poll() is None
        process.send_signal(sent)
        try:
            out, err = process.communicate(timeout=30)
        finally:
            process.kill()

    assert (process.returncode, out) == (code, "")
    assert "Traceback" not in err


def test_variables_of_the_program_are_not_tables(store):
    import pyarrow as pa

    secret = pa.table({"a": [1]})

    with pytest.raises(QueryFailed, match="secret"):
        run_query(store, "select * from secret")
    assert secret.num_rows == 1


def test_the_description_names_every_column():
    header, rows = describe_tables()

    assert header == ("table", "column", "unit", "meaning")
    for table in TABLES.values():
        assert [row[1] for row in rows if row[0] == table.name] == [column.name for column in table.columns]
    assert all(meaning for *_, meaning in rows)


@pytest.mark.parametrize("ending", ["parquet", "csv", "json"])
def test_an_answer_is_written_with_every_row_and_column(prof_recorded, tmp_path, ending):
    sql = "select run_id, launch, value from metrics order by all limit 500"
    file = tmp_path / f"answer.{ending}"
    done = prof_recorded("query", sql, "-o", file)
    assert (done.returncode, done.stdout) == (0, "")
    readers = {"parquet": pd.read_parquet, "csv": pd.read_csv, "json": pd.read_json}
    table = readers[ending](file)
    assert list(table.columns) == ["run_id", "launch", "value"]
    assert len(table) == 500


def test_an_answer_is_not_written_under_an_ending_that_means_nothing(prof_recorded, tmp_path):
    done = prof_recorded("query", "select 1", "-o", tmp_path / "answer.txt")
    assert done.returncode == 2
    assert ".parquet, .csv or .json" in done.stderr


def test_the_first_rows_come_before_the_last_are_found(tmp_path):
    with open_query(RunStore(tmp_path), "select i from range(1000000000000) t(i)") as answer:
        assert next(answer.rows()) == (0,)


def test_a_query_that_fails_late_fails_all_the_same(tmp_path):
    sql = "select case when i = 200000 then error('too late') end from range(300000) t(i)"
    with pytest.raises(QueryFailed, match="too late"):
        run_query(RunStore(tmp_path), sql)


@pytest.mark.slow
def test_in_a_pipe_every_row_column_and_value_is_printed(prof_recorded):
    sql = "select i, repeat('x', 300) as long, i as again from range(2500) t(i)"
    printed = prof_recorded("query", sql).stdout.split()
    assert printed.count("x" * 300) == 2500
    assert printed.count("2499") == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (2500, "2,500"),
        (100_000, "100,000"),
        (100_001, "more than 100,000"),
        (10**12, "more than 100,000"),  # which nobody waits for
    ],
)
def test_a_terminal_gets_the_first_rows_and_a_hint_how_to_get_all(recorded, rows, said):
    sql = f"select i from range({rows}) t(i)"
    prof = [sys.executable, "-c", "from profiler.cli import main; main()"]
    command = [*prof, "--no-pager", "--runs", str(recorded.root), "query", sql]
    leader, follower = pty.openpty()
    with subprocess.Popen(command, stdin=PIPE, stdout=follower, stderr=PIPE) as running:
        os.close(follower)
        shown = b""
        with suppress(OSError):  # as Linux says that the other end is closed
            while some := os.read(leader, 65536):
                shown += some
        running.wait()
    os.close(leader)
    lines = shown.decode().split("\r\n")
    assert "39" in lines
    assert "40" not in lines
    assert f"the first 40 of {said} rows: `-o FILE.csv` or `--format csv` writes all of them" in lines


@pytest.mark.slow
def test_a_metric_by_our_name_that_finds_no_rows_gets_a_hint_with_ncus_name(prof_recorded):
    of_metric = "select * from metrics where metric = '{}'"
    ours = prof_recorded("query", of_metric.format("duration_ns"))
    assert ours.returncode == 0
    assert "no rows: the tables have ncu's names; duration_ns is 'gpu__time_duration.sum'" in ours.stderr
    assert prof_recorded("query", of_metric.format("gpu__time_duration.sum")).stderr == ""
    assert prof_recorded("query", of_metric.format("nothing")).stderr == "no rows\n"
    assert prof_recorded("--quiet", "query", of_metric.format("nothing")).stderr == ""
