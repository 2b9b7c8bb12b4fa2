"""Writes the page of `prof report` for somebody who calls functions."""

from __future__ import annotations

import warnings
from pathlib import Path

from profiler.ask.named.settings import Settings, keep_silent
from profiler.ask.report import report_named
from profiler.ask.show import left_out_text
from profiler.errors import OutputNotWritable
from profiler.present.page.writing import make_page, spare_foreign_file
from profiler.store.cache import open_pictures
from profiler.store.disk import write_whole

_ENDINGS = (".html", ".htm")


def write_page(
    references: list[str],
    output: str | Path,
    settings: Settings,
    *,
    title: str | None,
    kernel_name: str | None,
    force: bool,
    overwrite: bool,
) -> Path:
    """Writes a page about the recordings, each compared with the one before, and returns its path.

    Each report that is left out, since it cannot be read, is a warning.
    """
    path = Path(output)
    if path.suffix.lower() not in _ENDINGS:
        raise OutputNotWritable(
            f"{path}: a page should end in .html",
            remedy="Name the file as `output`, such as output='pair.html'.",
        )
    if not overwrite:
        spare_foreign_file(path)
    found, _, html = make_page(
        lambda: report_named(references, settings, title, kernel_name=kernel_name, force=force),
        open_pictures(),
        keep_silent,
    )
    write_whole(html, path)
    for error in found.left_out.values():
        warnings.warn(left_out_text(error), stacklevel=4)  # of the caller of `report`, which is wrapped
    return path
