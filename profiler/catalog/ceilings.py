"""The ladder whose rungs measure what a GPU can do at most; a roofline is drawn under what they reached."""

from __future__ import annotations

from pathlib import Path

from profiler.catalog.ladders.ladder import Ladder, find_ladder
from profiler.catalog.ladders.ladder_file import read_ladder
from profiler.errors import LadderNotFound

CEILINGS_LADDER = "ceilings"


def read_ceilings(*starts: Path) -> Ladder | None:
    """From `kernels/` in one of these folders or further up; None where there is no such ladder."""
    try:
        return read_ladder(find_ladder(CEILINGS_LADDER, *starts))
    except LadderNotFound:
        return None
