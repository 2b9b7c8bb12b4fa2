"""`prof show`: one kernel's sheet."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from profiler.commands.options import (
    ChartOption,
    DarkOption,
    Format,
    FormatOption,
    KernelNameOption,
    LadderOption,
    RunSizeOption,
    RunsOption,
    Settings,
    settings_of,
    terminal_width,
)

if TYPE_CHECKING:
    from altair.typing import ChartType

    from profiler.analyse.recording.overview import TimingSheet
    from profiler.commands.answers import Recording
    from profiler.store.runs.run_store import Run


def show(
    context: typer.Context,
    source: Annotated[
        str | None, typer.Argument(help="A kernel number, a run id or name, or a .ncu-rep file.")
    ] = None,
    size: RunSizeOption = None,
    kernel_name: KernelNameOption = None,
    full: Annotated[
        bool,
        typer.Option("--full", help="Show every metric the report holds; JSON is else cut to 8 KB."),
    ] = False,
    chart: ChartOption = None,
    dark: DarkOption = False,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of --format json.")] = False,
    runs: RunsOption = None,
    ladder: LadderOption = None,
    format: FormatOption = None,
) -> None:
    """Show one recording: provenance, kernels, metrics, rules.

    Of a run that `prof time` stored, its timings.

    Examples:

      prof show 6

      prof show 6 --size 2048

      prof show mine.ncu-rep --kernel-name 'softmax'

      prof show gemm-6-source --chart hot-lines.svg
    """
    if schema:
        from profiler.analyse.recording.overview import Sheets, TimingSheet
        from profiler.present.encode import json_schema

        print(json_schema((Sheets, TimingSheet), "prof show --format json"))
        return
    if source is None:
        raise typer.BadParameter("give a recording to show, for example: prof show 6")

    from profiler.commands.answers import find_recording
    from profiler.commands.files import tell_written
    from profiler.commands.pictures import chart_file

    picture = chart_file(chart, dark)
    settings = settings_of(context, runs, ladder, format)
    # Timings have no metrics to show in full, but a manifest that JSON can hold in full.
    timed = kernel_name is None and (not full or settings.format is Format.json)
    recording = find_recording(source, settings, kernel_name=kernel_name, full=full, timed=timed, size=size)
    if picture is not None:
        picture.write(_drawn(recording, kernel_name))
    print(_rendered(recording, settings.format, full))
    if picture is not None:
        tell_written(picture.path, settings)
    if size is None:
        _tell_others(source, recording.run, settings)


def _tell_others(source: str, run: Run, settings: Settings) -> None:
    """A number or a name chose the newest, whatever its size; a run id or a file chose itself."""
    from profiler.commands.sizes import is_choice
    from profiler.commands.sources import other_workloads
    from profiler.text import printable

    name = run.manifest.name
    for_people = settings.format is Format.table and not settings.quiet
    if not for_people or not is_choice(source, run, settings):
        return
    if others := other_workloads(run, settings):
        sizes = printable(", ".join(others))
        print(
            f"\nThis is the newest run of {name}. Other sizes are stored: {sizes}.\n"
            f"Ask for one with --size, or by its run id, which `prof list {name}` gives.",
            file=sys.stderr,
        )


def _drawn(recording: Recording, kernel_name: str | None) -> ChartType:
    """Of several kernels the one that is named: each would be a picture of its own."""
    from profiler.analyse.compare.changes import profile_timings
    from profiler.analyse.ladder.climb import derive_stalls
    from profiler.analyse.recording.profile import choose_kernel, profile_kernel
    from profiler.analyse.recording.source_lines import find_source_lines
    from profiler.present.charts import recording_chart

    run = recording.run
    if not run.manifest.is_profiled:
        timings = profile_timings(run)
        return recording_chart(timings, derive_stalls(timings), None)
    kernel = choose_kernel(run, kernel_name)
    profile = profile_kernel(run, kernel)
    return recording_chart(profile, derive_stalls(profile), find_source_lines(run, kernel))


def _rendered(recording: Recording, format: Format, full: bool) -> str:
    from profiler.present import sheet

    run, sheets, timing = recording.run, recording.sheets, recording.timing
    if format is Format.json:
        from profiler.commands.answers import answer_json

        return answer_json(recording.finding, full)
    if timing is not None and not run.manifest.is_profiled:
        return _rendered_timing(timing, format)
    if format is Format.csv:
        return sheet.sheets_csv(sheets)
    if format is Format.markdown:
        return sheet.sheets_markdown(run, sheets, timing)
    from profiler.present.terminal import wants_colour

    colour = wants_colour(sys.stdout.isatty())
    return sheet.sheets_text(run, sheets, timing, colour=colour, width=terminal_width())


def _rendered_timing(timing: TimingSheet, format: Format) -> str:
    from profiler.present import sheet

    if format is Format.csv:
        return sheet.timing_csv(timing)
    return sheet.timing_markdown(timing) if format is Format.markdown else sheet.timing_text(timing)
