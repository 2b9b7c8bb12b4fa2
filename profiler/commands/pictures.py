"""A chart into a file that the user named: whole, or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from profiler.errors import OutputNotWritable
from profiler.present.text import printable

if TYPE_CHECKING:
    from altair.typing import ChartType


def check_chart_file(path: Path) -> None:
    """Before anything is computed, and before there is half an answer."""
    from profiler.present.charts import SUFFIXES

    if path.suffix.lower() not in SUFFIXES:
        raise typer.BadParameter(
            f"'{printable(path.name)}' should end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}",
            param_hint="'--chart'",
        )


def write_chart(chart: ChartType, path: Path) -> None:
    """Rendered first and renamed last: the name never holds half a picture."""
    from profiler.present.charts import render

    content = render(chart, path.suffix.lower())
    aside = path.with_name(f".{path.name}.part")
    try:
        aside.write_bytes(content)
        os.replace(aside, path)
    except OSError as error:
        raise OutputNotWritable(f"{path}: cannot be written: {error.strerror}") from None
    finally:
        with suppress(OSError):
            aside.unlink()
