"""`prof query` runs SQL over the stored tables."""

from __future__ import annotations

from typing import Annotated

import typer

from profiler.commands.shared.options import FormatOption, RunsOption, settings_of
from profiler.commands.shared.output import print_document
from profiler.present.documents.parts.rows import rows_document
from profiler.store.runs.run_store import RunStore


def query(
    context: typer.Context,
    sql: Annotated[str | None, typer.Argument(metavar="SQL", help="One SELECT statement.")] = None,
    tables: Annotated[bool, typer.Option("--tables", help="Describe the tables and their columns.")] = False,
    runs: RunsOption = None,
    format: FormatOption = None,
) -> None:
    """Ask the stored runs anything, in SQL.

    The SQL is DuckDB's. A query can read only the runs, and writes nothing.

    Examples:

      prof query "select run_id, avg(value) from metrics where metric like '%issue_active.avg%' group by 1"

      prof query --tables
    """
    settings = settings_of(context, runs, None, format)
    store = None
    if tables:
        from profiler.store.query import describe_tables

        header, rows = describe_tables()
    elif sql is None:
        raise typer.BadParameter("give a SELECT statement, or --tables to see what there is")
    else:
        from profiler.store.query import run_query

        store = RunStore(settings.runs_to_read)
        header, rows = run_query(store, sql)
    print_document(rows_document(header, rows), format=settings.format)
    if store is not None:
        store.require_whole()
