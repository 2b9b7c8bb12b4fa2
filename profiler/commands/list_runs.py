"""`prof list`: what is stored."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from profiler.commands.options import (
    Format,
    FormatOption,
    LadderOption,
    RunsOption,
    Settings,
    settings_of,
)
from profiler.commands.output import print_rows

if TYPE_CHECKING:
    from profiler.store.runs.run_store import RunStore


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
    from profiler.commands.answers import why_nothing
    from profiler.commands.sources import meant_by, require_ladder
    from profiler.present.listing import (
        DAMAGED,
        NAMES_HEADER,
        NAMES_RIGHT,
        RUNS_HEADER,
        RUNS_RIGHT,
        kernel_rows,
        run_rows,
    )
    from profiler.present.rungs import titles_of
    from profiler.store.runs.run_id import RunId
    from profiler.store.runs.run_store import RunStore
    from profiler.text import printable

    settings = settings_of(context, runs, ladder, format)
    store = RunStore(settings.runs_to_read)
    require_ladder(settings, lambda: store)
    wanted = kernels or (name is None and settings.format is Format.table)
    if wanted and _print_kernels(store, settings, required=kernels) and kernels:
        return
    is_meant = meant_by(name, settings)
    rows = kernel_rows(store, is_meant) if name is None else run_rows(store, is_meant)
    if rows or settings.format is not Format.table:
        header, right = (NAMES_HEADER, NAMES_RIGHT) if name is None else (RUNS_HEADER, RUNS_RIGHT)
        narrow = [header.index(name) for name in ("ncu", "gpu", "recorded", "origin", "launches")]
        # A run id is there to be copied.
        print_rows(
            header, rows, settings, right=right, titles=titles_of(header), optional=narrow, folds=False
        )
        for *_, origin, run_id in rows:
            if origin == DAMAGED and (damaged := RunId.parse(run_id)):
                store.open(damaged)  # says what is wrong with it
    if not rows:
        print(printable(why_nothing(store, name, settings)), file=sys.stderr)


def _print_kernels(store: RunStore, settings: Settings, required: bool) -> bool:
    """The ladder's kernels above the runs; without a ladder near by, nothing."""
    from profiler.commands.ladders import open_ladder
    from profiler.errors import LadderNotFound
    from profiler.present.listing import LADDER_HEADER, LADDER_RIGHT, ladder_rows

    try:
        found = open_ladder(settings)
    except LadderNotFound:
        if required:
            raise
        return False
    print_rows(LADDER_HEADER, ladder_rows(found, store), settings, right=LADDER_RIGHT)
    if settings.format is Format.table:
        print()
    return True
