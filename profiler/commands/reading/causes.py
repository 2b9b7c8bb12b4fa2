"""`prof causes` prints the causes that a diagnosis may name."""

from __future__ import annotations

from typing import Annotated

from typer import Argument

from profiler.catalog.causes import CAUSES, causes_meant
from profiler.commands.shared import options
from profiler.commands.shared.output import print_document
from profiler.present.documents.catalogue import cause_document, causes_document


def causes(
    *,
    name: Annotated[
        str | None, Argument(help="Print only this cause, or those with this part in their names.")
    ] = None,
    settings: options.FormatSettings,
) -> None:
    """Print the causes that a diagnosis may name, or one of them.

    A cause is something in the code that can be changed. `prof show` names those of a recording.

    Examples:
      prof causes
      prof causes bank-conflicts
    """
    meant = CAUSES if name is None else causes_meant(name)
    document = causes_document(meant) if len(meant) > 1 else cause_document(meant[0])
    print_document(document, settings.format)
