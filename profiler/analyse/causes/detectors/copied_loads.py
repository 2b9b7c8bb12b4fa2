"""Finds loads of which a thread has several copies already, so that advice to take more elements would not fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from profiler.analyse.causes.detectors.candidate import WIDEST_BITS
from profiler.analyse.causes.evidence.loads_under_way import ENOUGH_LOADS
from profiler.analyse.causes.evidence.sites import Site

NEIGHBOURS_AT_ONCE = "at once (up to 16 bytes, a vector type)"


def find_copied_loads(loads: Iterable[Site]) -> list[Site]:
    """Returns those of which one line of the source has as many as are enough under way, and which could be wider.

    An unrolled loop over the elements of a thread leaves them, but so does a line that loads the neighbours of an element.
    """
    known = [site for site in loads if site.instruction.place and site.width < WIDEST_BITS]
    copies = Counter((site.opcode, site.instruction.place) for site in known)
    return [site for site in known if copies[site.opcode, site.instruction.place] >= ENOUGH_LOADS]
