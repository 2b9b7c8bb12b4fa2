"""Options that several verbs share, and the settings made from them."""

from __future__ import annotations

import glob
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

from typer import Context, Option

from profiler.ask.named.settings import Settings, keep_silent, ladder_here
from profiler.catalog import DEFAULT_LADDER
from profiler.commands.shared.misuse import Misuse
from profiler.commands.shared.verb import OfOptions
from profiler.commands.shared.window import folded_for_terminal, status_line
from profiler.present import Format
from profiler.text import printable


def complete_folder(incomplete: str) -> list[str]:
    """Returns the folders that complete what was typed, for the shell."""
    found = glob.glob(f"{glob.escape(incomplete)}*/")
    return sorted(found)


# Only the option before the verb reads $PROF_RUNS: read again after the verb, it would win over
# `prof --runs DIR verb`.
GlobalRunsOption = Annotated[
    str | None,
    Option(
        envvar="PROF_RUNS",
        metavar="DIR|URL",
        help="Folder of runs, or a URL such as s3://bucket/runs [default: the nearest 'runs'].",
        autocompletion=complete_folder,
    ),
]
RunsOption = Annotated[
    str | None,
    Option(
        metavar="DIR|URL",
        help="Folder of runs, or a URL such as s3://bucket/runs [default: $PROF_RUNS, or the nearest 'runs'].",
        autocompletion=complete_folder,
    ),
]
LadderOption = Annotated[
    str | None,
    Option(
        metavar="NAME|FILE",
        help=f"Ladder that kernel numbers refer to: its name or its file [default: {DEFAULT_LADDER}, or the only one there is].",
    ),
]
FormatOption = Annotated[Format | None, Option(help="How to print the result [default: table].")]
RunSizeOption = Annotated[
    str | None,
    Option(
        metavar="S",
        help="Use the newest run of this size, such as 2048 or 512x4096x1024 [default: the newest of any size].",
    ),
]
GpuOption = Annotated[
    str | None,
    Option(
        metavar="NAME",
        help="Use only runs recorded on this GPU, by a part of its name such as h200 [default: any].",
    ),
]
KernelNameOption = Annotated[
    str | None,
    Option(
        "--kernel-name",
        "-k",
        metavar="REGEX",
        help="Choose kernels by a part of their name; case counts only if the part has a capital. The whole name of a function matches that function alone.",
    ),
]
KernelNamesOption = Annotated[
    list[str] | None,
    Option(
        "--kernel-name",
        "-k",
        metavar="REGEX",
        help="Choose kernels by a part of their name; case counts only if the part has a capital. Give it twice for one on each side.",
    ),
]
FullJsonOption = Annotated[
    bool, Option("--full", help="With --format json, print everything; without it, the most important 8 KB.")
]
NvtxOption = Annotated[
    str | None,
    Option(
        metavar="RANGE",
        help="Use only the launches inside an NVTX range, a named part of the program, whose name matches.",
    ),
]
LaunchOption = Annotated[
    str | None,
    Option(
        metavar="N",
        help="Use only the launch with this number, counted from 0 as ncu does, or a range of them such as 4-6.",
    ),
]
LaunchesOption = Annotated[
    list[str] | None,
    Option(
        metavar="N",
        help="Use only the launch with this number, counted from 0 as ncu does, or a range of them such as 4-6. Give it twice for one on each side.",
    ),
]

ChartOption = Annotated[
    Path | None, Option(metavar="FILE", help="Also draw a chart: a .svg, .png, .html or .json file.")
]
BriefOption = Annotated[
    bool, Option("--brief", help="Print only the answer: what was found, why, and what to do next.")
]
LadderSizeOption = Annotated[
    str | None, Option(metavar="S", help="Size of the workload [default: the one that most rungs share].")
]
ForceComparisonOption = Annotated[
    bool,
    Option(
        "--force",
        help="Compare even recordings that were measured differently, and any two kernels as versions of one.",
    ),
]
SchemaOption = Annotated[bool, Option("--schema", help="Print the JSON Schema of --format json.")]
DarkOption = Annotated[bool, Option("--dark", help="Draw the chart on a dark background.")]

# For the verbs that run the kernels of a ladder.
KernelOption = Annotated[
    list[str] | None, Option(metavar="N", help="Number of a kernel, or a range such as 4-6; may be repeated.")
]
JobsOption = Annotated[
    int | None,
    Option("--jobs", "-j", metavar="N", min=1, help="Compilers to run at a time [default: one per core]."),
]
SizeOption = Annotated[
    list[str] | None,
    Option(
        metavar="S",
        help="Size of the workload: 4096, or one number for each dimension, 512x4096x1024; may be repeated [default: the ladder's].",
    ),
]
ParameterOption = Annotated[
    list[str] | None,
    Option(metavar="NAME=S", help="Set one parameter of the workload, for example m=1000; may be repeated."),
]
ProcessesOption = Annotated[
    int,
    Option(
        metavar="N",
        min=1,
        help="Processes for each kernel; kernels take turns, so that slow drift of the GPU cancels.",
    ),
]
SeedOption = Annotated[
    int | None,
    Option(metavar="N", min=0, max=2**64 - 1, help="Seed of the random inputs [default: a random one]."),
]
TimeoutOption = Annotated[
    float, Option(metavar="SECONDS", min=0.1, help="Seconds that one program may take.")
]


def of_each_side(option: str, values: Sequence[str] | None) -> tuple[str | None, str | None]:
    """Returns the value of an option, and its second value, for the second side, if it was given twice."""
    if values and len(values) > 2:
        raise Misuse(f"give {option} at most twice: for both sides, or one for each")
    first, other = (*(values or (None,)), None)[:2]
    return first, other


@dataclass(frozen=True)
class Given:
    """The shared options that were typed before the verb."""

    runs: str | None = None
    ladder: str | None = None
    format: Format | None = None
    quiet: bool = False
    verbose: bool = False


@dataclass(frozen=True, kw_only=True)
class VerbSettings(Settings):
    """The shared options of a verb: typed after it, else before it, else the defaults."""

    format: Format = "table"
    quiet: bool = False
    verbose: bool = False

    def say(self, *lines: str) -> None:
        """Prints lines about what was done on standard error, unless --quiet is given."""
        if not self.quiet:
            print("\n".join(map(printable, lines)), file=sys.stderr, flush=True)


def settings_of(
    context: Context,
    gpu: GpuOption = None,
    runs: RunsOption = None,
    ladder: LadderOption = None,
    format: FormatOption = None,
) -> VerbSettings:
    """Returns the settings of a verb: its own options, and otherwise the ones before the verb, as in `prof --runs DIR show 5`."""
    from profiler.store.remote.places import location_of

    outer = context.obj if isinstance(context.obj, Given) else Given()
    chosen, where = outer.ladder if ladder is None else ladder, runs or outer.runs
    location = location_of(where) if where else None
    return VerbSettings(
        runs=location,
        note=cache(_print_note),  # each remark once
        progress=keep_silent if outer.quiet else status_line(),
        ladder=ladder_here(location) if chosen is None else chosen,
        ladder_given=chosen is not None,
        gpu=gpu,
        format=format or outer.format or "table",
        quiet=outer.quiet,
        verbose=outer.verbose,
    )


# The settings of a verb that takes some of these options.
FormatSettings = Annotated[VerbSettings, OfOptions(settings_of, "format")]
LadderSettings = Annotated[VerbSettings, OfOptions(settings_of, "ladder", "format")]
StoreSettings = Annotated[VerbSettings, OfOptions(settings_of, "runs", "format")]
RungSettings = Annotated[VerbSettings, OfOptions(settings_of, "runs", "ladder", "format")]
FileSettings = Annotated[VerbSettings, OfOptions(settings_of, "gpu", "runs", "ladder")]
ReadingSettings = Annotated[VerbSettings, OfOptions(settings_of, "gpu", "runs", "ladder", "format")]


def _print_note(line: str) -> None:
    """Prints a remark about the result, also with --quiet, since the result is misleading without it."""
    print(folded_for_terminal(printable(line)), file=sys.stderr)


def typed_options(context: Context) -> dict[str, str]:
    """Returns the parameters that were typed after the verb, each with its option."""
    sources = {one: context.get_parameter_source(one.name or "") for one in context.command.params}
    return {
        one.name or "": one.opts[0]
        for one, source in sources.items()
        if source is not None and source.name == "COMMANDLINE"
    }
