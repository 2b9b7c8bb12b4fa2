"""`prof list` lists the stored runs."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from profiler.analyse.listing import LADDER_HEADER, NAMES_HEADER, RUNS_HEADER
from profiler.ask.listing import ladder_rows, newest_rows, run_rows, why_nothing
from profiler.ask.named.ladders import open_ladder, readable_ladder, require_ladder
from profiler.ask.named.references import meant_by
from profiler.commands.shared.options import (
    Format,
    FormatOption,
    GpuOption,
    LadderOption,
    RunsOption,
    VerbSettings,
    settings_of,
)
from profiler.commands.shared.output import print_document
from profiler.present.documents.listing import kernels_document, runs_document
from profiler.store.runs.run_store import RunStore
from profiler.text import printable


def list_runs(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            help="List every run of this kernel number, of exactly this name, or of the names that fit a shell pattern."
        ),
    ] = None,
    kernels: Annotated[
        bool,
        typer.Option("--kernels", help="List only the ladder's kernels, with the number of runs of each."),
    ] = False,
    gpu: GpuOption = None,
    runs: RunsOption = None,
    ladder: LadderOption = None,
    format: FormatOption = None,
) -> None:
    """List what is stored.

    Prints the ladder's kernels, if a ladder is found, and one line for each name under which runs are stored. With a
    name, prints every run of that name. With --ladder, prints only runs of that ladder's kernels.

    Examples:

      prof list

      prof list 5

      prof list 'gemm-5*'

      prof list --ladder copy
    """
    settings = settings_of(context, runs, ladder, format, gpu)
    store = RunStore(settings.runs_to_read)
    require_ladder(settings, lambda: store)
    wanted = kernels or (name is None and settings.format is Format.table)
    if wanted and _print_kernels(store, settings, required=kernels) and kernels:
        store.require_whole()
        return
    is_meant = meant_by(name, settings)
    rows_of = newest_rows if name is None else run_rows
    listed = rows_of(store, is_meant, gpu)
    if listed or settings.format is not Format.table:
        header = NAMES_HEADER if name is None else RUNS_HEADER
        rows = [tuple(row.values()) for row in listed]
        print_document(runs_document(header, rows), format=settings.format)
    if not listed:
        print(printable(why_nothing(store, name, settings)), file=sys.stderr)
    store.require_whole()


def _print_kernels(store: RunStore, settings: VerbSettings, required: bool) -> bool:
    """Prints the ladder's kernels above the runs; returns False when no ladder is found."""
    found = open_ladder(settings) if required else readable_ladder(settings)
    if found is None:
        return False
    rows = [tuple(row.values()) for row in ladder_rows(found, store)]
    print_document(kernels_document(LADDER_HEADER, rows), format=settings.format)
    if settings.format is Format.table:
        print()
    return True
