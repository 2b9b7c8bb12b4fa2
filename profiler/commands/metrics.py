"""`prof metrics`: the catalogue."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from profiler.commands.options import Format, FormatOption, settings_of, terminal_width


def metrics(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="One metric, by prof's name or by ncu's.")] = None,
    format: FormatOption = None,
) -> None:
    """Print the catalogue of metrics, or one of them.

    Examples:

      prof metrics

      prof metrics lsu_pipe_pct
    """
    from profiler.catalog.metrics import CATALOGUE, find_metric
    from profiler.present.encode import to_csv, to_json, to_markdown
    from profiler.present.terminal import render_table, wants_colour

    settings = settings_of(context, None, None, format)
    chosen = CATALOGUE if name is None else (find_metric(name),)
    header = ("name", "unit", "better", "group", "meaning", "ncu")
    rows = [
        (
            metric.name,
            metric.unit,
            metric.better or "",
            metric.group,
            metric.doc,
            " ".join(metric.ncu) or (f"share of {metric.share.source}" if metric.share else ""),
        )
        for metric in chosen
    ]
    if settings.format is Format.json:
        print(to_json([dict(zip(header, row, strict=True)) for row in rows]))
    elif settings.format is Format.csv:
        print(to_csv(header, rows))
    elif settings.format is Format.markdown:
        print(to_markdown(header, rows))
    elif name is not None:
        for title, value in zip(header, rows[0], strict=True):
            if value:
                print(f"{title:<9}{value}")
    else:
        colour = wants_colour(sys.stdout.isatty())
        cells = [(row[0], row[1], row[2], row[4]) for row in rows]
        print(
            render_table(
                ("name", "unit", "better", "meaning"), cells, fold=3, colour=colour, width=terminal_width()
            )
        )
