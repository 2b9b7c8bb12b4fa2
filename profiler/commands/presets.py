"""`prof presets`: what each preset collects, and what it costs."""

from __future__ import annotations

from typing import Annotated

import typer

from profiler.commands.options import FormatOption, settings_of
from profiler.commands.output import print_document


def presets(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="One preset, with its metrics.")] = None,
    format: FormatOption = None,
) -> None:
    """Print what `prof collect` can record.

    Each preset with the passes it takes; a pass is one replay of the kernel.

    Examples:

      prof presets

      prof presets four-way
    """
    from profiler.catalog.presets import PRESETS, find_preset
    from profiler.present.documents.catalogue import preset_document, presets_document

    settings = settings_of(context, None, None, format)
    document = presets_document(PRESETS) if name is None else preset_document(find_preset(name))
    print_document(document, format=settings.format)
