"""Detects tiles that are longer than the rows they hold: what no thread has loaded is computed with all the same, as zeros."""

from __future__ import annotations

from collections.abc import Iterable

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.detectors.idle_lanes.steps import LANE_MISSING, acts_in_whole_warps
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import ACCESSES, ARITHMETIC, Site
from profiler.analyse.causes.flow.dataflow import sources_of
from profiler.text import whole_percent


def detect_padding(evidence: Evidence) -> Iterable[Candidate]:
    """Names what warps compute with elements that a predicate kept them from loading, as behind the end of a row."""
    padding = _find_padding(evidence)
    wasted = sum(part * site.executed for site, part in padding.items()) / (evidence.executed or 1)
    yield Candidate(
        "idle-lanes",
        f"{whole_percent(100 * wasted)} % of the instructions are for elements that no thread loads, as of a tile that is longer than its row: warps "
        "compute with zeros in their place.",
        "Take no more elements at once than a row has: choose the size of the tile by the length of the row, or go through the row in smaller steps.",
        evidence.without(padding),
        {site: part * site.executed for site, part in padding.items()},
        {"padding_pct": 100 * wasted},
        in_triton="Choose BLOCK by the length of the row: the next power of two, or a smaller block in a loop where that is much more than the row has.",
    )


def _find_padding(evidence: Evidence) -> dict[Site, float]:
    """Returns the part of each access that whole warps skip, and of the arithmetic on what they did not load.

    Arithmetic on one absent value changes nothing, such as the addition of zero, but its result is absent only if all others are, too.
    """
    padding: dict[Site, float] = {}
    absent: dict[Site, float] = {}
    for site in evidence.sites:
        if site.kind in ACCESSES:
            if site.idle_share >= LANE_MISSING and acts_in_whole_warps(site):
                padding[site] = site.idle_share
                if site.kind == "global load":
                    absent[site] = site.idle_share
        elif absent and site.kind in (*ARITHMETIC, "conversion"):
            values = [absent.get(one, 0.0) for one in sources_of(evidence, site) if not _is_constant(one)]
            if values and (part := max(values)):
                padding[site] = part
                absent[site] = min(values)
    return padding if absent else {}


def _is_constant(site: Site) -> bool:
    return site.kind == "other" and not site.use.inputs
