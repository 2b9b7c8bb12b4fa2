"""`prof metrics` prints the catalogue of metrics."""

from __future__ import annotations

from typing import Annotated

import typer

from profiler.catalog.metrics import CATALOGUE, SMALLEST_SHARE_OF_WHOLE, derivation, find_metric
from profiler.commands.shared.options import Format, FormatOption, settings_of
from profiler.commands.shared.output import print_rows


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
            " ".join(metric.ncu) or derivation(metric),
        )
        for metric in chosen
    ]
    if settings.format is not Format.table:
        print_rows(header, rows, settings)
    elif name is not None:
        for title, value in zip(header, rows[0], strict=True):
            if value:
                print(f"{title:<9}{value}")
        if whole := chosen[0].part_of:
            share = f"a change below {SMALLEST_SHARE_OF_WHOLE:.1%} of it counts as none".replace("%", " %")
            print(f"part of  {' + '.join(whole)}: {share}")
    else:
        print_rows(("name", "unit", "better", "meaning"), [(*row[:3], row[4]) for row in rows], settings)
