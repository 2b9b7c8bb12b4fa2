"""Detects tiles that are longer than the rows they hold: what no thread has loaded is computed with all the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.detectors.idle_lanes.steps import LANE_MISSING, acts_in_whole_warps, is_constant
from profiler.analyse.causes.evidence.blocks_of_sm import warps_without
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import ACCESSES, ARITHMETIC, Site, executed_parts
from profiler.analyse.causes.flow.dataflow import sources_of
from profiler.text import whole_percent


def detect_padding(evidence: Evidence) -> Iterable[Candidate]:
    """Names what whole warps compute with a constant in place of elements that a predicate keeps them from loading."""
    if not (padding := find_padding(evidence)):
        return
    weights = executed_parts(padding)
    wasted = 100 * sum(weights.values()) / evidence.executed
    yield Candidate(
        "idle-lanes",
        f"A tile is longer than the row that it holds: {whole_percent(wasted)} % of the instructions are for elements behind the end of the row, "
        "where warps compute with a constant.",
        "Take no more elements at once than a row has: choose the size of the tile by the length of the row, or go through the row in smaller steps.",
        replace(evidence.without(padding), warps=warps_without(evidence, _count_registers(padding))),
        weights,
        {"padding_pct": wasted},
        in_triton="Choose BLOCK by the length of the row: the next power of two or, where that is much longer, several smaller blocks.",
    )


@kept
def find_padding(evidence: Evidence) -> Mapping[Site, float]:
    """Returns the part of each access that whole warps skip, and of the arithmetic with what they have not loaded.

    Arithmetic with one absent element changes nothing, such as adding a zero, but its result is absent only where all it takes is.
    """
    padding: dict[Site, float] = {}
    absent: dict[Site, float] = {}
    for site in evidence.sites:
        if site.kind in ACCESSES and site.idle_share >= LANE_MISSING and acts_in_whole_warps(site):
            padding[site] = site.idle_share
            if site.kind == "global load" and _has_constant_instead(evidence, site):
                absent[site] = site.idle_share
        elif site.kind in (*ARITHMETIC, "conversion"):
            taken = [absent.get(one, 0.0) for one in sources_of(evidence, site) if not is_constant(one)]
            if part := max(taken, default=0.0):
                padding[site], absent[site] = part, min(taken)
    return padding if absent else {}


def _count_registers(padding: Mapping[Site, float]) -> int:
    """Returns how many registers of a thread hold absent elements, or what is made of them."""
    parts: dict[str, float] = {}
    for site, part in padding.items():
        for register in site.use.written:
            parts[register] = min(part, parts.get(register, part))
    return int(sum(parts.values()))


def _has_constant_instead(evidence: Evidence, load: Site) -> bool:
    """Returns whether the registers of a load hold constants where it is not made, and not another element."""
    return all(map(is_constant, sources_of(evidence, load, set(load.use.written))))
