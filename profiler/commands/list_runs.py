"""`prof list`: what is stored."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from profiler.commands.options import Format, FormatOption, RunsOption, settings_of, terminal_width


def list_runs(
    context: typer.Context,
    name: Annotated[
        str | None, typer.Argument(help="Only runs whose name contains this, all of them.")
    ] = None,
    runs: RunsOption = None,
    format: FormatOption = None,
) -> None:
    """List what is stored.

    One line per name; with a name, every run whose name contains it.

    Examples:

      prof list

      prof list gemm-5
    """
    from profiler.present.encode import to_csv, to_json, to_markdown
    from profiler.present.listing import HEADER, RIGHT, kernel_rows, run_rows
    from profiler.present.terminal import render_table, wants_colour
    from profiler.present.text import printable
    from profiler.store.runs import RunStore

    settings = settings_of(context, runs, None, format)
    store = RunStore(settings.runs_folder)
    rows = kernel_rows(store) if name is None else run_rows(store, name)
    if settings.format is Format.json:
        print(to_json([dict(zip(HEADER, row, strict=True)) for row in rows]))
    elif settings.format is Format.csv:
        print(to_csv(HEADER, rows))
    elif settings.format is Format.markdown:
        print(to_markdown(HEADER, rows, numeric=RIGHT))
    elif rows:
        cells = [["" if cell is None else str(cell) for cell in row] for row in rows]
        print(
            render_table(
                HEADER,
                cells,
                right=RIGHT,
                fold=len(HEADER) - 1,
                optional=(6, 5, 4),
                colour=wants_colour(sys.stdout.isatty()),
                width=terminal_width(),
            )
        )
    else:
        what = f"no run whose name contains '{name}'" if name else "no runs yet: prof ingest REPORT adds one"
        print(printable(f"{store.root}: {what}"), file=sys.stderr)
