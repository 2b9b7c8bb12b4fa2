"""Asks how wide the window of a terminal is, and fits into it what is said on standard error."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable

from profiler.ask.named.settings import keep_silent
from profiler.text import shortened

_SILENT_S = 0.5


def folded_for_terminal(line: str, indent: str = "  ") -> str:
    """Returns a line for standard error: as it is, or folded within the window of a terminal, with later lines indented."""
    if not sys.stderr.isatty():
        return line
    from profiler.present.render.terminal_table import folded

    return folded(line, shutil.get_terminal_size().columns, indent)


def status_line() -> Callable[[str], None]:
    """Returns a function that shows a line on a terminal's standard error in place of the last one, after half a second."""
    began_s = time.monotonic()
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        return keep_silent

    def show(line: str) -> None:
        if time.monotonic() - began_s >= _SILENT_S:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r\x1b[K{shortened(line, width)}", end="", file=sys.stderr, flush=True)

    return show


def terminal_width() -> int | None:
    """Returns the width that COLUMNS asks for, or that of the window; None when the output goes to a file or a pipe, which have none."""
    if (asked := os.environ.get("COLUMNS", "")).isdecimal() and int(asked):
        return int(asked)
    if not sys.stdout.isatty():
        return None
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None  # some terminals report 0
    except OSError:
        return None
