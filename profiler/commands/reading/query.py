"""`prof query` runs SQL over the stored tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from profiler.commands.shared.files import check_ending, report_written, write_whole
from profiler.commands.shared.options import FormatOption, RunsOption, settings_of
from profiler.commands.shared.output import print_document
from profiler.present.document import DocumentFormat
from profiler.present.documents.parts.rows import rows_document
from profiler.present.render import render
from profiler.present.render.terminal import Window
from profiler.store.runs.run_store import RunStore


def query(
    context: typer.Context,
    sql: Annotated[str | None, typer.Argument(metavar="SQL", help="One SELECT statement.")] = None,
    tables: Annotated[bool, typer.Option("--tables", help="Describe the tables and their columns.")] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            dir_okay=False,
            help="Write every row to this .parquet, .csv or .json file instead.",
        ),
    ] = None,
    runs: RunsOption = None,
    format: FormatOption = None,
) -> None:
    """Ask the stored runs anything, in SQL.

    The SQL is DuckDB's. A query can read only the runs, and writes nothing.

    Examples:

      prof query "select run_id, avg(value) from metrics where metric like '%issue_active.avg%' group by 1"

      prof query "select * from metrics" -o metrics.parquet

      prof query --tables
    """
    settings = settings_of(context, runs, None, format)
    if output is not None:
        check_ending(output, (".parquet", ".csv", ".json"), "--output")
    store = None
    if tables:
        from profiler.store.query import describe_tables

        header, rows = describe_tables()
    elif sql is None:
        raise typer.BadParameter("give a SELECT statement, or --tables to see what there is")
    else:
        from profiler.store.query import query_parquet, run_query

        store = RunStore(settings.runs_to_read)
        if output is not None and output.suffix.lower() == ".parquet":
            write_whole(query_parquet(store, sql), output)
            report_written(output, settings)
            store.require_whole()
            return
        header, rows = run_query(store, sql)
    document = rows_document(header, rows)
    if output is None:
        print_document(document, format=settings.format, pages=True)
    else:
        write_whole(f"{render([document], _format_of(output), Window())}\n".encode(), output)
        report_written(output, settings)
    if store is not None:
        store.require_whole()


def _format_of(path: Path) -> DocumentFormat:
    return "csv" if path.suffix.lower() == ".csv" else "json"
