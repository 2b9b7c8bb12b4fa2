"""Prints results on standard output, in the format asked for."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from profiler.commands.shared.plain_signs import PLAIN_SIGNS
from profiler.commands.shared.window import terminal_width
from profiler.errors import ProfError
from profiler.present import Format

if TYPE_CHECKING:
    from profiler.present.document import Document
    from profiler.present.render.terminal import Window


def json_answer(finding: Any, full: bool, wanted: Sequence[str] = (), *, alone: bool = False) -> str:
    """Returns a finding as JSON: its answer `alone`, the `full` one, or its most important 8 KB including the `wanted` metrics."""
    from profiler.present.render.json import to_json

    if alone:
        from profiler.present.short_answer import shorten_to_answer

        finding, full = shorten_to_answer(finding) or finding, False
    if full:
        return to_json(finding)
    from profiler.present.brief import brief

    return to_json(brief(finding, wanted))


def error_lines(error: ProfError) -> list[str]:
    """Returns what an error says and what to do about it, a line each, without the secrets of this process."""
    return without_own_secrets([error.message, *error.details, *([error.remedy] if error.remedy else [])])


def without_own_secrets(lines: Iterable[str]) -> list[str]:
    """Returns the lines without the secrets of this process: those of its command line and of its environment."""
    from profiler.store.remote.urls import secrets_of, without_secrets

    secrets = secrets_of([*sys.argv[1:], *os.environ.values()], os.environ)
    return [without_secrets(line, secrets) for line in lines]


def print_answer(
    finding: Any,
    document: Callable[[], Document],
    format: Format,
    *,
    full: bool = True,
    wanted: Sequence[str] = (),
    brief: bool = False,
) -> None:
    """Prints a finding as JSON (see `json_answer`), or the document made of it in any other format.

    Only the answer is printed if it is to be `brief`.
    """
    if format == "json":
        print(json_answer(finding, full, wanted, alone=brief))
    else:
        print_document(document().brief if brief else document(), format, pages=True)


def print_document(document: Document, format: Format, *, pages: bool = False) -> None:
    """Prints a document on standard output; with `pages`, a terminal shows what is longer than itself in a pager.

    Its JSON is a list of rows; a finding is printed by `json_answer`.
    """
    from profiler.present.render import render

    text = render(document, format, window())
    if not (pages and format == "table" and _show_in_pager(text)):
        print(text)


def _show_in_pager(text: str) -> bool:
    """Returns whether a pager showed the text: $PAGER or `less`, on a terminal with fewer lines than the text.

    A job of a CI system may have a terminal, at which nobody ends the pager.
    """
    wanted = shlex.split(os.environ.get("PAGER", "less"))
    if not (sys.stdout.isatty() and sys.stdin.isatty()) or not wanted or _is_job():
        return False
    if text.count("\n") + 1 < shutil.get_terminal_size().lines or shutil.which(wanted[0]) is None:
        return False
    sys.stdout.flush()
    environment = {"LESS": "FRX", **os.environ}  # as git: colours, and no screen that vanishes
    with suppress(KeyboardInterrupt):
        subprocess.run(wanted, input=f"{text}\n", text=True, check=False, errors=PLAIN_SIGNS, env=environment)
    return True


def _is_job() -> bool:
    """Returns whether a CI system runs this, by the variable that all of them set; its user may have switched that off."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def window() -> Window:
    """Returns the width of standard output and whether it shows colour."""
    from profiler.present.render.terminal import Window, wants_colour

    return Window(wants_colour(sys.stdout.isatty()), terminal_width())
