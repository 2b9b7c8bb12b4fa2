"""`prof query` runs SQL over the stored tables."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from profiler.catalog.metrics import BY_NAME
from profiler.commands.shared import options
from profiler.commands.shared.files import check_output
from profiler.commands.shared.misuse import Misuse
from profiler.commands.shared.output import print_document
from profiler.commands.shared.window import folded_for_terminal
from profiler.present import Format
from profiler.present.document import Document, Text
from profiler.present.documents.parts.rows import rows_document
from profiler.present.render.csv import csv_lines
from profiler.present.render.json import to_json
from profiler.store.disk import whole_file
from profiler.store.runs.run_store import RunStore

if TYPE_CHECKING:
    from profiler.store.query import Answer

_ROWS_OF_A_TABLE = 1000
_ROWS_ON_A_TERMINAL = 40  # as many as DuckDB shows, which is about a screen
_MOST_COUNTED = 100_000  # a person who sees 40 rows does not wait for the number of millions


def query(
    *,
    sql: Annotated[str | None, Argument(metavar="SQL", help="One SELECT statement.")] = None,
    tables: Annotated[bool, Option("--tables", help="Describe the tables and their columns.")] = False,
    output: Annotated[
        Path | None,
        Option(
            "--output",
            "-o",
            metavar="FILE",
            dir_okay=False,
            help="Write every row to this .parquet, .csv or .json file instead.",
        ),
    ] = None,
    settings: options.StoreSettings,
) -> None:
    """Ask the stored runs anything, in SQL.

    The statement is in DuckDB's SQL. It can read only the runs, and writes nothing.

    Examples:
      prof query "select run_id, avg(value) from metrics where metric like '%issue_active.avg%' group by 1"
      prof query "select * from metrics" -o metrics.parquet
      prof query --tables
    """
    if output is not None:
        check_output(output, (".parquet", ".csv", ".json"), "--output")
    if tables:
        from profiler.store.queried_tables import describe_tables

        print_document(rows_document(*describe_tables(), grouped=True), settings.format, pages=True)
        return
    if sql is None:
        raise Misuse("give a SELECT statement, or --tables to see what there is")

    from profiler.store.query import open_query

    store = RunStore(settings.runs_to_read)
    with open_query(store, sql) as answer:
        if output is not None:
            _write(answer, output)
            settings.say(f"Wrote {output}")
        elif settings.format in ("csv", "json"):
            for text in _csv(answer) if settings.format == "csv" else _json(answer):
                print(text, end="")
        else:
            _print_tables(answer, settings.format)
    if output is None and not answer.found and not settings.quiet:
        print(*map(folded_for_terminal, _why_no_rows(sql)), sep="\n", file=sys.stderr)
    store.require_whole()


def _why_no_rows(sql: str) -> list[str]:
    """Returns a line for each metric that the statement names as prof does, with the names that the tables have; else one line."""
    named = [name for name in re.findall(r"'(\w+)'", sql) if name in BY_NAME and BY_NAME[name].ncu]
    ncus = {name: " or ".join(f"'{one}'" for one in BY_NAME[name].ncu) for name in named}
    told = [f"no rows: the tables have ncu's names; {name} is {ncu} there" for name, ncu in ncus.items()]
    return told or ["no rows"]


def _write(answer: Answer, path: Path) -> None:
    """Writes every row to the file, as they are found."""
    ending = path.suffix.lower()
    with whole_file(path) as file:
        if ending == ".parquet":
            import pyarrow.parquet as pq

            with pq.ParquetWriter(file, answer.schema) as writer:
                for batch in answer.batches:
                    writer.write_batch(batch.rename_columns(list(answer.names)))
            return
        for text in _csv(answer) if ending == ".csv" else _json(answer):
            file.write(text.encode())


def _csv(answer: Answer) -> Iterator[str]:
    rows = answer.rows()
    yield csv_lines([answer.names])
    while some := list(islice(rows, _ROWS_OF_A_TABLE)):
        yield csv_lines(some)


def _json(answer: Answer) -> Iterator[str]:
    """Yields a list with an object for each row."""
    before = "["
    for row in answer.rows():
        yield f"{before}\n {to_json(dict(zip(answer.names, row, strict=True)))}"
        before = ","
    yield "[]\n" if before == "[" else "\n]\n"


def _print_tables(answer: Answer, format: Format) -> None:
    """Prints the first rows on a terminal, then of how many they are; elsewhere prints all, in tables of as many rows."""
    if sys.stdout.isatty():
        first = answer.first(_ROWS_ON_A_TERMINAL)
        print_document(rows_document(answer.names, first), format, pages=True)
        if (found := answer.count(_MOST_COUNTED)) > len(first):
            print_document(Document("", [[Text(_first_of(len(first), found))]]), format)
        return
    rows = answer.rows()
    some = list(islice(rows, _ROWS_OF_A_TABLE))
    print_document(rows_document(answer.names, some), format)
    while some := list(islice(rows, _ROWS_OF_A_TABLE)):
        print()
        print_document(rows_document(answer.names, some), format)


def _first_of(shown: int, found: int) -> str:
    rows = f"{found:,}" if found <= _MOST_COUNTED else f"more than {_MOST_COUNTED:,}"
    return f"the first {shown} of {rows} rows: `-o FILE.csv` or `--format csv` writes all of them"
