"""Writes the page of `prof report` for somebody who calls functions."""

from __future__ import annotations

from pathlib import Path

from profiler.ask.named.settings import Settings, keep_silent
from profiler.ask.report import report_named
from profiler.errors import OutputNotWritable
from profiler.present.page.writing import make_page
from profiler.store.cache import open_pictures
from profiler.store.scratch import write_whole

_ENDINGS = (".html", ".htm")


def write_page(
    references: list[str],
    output: str | Path,
    settings: Settings,
    *,
    title: str | None,
    kernel_name: str | None,
    force: bool,
) -> Path:
    """Writes a page about the recordings, each compared with the one before, and returns its path."""
    path = Path(output)
    if path.suffix.lower() not in _ENDINGS:
        raise OutputNotWritable(
            f"{path}: a page should end in .html",
            remedy="Name the file as `output`, such as output='pair.html'.",
        )
    _, _, html = make_page(
        lambda: report_named(references, settings, title, kernel_name=kernel_name, force=force),
        open_pictures(),
        keep_silent,
    )
    write_whole(html, path)
    return path
