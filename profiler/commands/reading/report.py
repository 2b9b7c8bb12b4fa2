"""`prof report` writes one HTML page about a ladder or about the recordings that are named."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from profiler.ask.report import report_ladder, report_named
from profiler.commands.shared import options
from profiler.commands.shared.files import check_ending, write_whole
from profiler.errors import OutputNotWritable
from profiler.present.documents.ladder import missing_lines
from profiler.store.cache import open_cache
from profiler.text import counted, size

_PICTURES_BYTES = 32 << 20  # a picture takes some 15 KB: a page of a ladder has fifty


def report(
    *,
    sources: Annotated[
        list[str] | None,
        Argument(
            help="Kernel numbers, run ids or names, or .ncu-rep files or folders of them [default: the whole ladder].",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path, Option("--output", "-o", metavar="FILE", dir_okay=False, help="HTML file to write.")
    ] = Path("report.html"),
    title: Annotated[
        str | None,
        Option(metavar="TEXT", help="Title of the page [default: the ladder's title, or the names given]."),
    ] = None,
    kernel_name: options.KernelNameOption = None,
    nvtx: options.NvtxOption = None,
    force: options.ForceComparisonOption = False,
    settings: options.FileSettings,
) -> None:
    """Write a page: one HTML file with everything in it.

    The page shows the ladder at a glance, a sheet for every rung, and a comparison of each with the rung that it
    follows. If you name recordings, it shows those, each compared with the one before. It works offline.

    Examples:

      prof report -o ladder.html

      prof report 5 6 -o pair.html

      prof report mine.ncu-rep --title 'Softmax on an H200'

      prof report reports/ -o all.html
    """
    from profiler.present.page.drawing import Drawing, derive_look
    from profiler.present.page.page import draw_page, page_html

    check_ending(output, (".html", ".htm"), "--output", ": it is a page, which a browser can print as PDF")
    _check_writable(output)
    with _no_collection(), Drawing(open_cache("pictures", _PICTURES_BYTES)) as drawing:
        if sources:
            found = report_named(sources, settings, title, kernel_name=kernel_name, force=force, nvtx=nvtx)
        else:
            found = report_ladder(settings, title)
        settings.progress("drawing the page")
        page = draw_page(found, drawing)
        html = page_html(page, derive_look()).encode()
        settings.progress("")
    write_whole(html, output)
    for line in missing_lines(found.ladder.ladder) if found.ladder else ():
        print(line, file=sys.stderr)
    held = [counted(len(page.of_kind("kernel")), "kernel")]
    if pairs := len(page.of_kind("pair")):
        held.append(counted(pairs, "comparison"))
    settings.say(f"Wrote {output} ({size(len(html))}): {', '.join(held)}")


@contextmanager
def _no_collection() -> Iterator[None]:
    """Stops the garbage collector, since all objects of a page, hundreds of thousands, are needed until it is written."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _check_writable(path: Path) -> None:
    """Refuses a folder that cannot be written to, before anything is computed."""
    if not os.access(path.parent, os.W_OK):
        raise OutputNotWritable(f"{path}: cannot be written: {path.parent} is not a writable folder")
