"""Options that several verbs share, and what they resolve to."""

from __future__ import annotations

import glob
import os
import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from profiler.ask.named.settings import Settings
from profiler.catalog import DEFAULT_LADDER


class Format(StrEnum):
    table = "table"
    json = "json"
    markdown = "markdown"
    csv = "csv"


def complete_folder(incomplete: str) -> list[str]:
    """Returns the folders that the shell may complete this to."""
    found = glob.glob(f"{glob.escape(incomplete)}*/")
    return sorted(found)


# The environment is read once, before the verb: read again by the verb, it would win over
# `prof --runs DIR verb`.
GlobalRunsOption = Annotated[
    str | None,
    typer.Option(
        "--runs",
        envvar="PROF_RUNS",
        metavar="DIR|URL",
        help="Folder of runs, or a URL such as s3://bucket/runs [default: the nearest 'runs'].",
        autocompletion=complete_folder,
    ),
]
RunsOption = Annotated[
    str | None,
    typer.Option(
        "--runs",
        metavar="DIR|URL",
        help="Folder of runs, or a URL such as s3://bucket/runs [default: $PROF_RUNS, or the nearest 'runs'].",
        autocompletion=complete_folder,
    ),
]
LadderOption = Annotated[
    str | None,
    typer.Option("--ladder", help=f"Ladder that kernel numbers belong to [default: {DEFAULT_LADDER}]."),
]
FormatOption = Annotated[
    Format | None, typer.Option("--format", help="How to print the result [default: table].")
]
RunSizeOption = Annotated[
    str | None,
    typer.Option(
        "--size",
        metavar="S",
        help="Of the runs of a number or a name, the newest of this size, 2048 or 512x4096x1024 [default: of any].",
    ),
]
KernelNameOption = Annotated[
    str | None,
    typer.Option("--kernel-name", "-k", metavar="REGEX", help="Which kernel, where a report holds several."),
]

ChartOption = Annotated[
    Path | None,
    typer.Option("--chart", metavar="FILE", help="Also draw it: .svg, .png, .html or .json."),
]
DarkOption = Annotated[bool, typer.Option("--dark", help="Draw --chart on dark paper.")]


@dataclass(frozen=True)
class Given:
    """The shared options as they stood before the verb."""

    runs: str | None = None
    ladder: str | None = None
    format: Format | None = None
    quiet: bool = False
    verbose: bool = False


@dataclass(frozen=True, kw_only=True)
class VerbSettings(Settings):
    """The shared options as they hold for a verb: its own, or those before it, or the defaults."""

    format: Format = Format.table
    quiet: bool = False
    verbose: bool = False


def settings_of(
    context: typer.Context,
    runs: str | None = None,
    ladder: str | None = None,
    format: Format | None = None,
) -> VerbSettings:
    from profiler.store.remote.places import location_of

    outer = context.obj if isinstance(context.obj, Given) else Given()
    chosen, where = ladder or outer.ladder, runs or outer.runs
    return VerbSettings(
        runs=location_of(where) if where else None,
        note=_print_note,
        ladder=chosen or DEFAULT_LADDER,
        ladder_given=chosen is not None,
        format=format or outer.format or Format.table,
        quiet=outer.quiet,
        verbose=outer.verbose,
    )


def _print_note(line: str) -> None:
    """Prints also where only results and errors are wanted: it qualifies the result."""
    from profiler.text import printable

    print(printable(line), file=sys.stderr)


def terminal_width() -> int | None:
    """The window's width, or None when the output goes to a file or a pipe."""
    if not sys.stdout.isatty():
        return None
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None  # some report none at all
    except OSError:
        return None
