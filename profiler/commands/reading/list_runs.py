"""`prof list` lists the stored runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from typer import Argument, Option

from profiler.analyse.listing import NAMES_HEADER, RUNS_HEADER, Listing
from profiler.ask.listing import derive_overview, list_kernels, list_stored, means_ladder, why_nothing
from profiler.ask.named.ladders import open_ladder, require_ladder
from profiler.commands.shared import options
from profiler.commands.shared.failure import print_schema
from profiler.commands.shared.output import json_answer, print_document
from profiler.present.documents.listing import kernels_document, runs_document, store_overview_document
from profiler.store.runs.run_store import RunStore
from profiler.text import printable

_SCREEN = 24  # lines of the smallest usual terminal


def list_runs(
    *,
    name: Annotated[
        str | None,
        Argument(
            help="List every run of this kernel number, of exactly this name, or of the names that match a shell pattern; or the kernels and runs of this ladder."
        ),
    ] = None,
    kernels: Annotated[
        bool, Option("--kernels", help="List only the ladder's kernels, with the number of runs of each.")
    ] = False,
    full: Annotated[
        bool,
        Option(
            "--full",
            help="List every name, however many there are; with --format json, print everything instead of the most important 8 KB.",
        ),
    ] = False,
    schema: options.SchemaOption = False,
    settings: options.ReadingSettings,
) -> None:
    """List what is stored.

    `prof` prints the ladder's kernels, if any of them has a run, and one line for each name under which runs are stored.
    If the names fill more than a screen, it prints one line for each ladder instead. With a name, it prints every
    run of that name. With the name of a ladder, it prints only that ladder's kernels and their runs.

    Examples:
      prof list
      prof list 5
      prof list 'gemm-5*'
      prof list copy
      prof list --full
    """
    if schema:
        print_schema("list", Listing, brief=False)
        return
    store = RunStore(settings.runs_to_read)  # takes no notes: the error at the end says what was left out
    if name is not None and means_ladder(name, store, settings):
        settings, name = replace(settings, ladder=name, ladder_given=True), None
    is_read_by_people = settings.format == "table"
    # People would get more names than a screen has lines; programs get every name.
    may_be_short = is_read_by_people and not (kernels or full or settings.ladder_given or name is not None)
    if may_be_short and (overview := derive_overview(store, settings, _SCREEN)):
        print_document(store_overview_document(overview), settings.format)
        store.require_whole()
        return
    if kernels:
        require_ladder(settings, lambda: store)
        listed = list_kernels(open_ladder(settings), store)
    else:
        # One table has no room for two kinds of rows.
        is_one_table = settings.format in ("csv", "markdown")
        listed = list_stored(settings, name, store, with_kernels=not is_one_table)
    if settings.format == "json":
        print(json_answer(listed, full))
    else:
        header = NAMES_HEADER if name is None else RUNS_HEADER
        _print_tables(listed, () if kernels else header, settings)
    if not kernels and not listed.runs:
        print(printable(why_nothing(store, name, settings)), file=sys.stderr)
    store.require_whole()


def _print_tables(listed: Listing, header: Sequence[str], settings: options.VerbSettings) -> None:
    """Prints the kernels of the ladder, and the runs with the columns of the header, if it has any."""
    # Runs of other programs: beside them, a table of zeros would fill the screen.
    is_about_others = bool(listed.runs) and not (settings.ladder_given or _has_runs(listed))
    parts = [kernels_document(listed.kernels)] if listed.kernels and not is_about_others else []
    if header and (listed.runs or settings.format != "table"):
        parts.append(runs_document(header, listed.runs))
    for place, part in enumerate(parts):
        print(end="\n" if place else "")
        print_document(part, settings.format)


def _has_runs(listed: Listing) -> bool:
    """Returns whether anything is stored of the ladder's kernels."""
    return any(kernel[count] for kernel in listed.kernels for count in ("profiled", "timed", "tuned"))
