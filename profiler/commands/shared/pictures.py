"""Writes a chart into the file that the user named, on the paper asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from profiler.commands.shared.files import check_ending, write_whole

if TYPE_CHECKING:
    from altair.typing import ChartType


@dataclass(frozen=True)
class ChartFile:
    path: Path
    dark: bool

    def write(self, chart: ChartType) -> None:
        from profiler.present.charts import render

        write_whole(render(chart, self.path.suffix.lower(), "dark" if self.dark else "light"), self.path)


def chart_file(path: Path | None, dark: bool) -> ChartFile | None:
    """Returns the file for a chart, checked before anything is computed; None where none was asked for."""
    if path is None:
        if dark:
            raise typer.BadParameter("there is no picture to draw: add --chart FILE", param_hint="'--dark'")
        return None
    from profiler.present.charts import SUFFIXES

    check_ending(path, SUFFIXES, "--chart")
    if dark and path.suffix.lower() == ".html":
        raise typer.BadParameter(
            "a page is as dark as its reader asks for: leave it out", param_hint="'--dark'"
        )
    return ChartFile(path, dark)
