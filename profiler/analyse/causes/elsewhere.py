"""Says whether a cause lies outside the machine code that is shown."""

from __future__ import annotations

from profiler.analyse.causes.cause import Cause, CodePlace, has_place
from profiler.analyse.code.hot_loop import CauseElsewhere
from profiler.analyse.code.regions import Region
from profiler.text import place_name


def find_elsewhere(cause: Cause, region: Region) -> CauseElsewhere | None:
    """Returns the cause with its main place, if all its places are outside of the region; None also if no place is to blame.

    Offsets start anew in each function of a range or a graph, so a place without a line has to be of the same opcode as well.
    """
    if not has_place(cause):
        return None
    lines = {one.place for one in region.body}
    instructions = {(one.opcode, one.offset) for one in region.body}
    if any((_line_of(one) or (one.opcode, one.offset)) in lines | instructions for one in cause.where):
        return None
    first = cause.where[0]
    return CauseElsewhere(cause.cause, first.opcode, first.offset, _line_of(first))


def _line_of(place: CodePlace) -> str | None:
    return place_name(place.file, place.line) if place.file and place.line else None
