"""Detects lookups in constant memory whose lanes look at different places."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import CONSTANTS, L2_CYCLES, PASSES_AT_RANDOM, Effect
from profiler.analyse.causes.evidence.sites import Site
from profiler.catalog.metrics import LANES
from profiler.text import whole_percent

# The cache of constants takes two cycles for each of 32 addresses. Shared memory makes one pass a cycle.
_SPARED_IN_SHARED_MEMORY = 1 - PASSES_AT_RANDOM / (2 * LANES)
# Before a block looks anything up in shared memory, it waits for the table from L2.
_LOOKUPS_FOR_A_COPY = L2_CYCLES / (2 * LANES)
_IN_SHARED_MEMORY = (
    "Put the table into shared memory, with copies for groups of lanes where data sends many of them to the same banks; or into global memory, "
    "where neighbouring lanes read neighbouring elements{}."
)
_IN_GLOBAL_MEMORY = (
    "Put the table into global memory{}, from which L1 serves at once all lanes that read the same 128 bytes. Shared memory serves any "
    "lanes, but each block has to fill it first: it pays where a thread looks up many elements."
)


def detect_divergent_constants(evidence: Evidence) -> Iterable[Candidate]:
    """Names lookups in constant memory whose address depends on the lane."""
    sites = evidence.lookups_apart
    waiting = 100 * evidence.time_of(sites)
    busy = 100 * evidence.model.busy.get(CONSTANTS, 0.0)
    if not waiting:
        return
    advice = _IN_SHARED_MEMORY if _pay_for_a_copy(evidence, sites) else _IN_GLOBAL_MEMORY
    yield Candidate(
        "divergent-constants",
        "The lanes of a warp look at different places in constant memory, which are served one after the other: warps spend "
        f"{whole_percent(waiting)} % of their time waiting for them.",
        advice.format(evidence.words.read_only),
        # There are as many lookups as before, and each is less work.
        Effect(
            {CONSTANTS: _SPARED_IN_SHARED_MEMORY},
            lighter=evidence.waiting_for(
                dict.fromkeys(sites, _SPARED_IN_SHARED_MEMORY), "mio_throttle", "short_scoreboard"
            ),
        ),
        {site: evidence.charged[site].total for site in sites},
        {"waiting_pct": waiting, "constants_busy_pct": busy},
    )


def _pay_for_a_copy(evidence: Evidence, sites: Collection[Site]) -> bool:
    """Returns whether a thread looks up so much that filling shared memory first takes less time than the lookups do now."""
    lookups = sum(site.executed for site in sites) / (evidence.shape.warps if evidence.shape else 1)
    return lookups > _LOOKUPS_FOR_A_COPY
