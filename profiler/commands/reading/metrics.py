"""`prof metrics` prints the catalogue of metrics."""

from __future__ import annotations

import shlex
from typing import Annotated

from typer import Argument

from profiler.catalog.metrics import CATALOGUE, metrics_meant
from profiler.commands.shared import options
from profiler.commands.shared.misuse import Misuse
from profiler.commands.shared.output import print_document
from profiler.present.documents.catalogue import metric_document, metrics_document
from profiler.store.runs.file_names import REPORT_SUFFIXES


def metrics(
    *,
    name: Annotated[
        str | None,
        Argument(
            help="Print only this metric, by prof's or ncu's name, or those with this part in their names."
        ),
    ] = None,
    settings: options.FormatSettings,
) -> None:
    """Print the catalogue of metrics, or one of them.

    Examples:
      prof metrics
      prof metrics lsu_pipe_pct
      prof metrics stall
    """
    if name is not None and name.endswith(REPORT_SUFFIXES):
        raise Misuse(
            f"this prints the catalogue: `prof show {shlex.quote(name)} --full` prints those of a report"
        )
    meant = CATALOGUE if name is None else metrics_meant(name)
    document = metrics_document(meant) if len(meant) > 1 else metric_document(meant[0])
    print_document(document, settings.format)
