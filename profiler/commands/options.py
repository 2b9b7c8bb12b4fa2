"""Options that several verbs share, and what they resolve to."""

from __future__ import annotations

import glob
import os
import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from profiler.catalog import DEFAULT_LADDER

if TYPE_CHECKING:
    from profiler.commands.reach import Reach
    from profiler.store.remote.places import Location
    from profiler.store.runs.run_store import RunStore


class Format(StrEnum):
    table = "table"
    json = "json"
    markdown = "markdown"
    csv = "csv"


def complete_folder(incomplete: str) -> list[str]:
    """For the shell, as it completes any path."""
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
        help="FolderPlace of runs, or a URL such as s3://bucket/runs [default: the nearest 'runs'].",
        autocompletion=complete_folder,
    ),
]
RunsOption = Annotated[
    str | None,
    typer.Option(
        "--runs",
        metavar="DIR|URL",
        help="FolderPlace of runs, or a URL such as s3://bucket/runs [default: $PROF_RUNS, or the nearest 'runs'].",
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


@dataclass(frozen=True)
class Settings:
    """The shared options as they hold for a verb: its own, or those before it, or the defaults."""

    runs: Location | None
    ladder: str
    ladder_given: bool
    format: Format
    quiet: bool
    verbose: bool
    reach: Reach | None = None  # of references that the user did not choose

    @property
    def runs_folder(self) -> Location:
        """A path, or the URL of an object store's prefix; what records makes the folder."""
        return self.runs or find_runs_folder(Path.cwd())

    @property
    def runs_to_read(self) -> Location:
        """The same for a verb that only reads: a folder that was named and is not there is misspelt, not empty."""
        if isinstance(self.runs, Path) and not self.runs.exists():
            from profiler.errors import RunNotFound

            raise RunNotFound(
                f"{self.runs}: no such folder",
                remedy="Check --runs, or PROF_RUNS where that is set; `prof collect` and `prof ingest` make the folder.",
            )
        return self.runs_folder

    def open_runs(self, location: Location | None = None) -> RunStore:
        """The store to read from, or another one; within a reach, links that lead out of its folder are not followed."""
        from profiler.store.runs.run_store import RunStore

        return RunStore(location or self.runs_to_read, confined=self.reach is not None)

    @property
    def ladder_places(self) -> tuple[Path, ...]:
        """Where a ladder is looked for: here, then beside the runs that were named, which know theirs from wherever one asks."""
        return (Path.cwd(), *([self.runs.absolute()] if isinstance(self.runs, Path) else []))


def settings_of(
    context: typer.Context,
    runs: str | None = None,
    ladder: str | None = None,
    format: Format | None = None,
) -> Settings:
    from profiler.store.remote.places import location_of

    outer = context.obj if isinstance(context.obj, Given) else Given()
    chosen, where = ladder or outer.ladder, runs or outer.runs
    return Settings(
        runs=location_of(where) if where else None,
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
