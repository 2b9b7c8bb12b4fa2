"""Finds what warps compute with elements that they do not load, as behind the end of a row that is shorter than its tile."""

from __future__ import annotations

from collections.abc import Mapping

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import ACCESSES, ARITHMETIC, LANE_MISSING, Site
from profiler.analyse.causes.flow.dataflow import sources_of
from profiler.catalog.metrics import LANES


@kept
def find_padding(evidence: Evidence) -> Mapping[Site, float]:
    """Returns which part of an access whole warps skip, and which part of the arithmetic works with what they have not loaded.

    Arithmetic with one absent element changes nothing, such as adding a zero. But its result is absent only if all that it takes
    is.
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


def acts_in_whole_warps(site: Site) -> bool:
    """Returns whether the sectors prove that a predicate keeps whole warps from an access: each warp that acts takes at least one sector."""
    if not site.instruction.predicate or site.sectors is None or site.sectors >= site.executed:
        return False
    return site.lane_executions >= LANES * (1 - LANE_MISSING) * site.sectors


def _has_constant_instead(evidence: Evidence, load: Site) -> bool:
    """Returns whether the registers of a load hold constants, and not another element, where the load does not act."""
    return all(map(is_constant, sources_of(evidence, load, set(load.use.written))))


def is_constant(site: Site) -> bool:
    """Returns whether an instruction writes the same value whatever was computed before, such as zero or a parameter."""
    return site.kind == "other" and not site.use.inputs
