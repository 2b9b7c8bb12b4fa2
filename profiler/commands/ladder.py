"""`prof ladder`: every rung, and what changed from the one before."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from profiler.commands.ladders import ParameterOption, open_ladder, workloads
from profiler.commands.options import (
    Format,
    FormatOption,
    LadderOption,
    RunsOption,
    settings_of,
    terminal_width,
)


def ladder(
    context: typer.Context,
    size: Annotated[
        int | None,
        typer.Option("--size", metavar="S", help="Size of the workload [default: what most rungs share]."),
    ] = None,
    set_param: ParameterOption = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Also store every metric's change as Parquet."),
    ] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of --format json.")] = False,
    runs: RunsOption = None,
    ladder: LadderOption = None,
    format: FormatOption = None,
) -> None:
    """Draw the ladder: every rung and its change.

    A rung's time, its work per second, its counters and what binds it, each against the rung before. Of each
    kernel the newest run counts, all of one GPU and one workload; times are those without the
    profiler where they are stored.

    Examples:

      prof ladder

      prof ladder --size 2048 --format markdown

      prof ladder -o deltas.parquet
    """
    from profiler.present.encode import json_schema, to_json

    if schema:
        from profiler.analyse.ladder import LadderFinding

        print(json_schema(LadderFinding, "prof ladder --format json"))
        return

    from profiler.analyse.ladder import derive_ladder, derive_steps
    from profiler.analyse.rungs import choose_conditions, find_runs, gather_rungs, group_runs
    from profiler.present import ladder as page
    from profiler.present.terminal import wants_colour
    from profiler.store.runs import RunStore

    settings = settings_of(context, runs, ladder, format)
    opened = open_ladder(settings)
    groups = group_runs(find_runs(RunStore(settings.runs_folder), opened))
    wanted = None
    if size is not None or set_param:
        (wanted,) = workloads(opened, None if size is None else [size], set_param)
    conditions = choose_conditions(groups, wanted)
    rungs = gather_rungs(opened, groups[conditions])
    steps = derive_steps(opened, rungs)
    finding = derive_ladder(opened, conditions, rungs, steps)
    if output is not None:
        from profiler.analyse.deltas import delta_rows
        from profiler.store.deltas import write_deltas

        write_deltas(output, delta_rows(finding, steps))
    if settings.format is Format.json:
        print(to_json(finding))
    elif settings.format is Format.csv:
        print(page.ladder_csv(finding))
    elif settings.format is Format.markdown:
        print(page.ladder_markdown(finding))
    else:
        others = [str(one) for one in groups if one != conditions]
        colour = wants_colour(sys.stdout.isatty())
        print(page.ladder_text(finding, others, colour=colour, width=terminal_width()))
    if output is not None and not settings.quiet:
        print(f"Wrote {output}", file=sys.stderr)
