"""`prof list` lists the stored runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from profiler.analyse.listing import LADDER_HEADER, NAMES_HEADER, RUNS_HEADER, Listing
from profiler.ask.listing import derive_listing, derive_overview, ladder_rows, no_such_run, why_nothing
from profiler.ask.named.ladders import open_ladder, readable_ladder, require_ladder
from profiler.ask.named.references import meant_by
from profiler.commands.shared import options
from profiler.commands.shared.output import json_answer, print_document
from profiler.present.documents.catalogue import kernels_document, overview_document, runs_document
from profiler.present.render.json import json_schema
from profiler.store.runs.run_store import RunStore
from profiler.text import printable

_SCREEN = 24  # lines of the smallest usual terminal


def list_runs(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            help="List every run of this kernel number, of exactly this name, or of the names that match a shell pattern."
        ),
    ] = None,
    kernels: Annotated[
        bool,
        typer.Option("--kernels", help="List only the ladder's kernels, with the number of runs of each."),
    ] = False,
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            help="List every name, however many there are; with --format json, print everything instead of the most important 8 KB.",
        ),
    ] = False,
    schema: options.SchemaOption = False,
    gpu: options.GpuOption = None,
    runs: options.RunsOption = None,
    ladder: options.LadderOption = None,
    format: options.FormatOption = None,
) -> None:
    """List what is stored.

    Prints the ladder's kernels, if a ladder is found, and one line for each name under which runs are stored; if the
    names fill more than a screen, one line for each ladder instead. With a name, prints every run of that name. With --ladder,
    prints only that ladder's kernels and their runs.

    Examples:

      prof list

      prof list 5

      prof list 'gemm-5*'

      prof list --ladder copy

      prof list --full
    """
    if schema:
        print(json_schema(Listing, "prof list --format json"))
        return
    settings = options.settings_of(context, runs, ladder, format, gpu)
    store = RunStore(settings.runs_to_read)
    require_ladder(settings, lambda: store)
    if kernels:
        chosen = open_ladder(settings)
        rows = ladder_rows(chosen, store)
        if settings.format is options.Format.json:
            print(json_answer(Listing(chosen.name, rows, [], []), full))
        else:
            _print_kernels(rows, settings)
        store.require_whole()
        return
    is_shown = name is None and settings.format in (options.Format.table, options.Format.json)
    found = readable_ladder(settings) if is_shown else None
    # People would get more names than a screen has lines; programs get every name.
    may_be_long = name is None and not full and not settings.ladder_given
    is_read_by_people = settings.format is options.Format.table
    overview = derive_overview(store, settings, _SCREEN) if may_be_long and is_read_by_people else None
    if overview is not None:
        print_document(overview_document(overview), format=settings.format)
        store.require_whole()
        return
    listed = derive_listing(store, found, meant_by(name, settings), every=name is not None, gpu=gpu)
    if name is not None and not listed.runs:
        raise no_such_run(store, name, settings)
    if settings.format is options.Format.json:
        print(json_answer(listed, full))
    else:
        _print_listing(listed, settings, of_one_name=name is not None)
    if not listed.runs:
        print(printable(why_nothing(store, name, settings)), file=sys.stderr)
    store.require_whole()


def _print_listing(listed: Listing, settings: options.VerbSettings, *, of_one_name: bool) -> None:
    if listed.ladder is not None:
        _print_kernels(listed.kernels, settings)
        print()
    if listed.runs or settings.format is not options.Format.table:
        header = RUNS_HEADER if of_one_name else NAMES_HEADER
        rows = [tuple(row.values()) for row in listed.runs]
        print_document(runs_document(header, rows), format=settings.format)


def _print_kernels(kernels: Sequence[dict[str, str | int]], settings: options.VerbSettings) -> None:
    rows = [tuple(row.values()) for row in kernels]
    print_document(kernels_document(LADDER_HEADER, rows), format=settings.format)
