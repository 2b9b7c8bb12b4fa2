"""`prof query`: SQL over the stored tables."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from profiler.commands.options import Format, FormatOption, RunsOption, settings_of, terminal_width


def query(
    context: typer.Context,
    sql: Annotated[str | None, typer.Argument(metavar="SQL", help="One SELECT statement.")] = None,
    tables: Annotated[bool, typer.Option("--tables", help="Describe the tables and their columns.")] = False,
    runs: RunsOption = None,
    format: FormatOption = None,
) -> None:
    """Ask the stored runs anything, in SQL.

    DuckDB's dialect. Reads nothing but the runs and writes nothing.

    Examples:

      prof query "select run_id, avg(value) from metrics where metric like '%issue_active.avg%' group by 1"

      prof query --tables
    """
    from profiler.present.encode import to_csv, to_json, to_markdown
    from profiler.present.terminal import render_table, wants_colour

    settings = settings_of(context, runs, None, format)
    if tables:
        from profiler.store.query import describe_tables

        header, rows = describe_tables()
    elif sql is None:
        raise typer.BadParameter("give a SELECT statement, or --tables to see what there is")
    else:
        from profiler.store.query import run_query
        from profiler.store.runs import RunStore

        header, rows = run_query(RunStore(settings.runs_folder), sql)
    if settings.format is Format.json:
        print(to_json([dict(zip(header, row, strict=True)) for row in rows]))
    elif settings.format is Format.csv:
        print(to_csv(header, rows))
    elif settings.format is Format.markdown:
        print(to_markdown(header, rows))
    else:
        colour = wants_colour(sys.stdout.isatty())
        cells = [["" if cell is None else str(cell) for cell in row] for row in rows]
        print(render_table(header, cells, fold=len(header) - 1, colour=colour, width=terminal_width()))
