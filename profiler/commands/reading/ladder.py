"""`prof ladder` shows every rung of a ladder and its change from the rung that it follows."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from profiler.analyse.ladder.climb import Climb
from profiler.analyse.ladder.ideas import IdeasFinding
from profiler.analyse.ladder.ladder import LadderFinding, LadderView
from profiler.ask.ladder import climb_ladder, find_deltas, find_ideas, find_overview, other_ladders
from profiler.commands.shared import options
from profiler.commands.shared.failure import print_schema
from profiler.commands.shared.files import ChartOptions, check_output
from profiler.commands.shared.misuse import Misuse
from profiler.commands.shared.output import print_answer
from profiler.commands.shared.wrong_turns import instead_of_a_ladder
from profiler.present.document import Document
from profiler.present.documents.ideas import ideas_document
from profiler.present.documents.ladder import ladder_document
from profiler.present.render.deltas import deltas_parquet
from profiler.store.disk import write_whole


def ladder(
    *,
    name: Annotated[
        str | None, Argument(metavar="ladder", help="Name or file of the ladder, as for --ladder.")
    ] = None,
    size: options.LadderSizeOption = None,
    set_param: options.ParameterOption = None,
    view: Annotated[
        LadderView | None,
        Option(
            help="Counters to show [default: memory if the ladder declares bytes and no flops, else compute]."
        ),
    ] = None,
    ideas: Annotated[
        bool,
        Option(
            "--ideas",
            help="Show instead what each idea was worth: the claimed gain, the measured one, and whether the claim holds.",
        ),
    ] = False,
    output: Annotated[
        Path | None,
        Option(
            "--output", "-o", metavar="FILE", help="Also write every metric's change to this Parquet file."
        ),
    ] = None,
    picture: ChartOptions,
    full: Annotated[
        bool,
        Option("--full", help="Print the whole JSON; without it, JSON is cut to the most important 8 KB."),
    ] = False,
    brief: options.BriefOption = False,
    schema: options.SchemaOption = False,
    settings: options.ReadingSettings,
) -> None:
    """Show a ladder: a series of kernels, and what each step gained.

    For every rung, `prof` shows the time, the work per second, the counters and what limits it. It compares each with
    the rung before, unless the ladder names another. It uses the newest run of each kernel, all on the same GPU
    with the same workload, and times without the profiler if they are stored.

    Examples:
      prof ladder
      prof ladder --size 2048 --format markdown
      prof ladder copy --view memory
      prof ladder embedding --ideas
      prof ladder -o deltas.parquet
      prof ladder --chart ladder.svg
    """
    if schema:
        if ideas:
            print_schema("ladder --ideas", IdeasFinding, brief=False)
        else:
            print_schema("ladder", LadderFinding)
        return

    if name is not None:
        settings = _named(settings, name)
    if output is not None:
        why = ": it holds all changes of all metrics; --format csv prints the table"
        check_output(output, (".parquet",), "--output", why)
    climb = climb_ladder(replace(settings, size=size), set_param, view)
    if output is not None:
        write_whole(deltas_parquet(find_deltas(climb)), output)
    picture.draw(lambda charts: charts.ladder_chart(*find_overview(climb, settings), climb.ladder.published))
    if ideas:
        found = find_ideas(climb)
        print_answer(found, partial(ideas_document, found), settings.format, full=full, brief=brief)
    else:
        document = partial(_document, climb, settings, view_was_asked=view is not None)
        print_answer(climb.finding, document, settings.format, full=full, brief=brief)
    if output is not None:
        settings.say(f"Wrote {output}")
    picture.report(settings)


def _document(climb: Climb, settings: options.VerbSettings, *, view_was_asked: bool) -> Document:
    return ladder_document(
        climb.finding,
        climb.others,
        other_ladders(settings),
        reference=climb.ladder.reference,
        view_was_asked=view_was_asked,
    )


def _named(settings: options.VerbSettings, name: str) -> options.VerbSettings:
    """Returns the settings with the ladder that was named without an option."""
    if hint := instead_of_a_ladder([name]):
        raise Misuse(hint)
    if settings.ladder_given and settings.ladder != name:
        raise Misuse("two ladders are named, and prof ladder shows one: leave out --ladder or the other name")
    return replace(settings, ladder=name, ladder_given=True)
