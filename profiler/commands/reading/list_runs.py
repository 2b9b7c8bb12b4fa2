"""`prof list`: what is stored."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from profiler.analyse.listing import LADDER_HEADER, NAMES_HEADER, RUNS_HEADER
from profiler.ask.ladders import open_ladder, require_ladder
from profiler.ask.listing import ladder_rows, newest_rows, require_whole, run_rows, why_nothing
from profiler.ask.references import meant_by
from profiler.commands.shared.options import (
    Format,
    FormatOption,
    LadderOption,
    RunsOption,
    VerbSettings,
    settings_of,
)
from profiler.commands.shared.output import print_rows
from profiler.errors import LadderNotFound
from profiler.present.rungs import titles_of
from profiler.text import printable

if TYPE_CHECKING:
    from profiler.store.runs.run_store import RunStore

_NUMBERS = ("runs", "launches")
_NARROW = ("ncu", "gpu", "recorded", "origin", "launches")  # columns that a narrow window has no room for
_KERNEL_NUMBERS = ("kernel", "profiled", "timed", "tuned")


def list_runs(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            help="Every run of this kernel number, of exactly this name, or of the names that fit a shell pattern."
        ),
    ] = None,
    kernels: Annotated[
        bool, typer.Option("--kernels", help="The ladder's kernels alone, with the runs of each.")
    ] = False,
    runs: RunsOption = None,
    ladder: LadderOption = None,
    format: FormatOption = None,
) -> None:
    """List what is stored.

    The kernels of the ladder, where one is found, and one line per name of what is stored; with a name, every
    run that it means. With --ladder, only runs of that ladder's kernels.

    Examples:

      prof list

      prof list 5

      prof list 'gemm-5*'

      prof list --ladder copy
    """

    settings = settings_of(context, runs, ladder, format)
    store = settings.open_store()
    require_ladder(settings, lambda: store)
    wanted = kernels or (name is None and settings.format is Format.table)
    if wanted and _print_kernels(store, settings, required=kernels) and kernels:
        return
    is_meant = meant_by(name, settings)
    listed = newest_rows(store, is_meant) if name is None else run_rows(store, is_meant)
    if listed or settings.format is not Format.table:
        header = NAMES_HEADER if name is None else RUNS_HEADER
        # A run id is there to be copied.
        print_rows(
            header,
            [tuple(row.values()) for row in listed],
            settings,
            right=[header.index(title) for title in _NUMBERS if title in header],
            titles=titles_of(header),
            optional=[header.index(title) for title in _NARROW],
            folds=False,
        )
        require_whole(store, listed)
    if not listed:
        print(printable(why_nothing(store, name, settings)), file=sys.stderr)


def _print_kernels(store: RunStore, settings: VerbSettings, required: bool) -> bool:
    """Prints the ladder's kernels above the runs; returns False where no ladder is found."""

    try:
        found = open_ladder(settings)
    except LadderNotFound:
        if required:
            raise
        return False
    rows = [tuple(row.values()) for row in ladder_rows(found, store)]
    right = [LADDER_HEADER.index(title) for title in _KERNEL_NUMBERS]
    print_rows(LADDER_HEADER, rows, settings, right=right)
    if settings.format is Format.table:
        print()
    return True
