"""Writes the files that a user named, each completely or not at all; the one of `--chart` too."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import BadParameter

from profiler.commands.shared import options
from profiler.commands.shared.verb import OfOptions
from profiler.errors import OutputNotWritable
from profiler.store.cache import open_pictures
from profiler.store.disk import require_folder_of, write_whole
from profiler.text import printable

if TYPE_CHECKING:
    from altair.typing import ChartType

    from profiler.present.style import Scheme


def check_output(path: Path, endings: Sequence[str], option: str, why: str = "") -> None:
    """Refuses a file name with any other ending, and a folder that cannot be written to, before anything is computed."""
    if path.suffix.lower() not in endings:
        *others, last = endings
        known = f"{', '.join(others)} or {last}" if others else last
        raise BadParameter(f"'{printable(path.name)}' should end in {known}{why}", param_hint=f"'{option}'")
    require_folder_of(path)
    if not os.access(path.parent, os.W_OK):
        raise OutputNotWritable(f"{path}: cannot be written: {path.parent} is not a writable folder")


@dataclass(frozen=True)
class ChartFile:
    """The file of `--chart`; nothing is drawn without one."""

    path: Path | None = None
    dark: bool = False

    def draw(self, chart: Callable[[Any], ChartType]) -> None:
        """Writes what `chart` makes with the package `present.charts`, which is imported only for that."""
        if self.path is not None:
            from profiler.present import charts

            scheme: Scheme = "dark" if self.dark else "light"
            picture = charts.render(chart(charts), self.path.suffix.lower(), scheme, open_pictures())
            write_whole(picture, self.path)

    def report(self, settings: options.VerbSettings) -> None:
        if self.path is not None:
            settings.say(f"Wrote {self.path}")


def chart_file(chart: options.ChartOption = None, dark: options.DarkOption = False) -> ChartFile:
    """Returns the file for a chart, which can be written."""
    if chart is None:
        if dark:
            raise BadParameter("there is no chart to draw: add --chart FILE", param_hint="'--dark'")
        return ChartFile()
    from profiler.present.charts import SUFFIXES

    check_output(chart, SUFFIXES, "--chart")
    if dark and chart.suffix.lower() == ".html":
        raise BadParameter(
            "an HTML page follows its reader's light or dark setting: leave --dark out", param_hint="'--dark'"
        )
    return ChartFile(chart, dark)


ChartOptions = Annotated[ChartFile, OfOptions(chart_file)]  # of a verb with --chart and --dark
