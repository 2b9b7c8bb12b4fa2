"""Runs SQL over the runs with DuckDB, which gets no access to files.

One SELECT at a time. DuckDB gets the tables as Arrow datasets and may open nothing itself, since a SELECT can
contain a COPY; its settings are locked before it sees the statement. Each table that the statement names is
hashed first, and refused when it changed.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from profiler.catalog.metrics import BY_NAME
from profiler.errors import QueryFailed, ResourcesShort
from profiler.machine import require_memory
from profiler.store.queried_tables import NAMES, dataset_of, describe_tables, runs_table
from profiler.store.tables.schema import TABLES
from profiler.text import names_like

if TYPE_CHECKING:
    from profiler.store.runs.run_store import RunStore

_ROWS_AT_ONCE = 10_000
# Address space: 64 threads of DuckDB and Arrow take 3.1 GB of it. With less, they end the process or wait for ever.
_LEAST_MEMORY_MIB = 4096
_BEYOND_PYTHON = re.compile(r"\[ns|month_day_nano_interval")  # in the name of an Arrow type
_RESERVED = re.compile(r'(?<!")\boffset\b(?!")', re.IGNORECASE)  # our column, which is a word of SQL
_NO_COLUMN = re.compile(r'column "(\w+)" not found')
_NO_TABLE = re.compile(r'Table with name "?(.+?)"? does not exist')


@dataclass
class Answer:
    """The rows of a query, read while DuckDB finds them; `names` are distinct."""

    names: tuple[str, ...]
    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    connection: duckdb.DuckDBPyConnection  # to convert values; the other one is busy with the query
    found: int = 0  # rows so far

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yields rows of plain Python values."""
        for batch in self.batches:
            self.found += batch.num_rows
            yield from self._plain(batch)

    def first(self, most: int) -> list[tuple[Any, ...]]:
        """Returns the first rows, of which alone the values are converted; the rest can only be counted."""
        rows: list[tuple[Any, ...]] = []
        while len(rows) < most and (batch := next(self.batches, None)) is not None:
            self.found += batch.num_rows
            rows += self._plain(batch.slice(0, most - len(rows)))
        return rows

    def count(self, most: int) -> int:
        """Returns how many rows there are, and leaves none to read; some number above `most` if there are more."""
        while self.found <= most and (batch := next(self.batches, None)) is not None:
            self.found += batch.num_rows
        return self.found

    def _plain(self, batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
        return zip(*(_values(self.connection, column) for column in batch.columns), strict=True)


@contextmanager
def open_query(store: RunStore, sql: str) -> Iterator[Answer]:
    """Yields the answer of a SELECT, whose rows are read as they are found.

    Runs that are damaged are left out, and `store.require_whole` raises their error.
    """
    require_memory("a query", _LEAST_MEMORY_MIB)
    if not sql.isprintable() and any("\ud800" <= character <= "\udfff" for character in sql):
        raise QueryFailed("the statement is not valid Unicode")
    connection = _connect(store, _named_tables(sql))
    try:
        statements = connection.extract_statements(sql)
        if [statement.type.name for statement in statements] != ["SELECT"]:
            raise QueryFailed("one SELECT statement is allowed, and nothing that writes")
        with _working_thread(connection) as thread:
            # Through Arrow: DuckDB's own conversion needs pytz for a timestamp with a time zone.
            reader = thread.submit(
                lambda: connection.sql(statements[0]).to_arrow_reader(_ROWS_AT_ONCE)
            ).result()
            names = _distinct(reader.schema.names)
            named = zip(reader.schema, names, strict=True)
            schema = pa.schema([field.with_name(name) for field, name in named])
            yield Answer(names, schema, _batches(thread, reader), connection.cursor())
    except duckdb.OutOfMemoryException:
        raise
    except duckdb.Error as error:
        raise _failed(str(error)) from error
    finally:
        connection.close()


@contextmanager
def _working_thread(connection: duckdb.DuckDBPyConnection) -> Iterator[ThreadPoolExecutor]:
    """Yields a thread for DuckDB, which hears no signal: whatever ends the wait for it, Ctrl-C or a request to terminate, ends its query too."""
    with ThreadPoolExecutor(1) as thread:
        try:
            yield thread
        except BaseException:
            behind = thread.submit(lambda: None)
            while not behind.done():  # an interrupt before the query starts would be lost
                connection.interrupt()
                wait([behind], timeout=0.05)
            raise


def _batches(thread: ThreadPoolExecutor, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    while True:
        try:
            yield thread.submit(reader.read_next_batch).result()
        except StopIteration:
            return
        except (pa.ArrowException, OSError) as error:  # as Arrow passes on an error of DuckDB
            if "Out of Memory" in str(error):
                raise duckdb.OutOfMemoryException(str(error)) from error
            raise _failed(str(error)) from error


def _failed(message: str) -> QueryFailed | ResourcesShort:
    if os.strerror(errno.EMFILE) in message:
        return ResourcesShort("too many open files in this process")
    first, *others = message.splitlines() or [""]
    return QueryFailed(f"the query failed: {first}", details=_hints(first, others))


def _named_tables(sql: str) -> list[str]:
    """Returns the tables that the statement names; all when it names none, since it may ask which there are."""
    words = set(re.findall(r"\w+", sql.lower()))
    named = words & set(NAMES)
    return [name for name in TABLES if name in named or not named]


def _metric_near(name: str) -> str | None:
    """Returns the name of a recorded metric of the catalogue that looks most like this one, if any does."""
    recorded = [metric.name for metric in BY_NAME.values() if metric.ncu]
    return next(iter(names_like(name, recorded, at_least=0.75)), None)


def _hints(message: str, given: list[str]) -> list[str]:
    """Returns the error's further lines. For an unknown table, suggests ours: DuckDB knows only the tables that it was given.

    One of our columns has to be quoted.
    """
    if "syntax error" in message and any(_RESERVED.search(line) for line in given):
        return [*given, 'The column offset has the name of a word of SQL: write it as "offset".']
    column = _NO_COLUMN.search(message)
    if column and (joins := _joins_with(column[1])):
        return [*given, f"{column[1]} is a column of another table: add {' or '.join(joins)}"]
    if column and (name := _metric_near(column[1])):
        ncu = BY_NAME[name].ncu[0]
        return [*given, f"{name} is no column but a metric: select value from metrics where metric = '{ncu}'"]
    missing = _NO_TABLE.search(message)
    if missing is None:
        return given
    near = names_like(missing[1], NAMES)
    own = [line for line in given if not line.startswith("Did you mean")]
    return [*(f'Did you mean "{name}"?' for name in near), *own]


def _joins_with(column: str) -> list[str]:
    """Returns the clauses that add the tables with this column."""
    columns: dict[str, set[str]] = {}
    for table, name, *_ in describe_tables()[1]:
        columns.setdefault(table, set()).add(name)
    return [
        f"`join {table} using ({'run_id, launch' if 'launch' in names else 'run_id'})`"
        for table, names in columns.items()
        if column in names
    ]


def _connect(store: RunStore, tables: Iterable[str]) -> duckdb.DuckDBPyConnection:
    """Connects DuckDB to `tables` alone, verified as recorded, and to the list of runs."""
    runs = store.open_all(store.ids())
    connection = duckdb.connect(
        config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    )
    for name in tables:
        connection.register(name, dataset_of(store, runs, name))
    connection.register("runs", runs_table(run.manifest for run in runs))
    connection.execute("set enable_progress_bar = false")  # it would print to standard output
    connection.execute("set python_enable_replacements = false")
    connection.execute("set temp_directory = ''")  # DuckDB could write there
    connection.execute("set enable_external_access = false")
    connection.execute("set lock_configuration = true")
    return connection


def _values(connection: duckdb.DuckDBPyConnection, column: pa.Array) -> list[Any]:
    """Returns a column as Python values, or as DuckDB's text for dates and times that Python cannot hold."""
    if not _BEYOND_PYTHON.search(str(column.type)):
        with suppress(OverflowError):  # a year past 9999, or infinity
            return [_plain(value) for value in column.to_pylist()]
    connection.register("answer", pa.table({"value": column}))
    texts: list[Any] = (
        connection.sql("select value::varchar from answer").to_arrow_table().column(0).to_pylist()
    )
    return texts


def _plain(value: Any) -> Any:
    """Turns Decimals into numbers: a sum of integers comes as a Decimal, which JSON would hold as text."""
    if isinstance(value, Decimal):
        return float(value) if value.as_tuple().exponent else int(value)
    if isinstance(value, dict):
        return {key: _plain(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_plain(member) for member in value)
    return value


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    """Makes names distinct, since a JSON object holds each once: `a`, `a`, `a` become `a`, `a_2`, `a_3`."""
    given = list(names)
    taken: dict[str, None] = {}
    for name in given:
        number, unique = 1, name
        while unique in taken or (number > 1 and unique in given):
            number += 1
            unique = f"{name}_{number}"
        taken[unique] = None
    return tuple(taken)
