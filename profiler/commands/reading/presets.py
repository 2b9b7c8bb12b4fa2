"""`prof presets` prints what each preset records, and how many passes that takes."""

from __future__ import annotations

from typing import Annotated

import typer

from profiler.catalog.presets import MEASURED_ON, PRESETS, find_preset
from profiler.commands.shared.options import Format, FormatOption, settings_of
from profiler.commands.shared.output import print_rows


def presets(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="One preset, with its metrics.")] = None,
    format: FormatOption = None,
) -> None:
    """Print the presets of `prof collect`.

    A preset records sections and metrics in a number of passes; a pass is one replay of the kernel.

    Examples:

      prof presets

      prof presets four-way
    """

    settings = settings_of(context, None, None, format)
    chosen = PRESETS if name is None else (find_preset(name),)
    header = ("preset", "passes", "sections", "metrics", "records")
    rows = [
        (
            one.name,
            one.passes,
            f"--set {one.set}" if one.set else " ".join(one.sections),
            " ".join(one.metrics),
            one.doc,
        )
        for one in chosen
    ]
    if settings.format is not Format.table:
        print_rows(header, rows, settings, right=(1,))
    elif name is not None:
        sections = rows[0][2]
        print(f"{chosen[0].doc}\n\npasses    {chosen[0].passes} on {MEASURED_ON}")
        if sections:
            print(f"sections  {sections}")
        print("metrics   " + "\n          ".join(chosen[0].metrics))
    else:
        print_rows(
            ("preset", "passes", "records"), [(*row[:2], row[4]) for row in rows], settings, right=(1,)
        )
        print(f"\npasses as counted on {MEASURED_ON}; --section, --metric and --set add to a preset")
