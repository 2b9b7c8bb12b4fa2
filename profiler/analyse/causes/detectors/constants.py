"""Detects tables in constant memory that the lanes of a warp index apart: the cache serves one address after the other."""

from __future__ import annotations

from collections.abc import Iterable

from profiler.analyse.causes.detectors.candidate import EIGHTFOLD, Candidate
from profiler.analyse.causes.evidence.dataflow import address_registers, sources_of
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.lane_values import find_differing
from profiler.analyse.causes.evidence.latency import Effect
from profiler.analyse.causes.evidence.sites import Site


def detect_divergent_constants(evidence: Evidence) -> Iterable[Candidate]:
    """Names lookups in constant memory whose address depends on the lane."""
    sites = find_lookups_apart(evidence)
    waiting = 100 * evidence.time_of(sites)
    if not sites or not waiting:
        return
    yield Candidate(
        "divergent-constants",
        f"The lanes of a warp look at different places in constant memory, which are served one after the other; warps spend {waiting:.0f} % of "
        "their time waiting for them.",
        "Put the table into shared memory, or into global memory where neighbouring lanes read neighbouring elements "
        "(`const … * __restrict__`), or let all lanes of a warp look at the same place.",
        Effect(waits=evidence.waiting_for(dict.fromkeys(sites, EIGHTFOLD))),
        {site: evidence.charged[site].total for site in sites},
        {"waiting_pct": waiting},
    )


def find_lookups_apart(evidence: Evidence) -> list[Site]:
    """Returns the loads of indexed constants whose index may differ between the lanes of a warp."""
    indexed = [site for site in evidence.of("mio") if _is_indexed(site)]
    differing = find_differing(evidence) if indexed else set()
    return [site for site in indexed if not differing.isdisjoint(sources_of(evidence, site))]


def _is_indexed(site: Site) -> bool:
    """Returns whether a constant is loaded by a register of each lane; uniform registers hold one value for the warp."""
    return site.instruction.name == "LDC" and any(
        name.startswith("R") for name in address_registers(site.instruction)
    )
