"""`prof presets` prints what each preset records, and how many passes that takes."""

from __future__ import annotations

from typing import Annotated

from typer import Argument

from profiler.catalog.presets import PRESETS, find_preset
from profiler.commands.shared import options
from profiler.commands.shared.output import print_document
from profiler.present.documents.catalogue import preset_document, presets_document


def presets(
    *,
    name: Annotated[str | None, Argument(help="Print only this preset, with its metrics.")] = None,
    settings: options.FormatSettings,
) -> None:
    """Print the presets of `prof collect`.

    A preset records sections and metrics in a number of passes; a pass is one replay of the kernel.

    Examples:
      prof presets
      prof presets four-way
    """
    document = presets_document(PRESETS) if name is None else preset_document(find_preset(name))
    print_document(document, settings.format)
