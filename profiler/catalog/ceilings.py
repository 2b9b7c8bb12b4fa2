"""Finds the ladder `ceilings`: its rungs measure the most that a GPU can do, which a roofline needs."""

from __future__ import annotations

from pathlib import Path

from profiler.catalog.ladders.ladder import Ladder, find_ladder
from profiler.catalog.ladders.ladder_file import read_ladder
from profiler.errors import LadderNotFound

CEILINGS_LADDER = "ceilings"


def read_ceilings(*starts: Path) -> Ladder | None:
    """Reads it from `kernels/` in one of these folders or in a parent. Returns None if it is not there."""
    try:
        return read_ladder(find_ladder(CEILINGS_LADDER, *starts))
    except LadderNotFound:
        return None
