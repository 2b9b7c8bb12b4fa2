"""Options that several verbs share, and what they resolve to."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from profiler.catalog import DEFAULT_LADDER


class Format(StrEnum):
    table = "table"
    json = "json"
    markdown = "markdown"
    csv = "csv"


# The environment is read once, before the verb: read again by the verb, it would win over
# `prof --runs DIR verb`.
GlobalRunsOption = Annotated[
    Path | None,
    typer.Option("--runs", envvar="PROF_RUNS", help="Folder of runs [default: the nearest 'runs']."),
]
RunsOption = Annotated[
    Path | None,
    typer.Option("--runs", help="Folder of runs [default: $PROF_RUNS, or the nearest 'runs']."),
]
LadderOption = Annotated[
    str | None,
    typer.Option("--ladder", help=f"Ladder that kernel numbers belong to [default: {DEFAULT_LADDER}]."),
]
FormatOption = Annotated[
    Format | None, typer.Option("--format", help="How to print the result [default: table].")
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

    runs: Path | None = None
    ladder: str | None = None
    format: Format | None = None
    quiet: bool = False
    verbose: bool = False


@dataclass(frozen=True)
class Settings:
    """The shared options as they hold for a verb: its own, or those before it, or the defaults."""

    runs: Path | None
    ladder: str
    ladder_given: bool
    format: Format
    quiet: bool
    verbose: bool

    @property
    def runs_folder(self) -> Path:
        return self.runs or find_runs_folder(Path.cwd())


def settings_of(
    context: typer.Context,
    runs: Path | None = None,
    ladder: str | None = None,
    format: Format | None = None,
) -> Settings:
    outer = context.obj if isinstance(context.obj, Given) else Given()
    chosen = ladder or outer.ladder
    return Settings(
        runs=runs or outer.runs,
        ladder=chosen or DEFAULT_LADDER,
        ladder_given=chosen is not None,
        format=format or outer.format or Format.table,
        quiet=outer.quiet,
        verbose=outer.verbose,
    )


def find_runs_folder(start: Path) -> Path:
    """`runs` here or in the nearest folder above, as git finds its repository."""
    for folder in (start, *start.parents):
        if (folder / "runs").is_dir():
            return folder / "runs"
    return start / "runs"


def terminal_width() -> int | None:
    """The window's width, or None when the output goes to a file or a pipe."""
    if not sys.stdout.isatty():
        return None
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None  # some report none at all
    except OSError:
        return None
