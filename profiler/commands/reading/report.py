"""`prof report` writes one HTML page about a ladder or about the recordings that are named."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from profiler.analyse.report import PageFindings
from profiler.ask.report import report_ladder, report_named
from profiler.ask.show import left_out_text
from profiler.commands.shared import options
from profiler.commands.shared.files import check_output
from profiler.commands.shared.misuse import Misuse
from profiler.commands.shared.wrong_turns import instead_of_a_word_between
from profiler.errors import LadderNotFound
from profiler.present.documents.ladder import missing_lines
from profiler.store.cache import open_pictures
from profiler.store.disk import write_whole
from profiler.text import counted, size


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
    launch: options.LaunchOption = None,
    force: options.ForceComparisonOption = False,
    overwrite: Annotated[
        bool, Option("--overwrite", help="Write over a file that prof did not write.")
    ] = False,
    settings: options.FileSettings,
) -> None:
    """Write a page: one HTML file with everything in it.

    The page shows the ladder at a glance, a sheet for every rung, and a comparison of each with the rung that it
    follows. If you name recordings, it shows those, each compared with the one before. Of more than two, only those
    with a kernel of the same name are compared, unless you give --force. The page works offline.

    Examples:
      prof report -o ladder.html
      prof report 5 6 -o pair.html
      prof report mine.ncu-rep --title 'Softmax on an H200'
      prof report reports/ -o all.html
      prof report sweep.ncu-rep --launch 4-6
    """
    from profiler.present.page.writing import make_page, spare_foreign_file

    if not sources and any(one is not None for one in (kernel_name, nvtx, launch)):
        raise Misuse("name the recordings that -k, --nvtx or --launch choose from; a ladder is shown whole")
    if hint := instead_of_a_word_between("report", sources or []):
        raise Misuse(hint)
    check_output(output, (".html", ".htm"), "--output", ": it is a page, which a browser can print as PDF")
    if not overwrite:
        spare_foreign_file(output)

    def find() -> PageFindings:
        if sources:
            chosen = replace(settings, nvtx=nvtx, launch=launch)
            return report_named(sources, chosen, title, kernel_name=kernel_name, force=force)
        try:
            return report_ladder(settings, title)
        except LadderNotFound as error:
            if not settings.ladder_given:
                error.remedy = (
                    f"Name what the page is about, such as `prof report mine.ncu-rep`. {error.remedy}"
                )
            raise

    found, page, html = make_page(find, open_pictures(), settings.progress)
    write_whole(html, output)
    errors = list(found.left_out.values())
    for error in errors:
        settings.note(left_out_text(error))
    for line in missing_lines(found.ladder.ladder) if found.ladder else ():
        print(line, file=sys.stderr)
    held = [counted(len(page.of_kind("kernel")), "kernel")]
    if pairs := len(page.of_kind("pair")):
        held.append(counted(pairs, "comparison"))
    settings.say(f"Wrote {output} ({size(len(html))}): {', '.join(held)}")
    if found.unrelated and not force:
        many = counted(len(found.unrelated), "pair")
        settings.say(
            f"not compared: {many} without a kernel of the same name; --force takes single kernels for versions of one"
        )
    if errors:
        raise errors[0]
