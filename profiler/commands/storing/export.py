"""`prof export` writes the reports of a run, byte for byte as Nsight Compute wrote them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from profiler.ask.named.references import open_named
from profiler.commands.shared import options
from profiler.store.runs.export import export_reports
from profiler.text import printable


def export(
    *,
    source: Annotated[str, Argument(help="A kernel number, a run id, or a run's name.")],
    output: Annotated[Path, Option("--output", "-o", file_okay=False, help="Folder to write to.")] = Path(),
    overwrite: Annotated[bool, Option("--overwrite", help="Write over files that exist.")] = False,
    size: options.RunSizeOption = None,
    settings: options.FileSettings,
) -> None:
    """Write a run's reports for the Nsight Compute UI.

    `prof` writes one .ncu-rep file for each process that was recorded, and checks its content against the recorded
    hash.

    Examples:
      prof export 6
      prof export gemm-6-source --output /tmp
    """
    (run,) = open_named([source], replace(settings, size=size))
    for path in export_reports(run, output, overwrite=overwrite):
        print(printable(str(path)))
