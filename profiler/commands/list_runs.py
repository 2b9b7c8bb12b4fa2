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
    from profiler.store.runs import RunStore


def list_runs(
    context: typer.Context,
    name: Annotated[
        str | None, typer.Argument(help="Only runs whose name contains this, all of them.")
    ] = None,
    kernels: Annotated[
        bool, typer.Option("--kernels", help="The ladder's kernels alone, with the runs of each.")
    ] = False,
    runs: RunsOption = None,
    ladder: LadderOption = None,
    format: FormatOption = None,
) -> None:
    """List what is stored.

    The kernels of the ladder, where one is found; one line per name of what is stored; with a
    name, every run whose name contains it.

    Examples:

      prof list

      prof list gemm-5

      prof list --kernels --ladder gemm
    """
    from profiler.commands.ladders import open_ladder
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
    from profiler.present.text import printable
    from profiler.store.manifest import RunId
    from profiler.store.runs import RunStore

    settings = settings_of(context, runs, ladder, format)
    store = RunStore(settings.runs_to_read)
    if settings.ladder_given:
        open_ladder(settings)  # an unknown one is an error, whatever is listed
    wanted = kernels or (name is None and settings.format is Format.table)
    if wanted and _print_kernels(store, settings, required=kernels) and kernels:
        return
    rows = kernel_rows(store) if name is None else run_rows(store, name)
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
    else:
        what = f"no run whose name contains '{name}'" if name else "no runs yet: prof ingest REPORT adds one"
        print(printable(f"{store.root}: {what}"), file=sys.stderr)


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
