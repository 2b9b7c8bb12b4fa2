"""Writes a chart to the file of `--chart`, on a light or dark background."""

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
    """Returns the file for a chart after checking its name, or None without `--chart`."""
    if path is None:
        if dark:
            raise typer.BadParameter("there is no chart to draw: add --chart FILE", param_hint="'--dark'")
        return None
    from profiler.present.charts import SUFFIXES

    check_ending(path, SUFFIXES, "--chart")
    if dark and path.suffix.lower() == ".html":
        raise typer.BadParameter(
            "an HTML page follows its reader's light or dark setting: leave --dark out", param_hint="'--dark'"
        )
    return ChartFile(path, dark)
