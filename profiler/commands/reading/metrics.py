"""`prof metrics` prints the catalogue of metrics."""

from __future__ import annotations

from typing import Annotated

from typer import Argument

from profiler.catalog.metrics import CATALOGUE, find_metric
from profiler.commands.shared import options
from profiler.commands.shared.output import print_document
from profiler.present.documents.catalogue import metric_document, metrics_document


def metrics(
    *,
    name: Annotated[str | None, Argument(help="Print only this metric, by prof's or ncu's name.")] = None,
    settings: options.FormatSettings,
) -> None:
    """Print the catalogue of metrics, or one of them.

    Examples:

      prof metrics

      prof metrics lsu_pipe_pct
    """
    document = metrics_document(CATALOGUE) if name is None else metric_document(find_metric(name))
    print_document(document, settings.format)
