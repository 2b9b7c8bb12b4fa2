"""`prof show` prints one recording."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from typing import Annotated

from typer import Argument, BadParameter, Option

from profiler.analyse.recording.overview import Sheets, TimingSheet
from profiler.analyse.recording.triage import Triage
from profiler.ask.show import (
    ShownTogether,
    find_hot_lines,
    find_other_workloads,
    recordings_meant,
    show_recordings,
    some_left_out,
)
from profiler.commands.shared import options
from profiler.commands.shared.failure import print_schema
from profiler.commands.shared.files import ChartOptions
from profiler.commands.shared.misuse import Misuse
from profiler.commands.shared.output import print_answer
from profiler.commands.shared.window import folded_for_terminal
from profiler.commands.shared.wrong_turns import instead_of_a_word_between
from profiler.present.documents.recording import recording_document
from profiler.present.documents.triage import triage_document
from profiler.store.runs.run import Run
from profiler.text import printable


def show(
    *,
    sources: Annotated[
        list[str] | None,
        Argument(
            metavar="[source]...",
            help="A kernel number, a run id or name, a .ncu-rep file or a folder of them; or several of these.",
        ),
    ] = None,
    size: options.RunSizeOption = None,
    kernel_name: options.KernelNameOption = None,
    nvtx: options.NvtxOption = None,
    launch: options.LaunchOption = None,
    full: Annotated[
        bool,
        Option(
            "--full",
            help="Show every metric of the catalogue, the smaller causes and the origin; CSV and JSON then hold every counter. "
            "Without it, JSON is cut to the most important 8 KB.",
        ),
    ] = False,
    picture: ChartOptions,
    brief: options.BriefOption = False,
    schema: options.SchemaOption = False,
    settings: options.ReadingSettings,
) -> None:
    """Show one recording: why it takes so long, and what to try.

    If a recording has several kernels, `prof` lists them all by their share of the time, or shows the one that takes
    nearly all of it; -k chooses one. For several recordings, it lists the kernels of all together. For a run of
    `prof time`, it shows the timings.

    Examples:
      prof show mine.ncu-rep
      prof show mine.ncu-rep --kernel-name 'softmax'
      prof show mine.ncu-rep --launch 12
      prof show *.ncu-rep
      prof show 6
      prof show 6 --size 2048
      prof show gemm-6-source --chart hot-lines.svg
    """
    if schema:
        print_schema("show", Sheets, TimingSheet, Triage)
        return
    if not sources:
        raise Misuse("give a recording to show, as in `prof show mine.ncu-rep` or `prof show 6`")
    if hint := instead_of_a_word_between("show", sources):
        raise Misuse(hint)

    settings = replace(settings, size=size, nvtx=nvtx, launch=launch)
    sources = recordings_meant(sources, settings)
    if len(sources) > 1 and picture.path is not None:
        raise BadParameter("a chart shows one recording", param_hint="'--chart'")
    is_script = settings.format in ("csv", "json")
    shown = show_recordings(sources, settings, kernel_name=kernel_name, full=full, keeps_index=is_script)
    if isinstance(shown, ShownTogether):
        index = shown.finding
        document = partial(triage_document, index, full=full)
        print_answer(index, document, settings.format, full=full, brief=brief)
        if shown.errors:
            raise some_left_out(shown.errors, len(sources), are_named=settings.format != "csv")
        return
    recording = shown.recording
    picture.draw(lambda charts: charts.recording_chart(*find_hot_lines(recording.run, settings, kernel_name)))
    document = partial(recording_document, recording, full=full)
    print_answer(recording.finding, document, settings.format, full=full, brief=brief)
    picture.report(settings)
    if size is None:
        _print_other_sizes(shown.source, recording.run, settings)


def _print_other_sizes(source: str, run: Run, settings: options.VerbSettings) -> None:
    """Prints the other stored sizes if a number or a name chose the newest run of any size."""
    if settings.format != "table" or settings.quiet:
        return
    name = run.manifest.name
    if others := find_other_workloads(source, run, settings):
        sizes = printable(", ".join(others))
        lines = (
            f"This is the newest run of {name}. Other sizes are stored: {sizes}.",
            f"Ask for one with --size, or by its run id, which `prof list {name}` prints.",
        )
        print("", *map(folded_for_terminal, lines), sep="\n", file=sys.stderr)
