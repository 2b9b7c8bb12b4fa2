"""`prof show`: one kernel's sheet."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from profiler.commands.options import (
    Format,
    FormatOption,
    KernelNameOption,
    LadderOption,
    RunsOption,
    Settings,
    settings_of,
    terminal_width,
)

if TYPE_CHECKING:
    from profiler.analyse.sheet import TimingSheet
    from profiler.store.runs import Run


def show(
    context: typer.Context,
    source: Annotated[str, typer.Argument(help="A kernel number, a run id or name, or a .ncu-rep file.")],
    kernel_name: KernelNameOption = None,
    full: Annotated[bool, typer.Option("--full", help="Show every metric the report holds.")] = False,
    runs: RunsOption = None,
    ladder: LadderOption = None,
    format: FormatOption = None,
) -> None:
    """Show one recording: provenance, kernels, metrics, rules.

    Of a run that `prof time` stored, its timings.

    Examples:

      prof show 6

      prof show gemm-6-timed

      prof show mine.ncu-rep --kernel-name 'softmax'
    """
    from profiler.analyse.profile import choose_kernels, profile_kernel
    from profiler.analyse.sheet import Sheets, derive_sheet
    from profiler.commands.sources import open_sources
    from profiler.present import sheet
    from profiler.present.encode import to_json
    from profiler.present.terminal import wants_colour

    settings = settings_of(context, runs, ladder, format)
    (run,) = open_sources([source], settings, timed=not full and kernel_name is None)
    if not run.manifest.is_profiled:
        _show_timings(run, settings)
        return
    (kernels,) = choose_kernels([run], kernel_name)
    sheets = [derive_sheet(run, profile_kernel(run, kernel), full) for kernel in kernels]
    timing = _timing(run, settings) if run.table("timings").num_rows else None
    if settings.format is Format.json:
        print(to_json(Sheets(run.manifest, sheets, timing.timing if timing else None)))
    elif settings.format is Format.csv:
        print(sheet.sheets_csv(sheets))
    elif settings.format is Format.markdown:
        print(sheet.sheets_markdown(run, sheets, timing))
    else:
        colour = wants_colour(sys.stdout.isatty())
        print(sheet.sheets_text(run, sheets, timing, colour=colour, width=terminal_width()))


def _show_timings(run: Run, settings: Settings) -> None:
    from profiler.present import sheet
    from profiler.present.encode import to_json

    timings = _timing(run, settings)
    if settings.format is Format.json:
        print(to_json(timings))
    elif settings.format is Format.csv:
        print(sheet.timing_csv(timings))
    elif settings.format is Format.markdown:
        print(sheet.timing_markdown(timings))
    else:
        print(sheet.timing_text(timings))


def _timing(run: Run, settings: Settings) -> TimingSheet:
    from profiler.analyse.sheet import derive_timing_sheet
    from profiler.commands.ladders import rung_of

    return derive_timing_sheet(run, rung_of(run.manifest, settings))
