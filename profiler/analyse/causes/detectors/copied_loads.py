"""Finds loads of which a thread has several copies already, so that advice to take more elements would not fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from profiler.analyse.causes.detectors.candidate import WIDEST_BITS
from profiler.analyse.causes.evidence.loads_under_way import ENOUGH_LOADS
from profiler.analyse.causes.evidence.sites import Site

# By the alignment in bytes that a vector needs, and that the addresses of a thread have.
AT_ONCE = {
    2: "at once (up to 2 bytes, a vector type)",
    4: "at once (up to 4 bytes, a vector type)",
    8: "at once (up to 8 bytes, a vector type)",
    16: "at once (up to 16 bytes, a vector type)",
}
NEIGHBOURS_AT_ONCE = AT_ONCE[WIDEST_BITS // 8]


def find_copied_loads(loads: Iterable[Site]) -> list[Site]:
    """Returns the loads that could be wider and whose source line has enough copies of them to keep under way.

    An unrolled loop over the elements of a thread leaves such copies. So does a line that loads the neighbours of an element.
    """
    known = [site for site in loads if site.instruction.place and site.width < WIDEST_BITS]
    copies = Counter((site.opcode, site.instruction.place) for site in known)
    return [site for site in known if copies[site.opcode, site.instruction.place] >= ENOUGH_LOADS]
