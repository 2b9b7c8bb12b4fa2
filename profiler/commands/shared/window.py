"""Fits what is said on standard error into the window of a terminal."""

from __future__ import annotations

import shutil
import sys


def folded_for_terminal(line: str, indent: str = "  ") -> str:
    """Returns a line for standard error: as it is, or folded within the window of a terminal, with later lines indented."""
    if not sys.stderr.isatty():
        return line
    from profiler.present.render.terminal_table import folded

    return folded(line, shutil.get_terminal_size().columns, indent)
