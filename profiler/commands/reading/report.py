"""`prof report`: the page people open."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from profiler.commands.shared.options import KernelNameOption, LadderOption, RunsOption, settings_of


def report(
    context: typer.Context,
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            help="Kernel numbers, run ids or names, or .ncu-rep files [default: the whole ladder].",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", dir_okay=False, help="The page to write.")
    ] = Path("report.html"),
    title: Annotated[
        str | None,
        typer.Option("--title", help="The page's title [default: the ladder's, or what is named]."),
    ] = None,
    kernel_name: KernelNameOption = None,
    force: Annotated[
        bool, typer.Option("--force", help="Compare recordings that were not measured alike.")
    ] = False,
    runs: RunsOption = None,
    ladder: LadderOption = None,
) -> None:
    """Write the page: one HTML file with everything in it.

    The ladder at a glance, a sheet of every rung, and every comparison with the rung it follows; or the recordings
    that are named, each against the one before. It works offline, in light and dark, on a phone, a projector and on paper.

    Examples:

      prof report -o ladder.html

      prof report 5 6 -o pair.html

      prof report mine.ncu-rep --title 'Softmax on an H200'
    """
    from profiler.ask.report import report_ladder, report_named
    from profiler.commands.shared.files import check_ending, write_whole
    from profiler.present.documents.ladder import missing_lines
    from profiler.present.page import render_page
    from profiler.present.page.drawing import Drawing
    from profiler.present.page.drawn import draw_report
    from profiler.text import counted, printable, size

    settings = settings_of(context, runs, ladder)
    check_ending(output, (".html", ".htm"), "--output", ": it is a page, which a browser can print as PDF")
    _check_writable(output)
    with _no_collection(), Drawing() as drawing:  # its processes load while this one reads
        if sources:
            found = report_named(sources, settings, title, kernel_name=kernel_name, force=force)
        else:
            found = report_ladder(settings, title)
        contents = draw_report(found, drawing)
        page = render_page(contents, drawing.look.result()).encode()
    write_whole(page, output)
    for line in missing_lines(contents.ladder.ladder) if contents.ladder else ():
        print(line, file=sys.stderr)
    if not settings.quiet:
        kernels = counted(len(contents.kernels), "kernel", "kernels")
        pairs = counted(len(contents.pairs), "comparison", "comparisons")
        print(f"Wrote {printable(str(output))} ({size(len(page))}): {kernels}, {pairs}", file=sys.stderr)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Stops the garbage collector: a page is hundreds of thousands of objects that all stay until it is written."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _check_writable(path: Path) -> None:
    """Refuses a folder that cannot be written to, before seconds are spent."""
    from profiler.errors import OutputNotWritable

    if not os.access(path.parent, os.W_OK):
        raise OutputNotWritable(
            f"{path}: cannot be written: {path.parent} is no folder that may be written to"
        )
