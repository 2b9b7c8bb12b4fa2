"""Finds loads of which a thread has several copies already, so that advice to take more elements would not fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from profiler.analyse.causes.detectors.candidate import WIDEST_BITS
from profiler.analyse.causes.evidence.loads_under_way import ENOUGH_LOADS
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.words.words import Words


def widest_at_once(words: Words) -> str:
    """Returns how a thread accesses as many neighbouring elements as it can, as words behind these."""
    return words.at_once(WIDEST_BITS // 8)


def find_copied_loads(loads: Iterable[Site]) -> list[Site]:
    """Returns the loads that could be wider and whose source line has enough copies of them to keep under way.

    An unrolled loop over the elements of a thread leaves such copies. So does a line that loads the neighbours of an element.
    """
    known = [site for site in loads if site.instruction.place and site.width < WIDEST_BITS]
    copies = Counter((site.opcode, site.instruction.place) for site in known)
    return [site for site in known if copies[site.opcode, site.instruction.place] >= ENOUGH_LOADS]
